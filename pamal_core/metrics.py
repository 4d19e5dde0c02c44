"""Metrics: statistics that are gathered over batches, and the values that come of them."""

import copy
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.errors import InputError, check_type, is_number, shown
from pamal_core.inputs import described_alone

Pair = tuple[Tensor, Tensor]
Values = Pair
"""A value for each label, and the weight of each value in their mean: 0 or False if the label is
missing."""
AT_MOST_ONE = "HammingDistance", "CalibrationError", "RankingLoss"
"""The ends of the names of torchmetrics' metrics, lower is better, whose largest value is 1. Its
`plot_upper_bound` is the axis of a plot: 1 for a hinge loss, too, which has no bound."""


def ratio(sums: Tensor) -> Tensor:
    """Return the value of a metric whose statistic is (sum, count); NaN if the count is 0."""
    return sums[0] / sums[1]


@dataclass(frozen=True)
class Metric:
    """A metric that is gathered batch by batch.

    - `name`: the name of its column, behind the name of the task.
    - `maximise`: whether higher is better.
    - `statistic(output, target)`: what is added up over batches. A tensor has the same shape for
      batches of any size: an accuracy sums (correct, seen), a mean intersection over union sums
      confusion matrices. A list gets longer. It gets both as the batch has them: labels that are
      missing are there, and have to be left out.
    - `value(total)`: the metric of the added statistics. By default these are a sum and a count,
      and the value is the first divided by the second. It is NaN if `value` divides by 0.
    - `reference`: the value that is worth nothing in a hypervolume: 0 for an accuracy, None for a
      loss.
    """

    name: str
    maximise: bool
    statistic: Callable[[Tensor, Tensor], Any]
    value: Callable[[Any], Any] = ratio
    reference: float | None = None

    def __post_init__(self) -> None:
        check_type("name", self.name, str, '"accuracy"')
        if self.maximise not in (True, False):
            raise InputError(
                f"`maximise` of metric {self.name} must be True or False. Found "
                f"{shown(self.maximise)}."
            )
        if not (self.reference is None or is_number(self.reference)):
            raise InputError(
                f"`reference` of metric {self.name} must be a number or None. Found "
                f"{shown(self.reference)}."
            )

    @classmethod
    def mean(
        cls,
        name: str,
        function: Callable[[Tensor, Tensor], Any],
        *,
        maximise: bool,
        count: Callable[[Tensor], Tensor | int] = len,
        reference: float | None = None,
    ) -> "Metric":
        """Return the mean over examples of a `function(output, target)` that averages over a batch.

        `function` gets both as the batch has them, labels that are missing included.
        `count(target)` is the number of examples in a batch: all, unless some have no label. A
        batch whose count is 0 does not count, whatever `function` returns; the metric is NaN if no
        batch counts.
        """
        return cls(name, maximise, partial(sum_of_means, function, count), reference=reference)

    def __call__(self, output: Tensor, target: Tensor) -> float:
        """Return the metric of one batch."""
        return self.of(self.statistic(output, target))

    def add(self, total: Any, output: Tensor, target: Tensor) -> Any:
        """Add the statistic of a batch to `total`, a sum of statistics or None, and return it."""
        statistic = self.statistic(output, target)
        is_ratio = self.value is ratio
        if isinstance(statistic, tuple) or (isinstance(statistic, list) and is_ratio):
            raise InputError(
                f"The statistic of metric {self.name} must be a tensor, as torch.stack([correct, "
                "seen]) is, or a list with a `value` of its own: others are not added up. Found a "
                f"{type(statistic).__name__}."
            )
        shape = tuple(getattr(statistic, "shape", ()))
        if is_ratio and (shape[:1] != (2,) or math.prod(shape) != 2):
            raise InputError(
                f"The statistic of metric {self.name} must be a sum and a count, as "
                "torch.stack([correct, seen]) is, unless it has a `value` of its own; Metric.mean "
                f"takes a mean. Found {described_alone(statistic)}."
            )
        return statistic if total is None else total + statistic

    def of(self, total: Any) -> float:
        """Return the metric of a sum of statistics; NaN if the sum is None or the metric 0 / 0."""
        try:
            return math.nan if total is None else float(self.value(total))
        except ZeroDivisionError:
            return math.nan


@dataclass(frozen=True)
class Gathered:
    """An object with torchmetrics' interface in the role of a `Metric`: a copy of the object gets
    all labels that are not missing, batch by batch."""

    name: str
    metric: Any
    labelled: Callable[[Tensor, Tensor], Pair]

    @property
    def maximise(self) -> bool:
        return bool(self.metric.higher_is_better)

    @property
    def reference(self) -> float | None:
        """Return the worst value of the metric, None if it is unknown, or 0.5 for an AUROC."""
        kind = type(self.metric)
        if "AUROC" in kind.__name__:
            return 0.5
        if self.maximise:
            bound = getattr(self.metric, "plot_lower_bound", None)
            return None if bound is None else float(bound)
        is_known = kind.__module__.startswith("torchmetrics.")
        return 1.0 if is_known and kind.__name__.endswith(AT_MOST_ONE) else None

    def __call__(self, output: Tensor, target: Tensor) -> float:
        """Return the metric of one batch."""
        return self.of(self.add(None, output, target))

    def add(self, total: Any, output: Tensor, target: Tensor) -> Any:
        """Give the labels of a batch to `total`, a copy of the object or None, and return it."""
        output, target = self.labelled(output.detach(), target)
        if not target.numel():
            return total
        if total is None:
            total = self._copy()
            if hasattr(total, "to"):
                total = total.to(output.device)
        total.update(output, target)
        return total

    def of(self, total: Any) -> float:
        """Return the metric of the labels that `total` got; NaN if it is None. Raise InputError
        unless the metric is one number."""
        return math.nan if total is None else self._number(total.compute())

    def check(self) -> None:
        """Raise InputError if a copy computes several numbers from no labels, or from two if it
        names their classes. Most metrics of several numbers are seen so before any training."""
        value = None
        with warnings.catch_warnings(), suppress(Exception):  # there may be too few labels for it
            warnings.simplefilter("ignore")
            total = self._copy()
            if classes := getattr(total, "num_classes", None):
                total.update(torch.eye(2, classes), torch.arange(2))
            elif labels := getattr(total, "num_labels", None):
                total.update(torch.eye(2, labels), torch.eye(2, labels).long())
            value = total.compute()
        if value is not None:
            self._number(value)

    def _copy(self) -> Any:
        """Return a copy that has got no labels."""
        total = copy.deepcopy(self.metric)
        total.reset()
        if hasattr(total, "sync_on_compute"):  # else it waits for other processes
            total.sync_on_compute = False
        return total

    def _number(self, value: Any) -> float:
        if not hasattr(value, "__float__") or math.prod(getattr(value, "shape", ())) != 1:
            raise InputError(
                f"Metric {self.name} must be one number, such as the mean over classes. "
                f"Found {described_alone(value)}."
            )
        return float(value)


def sum_of_means(
    mean: Callable[[Tensor, Tensor], Any],
    count: Callable[[Tensor], Tensor | int],
    output: Tensor,
    target: Tensor,
) -> Float[Tensor, " 2"]:
    """Return the mean over a batch times the number of its labels, and that number."""
    found = mean(output, target)
    if not hasattr(found, "__float__") or math.prod(getattr(found, "shape", ())) != 1:
        raise InputError(
            "The function of a `Metric.mean` must return one number, the mean over a batch. Found "
            f"{described_alone(found)}."
        )
    value = exact(torch.as_tensor(found).detach()).flatten()[0]
    seen = exact(torch.as_tensor(count(target))).to(value.device)
    return torch.stack([(value * seen).where(seen > 0, 0), seen])


def sum_of_values(
    values: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor
) -> Float[Tensor, " 2"]:
    """Return the sum of the values of a batch whose weight is not 0, and the sum of the weights."""
    each, weights = values(output.detach(), target)
    return torch.stack([exact(each.where(weights > 0, 0)).sum(), exact(weights).sum()])


def mean_of_values(
    values: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor
) -> Float[Tensor, ""]:
    """Return the mean over the labels of a batch that are not missing; 0 if all are."""
    each, weights = values(output, target)
    total = weights.sum()
    return each.where(weights > 0, 0).sum() / total.where(total > 0, 1)


def exact(values: Tensor) -> Tensor:
    """Return `values` in float64: on their device, so that nothing waits for it, or on the CPU if
    the device is Apple's, which has no float64."""
    return (values.cpu() if values.device.type == "mps" else values).double()
