"""Tasks of labels that hold or not, with one logit each: one label of an example, or several."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from pamal_core.classes import PerClass, check_ignore_index, or_nan, positive
from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.metrics import Metric, Pair, Values, mean_of_values, sum_of_values
from pamal_core.numbers import check_axes
from pamal_core.tasks import Task, chosen_of


def binary(
    name: str,
    ignore_index: int = -100,
    *,
    pos_weight: float | int | PerClass | None = None,
    metrics: Sequence[Any] | None = None,
    output: str | None = None,
) -> Task:
    """Return a task of labels that hold or not, trained on the binary cross-entropy of one logit
    each: logits and labels [n], or [n, L] if an example has L labels, of which any may hold.

    Logits of one label may also be [n, 1], or [n, 1, ...] for pixels, and labels [n, ...], with the
    1 or without. Labels are 0 and 1, of bools, integers or floats. The answer is 1 if the logit is
    above 0: the model must not end in a sigmoid. The loss and the metrics are means over labels.

    - `ignore_index`: the integer that means a missing label. NaN does, too.
    - `pos_weight`: a number > 0, or L of them, torch's: a 1 counts as much in the loss as so many
      0s. The mean is over the number of labels.
    - `metrics`: metrics as in `Task`, or the names of the default ones, "accuracy" and "loss", the
      loss of training: `["accuracy", BinaryAUROC()]`. An object of torchmetrics gets probabilities
      [k] and labels [k]. If an example has L labels, the object gets both [k, L], of the examples
      that have a label. If such an example lacks others, tell the object what stands for these:
      `MultilabelAUROC(L, ignore_index=-100)`.
    - `output`: the name of another task, whose output this one judges, as in `Task`.

    The loss raises InputError for two logits of one label, and for labels other than 0 and 1.
    """
    check_ignore_index(name, ignore_index)
    weight = 1.0 if pos_weight is None else positive("pos_weight", pos_weight, one=True)
    right, entropies = partial(_right, ignore_index), partial(_entropies, ignore_index, weight)
    defaults = (
        Metric("accuracy", True, partial(sum_of_values, right), reference=0.0),
        Metric("loss", False, partial(sum_of_values, entropies)),
    )
    loss, chosen = partial(mean_of_values, entropies), chosen_of(defaults, metrics)
    count, labelled = partial(_count, ignore_index), partial(_labelled, ignore_index)
    return Task(name, loss, chosen, count, labelled, torch.sigmoid, output)


def _present(ignore_index: int, labels: Tensor) -> Tensor:
    """Return a mask of the labels that are not missing."""
    labels = labels.float()  # -100 would be 156 among labels of eight bits
    return (labels != ignore_index) & ~labels.isnan()


def _count(ignore_index: int, labels: Tensor) -> Tensor:
    return _present(ignore_index, labels).sum()


def checked(ignore_index: int, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return logits and labels [k, L], with 0 for a missing label, and a mask of the others.

    Raise InputError unless there is a label 0 or 1 for each logit.
    """
    columns = logits.shape[1:2].numel()
    if columns != 1 and (logits.ndim != 2 or logits.shape != labels.shape):
        raise InputError(
            "Each label must have one logit: both are [n] or [n, L], and logits of one label may "
            "be [n, 1, ...]. Two logits of one label are for a `classification`. Found "
            f"{described(logits)} and {described(labels)}."
        )
    check_axes(logits, labels)
    counted, values = _present(ignore_index, labels), labels.to(logits.dtype)
    wrong = counted & (values != 0) & (values != 1)
    rule = f"A label must be 0 or 1, or NaN or {ignore_index} if it is missing."
    logits, values = or_nan(logits, wrong, labels, rule), values.where(counted, 0)
    return logits.reshape(-1, columns), values.reshape(-1, columns), counted.reshape(-1, columns)


def _labelled(ignore_index: int, logits: Tensor, labels: Tensor) -> Pair:
    """Return probabilities and labels as integers: [k] each without missing labels, or of L labels
    [k, L] without examples that have none, and `ignore_index` for a missing label."""
    logits, labels, counted = checked(ignore_index, logits, labels)
    labels = labels.long().where(counted, ignore_index)
    kept = counted if labels.shape[1] == 1 else counted.any(1)
    return logits.sigmoid()[kept], labels[kept]


def _entropies(
    ignore_index: int, pos_weight: float | list[float], logits: Tensor, labels: Tensor
) -> Values:
    """Return the binary cross-entropy of every label, and a mask of those that are not missing."""
    logits, labels, counted = checked(ignore_index, logits, labels)
    if isinstance(pos_weight, list) and len(pos_weight) != logits.shape[1]:  # it would broadcast
        raise InputError(
            f"`pos_weight` must be one number, or one for each of {logits.shape[1]} labels. "
            f"Found pos_weight={pos_weight}."
        )
    weight, entropy = logits.new_tensor(pos_weight), F.binary_cross_entropy_with_logits
    return entropy(logits, labels, pos_weight=weight, reduction="none"), counted


def _right(ignore_index: int, logits: Tensor, labels: Tensor) -> Values:
    """Return 1 for a right answer, 0 for a wrong one and NaN for a logit that is not finite, and a
    mask of the labels that are not missing."""
    logits, labels, counted = checked(ignore_index, logits, labels)
    return ((logits > 0) == (labels > 0)) + 0 * logits, counted
