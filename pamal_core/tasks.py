"""Tasks: the loss that trains one, and the metrics that judge it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.memory import is_out_of_memory
from pamal_core.shapes import ByTask


@dataclass(frozen=True)
class Metric:
    """A metric that can be gathered batch by batch.

    `statistic(output, target)` is a tensor that may be summed over batches, and `value` turns the
    sum into the metric. An accuracy sums (correct, seen) and divides; a mean
    intersection-over-union would sum confusion matrices.
    """

    name: str
    maximise: bool
    statistic: Callable[[Tensor, Tensor], Tensor]
    value: Callable[[Tensor], float]


@dataclass(frozen=True)
class Task:
    """A name, a differentiable loss (the mean over a batch, to be minimised), and metrics, the most
    important first.

    All are given an output and a target as they are, so a loss that broadcasts takes [n, 1] and [n]
    for n x n pairs; `regression` flattens both.
    """

    name: str
    loss: Callable[[Tensor, Tensor], Tensor]
    metrics: tuple[Metric, ...]


def task_losses(tasks: Sequence[Task], outputs: Any, targets: Sequence[Tensor]) -> ByTask:
    """The loss of every task, given what the network returned.

    InputError unless there is one output and one target for each, with as many examples, that the
    loss takes and makes one number of.
    """
    check_counts(tasks, outputs, targets)
    return torch.stack([_loss(*triple) for triple in zip(tasks, outputs, targets, strict=True)])


def check_names(tasks: Sequence[Task]) -> None:
    """InputError unless `tasks` are tasks with metrics; or where two have one name, or two metrics
    of a task: they would be one column."""
    if not isinstance(tasks, tuple | list) or not all(isinstance(task, Task) for task in tasks):
        raise InputError(f"`tasks` must be a list of Tasks. Found {described(tasks)}.")
    for task in tasks:
        found = task.metrics if isinstance(task.metrics, tuple | list) else ()
        if not found or not all(isinstance(metric, Metric) for metric in found):
            raise InputError(
                f"Task {task.name} must have a tuple of Metrics. Found {described(task.metrics)}."
            )
        _check_distinct(f"Every metric of task {task.name}", [metric.name for metric in found])
    _check_distinct("Every task", [task.name for task in tasks])


def _check_distinct(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise InputError(f"{what} must have a name of its own. Found {', '.join(names)}.")


def check_counts(tasks: Sequence[Task], outputs: Any, targets: Sequence[Tensor]) -> None:
    """InputError unless there is an output and a target for each of `tasks`."""
    check_outputs(outputs)
    if not len(outputs) == len(targets) == len(tasks):
        raise InputError(
            f"There must be an output of the network and a target of the batch for each of "
            f"{len(tasks)} tasks. Found {len(outputs)} outputs and {len(targets)} targets."
        )


def check_outputs(outputs: Any) -> None:
    """InputError unless `outputs` is a tuple or list, as of one tensor per task."""
    if not isinstance(outputs, tuple | list):
        raise InputError(
            "The network must return a tuple or list with one tensor per task. "
            f"Found {described(outputs)}."
        )
    if not all(isinstance(output, Tensor) for output in outputs):
        raise InputError(f"Each output must be one tensor. Found {described(outputs)}.")


def _loss(task: Task, output: Tensor, target: Tensor) -> Float[Tensor, ""]:
    if output.ndim and target.ndim and len(output) != len(target):
        raise InputError(
            f"Task {task.name} must have one target per example. "
            f"Found {len(output)} outputs and {len(target)} targets."
        )
    try:
        loss = task.loss(output, target)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if is_out_of_memory(error):
            raise
        given = " and ".join(
            f"{name} {list(part.shape)} of {str(part.dtype).removeprefix('torch.')}"
            for name, part in (("output", output), ("target", target))
        )
        raise InputError(
            f"The loss of task {task.name} must take what it is given. Found {given}: {error}"
        ) from error
    if loss.ndim:
        raise InputError(
            f"The loss of task {task.name} must be one number, the mean over the batch. "
            f"Found a tensor {list(loss.shape)}."
        )
    return loss


def mean_metric(name: str, maximise: bool, mean: Callable[[Tensor, Tensor], Tensor]) -> Metric:
    """A metric that is the mean over examples of what `mean(output, target)` averages over one
    batch."""

    def statistic(output: Tensor, target: Tensor) -> Tensor:
        value, count = exact(mean(output, target).detach()), len(target)
        return torch.stack([value * count, torch.full_like(value, count)])

    return Metric(name, maximise, statistic, ratio)


def exact(values: Tensor) -> Tensor:
    """`values` in float64: on their device, so that nothing waits for it, or on the CPU where that
    is Apple's, which has none."""
    return (values.cpu() if values.device.type == "mps" else values).double()


def ratio(sums: Float[Tensor, " 2"]) -> float:
    """The value of a metric whose statistic is (sum, count); NaN where the count is 0."""
    return float(sums[0] / sums[1])


def _accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    return exact(logits.argmax(-1) == labels).mean()


def classification(name: str) -> Task:
    """Cross-entropy on logits [n, classes] and labels [n]; judged by accuracy, a share in [0, 1],
    higher is better."""
    metrics = mean_metric("accuracy", True, _accuracy), mean_metric("loss", False, F.cross_entropy)
    return Task(name, F.cross_entropy, metrics)


def regression(name: str, loss: Callable[[Tensor, Tensor], Tensor] = F.huber_loss) -> Task:
    """A regression judged by its own loss (Huber by default, as for age in section 5.2), lower is
    better.

    Outputs [n, 1] and targets [n], of any number type, are both taken as [n].
    """

    def flat(output: Tensor, target: Tensor) -> Tensor:
        return loss(output.flatten(), target.flatten().to(output.dtype))

    return Task(name, flat, (mean_metric("loss", False, flat),))
