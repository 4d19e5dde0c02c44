"""Tasks: the loss that trains one, and the metrics that judge it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError


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
    important first."""

    name: str
    loss: Callable[[Tensor, Tensor], Tensor]
    metrics: tuple[Metric, ...]


def task_losses(
    tasks: Sequence[Task], outputs: Sequence[Tensor], targets: Sequence[Tensor]
) -> Float[Tensor, " T"]:
    """The loss of every task; InputError unless there is one output and one target for each, with
    as many examples."""
    if not len(outputs) == len(targets) == len(tasks):
        raise InputError(
            "The network must give one output and the batch one target per task. "
            f"Expected {len(tasks)}, found {len(outputs)} and {len(targets)}."
        )
    triples = list(zip(tasks, outputs, targets, strict=True))
    for task, output, target in triples:
        if output.ndim and target.ndim and len(output) != len(target):
            raise InputError(
                f"Task {task.name} must have one target per example. "
                f"Found {len(output)} outputs and {len(target)} targets."
            )
    return torch.stack([task.loss(output, target) for task, output, target in triples])


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

    Outputs [n, 1] and targets [n] are both taken as [n].
    """

    def flat(output: Tensor, target: Tensor) -> Tensor:
        return loss(output.flatten(), target.flatten())

    return Task(name, flat, (mean_metric("loss", False, flat),))
