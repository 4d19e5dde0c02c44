"""Tasks: a loss to train on, and the metrics that judge the outputs.

Losses and metrics are means over all labels that are not missing, of a batch or of a data set.
Losses and metrics of pixels are those of MTAN (Liu, Johns and Davison, CVPR 2019) but for the mean:
MTAN averages metrics over batches (mIoU and pixel accuracy over images). Such an average depends on
the batch size, and an image with few labels counts as much as one with many.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.errors import InputError, check_choice, shown
from pamal_core.inputs import by_name, described, described_alone
from pamal_core.metrics import Gathered, Metric, Pair
from pamal_core.weights import ByTask

Loss = Callable[[Tensor, Tensor], Tensor]


def as_given(output: Tensor, target: Tensor) -> Pair:
    """Return `output` and `target`: no label is missing."""
    return output, target


@dataclass(frozen=True)
class Task:
    """A task: a differentiable loss to be minimised, and the metrics that judge the outputs.

    - `name`: a name that no other task has.
    - `loss(output, target)`: the mean over a batch. The loss gets both as they are, so a loss that
      broadcasts makes n x n pairs of [n, 1] and [n]; `regression` flattens both. The loss is not
      called for a batch without a target (None, or no key in the dict), whose loss is 0.
    - `metrics`: the most important metric, which is the objective of a front, then others. Each is
      a `Metric` or an object with torchmetrics' interface (`update`, `compute`, `reset`,
      `higher_is_better`) that computes one number. An object is named after its class, or as in
      ("F1", object).
    - `count(target)`: the number of labels of a target, or the sum of their weights. Where no label
      counts, the loss must be 0 and have a gradient of 0.
    - `labelled(output, target)`: both without missing labels, as torchmetrics' objects get them.
    - `chances(output)`: the probabilities of labels that hold or not, from their logits.
    - `output`: the name of another task, whose output this one judges, too; the network then
      returns outputs for the other tasks alone. None means an output of its own.

    The tasks made by `classification` and its like pickle. A task with functions of your own
    pickles if the functions do.
    """

    name: str
    loss: Loss
    metrics: Sequence[Any]
    count: Callable[[Tensor], Tensor | int] = len
    labelled: Callable[[Tensor, Tensor], Pair] = as_given
    chances: Callable[[Tensor], Tensor] | None = None
    output: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name.splitlines() != [self.name]:
            raise InputError(
                f"The name of a task must be a text on one line. Found {shown(self.name)}."
            )
        check_loss(self.name, self.loss)
        if not _are_several(self.metrics):
            raise InputError(
                f"`metrics` of task {self.name} must be a list of them, even of one. Found "
                f"{described(self.metrics)}."
            )
        metrics = tuple(self._named(metric) for metric in self.metrics)
        object.__setattr__(self, "metrics", metrics)

    def _named(self, metric: Any) -> Metric | Gathered:
        """Return a metric with its name. Raise InputError unless it is a metric of one number."""
        if isinstance(metric, Metric | Gathered):
            return metric
        is_named = isinstance(metric, tuple) and len(metric) == 2
        name, judge = metric if is_named else (type(metric).__name__, metric)
        gathered = Gathered(name, judge, self.labelled)
        has_all = all(hasattr(judge, name) for name in ("update", "compute", "reset"))
        if has_all and not isinstance(judge, type):
            gathered.check()
            if getattr(judge, "higher_is_better", None) in (True, False):
                return gathered
        raise InputError(
            f"A metric of task {self.name} must be a Metric, the name of one that its kind of task "
            "has, or an object with torchmetrics' `update`, `compute`, `reset` and "
            f"`higher_is_better`, True or False. Found {judge!r}."
        )


def check_loss(name: str, loss: Any) -> None:
    """Raise InputError unless `loss`, of the task `name`, can be called with outputs and
    targets."""
    if isinstance(loss, type) or not callable(loss):
        raise InputError(
            f"`loss` of task {name} must be a function of outputs and targets, as nn.MSELoss() is. "
            f"Found {loss!r}."
        )


def task_losses(tasks: Sequence[Task], outputs: Any, targets: Sequence[Any]) -> ByTask:
    """Return the loss of every task: 0, with a gradient of 0, if its target is missing. Raise
    InputError as `by_task` does, and unless each loss is one number with a gradient."""
    return torch.stack([_loss(*triple) for triple in by_task(tasks, outputs, targets)])


def label_counts(tasks: Sequence[Task], targets: Sequence[Any], device: torch.device) -> ByTask:
    """Return the number of labels that each task has in a batch."""
    counts = torch.zeros(len(tasks), device=device)
    for t, (task, target) in enumerate(zip(tasks, targets_by_task(tasks, targets), strict=True)):
        if target is not None:  # a target for the whole batch has no length
            counts[t] = target.numel() if task.count is len else task.count(target)
    return counts


def check_tasks(tasks: Any) -> None:
    """Raise InputError unless `tasks` are tasks, and not, for example, names of tasks."""
    if not isinstance(tasks, Sequence) or not all(isinstance(task, Task) for task in tasks):
        raise InputError(
            '`tasks` must be a list of tasks, as regression("price") and classification("sold") '
            f"make them. Found {described(tasks)}."
        )


def check_names(tasks: Sequence[Task]) -> None:
    """Raise InputError unless all tasks, and all columns of a front, have unlike names, and each
    task judges an output that the network has."""
    check_tasks(tasks)
    slashed = any("/" in metric.name for task in tasks for metric in task.metrics)
    columns = columns_of(tasks)
    for what, names in (("task", [task.name for task in tasks]), ("column of a front", columns)):
        if len(set(names)) < len(names) or (names is columns and slashed):
            raise InputError(
                f"Every {what} must have a name of its own, and a metric one without a slash. "
                f"Found {', '.join(map(str, names))}."
            )
    for task in tasks:
        if task.output is not None:
            check_choice(f"output of task {task.name}", task.output, _with_outputs(tasks))


def columns_of(tasks: Sequence[Task]) -> list[str]:
    """Return the names of the columns that the metrics of the tasks have in a front."""
    return [f"{task.name}/{metric.name}" for task in tasks for metric in task.metrics]


def _with_outputs(tasks: Sequence[Task]) -> list[str]:
    """Return the names of the tasks that have an output of the network of their own."""
    return [task.name for task in tasks if task.output is None]


def by_task(
    tasks: Sequence[Task], outputs: Any, targets: Sequence[Any]
) -> list[tuple[Task, Tensor, Tensor | None]]:
    """Return each task with its output and its target, which is None if the batch has none.

    Outputs and targets are in the order of the tasks, or in a dict by the tasks' names. Raise
    InputError if their number is not that of the tasks, if a name is unknown, or if a target has
    another number of examples than its output.
    """
    ordered = outputs_by_task(tasks, outputs)
    wanted = targets_by_task(tasks, targets)
    if not len(ordered) == len(wanted) == len(tasks):
        raise InputError(
            f"There must be an output of the network and a target of the batch for each of "
            f"{len(tasks)} tasks. Found {len(ordered)} outputs and {len(wanted)} targets."
        )
    triples = list(zip(tasks, ordered, wanted, strict=True))
    for task, output, target in triples:
        if not isinstance(output, Tensor):
            raise InputError(
                f"The output of task {task.name} must be a tensor; of two things, such as a mean "
                f"and a variance, make one. Found {described(output)}."
            )
        if target is not None and output.ndim and target.ndim and len(output) != len(target):
            raise InputError(
                f"Task {task.name} must have one target per example. "
                f"Found {len(output)} outputs and {len(target)} targets."
            )
    return triples


def outputs_by_task(tasks: Sequence[Task], outputs: Any) -> list[Any]:
    """Return the output that each task judges. The network has them in the order of the tasks with
    an output of their own, or in a dict by the names of these. If several tasks judge one output,
    it may be a tensor."""
    names = _with_outputs(tasks)
    named = by_name(outputs)
    if isinstance(named, Tensor) and len(names) == 1 < len(tasks):
        named = {names[0]: named}
    if isinstance(named, Mapping) and set(named) == set(names):
        return [named[task.output or task.name] for task in tasks]
    if not isinstance(outputs, tuple | list):
        raise InputError(
            "The network must return a tuple or list with one tensor per task, or a dict with the "
            f"keys {', '.join(names)}. Found {described(outputs)}."
        )
    if len(names) == len(tasks):
        return list(outputs)
    if len(outputs) != len(names):
        raise InputError(
            f"The network must return one output for each of {', '.join(names)}; the other tasks "
            f"judge these. Found {len(outputs)} outputs."
        )
    own = dict(zip(names, outputs, strict=True))
    return [own[task.output or task.name] for task in tasks]


def targets_by_task(tasks: Sequence[Task], targets: Sequence[Any]) -> list[Tensor | None]:
    """Return the targets of a batch in the order of the tasks, None where it has none."""
    if len(targets) != 1 or not isinstance(targets[0], Mapping):
        return list(targets)
    names = [task.name for task in tasks]
    if not targets[0]:
        raise InputError(
            "A batch must have a target, or None for a task without one. Found an empty dict."
        )
    for name in targets[0]:
        check_choice("name of a target", name, names)
    return [targets[0].get(name) for name in names]


def check_one_target(tasks: Sequence[Task], runs: Sequence[Sequence[Any]]) -> None:
    """Raise InputError if a task has a target in several of `runs`: its loss would be the sum of
    their means."""
    given = [targets_by_task(tasks, targets) for _, *targets in runs]
    for task, *of_runs in zip(tasks, *given, strict=False):
        if sum(target is not None for target in of_runs) > 1:
            raise InputError(
                f"In a step with inputs for each task, task {task.name} must have targets in one "
                "batch. Found them in several."
            )


def _loss(task: Task, output: Tensor, target: Tensor | None) -> Float[Tensor, ""]:
    if target is None:
        return _nothing(output)
    loss = taken(task, "loss", task.loss, output, target)
    if isinstance(loss, int | float) and loss == 0:  # as of a batch without labels
        return _nothing(output)
    if not isinstance(loss, Tensor) or loss.ndim:
        raise InputError(
            f"The loss of task {task.name} must be one number, the mean over the batch. "
            f"Found {described_alone(loss)}."
        )
    if loss.requires_grad or not torch.is_grad_enabled():
        return loss
    if loss != 0:  # of a batch without labels it may be a constant
        raise InputError(
            f"The loss of task {task.name} must have a gradient. Found none, as of an output that "
            "is detached, of frozen layers alone, or given to argmax."
        )
    return loss + _nothing(output)


def _nothing(output: Tensor) -> Float[Tensor, ""]:
    """Return 0, with a gradient of 0 by the output."""
    return output.flatten()[:0].sum()


def taken(
    task: Task, what: str, function: Callable[[Tensor, Tensor], Any], output: Tensor, target: Tensor
) -> Any:
    """Return `function(output, target)`. Note the task, and `what` the function is, on an error."""
    try:
        return function(output, target)
    except Exception as error:
        shapes = [described(part).removeprefix("one tensor ") for part in (output, target)]
        error.add_note(
            f"In the {what} of task {task.name}: output {shapes[0]}, target {shapes[1]}. A list "
            "has outputs and targets in the order of the tasks."
        )
        raise


def _are_several(metrics: Any) -> bool:
    """Return whether `metrics` is a list of them, and not a name or a single object."""
    is_one = isinstance(metrics, str) or hasattr(metrics, "compute")
    return isinstance(metrics, Iterable) and not is_one


def chosen_of(defaults: Sequence[Metric], metrics: Sequence[Any] | None) -> Sequence[Any]:
    """Return `metrics` with `defaults` in place of their names, or `defaults` if None. Raise
    InputError for another name. What is no list is the task's to refuse."""
    if metrics is None:
        return defaults
    if not _are_several(metrics):
        return metrics
    named = {metric.name: metric for metric in defaults}
    chosen = [*metrics]
    for metric in chosen:
        if isinstance(metric, str) and metric not in named:
            raise InputError(
                f"A metric by name must be one of {', '.join(named)}; others are objects, such as "
                f"those of torchmetrics. Found {metric!r}."
            )
    return [named[metric] if isinstance(metric, str) else metric for metric in chosen]
