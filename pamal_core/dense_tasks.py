"""Tasks that predict every pixel. Pixels without a target count neither in losses nor in metrics.

Losses and metrics are means over all pixels with a target, of the batch or of the whole data set.
MTAN (Liu, Johns and Davison, CVPR 2019), whose losses and metrics these are otherwise, takes the
metrics batch by batch (mIoU and pixel accuracy image by image) and averages these; that depends on
the batch size, and an image with few labels counts as much as one with many.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor
from torch.nn import functional as F

from pamal_core import tasks
from pamal_core.errors import InputError
from pamal_core.tasks import Metric, Task, Values


def segmentation(name: str, num_classes: int, ignore: int = -1) -> Task:
    """A class for every pixel: logits [n, num_classes, H, W] and labels [n, H, W], of which
    `ignore` means unlabelled.

    The loss is the mean cross-entropy over labelled pixels. Metrics, in this order: "mIoU", the
    mean over classes of intersection over union, in [0, 1], higher is better; "pixel accuracy", the
    share of labelled pixels that are right, in [0, 1], higher is better; "loss", lower is better.
    mIoU comes from one confusion matrix of all pixels; classes that neither occur nor are predicted
    do not count in it. Where no pixel at all is labelled the loss is 0 with a gradient of 0, and
    metrics are NaN.

    The loss raises InputError for logits of another number of classes, and for labels of another
    shape, of floats, or that are no class.
    """

    losses = partial(_cross_entropies, name, num_classes, ignore)
    metrics = (
        Metric("mIoU", True, partial(_confusion, num_classes, ignore), mean_iou),
        tasks.average("pixel accuracy", True, partial(tasks.right, ignore)),
        tasks.average("loss", False, losses),
    )
    return Task(name, partial(_mean, losses), metrics, partial(tasks.num_present, ignore))


def depth(name: str) -> Task:
    """A positive number for every pixel: outputs [n, 1, H, W] and targets [n, 1, H, W] or [n, H,
    W]. Targets that are NaN or not above 0 are missing.

    The loss is the mean absolute error over the pixels with a target, in the units of the target.
    Metrics, in this order, all lower is better: "absolute error", the same; "relative error", the
    mean of |output - target| / target, a ratio, not per cent; "loss". Where no pixel at all has a
    target the loss is 0 with a gradient of 0, and metrics are NaN.
    """

    metrics = (
        tasks.average("absolute error", False, _absolute_error),
        tasks.average("relative error", False, _relative_error),
        tasks.average("loss", False, _absolute_error),
    )
    return Task(name, partial(_mean, _absolute_error), metrics, _num_valid)


@torch.no_grad()
def confusion_matrix(
    predicted: Int[Tensor, "*pixels"],
    labels: Int[Tensor, "*pixels"],
    counted: Bool[Tensor, "*pixels"],
    num_classes: int,
) -> Int[Tensor, "C C"]:
    """How many of the pixels that are `counted` have the label of the row and the prediction of the
    column."""
    others = num_classes**2  # one more bin, for pixels that do not count
    bins = (labels * num_classes + predicted).where(counted, others).flatten()
    # Not bincount, which waits for a GPU to find the largest entry.
    counts = bins.new_zeros(others + 1).index_add_(0, bins, torch.ones_like(bins))
    return counts[:others].view(num_classes, num_classes)


def mean_iou(confusion: Num[Tensor, "C C"]) -> float:
    """The mean over classes of intersection over union, in [0, 1], higher is better.

    Classes that are in neither the rows nor the columns of `confusion` do not count; NaN where none
    is. A matrix of NaN, of answers that were not finite, has NaN.
    """
    both = confusion.diagonal()
    either = confusion.sum(0) + confusion.sum(1) - both
    return float((tasks.exact(both) / tasks.exact(either))[either > 0].mean())


def _absolute_error(output: Tensor, target: Tensor) -> Values:
    tasks.check_order(output, target)
    target = target.flatten()
    valid = target > 0
    # An invalid target may be NaN, and so would be the gradient, though the error does not count.
    return (output.flatten() - target.where(valid, 0)).abs(), valid


def _relative_error(output: Tensor, target: Tensor) -> Values:
    error, valid = _absolute_error(output, target)
    return error / target.flatten().where(valid, 1), valid


def _num_valid(target: Tensor) -> Tensor:
    return (target > 0).sum()


def _cross_entropies(
    name: str, num_classes: int, ignore: int, logits: Tensor, labels: Tensor
) -> Values:
    """The cross-entropy of every pixel."""
    if logits.ndim != 4 or logits.shape[1] != num_classes:
        raise InputError(
            f"Task {name} needs logits [n, {num_classes}, H, W]. Found {tuple(logits.shape)}."
        )
    labels, counted, fault = _classes(ignore, logits, labels)
    values = F.cross_entropy(logits, labels, ignore_index=ignore, reduction="none")
    return values + fault, counted


def _confusion(num_classes: int, ignore: int, logits: Tensor, labels: Tensor) -> Tensor:
    """The confusion matrix of a batch."""
    labels, counted, _ = _classes(ignore, logits, labels)
    classes, lost = tasks.answers(logits, counted)
    return tasks.exact(confusion_matrix(classes, labels, counted, num_classes)) + lost


def _classes(ignore: int, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor | float]:
    if labels.is_floating_point():
        raise InputError("the label of a pixel must be an integer")
    return tasks.checked(ignore, logits, labels)


def _mean(pixels: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor) -> Tensor:
    """The mean over the pixels of a batch that count; 0 where none does."""
    values, counted = pixels(output, target)
    return values.where(counted, 0).sum() / counted.sum().clamp(min=1)
