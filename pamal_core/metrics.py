"""Metrics: what is gathered over batches, and the value that comes of it."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.errors import InputError

Pair = tuple[Tensor, Tensor]
Values = Pair
"""A value for every label, and whether it counts, or with how much weight it is in the value."""


def ratio(sums: Tensor) -> Tensor:
    """Return the value of a metric whose statistic is (sum, count); NaN where the count is 0."""
    return sums[0] / sums[1]


@dataclass(frozen=True)
class Metric:
    """A metric that is gathered batch by batch.

    - `name`: that of its column, behind the name of the task.
    - `maximise`: whether higher is better.
    - `statistic(output, target)`: what is added up over batches. A tensor has one shape whatever
      their size: an accuracy sums (correct, seen), a mean intersection over union confusion
      matrices. A list gets longer.
    - `value(total)`: the metric of that sum; by default the first entry over the second. NaN where
      it divides by 0.
    - `constant`: the same metric of the best constant answer to these labels, if that is known.
    - `reference`: the value that is worth nothing in a hypervolume, 0 of an accuracy; a loss has
      none.
    """

    name: str
    maximise: bool
    statistic: Callable[[Tensor, Tensor], Any]
    value: Callable[[Any], Any] = ratio
    constant: "Metric | None" = None
    reference: float | None = None

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
        """Return the mean over examples of what `function(output, target)` averages over a batch.

        `count(target)` is over how many examples that is: over all, unless some have no label. A
        batch whose count is 0 does not count, whatever `function` makes of it; the metric is NaN if
        no batch counts.
        """
        return cls(name, maximise, partial(sum_of_means, function, count), reference=reference)

    def __call__(self, output: Tensor, target: Tensor) -> float:
        """Return the metric of one batch."""
        return self.of(self.statistic(output, target))

    def add(self, total: Any, output: Tensor, target: Tensor) -> Any:
        """Return `total`, a sum of statistics or None, with that of another batch."""
        statistic = self.statistic(output, target)
        if isinstance(statistic, tuple) or (isinstance(statistic, list) and self.value is ratio):
            raise InputError(
                f"The statistic of metric {self.name} must be a tensor, as torch.stack([correct, "
                "seen]) is, or a list with a `value` of its own: others are not added up. Found a "
                f"{type(statistic).__name__}."
            )
        return statistic if total is None else total + statistic

    def of(self, total: Any) -> float:
        """Return the metric of a sum of statistics; NaN where that is None or 0 / 0."""
        try:
            return math.nan if total is None else float(self.value(total))
        except ZeroDivisionError:
            return math.nan


@dataclass(frozen=True)
class Gathered:
    """An object with torchmetrics' interface, used as a `Metric`: what is added up are copies of
    it, which get the labels that are there."""

    name: str
    metric: Any
    labelled: Callable[[Tensor, Tensor], Pair]
    constant: None = None

    @property
    def maximise(self) -> bool:
        return bool(self.metric.higher_is_better)

    @property
    def reference(self) -> float | None:
        """The worse bound of the object, if it names one; of an AUROC that of a coin."""
        if "AUROC" in type(self.metric).__name__:
            return 0.5
        name = "plot_lower_bound" if self.maximise else "plot_upper_bound"
        bound = getattr(self.metric, name, None)
        return None if bound is None else float(bound)

    def __call__(self, output: Tensor, target: Tensor) -> float:
        return self.of(self.add(None, output, target))

    def add(self, total: Any, output: Tensor, target: Tensor) -> Any:
        output, target = self.labelled(output.detach(), target)
        if not target.numel():
            return total
        if total is None:
            total = copy.deepcopy(self.metric)
            total.reset()
            if hasattr(total, "to"):
                total = total.to(output.device)
            if hasattr(total, "sync_on_compute"):  # else it waits for other processes
                total.sync_on_compute = False
        total.update(output, target)
        return total

    def of(self, total: Any) -> float:
        return math.nan if total is None else float(total.compute())


def sum_of_means(
    mean: Callable[[Tensor, Tensor], Any],
    count: Callable[[Tensor], Tensor | int],
    output: Tensor,
    target: Tensor,
) -> Float[Tensor, " 2"]:
    """Return the mean over a batch times the number of its labels, and that number."""
    value = exact(torch.as_tensor(mean(output, target)).detach())
    seen = exact(torch.as_tensor(count(target))).to(value.device)
    return torch.stack([(value * seen).where(seen > 0, 0), seen])


def sum_of_values(
    values: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor
) -> Float[Tensor, " 2"]:
    """Return the sum of the values of a batch that count, and of their weights."""
    found, weights = values(output.detach(), target)
    return torch.stack([exact(found.where(weights > 0, 0)).sum(), exact(weights).sum()])


def mean_of_values(
    values: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor
) -> Float[Tensor, ""]:
    """Return the mean over the labels of a batch that count; 0 where none does."""
    found, weights = values(output, target)
    total = weights.sum()
    return found.where(weights > 0, 0).sum() / total.where(total > 0, 1)


def exact(values: Tensor) -> Tensor:
    """Return `values` in float64: on their device, so that nothing waits for it, or on the CPU
    where that is Apple's, which has none."""
    return (values.cpu() if values.device.type == "mps" else values).double()
