"""A task with an output and a target for it, and what these say of its loss and its metric."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pamal_core.skeleton import full_precision
from pamal_core.tasks import Task


class Judged(NamedTuple):
    """A task, its output for some inputs at some weights, and the target of these inputs."""

    task: Task
    output: Tensor
    target: Tensor

    def loss(self, output: Tensor) -> float:
        """Return the loss of another output, NaN if it has none."""
        with suppress(Exception), torch.no_grad(), full_precision(output.device):
            return float(self.task.loss(output, self.target))
        return math.nan

    def asks_for_numbers(self) -> bool:
        """Return whether a task asks for its targets themselves: if they are the output, the loss
        is 0, and otherwise above."""
        task, output, target = self
        if task.chances is not None or target.numel() != output.numel():
            return False
        answer = target.reshape(output.shape).to(output.dtype).nan_to_num()
        return abs(self.loss(answer)) <= 1e-6 < self.loss(answer + 1)

    def is_perfect_if_constant(self) -> bool:
        """Return whether the mean output in place of each output, or 0, attains the bound of the
        metric."""
        metric, output = self.task.metrics[0], self.output
        answers = output.mean(0, keepdim=True).expand_as(output), torch.zeros_like(output)
        with suppress(Exception):  # a metric may fail if all outputs are equal
            values = [float(metric(answer, self.target)) for answer in answers]
            return any(is_bound(value, metric.maximise) for value in values)
        return False


@dataclass
class Moments:
    """The number of values seen so far, and their sum and sum of squares about the first mean."""

    number: int = 0
    first: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, values: Tensor) -> None:
        values = values[values.isfinite()].double()
        if not self.number and len(values):
            self.first = float(values.mean())
        self.number += len(values)
        self.total += float((values - self.first).sum())
        self.squares += float((values - self.first).square().sum())

    @property
    def deviation(self) -> float:
        if not self.number:
            return 0.0
        return math.sqrt(max(self.squares / self.number - (self.total / self.number) ** 2, 0.0))


def by_answer(output: Tensor) -> Tensor:
    """Return outputs [n, C, ...] as answers [n ..., C], and outputs [n] as they are."""
    return output.movedim(1, -1).flatten(0, -2) if output.ndim > 1 else output


def is_bound(value: float, maximise: bool) -> bool:
    """Return whether `value` is the best that a metric can be: 1 if higher is better, else 0."""
    return abs(value - (1 if maximise else 0)) < 1e-6


def is_between_0_and_1(output: Tensor) -> bool:
    """Return whether all of `output` is in [0, 1]."""
    return bool(((output >= 0) & (output <= 1)).all())


def disturbed(weight: Tensor, rng: torch.Generator) -> Tensor:
    """Return `weight` with noise that is large beside it."""
    weight = weight.detach()
    scale = 10 * max(float(weight.std()) if weight.numel() > 1 else 0.0, 0.1)
    return weight + scale * torch.randn(weight.shape, generator=rng).to(weight)
