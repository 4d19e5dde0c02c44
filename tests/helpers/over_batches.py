"""Metrics, gathered as `evaluate` does it."""

from typing import Any

from torch import Tensor

from pamal_core.tasks import Task


def gathered(metric: Any, outputs: Tensor, targets: Tensor, size: int = 2) -> float:
    """The metric over batches of `size` examples."""
    total = None
    for output, target in zip(outputs.split(size), targets.split(size), strict=True):
        total = metric.add(total, output, target)
    return metric.of(total)


def judged(task: Task, outputs: Tensor, targets: Tensor, size: int = 2) -> list[float]:
    """All metrics of `task`."""
    return [gathered(metric, outputs, targets, size) for metric in task.metrics]
