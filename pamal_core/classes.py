"""Tasks of classes: of examples, tokens or pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError, check_number, is_number, shown
from pamal_core.inputs import described
from pamal_core.metrics import Metric, Pair, Values, exact, mean_of_values, sum_of_values
from pamal_core.tasks import Task, chosen_of

PerClass = Sequence[float | int] | Tensor


@dataclass(frozen=True)
class Classes:
    """Compute losses and answers from logits [n, C, ...] and labels, with the arguments of
    `classification` and `segmentation`. Labels may be probabilities if `num_classes` is None."""

    ignore_index: int
    class_weight: Sequence[float] | None
    num_classes: int | None = None

    # Labels

    def read(self, labels: Tensor) -> Pair:
        """Return `labels` as integers, or as the probabilities that they are, and a mask of those
        that are not missing."""
        if not labels.is_floating_point():
            labels = labels.long()  # -100 would be 156 among labels of eight bits
        elif labels.ndim == 1:  # a column of pandas with missing labels
            labels = labels.where(labels.isfinite(), self.ignore_index).long()
        else:
            return labels, labels.isnan().any(1).logical_not()
        return labels, labels != self.ignore_index

    def labelled(self, logits: Tensor, labels: Tensor) -> Pair:
        """Return logits [k, C] and labels [k], or probabilities [k, C], without missing ones."""
        labels, counted = self.read(labels)
        labels = labels.movedim(1, -1) if labels.is_floating_point() else labels
        return logits.movedim(1, -1)[counted], labels[counted]

    def checked(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits and labels as cross-entropy takes them, and a mask of the labels that
        count.

        Raise InputError unless labels are integers, or probabilities, of the shape that `logits`
        ask for. On the CPU a class out of range is torch's to refuse; an accelerator would lose the
        process with it.
        """
        soft = labels.is_floating_point() and labels.ndim > 1
        number = logits.shape[1] if logits.ndim > 1 else 0
        needed = logits.shape if soft else logits.shape[:1] + logits.shape[2:]
        if self.num_classes is None:
            wanted = "[n, C, ...] with C >= 2 labels must be integers [n, ...] or probabilities"
            wanted += "; one logit for each label is for a `binary`"
            fits = number > 1
        else:
            wanted = f"[n, {self.num_classes}, H, W] labels must be integers [n, H, W]"
            fits = number == self.num_classes and not soft
        if not fits or labels.shape != needed:
            found = f"{described(logits)} and {described(labels)}"
            raise InputError(f"For logits {wanted}. Found {found}.")
        if soft:
            return self._checked_probabilities(logits, labels)
        if labels.is_floating_point() or labels.device.type != "cpu":
            return self._checked_whole_numbers(logits, labels)
        return logits, *self.read(labels)

    def _checked_probabilities(
        self, logits: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Do the work of `checked` for labels that are probabilities of the classes."""
        labels, counted = self.read(labels)
        labels = labels.to(logits.dtype).where(counted.unsqueeze(1), 1 / logits.shape[1])
        sums = labels.sum(1)
        wrong = ((sums - 1).abs() > 0.01) | (labels < 0).any(1)
        rule = "Probabilities must be at least 0, with sum 1 over the classes; several labels "
        rule += "at once are for a `binary`."
        found = sums.where((labels >= 0).all(1), labels.amin(1))
        return or_nan(logits, wrong, found, rule), labels, counted

    def _checked_whole_numbers(
        self, logits: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Do the work of `checked` for classes that are floats, or on an accelerator."""
        given = labels
        labels, counted = self.read(given)
        wrong = (given != labels) & ~given.isnan()  # of floats: half a class, or an infinite one
        if given.device.type != "cpu":
            wrong |= beyond(labels, counted, logits.shape[1])
            labels = labels.masked_fill(wrong, 0)
        rule = "Labels of classes must be integers, whole numbers or NaN."
        return or_nan(logits, wrong, given, rule), labels, counted

    # The loss

    def weight(self, logits: Tensor) -> Tensor | None:
        return None if self.class_weight is None else logits.new_tensor(self.class_weight)

    def count(self, labels: Tensor) -> Tensor:
        """Return the number of labels, or the sum of their weights."""
        labels, counted = self.read(labels)
        if self.class_weight is None or labels.is_floating_point():
            return counted.sum()
        weight = torch.tensor(self.class_weight, device=labels.device)
        return weight[labels.clamp(0, len(weight) - 1)].where(counted, 0).sum()

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Float[Tensor, ""]:
        """Return torch's mean over the labels that are not missing; 0 if all are."""
        logits, labels, counted = self.checked(logits, labels)
        weight, ignore_index = self.weight(logits), self.ignore_index
        if labels.is_floating_point():
            values = F.cross_entropy(logits, labels, weight, reduction="none").where(counted, 0)
            return values.sum() / counted.sum().clamp(min=1)
        # torch's mean over no label is NaN, and so is its gradient: then it is given some label.
        some = counted.any()
        filled = labels.where(some, int(ignore_index == 0))
        mean = F.cross_entropy(logits, filled, weight, ignore_index=ignore_index)
        return mean.where(some, 0)

    def cross_entropies(self, logits: Tensor, labels: Tensor) -> Values:
        """Return the cross-entropy of every label, an integer, and the label's weight."""
        logits, labels, counted = self.checked(logits, labels)
        weight, ignore_index = self.weight(logits), self.ignore_index
        each = F.cross_entropy(logits, labels, weight, ignore_index=ignore_index, reduction="none")
        if weight is None:
            return each, counted
        return each, weight[labels.where(counted, 0)].where(counted, 0)

    # Answers: the first of the largest logits

    def accuracy(self, name: str) -> Metric:
        return Metric(name, True, partial(sum_of_values, self.right), reference=0.0)

    def answered(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the class of each answer and of each label, a mask of the labels that count, and
        0, or NaN if a largest logit is not finite: a network without numbers has no accuracy."""
        logits, labels, counted = self.checked(logits.detach(), labels)
        truth = labels.argmax(1) if labels.is_floating_point() else labels
        rule = f"Labels must be 0 to {logits.shape[1] - 1}, the classes of the logits, or the "
        rule += f"`ignore_index` {self.ignore_index}."
        logits = or_nan(logits, beyond(truth, counted, logits.shape[1]), truth, rule)
        largest, classes = logits.max(1)
        return classes, truth, counted, exact((0 * largest).where(counted, 0).sum())

    def right(self, logits: Tensor, labels: Tensor) -> Values:
        """Return 1 for a right answer, else 0, and a mask of the labels that count."""
        classes, truth, counted, lost = self.answered(logits, labels)
        return (classes == truth) + lost.to(logits), counted

    def confusion(self, logits: Tensor, labels: Tensor) -> Float[Tensor, "C C"]:
        """Return the confusion matrix of a batch."""
        classes, truth, counted, lost = self.answered(logits, labels)
        return exact(confusion_matrix(classes, truth, counted, logits.shape[1])) + lost


def beyond(labels: Tensor, counted: Tensor, num_classes: int) -> Tensor:
    """Return a mask of the labels that are out of range."""
    return counted & ((labels < 0) | (labels >= num_classes))


def or_nan(logits: Tensor, wrong: Tensor, labels: Tensor, rule: str) -> Tensor:
    """Return `logits`. Raise InputError, by the `rule`, if a label is `wrong`. On an accelerator,
    which would be waited for, all logits are NaN instead."""
    if wrong.device.type != "cpu":
        return logits.masked_fill(wrong.any(), torch.nan)
    if wrong.any():
        raise InputError(f"{rule} Found {labels[wrong][0].item():g}.")
    return logits


def positive(name: str, weights: Any, one: bool = False) -> Any:
    """Return `weights` without torch or numpy. Raise InputError unless they are several numbers
    above 0, or a single one if `one`."""
    try:
        numbers = torch.as_tensor(weights, dtype=torch.float64)
    except (RuntimeError, TypeError, ValueError):
        numbers = torch.empty(0, 0)
    if numbers.ndim != 1 and not (one and numbers.ndim == 0):
        raise InputError(f"`{name}` must be a list of numbers above 0. Found {shown(weights)}.")
    for number in numbers.flatten().tolist():
        check_number(name, number, 0, above=True)
    return numbers.tolist()


def check_ignore_index(name: str, ignore_index: object) -> None:
    """Raise InputError unless `ignore_index`, of the task `name`, is an integer."""
    if not is_number(ignore_index) or not isinstance(ignore_index, Integral):
        raise InputError(
            f"`ignore_index` of task {name} must be the integer that means a missing label; a loss "
            f"of your own is for Task(name, loss, metrics). Found {shown(ignore_index)}."
        )


def classification(
    name: str,
    ignore_index: int = -100,
    *,
    class_weight: PerClass | None = None,
    metrics: Sequence[Any] | None = None,
    output: str | None = None,
) -> Task:
    """Return a task of classes, trained on cross-entropy: logits [n, C] and labels [n], or logits
    [n, C, ...] and labels [n, ...], as of tokens.

    Labels are integers, or class probabilities of the shape of the logits; with these an answer is
    right where it is the most probable class. Labels [n] may be whole numbers of floats, as pandas
    has them in a column with missing ones.

    - `ignore_index`: the integer that means a missing label. Among floats NaN does.
    - `class_weight`: C numbers > 0, torch's `weight`. A label counts as much as its class weighs,
      in the loss and in the metric "loss". If labels are probabilities, their terms are weighed,
      and the mean is over the number of labels.
    - `metrics`: metrics as in `Task`, or the names of the default ones, "accuracy" and "loss", the
      loss of training: `["accuracy", AUROC(...)]`. An object of torchmetrics gets logits [k, C] and
      labels [k].
    - `output`: the name of another task, whose output this one judges, as in `Task`.

    The loss raises InputError for labels of another shape.
    """
    check_ignore_index(name, ignore_index)
    weights = None if class_weight is None else tuple(positive("class_weight", class_weight))
    classes = Classes(ignore_index, weights)
    of_loss = Metric.mean("loss", classes.cross_entropy, maximise=False, count=classes.count)
    chosen = chosen_of((classes.accuracy("accuracy"), of_loss), metrics)
    loss, labelled = classes.cross_entropy, classes.labelled
    return Task(name, loss, chosen, classes.count, labelled, output=output)


def segmentation(
    name: str,
    num_classes: int,
    ignore_index: int = -1,
    *,
    class_weight: PerClass | None = None,
    metrics: Sequence[Any] | None = None,
    output: str | None = None,
) -> Task:
    """Return a task of a class for every pixel, trained on cross-entropy: logits [n, num_classes,
    H, W] and integer labels [n, H, W].

    - `ignore_index`, `class_weight`: as in `classification`.
    - `metrics`: metrics as in `Task`, or the names of the default ones: "mIoU", the mean over
      classes of intersection over union, "pixel accuracy", and "loss", the loss of training. mIoU
      comes from one confusion matrix of all pixels, without classes that neither occur nor are
      predicted. An object of torchmetrics gets logits [k, num_classes] and labels [k].
    - `output`: the name of another task, whose output this one judges, as in `Task`.

    The loss raises InputError for logits of another number of classes, and for labels of another
    shape or of floats.
    """
    check_number("num_classes", num_classes, 1, whole=True)
    check_ignore_index(name, ignore_index)
    weights = None if class_weight is None else tuple(positive("class_weight", class_weight))
    classes = Classes(ignore_index, weights, num_classes)
    defaults = (
        Metric("mIoU", True, classes.confusion, mean_iou, reference=0.0),
        classes.accuracy("pixel accuracy"),
        Metric("loss", False, partial(sum_of_values, classes.cross_entropies)),
    )
    loss, labelled = partial(mean_of_values, classes.cross_entropies), classes.labelled
    chosen = chosen_of(defaults, metrics)
    return Task(name, loss, chosen, classes.count, labelled, output=output)


@torch.no_grad()
def confusion_matrix(
    predicted: Int[Tensor, "*pixels"],
    labels: Int[Tensor, "*pixels"],
    counted: Bool[Tensor, "*pixels"],
    num_classes: int,
) -> Int[Tensor, "C C"]:
    """Return the number of `counted` pixels with the label of the row and the prediction of the
    column."""
    others = num_classes**2  # one more bin, for pixels that do not count
    bins = (labels * num_classes + predicted).where(counted, others).flatten()
    # Not bincount, which waits for a GPU to find the largest entry.
    counts = bins.new_zeros(others + 1).index_add_(0, bins, torch.ones_like(bins))
    return counts[:others].view(num_classes, num_classes)


def mean_iou(confusion: Num[Tensor, "C C"]) -> float:
    """Return the mean over classes of intersection over union, in [0, 1], higher is better.

    Classes that are in neither the rows nor the columns of `confusion` do not count. The mean is
    NaN if no class counts, or if the matrix is NaN because answers were not finite.
    """
    both = confusion.diagonal()
    either = confusion.sum(0) + confusion.sum(1) - both
    return float((exact(both) / exact(either))[either > 0].mean())
