"""Tasks of labels that hold or not, with one logit each: of one label, or of several at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from pamal_core.classes import Weights, largest_share, or_nan
from pamal_core.errors import InputError, check_number
from pamal_core.inputs import described
from pamal_core.metrics import Metric, Pair, Values, exact, mean_of_values, sum_of_values
from pamal_core.numbers import check_order
from pamal_core.tasks import Task, chosen_of

PosWeight = float | int | Weights | None


@dataclass(frozen=True)
class Binary:
    """What these tasks compute of logits and labels 0 or 1: one of each, or L if `several`.

    - `ignore_index`: the integer that means a missing label. NaN does, too.
    - `pos_weight`: how much a 1 counts in the loss where a 0 counts 1, one number or L.
    """

    ignore_index: int
    pos_weight: PosWeight
    several: bool = False

    def __post_init__(self) -> None:
        weights = torch.as_tensor(1 if self.pos_weight is None else self.pos_weight).double()
        for weight in weights.flatten().tolist():
            check_number("pos_weight", weight, 0, above=True)
        object.__setattr__(self, "pos_weight", weights.tolist())

    def present(self, labels: Tensor) -> Tensor:
        """Return which labels are there."""
        labels = labels.float()  # -100 would be 156 among labels of eight bits
        return (labels != self.ignore_index) & ~labels.isnan()

    def count(self, labels: Tensor) -> Tensor:
        return self.present(labels).sum()

    def checked(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits and labels [k, L], a missing label as 0, and which labels count.

        Raise InputError unless there is a label 0 or 1 for each logit.
        """
        columns = logits.shape[1:2].numel()
        fits = logits.ndim == 2 and logits.shape == labels.shape if self.several else columns == 1
        if isinstance(self.pos_weight, list):  # which would broadcast
            fits &= len(self.pos_weight) == columns
        if not fits:
            raise InputError(
                "A label needs one logit: [n] or [n, 1] in a `binary`, [n, L] in a `multilabel`, "
                "with one `pos_weight` or L. Two logits are for a `classification`. Found "
                f"{described(logits)}, {described(labels)} and pos_weight={self.pos_weight}."
            )
        check_order(logits, labels)
        counted, values = self.present(labels), labels.to(logits.dtype)
        wrong = counted & (values != 0) & (values != 1)
        rule = f"A label must be 0 or 1, or NaN or {self.ignore_index} where it is missing."
        logits = or_nan(logits, wrong, labels, rule)
        values = values.where(counted, 0).reshape(-1, columns)
        return logits.reshape(-1, columns), values, counted.reshape(-1, columns)

    def labelled(self, logits: Tensor, labels: Tensor) -> Pair:
        """Return probabilities and labels as integers: [k] each, or of `several` those [k, L] of
        examples that have a label, in which `ignore_index` is a missing one."""
        logits, labels, counted = self.checked(logits, labels)
        labels = labels.long().where(counted, self.ignore_index)
        kept = counted.any(1) if self.several else counted
        return logits.sigmoid()[kept], labels[kept]

    def cross_entropies(self, logits: Tensor, labels: Tensor) -> Values:
        """Return that of every label, and whether it counts."""
        logits, labels, counted = self.checked(logits, labels)
        weight, entropy = logits.new_tensor(self.pos_weight), F.binary_cross_entropy_with_logits
        return entropy(logits, labels, pos_weight=weight, reduction="none"), counted

    def right(self, logits: Tensor, labels: Tensor) -> Values:
        """Return 1 where an answer is right, else 0; NaN for a logit that is not finite."""
        logits, labels, counted = self.checked(logits, labels)
        return ((logits > 0) == (labels > 0)) + 0 * logits, counted

    # The best constant answer follows from how often each label holds

    def frequencies(self, logits: Tensor, labels: Tensor) -> Float[Tensor, "2 L"]:
        """Return how often each label is 0, and how often 1."""
        _, labels, counted = self.checked(logits, labels)
        ones = exact(labels).sum(0)
        return torch.stack([exact(counted).sum(0) - ones, ones])

    def least_loss(self, frequencies: Float[Tensor, "2 L"]) -> Tensor:
        """Return the loss of answering with the weighted share of ones of each label."""
        zeros, ones = frequencies
        mass = torch.stack([zeros, ones * ones.new_tensor(self.pos_weight)])
        return -torch.xlogy(mass, mass / mass.sum(0)).nansum() / frequencies.sum()

    def task(self, name: str, metrics: Sequence[Any] | None) -> Task:
        best = Metric("accuracy", True, self.frequencies, largest_share)
        least = Metric("loss", False, self.frequencies, self.least_loss)
        right, loss = (partial(sum_of_values, f) for f in (self.right, self.cross_entropies))
        accuracy = Metric("accuracy", True, right, constant=best, reference=0.0)
        chosen = chosen_of((accuracy, Metric("loss", False, loss, constant=least)), metrics)
        mean = partial(mean_of_values, self.cross_entropies)
        return Task(name, mean, chosen, self.count, self.labelled, torch.sigmoid)


def binary(
    name: str,
    ignore_index: int = -100,
    *,
    pos_weight: PosWeight = None,
    metrics: Sequence[Any] | None = None,
) -> Task:
    """Return a task of a label that holds or not, trained on the binary cross-entropy of one logit:
    logits [n] or [n, 1], or [n, 1, ...] of pixels, and labels [n, ...], with the 1 or without.

    Labels are 0 and 1, of bools, integers or floats. The answer is 1 where the logit is above 0:
    the model must not end in a sigmoid.

    - `ignore_index`: the integer that means a missing label. NaN does, too.
    - `pos_weight`: a number > 0, torch's: a 1 counts as much in the loss as so many 0s. The mean is
      over the number of labels.
    - `metrics`: those of `Task` in place of "accuracy" and "loss", what is trained on, which go by
      their names: `["accuracy", BinaryAUROC()]`. An object of torchmetrics gets probabilities [k]
      and labels [k].

    The loss raises InputError for two logits, and for labels other than 0 and 1.
    """
    return Binary(ignore_index, pos_weight).task(name, metrics)


def multilabel(
    name: str,
    ignore_index: int = -100,
    *,
    pos_weight: PosWeight = None,
    metrics: Sequence[Any] | None = None,
) -> Task:
    """Return a task of L labels of which any may hold: as `binary`, with logits [n, L] and labels
    [n, L], of which some may be missing, and `pos_weight` for all labels or L of them.

    "accuracy" is the share of all labels that are answered right. An object of torchmetrics gets
    probabilities [k, L] and labels [k, L] of the examples that have a label. If some lack others,
    tell it what stands for these: `MultilabelAUROC(L, ignore_index=-100)`.
    """
    return Binary(ignore_index, pos_weight, several=True).task(name, metrics)
