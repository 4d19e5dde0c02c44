"""Tasks that predict every pixel. Pixels without a target count neither in losses nor in metrics.

Losses and metrics are means over all pixels with a target, of the batch or of the whole data set.
MTAN (Liu, Johns and Davison, CVPR 2019), whose losses and metrics these are otherwise, takes the
metrics batch by batch (mIoU and pixel accuracy image by image) and averages these; that depends on
the batch size, and an image with few labels counts as much as one with many.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError
from pamal_core.tasks import Counted, Metric, Task, answers, exact, ratio

Pixels = tuple[Tensor, Tensor]
"""A value for every pixel, and whether it counts."""


def segmentation(name: str, num_classes: int, ignore: int = -1) -> Task:
    """A class for every pixel: logits [n, num_classes, H, W], labels [n, H, W], of which `ignore`
    means unlabelled.

    The loss is the mean cross-entropy over labelled pixels. Metrics, in order: "mIoU" (higher is
    better), the mean over classes of intersection over union, from one confusion matrix of all
    pixels, where classes that neither occur nor are predicted do not count; "pixel accuracy"
    (higher is better), the share of labelled pixels that are right; "loss" (lower is better). The
    first two lie in [0, 1]. Where no pixel at all is labelled the loss is 0 with a gradient of 0,
    and metrics are NaN.

    The loss raises InputError where the logits are not of `num_classes` classes, and for labels of
    another shape, of floats, or that are no class.
    """

    labelled = Counted(ignore)
    losses = _CrossEntropies(name, num_classes, labelled)
    metrics = (
        Metric("mIoU", True, _Confusion(num_classes, labelled), mean_iou),
        _pixel_mean("pixel accuracy", True, _Right(labelled)),
        _pixel_mean("loss", False, losses),
    )
    return Task(name, _PixelLoss(losses), metrics, labelled)


def depth(name: str) -> Task:
    """A positive number for every pixel: outputs [n, 1, H, W], targets [n, 1, H, W] or [n, H, W],
    of which those not above 0, or NaN, are invalid (missing).

    The loss is the mean absolute error over valid pixels, in the units of the target. Metrics, in
    order, all lower is better: "absolute error", the same; "relative error", the mean of
    |output - target| / target, a ratio, not per cent; "loss". Where no pixel at all is valid the
    loss is 0 with a gradient of 0, and metrics are NaN.
    """

    metrics = (
        _pixel_mean("absolute error", False, _absolute_error),
        _pixel_mean("relative error", False, _relative_error),
        _pixel_mean("loss", False, _absolute_error),
    )
    return Task(name, _PixelLoss(_absolute_error), metrics, _valid)


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
    return float((exact(both) / exact(either))[either > 0].mean())


def _absolute_error(output: Tensor, target: Tensor) -> Pixels:
    if output.numel() != target.numel():
        raise InputError("there must be one target for each number of the output")
    target = target.flatten()
    valid = target > 0
    # An invalid target may be NaN, and so would be the gradient, though the error does not count.
    return (output.flatten() - target.where(valid, 0)).abs(), valid


def _relative_error(output: Tensor, target: Tensor) -> Pixels:
    error, valid = _absolute_error(output, target)
    return error / target.flatten().where(valid, 1), valid


@dataclass(frozen=True)
class _CrossEntropies:
    """The cross-entropy of every pixel."""

    name: str
    num_classes: int
    labelled: Counted

    def __call__(self, logits: Tensor, labels: Tensor) -> Pixels:
        if logits.ndim != 4 or logits.shape[1] != self.num_classes:
            raise InputError(
                f"Task {self.name} needs logits [n, {self.num_classes}, H, W]. "
                f"Found {tuple(logits.shape)}."
            )
        labels, counted, fault = _classes(self.labelled, logits, labels)
        ignored = self.labelled.ignore_index
        values = F.cross_entropy(logits, labels, ignore_index=ignored, reduction="none")
        return values + fault, counted


@dataclass(frozen=True)
class _Right:
    """Whether the answer for every pixel is right."""

    labelled: Counted

    def __call__(self, logits: Tensor, labels: Tensor) -> Pixels:
        labels, counted, _ = _classes(self.labelled, logits, labels)
        classes, lost = answers(logits, counted)
        return (classes == labels) + lost.to(logits), counted


@dataclass(frozen=True)
class _Confusion:
    """The confusion matrix of a batch."""

    num_classes: int
    labelled: Counted

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        labels, counted, _ = _classes(self.labelled, logits, labels)
        classes, lost = answers(logits, counted)
        return exact(confusion_matrix(classes, labels, counted, self.num_classes)) + lost


def _classes(
    labelled: Counted, logits: Tensor, labels: Tensor
) -> tuple[Tensor, Tensor, Tensor | float]:
    if labels.is_floating_point():
        raise InputError("the label of a pixel must be an integer")
    labels, counted, fault = labelled.checked(logits, labels)
    return labels, counted & (labels != labelled.ignore_index), fault


def _valid(target: Tensor) -> Tensor:
    return (target > 0).sum()


@dataclass(frozen=True)
class _PixelLoss:
    """The mean over the pixels of a batch that count."""

    pixels: Callable[[Tensor, Tensor], Pixels]

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        values, counted = self.pixels(output, target)
        return values.where(counted, 0).sum() / counted.sum().clamp(min=1)


@dataclass(frozen=True)
class _PixelSum:
    """The statistic of a mean over pixels: (sum, count)."""

    pixels: Callable[[Tensor, Tensor], Pixels]

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        values, counted = self.pixels(output.detach(), target)
        return torch.stack([exact(values.where(counted, 0)).sum(), exact(counted).sum()])


def _pixel_mean(name: str, maximise: bool, pixels: Callable[[Tensor, Tensor], Pixels]) -> Metric:
    """The mean over the pixels of all batches that count."""
    return Metric(name, maximise, _PixelSum(pixels), ratio)
