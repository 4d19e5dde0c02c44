"""Tasks: the loss that trains one, and the metrics that judge it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.shapes import ByTask

Values = tuple[Tensor, Tensor]
"""A value for every label, and whether it counts."""


@dataclass(frozen=True)
class Metric:
    """A metric that can be gathered batch by batch.

    `statistic(output, target)` is a tensor that may be summed over batches, of one shape whatever
    their size, and `value` makes the metric of the sum: an accuracy sums (correct, seen) and
    divides, a mean intersection over union sums confusion matrices. `maximise` says whether higher
    is better.
    """

    name: str
    maximise: bool
    statistic: Callable[[Tensor, Tensor], Tensor]
    value: Callable[[Tensor], float]

    def __call__(self, output: Tensor, target: Tensor) -> float:
        """The metric of one batch."""
        return self.of(self.statistic(output, target))

    def add(self, total: Tensor | int, output: Tensor, target: Tensor) -> Tensor:
        """`total`, 0 or a sum of statistics, with that of another batch."""
        return total + self.statistic(output, target)

    def of(self, total: Tensor) -> float:
        """The metric of a sum of statistics; NaN where that is 0 / 0."""
        try:
            return float(self.value(total))
        except ZeroDivisionError:
            return math.nan


@dataclass(frozen=True)
class Task:
    """A task: its name, a differentiable loss (the mean over a batch, to be minimised), and its
    metrics, the most important first.

    `loss(output, target)` and the metrics get an output and a target as they are, so a loss that
    broadcasts makes n x n pairs of [n, 1] and [n]; `regression` flattens both. `count(target)` says
    how many labels a target has: where it is 0 the loss must be 0 with a gradient of 0. Neither
    function is called for a batch without a target of the task (None, or no key in the dict): the
    loss is then 0.

    The tasks made by the functions below pickle. A task with functions of your own pickles if these
    do.
    """

    name: str
    loss: Callable[[Tensor, Tensor], Tensor]
    metrics: tuple[Metric, ...]
    count: Callable[[Tensor], Tensor | int] = len


def task_losses(tasks: Sequence[Task], outputs: Any, targets: Sequence[Any]) -> ByTask:
    """The loss of every task: 0, with a gradient of 0, where a target is missing. InputError as of
    `by_task`, and unless each loss takes what it is given and makes one number of it."""
    names = ", ".join(task.name for task in tasks)
    in_order = isinstance(outputs, tuple | list) and len(tasks) > 1
    hint = f" (are outputs and targets in the order of the tasks: {names}?)" if in_order else ""
    return torch.stack([_loss(*triple, hint) for triple in by_task(tasks, outputs, targets)])


def label_counts(tasks: Sequence[Task], targets: Sequence[Any], device: torch.device) -> ByTask:
    """How many labels of each task follow the inputs in a batch."""
    found = torch.zeros(len(tasks), device=device)
    for t, (task, target) in enumerate(zip(tasks, _targets(tasks, targets), strict=True)):
        if target is not None:  # a target for the whole batch has no length
            found[t] = target.numel() if task.count is len else task.count(target)
    return found


def check_names(tasks: Sequence[Task]) -> None:
    """InputError unless `tasks` are tasks, and each column of a front has a name of its own."""
    if not isinstance(tasks, tuple | list) or not all(isinstance(task, Task) for task in tasks):
        raise InputError(f"`tasks` must be a list of Tasks. Found {described(tasks)}.")
    names = {"task": [task.name for task in tasks]}
    for task in tasks:
        found = task.metrics
        if not isinstance(found, tuple | list) or not all(isinstance(m, Metric) for m in found):
            raise InputError(
                f"Task {task.name} must have a tuple of Metrics. Found {described(found)}."
            )
        names[f"metric of task {task.name}"] = [metric.name for metric in found]
    names["column of a front"] = [f"{task.name}/{m.name}" for task in tasks for m in task.metrics]
    for what, given in names.items():
        texts = [str(name) for name in given]
        if len(set(given)) < len(given) or texts != given:
            raise InputError(
                f"Every {what} must have a name of its own, a text. Found {', '.join(texts)}."
            )


def by_task(
    tasks: Sequence[Task], outputs: Any, targets: Sequence[Any]
) -> list[tuple[Task, Tensor, Tensor | None]]:
    """Each task with its output and its target, None where a batch has none; both are in the order
    of the tasks, or in a dict by their names. InputError unless there is a tensor of outputs for
    each, no name is unknown, and each target has as many examples as its output."""
    found = outputs_by_task(tasks, outputs)
    wanted = _targets(tasks, targets)
    if not len(found) == len(wanted) == len(tasks):
        raise InputError(
            f"There must be an output of the network and a target of the batch for each of "
            f"{len(tasks)} tasks. Found {len(found)} outputs and {len(wanted)} targets."
        )
    triples = list(zip(tasks, found, wanted, strict=True))
    for task, output, target in triples:
        if not isinstance(output, Tensor):
            raise InputError(
                f"The output for task {task.name} must be one tensor. Found {described(output)}."
            )
        if target is not None and output.ndim and target.ndim and len(output) != len(target):
            raise InputError(
                f"Task {task.name} must have one target per example. "
                f"Found {len(output)} outputs and {len(target)} targets."
            )
    return triples


def outputs_by_task(tasks: Sequence[Task], outputs: Any) -> list[Any]:
    """What the network returned, in the order of the tasks, or else by their names."""
    names = [task.name for task in tasks]
    named = outputs._asdict() if hasattr(outputs, "_asdict") else outputs  # a named tuple
    if isinstance(named, Mapping) and set(named) == set(names):
        return [named[name] for name in names]
    if not isinstance(outputs, tuple | list):
        raise InputError(
            "The network must return a tuple or list with one tensor per task, or a dict with the "
            f"keys {', '.join(names)}. Found {described(outputs)}."
        )
    return list(outputs)


def _targets(tasks: Sequence[Task], targets: Sequence[Any]) -> list[Tensor | None]:
    if len(targets) != 1 or not isinstance(targets[0], Mapping):
        return list(targets)
    names = [task.name for task in tasks]
    if not targets[0] or not set(targets[0]) <= set(names):
        raise InputError(
            f"Targets by name must be those of the tasks, or of some of them: {', '.join(names)}. "
            f"Found {described(targets[0])}."
        )
    return [targets[0].get(name) for name in names]


def _loss(task: Task, output: Tensor, target: Tensor | None, hint: str) -> Float[Tensor, ""]:
    if target is None:
        return _nothing(output)
    loss = taken(task, "loss", task.loss, output, target, hint)
    if not isinstance(loss, Tensor) or loss.ndim:
        raise InputError(
            f"The loss of task {task.name} must be one number, the mean over the batch. "
            f"Found {described(loss).replace('one tensor', 'a tensor')}."
        )
    if loss.requires_grad or not torch.is_grad_enabled():
        return loss
    if loss != 0:  # of a batch without labels it may be a number
        raise InputError(
            f"The loss of task {task.name} must have a gradient. Found none, as of an output that "
            "is detached, of frozen layers alone, or given to argmax."
        )
    return loss + _nothing(output)


def _nothing(output: Tensor) -> Float[Tensor, ""]:
    """0, which depends on the output, but with a gradient of 0."""
    return output.flatten()[:0].sum()


def taken(
    task: Task,
    what: str,
    function: Callable[[Tensor, Tensor], Any],
    output: Tensor,
    target: Tensor,
    hint: str = "",
) -> Any:
    """`function(output, target)`; InputError, with the task and `what` it is, where it fails."""
    try:
        return function(output, target)
    except Exception as error:  # whatever a function of the user's may raise
        if isinstance(error, ArithmeticError | torch.OutOfMemoryError):
            raise
        shapes = [described(part).removeprefix("one tensor ") for part in (output, target)]
        raise InputError(
            f"The {what} of task {task.name} must take what it is given. "
            f"Found output {shapes[0]} and target {shapes[1]}: {error}{hint}"
        ) from error


def mean_metric(
    name: str,
    maximise: bool,
    mean: Callable[[Tensor, Tensor], Tensor],
    count: Callable[[Tensor], Tensor | int] = len,
) -> Metric:
    """A metric that is the mean over examples of what `mean(output, target)` averages over one
    batch.

    `count(target)` says over how many examples that is: over all, unless some have no label. A
    batch whose count is 0 does not count, whatever `mean` makes of it. The metric is NaN if no
    batch counts.
    """
    return Metric(name, maximise, partial(_sum_of_means, mean, count), _ratio)


def _sum_of_means(
    mean: Callable[[Tensor, Tensor], Tensor],
    count: Callable[[Tensor], Tensor | int],
    output: Tensor,
    target: Tensor,
) -> Float[Tensor, " 2"]:
    value, number = exact(torch.as_tensor(mean(output, target)).detach()), count(target)
    if isinstance(number, Tensor):
        seen = exact(number).to(value.device)
    else:  # filled in there, so that nothing waits for a GPU
        seen = torch.full_like(value, number)
    return torch.stack([(value * seen).where(seen > 0, 0), seen])


def average(name: str, maximise: bool, values: Callable[[Tensor, Tensor], Values]) -> Metric:
    """A metric that is the mean of `values(output, target)` over all labels that count."""
    return Metric(name, maximise, partial(_sum_of_values, values), _ratio)


def _sum_of_values(
    values: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor
) -> Float[Tensor, " 2"]:
    found, counted = values(output.detach(), target)
    return torch.stack([exact(found.where(counted, 0)).sum(), exact(counted).sum()])


def _ratio(sums: Float[Tensor, " 2"]) -> float:
    """The value of a metric whose statistic is (sum, count); NaN where the count is 0."""
    return float(sums[0] / sums[1])


def exact(values: Tensor) -> Tensor:
    """`values` in float64: on their device, so that nothing waits for it, or on the CPU where that
    is Apple's, which has none."""
    return (values.cpu() if values.device.type == "mps" else values).double()


def answers(
    logits: Float[Tensor, "n classes ..."], counted: Bool[Tensor, "n ..."]
) -> tuple[Int[Tensor, "n ..."], Float[Tensor, ""]]:
    """The class of each answer, the first of the largest; and 0, or NaN where a largest one that is
    `counted` is not finite: a network without numbers has no accuracy, though a class."""
    largest, classes = logits.detach().max(1)
    return classes, exact((0 * largest).where(counted, 0).sum())


def present(ignore_index: int, labels: Tensor) -> Tensor:
    """Which labels are there: not `ignore_index`, or class probabilities without a NaN."""
    if labels.is_floating_point():
        return labels.isnan().any(1).logical_not()
    return labels.long() != ignore_index  # -100 would be 156 among labels of eight bits


def num_present(ignore_index: int, labels: Tensor) -> Tensor:
    """How many labels are there."""
    return present(ignore_index, labels).sum()


def checked(
    ignore_index: int, logits: Tensor, labels: Tensor
) -> tuple[Tensor, Tensor, Tensor | float]:
    """`labels` that cross-entropy takes, which of them count, and 0.

    InputError unless `labels` are classes or class probabilities of the shape that `logits` [n, C,
    ...] ask for. A class out of range is torch's to refuse, on the CPU; on an accelerator the
    kernel would fail, and the process with it: there the 0 is NaN instead.
    """
    by_class, on_cpu = labels.is_floating_point(), labels.device.type == "cpu"
    needed = logits.shape if by_class else logits.shape[:1] + logits.shape[2:]
    if logits.ndim < 2 or logits.shape[1] < 2 or labels.shape != needed:
        raise InputError(
            "for logits [n, C, ...] with C >= 2 labels must be integers [n, ...] or probabilities "
            "of their shape"
        )
    counted, classes = present(ignore_index, labels), logits.shape[1]
    if by_class:
        labels = labels.to(logits.dtype).where(counted.unsqueeze(1), 1 / classes)
        wrong = ((labels.sum(1) - 1).abs() > 0.01) | (labels < 0).any(1)
        if on_cpu and wrong.any():
            raise InputError("probabilities must be at least 0, with sum 1 over the classes")
    else:
        labels = labels.long()
        if on_cpu:
            return labels, counted, 0.0
        wrong = counted & ((labels < 0) | (labels >= classes))
        counted = counted & ~wrong
        labels = labels.where(counted, ignore_index)
    return labels, counted, _nan_where(wrong.any(), logits)


def _nan_where(wrong: Tensor, like: Tensor) -> Tensor:
    return torch.zeros_like(wrong, dtype=like.dtype).masked_fill(wrong, torch.nan)


def right(ignore_index: int, logits: Tensor, labels: Tensor) -> Values:
    """1 where an answer is right, else 0."""
    labels, counted, fault = checked(ignore_index, logits, labels)
    truth = labels.argmax(1) if labels.is_floating_point() else labels
    classes, lost = answers(logits, counted)
    return (classes == truth) + (fault + lost.to(logits)), counted


def _cross_entropy(ignore_index: int, logits: Tensor, labels: Tensor) -> Tensor:
    """The mean over the labels that count; 0 where none does."""
    labels, counted, fault = checked(ignore_index, logits, labels)
    if labels.is_floating_point():
        values = F.cross_entropy(logits, labels, reduction="none").where(counted, 0)
        return values.sum() / counted.sum().clamp(min=1) + fault
    # torch's mean over no label is NaN, and so is its gradient: there it is given some label.
    some = counted.any()
    filled = labels.where(some, int(ignore_index == 0))
    return F.cross_entropy(logits, filled, ignore_index=ignore_index).where(some, 0) + fault


def classification(name: str, ignore_index: int = -100) -> Task:
    """Cross-entropy for logits [n, classes] and labels [n], or for logits [n, classes, ...] and
    labels [n, ...], as of tokens. Metrics: "accuracy", a share in [0, 1], higher is better; "loss",
    lower is better.

    Labels are integers, of which `ignore_index` means missing, or class probabilities of the shape
    of the logits, of which NaN means missing. With probabilities an answer is right where it is the
    most probable class. Loss and metrics are means over the labels that are there. A batch without
    any has a loss of 0 with a gradient of 0, and does not count in the metrics.

    The loss raises InputError for labels of another shape and for labels that are no class.
    """
    count, loss = partial(num_present, ignore_index), partial(_cross_entropy, ignore_index)
    metrics = (
        average("accuracy", True, partial(right, ignore_index)),
        mean_metric("loss", False, loss, count),
    )
    return Task(name, loss, metrics, count)


def check_order(output: Tensor, target: Tensor) -> None:
    """InputError unless there is a target for each number, and the axes are in the same order."""
    one, other = ([size for size in t.shape if size != 1] for t in (output, target))
    if output.numel() != target.numel() or (one != other and sorted(one) == sorted(other)):
        raise InputError(
            "there must be one target for each number of the output, with the axes in its order"
        )


_ZERO_AT_THE_TARGET = F.huber_loss, F.l1_loss, F.mse_loss, F.smooth_l1_loss


def _flat(loss: Callable[[Tensor, Tensor], Tensor], output: Tensor, target: Tensor) -> Tensor:
    """`loss` on the numbers that have a target; 0 where none has."""
    check_order(output, target)
    output, target = output.flatten(), target.flatten().to(output.dtype)
    counted = target.isnan().logical_not()
    if loss in _ZERO_AT_THE_TARGET:
        # A selection would wait for a GPU. Missing ones, as if right, only dilute the mean.
        mean = loss(output, target.where(counted, output.detach()))
        return (mean * (counted.numel() / counted.sum().clamp(min=1))).where(counted.any(), 0)
    return loss(output[counted], target[counted]).where(counted.any(), 0)


def _not_nan(target: Tensor) -> Tensor:
    return target.isnan().logical_not().sum()


def regression(name: str, loss: Callable[[Tensor, Tensor], Tensor] = F.huber_loss) -> Task:
    """A regression by `loss`, Huber's by default, as for age in section 5.2. Metric: "loss", the
    same, lower is better.

    Outputs [n, 1] and targets [n], of any number type, are both taken as [n]. A NaN is a missing
    target: the loss is the mean over the others, and 0 with a gradient of 0 where there is none. It
    raises InputError unless there are as many targets as numbers in the output, with the axes in
    the same order.
    """
    flat = partial(_flat, loss)
    return Task(name, flat, (mean_metric("loss", False, flat, _not_nan),), _not_nan)
