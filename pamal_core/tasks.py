"""Tasks: the loss that trains one, and the metrics that judge it.

Losses and metrics are means over all labels that are there, of a batch or of the whole data set.
Where there is none a loss is 0 with a gradient of 0, and metrics are NaN.
MTAN (Liu, Johns and Davison, CVPR 2019), whose losses and metrics of pixels these are otherwise,
takes the metrics batch by batch (mIoU and pixel accuracy image by image) and averages these; that
depends on the batch size, and an image with few labels counts as much as one with many.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import InputError, check_number
from pamal_core.inputs import described
from pamal_core.shapes import ByTask

Loss = Callable[[Tensor, Tensor], Tensor]
Pair = tuple[Tensor, Tensor]
Weights = Sequence[float | int] | Tensor
Values = Pair
"""A value for every label, and whether it counts, or with how much weight it is in the value."""
SAMPLE = 2**16
"""Targets of a batch from which the best constant number is estimated."""


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
        return cls(name, maximise, partial(_sum_of_means, function, count), reference=reference)

    def __call__(self, output: Tensor, target: Tensor) -> float:
        """Return the metric of one batch."""
        return self.of(self.statistic(output, target))

    def add(self, total: Any, output: Tensor, target: Tensor) -> Any:
        """Return `total`, a sum of statistics or None, with that of another batch."""
        statistic = self.statistic(output, target)
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


def as_given(output: Tensor, target: Tensor) -> Pair:
    """Return both: every label is there."""
    return output, target


@dataclass(frozen=True)
class Task:
    """A task: a differentiable loss to be minimised, and the metrics that judge it.

    - `name`: one that no other task has.
    - `loss(output, target)`: the mean over a batch. It gets both as they are, so a loss that
      broadcasts makes n x n pairs of [n, 1] and [n]; `regression` flattens both. It is not called
      for a batch without a target (None, or no key in the dict), whose loss is 0.
    - `metrics`: the most important first, the objective of a front. Each is a `Metric` or an object
      with torchmetrics' interface (`update`, `compute`, `reset`, `higher_is_better`), which is
      named after its class, or as in ("F1", object).
    - `count(target)`: how many labels a target has, or the sum of their weights. Where it is 0 the
      loss must be 0 with a gradient of 0.
    - `labelled(output, target)`: both without what has no label, as torchmetrics' objects get them.

    The tasks made by the functions below pickle. A task with functions of your own pickles if these
    do.
    """

    name: str
    loss: Loss
    metrics: Sequence[Any]
    count: Callable[[Tensor], Tensor | int] = len
    labelled: Callable[[Tensor, Tensor], Pair] = as_given

    def __post_init__(self) -> None:
        metrics = tuple(self._named(metric) for metric in self.metrics)
        object.__setattr__(self, "metrics", metrics)

    def _named(self, metric: Any) -> Metric | Gathered:
        if isinstance(metric, Metric | Gathered):
            return metric
        name, judge = metric if isinstance(metric, tuple) else (type(metric).__name__, metric)
        has_all = all(hasattr(judge, name) for name in ("update", "compute", "reset"))
        if isinstance(judge, type) or not has_all:
            raise InputError(
                f"A metric of task {self.name} must be a Metric, the name of one that its kind of "
                "task has, or an object with torchmetrics' `update`, `compute` and `reset`. "
                f"Found {judge!r}."
            )
        if judge.higher_is_better is None:
            raise InputError(
                f"Metric {name} of task {self.name} must say whether higher is better: give a "
                "subclass of it that sets `higher_is_better`. Found None."
            )
        return Gathered(name, judge, self.labelled)


def task_losses(tasks: Sequence[Task], outputs: Any, targets: Sequence[Any]) -> ByTask:
    """Return the loss of every task: 0, with a gradient of 0, where a target is missing. Raise
    InputError as `by_task` does, and unless each loss is one number with a gradient."""
    return torch.stack([_loss(*triple) for triple in by_task(tasks, outputs, targets)])


def label_counts(tasks: Sequence[Task], targets: Sequence[Any], device: torch.device) -> ByTask:
    """Return how many labels of each task follow the inputs in a batch."""
    found = torch.zeros(len(tasks), device=device)
    for t, (task, target) in enumerate(zip(tasks, _targets(tasks, targets), strict=True)):
        if target is not None:  # a target for the whole batch has no length
            found[t] = target.numel() if task.count is len else task.count(target)
    return found


def check_names(tasks: Sequence[Task]) -> None:
    """Raise InputError unless each task, and each column of a front, has a name of its own."""
    columns = [f"{task.name}/{metric.name}" for task in tasks for metric in task.metrics]
    for what, names in (("task", [task.name for task in tasks]), ("column of a front", columns)):
        if len(set(names)) < len(names):
            found = ", ".join(map(str, names))
            raise InputError(f"Every {what} must have a name of its own. Found {found}.")


def by_task(
    tasks: Sequence[Task], outputs: Any, targets: Sequence[Any]
) -> list[tuple[Task, Tensor, Tensor | None]]:
    """Return each task with its output and its target, None where a batch has none; both are in the
    order of the tasks, or in a dict by their names. Raise InputError unless there is one of each
    for every task, no name is unknown, and a target has as many examples as its output."""
    found = outputs_by_task(tasks, outputs)
    wanted = _targets(tasks, targets)
    if not len(found) == len(wanted) == len(tasks):
        raise InputError(
            f"There must be an output of the network and a target of the batch for each of "
            f"{len(tasks)} tasks. Found {len(found)} outputs and {len(wanted)} targets."
        )
    triples = list(zip(tasks, found, wanted, strict=True))
    for task, output, target in triples:
        if target is not None and output.ndim and target.ndim and len(output) != len(target):
            raise InputError(
                f"Task {task.name} must have one target per example. "
                f"Found {len(output)} outputs and {len(target)} targets."
            )
    return triples


def outputs_by_task(tasks: Sequence[Task], outputs: Any) -> list[Any]:
    """Return what the network returned, in the order of the tasks, or else by their names."""
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


def _loss(task: Task, output: Tensor, target: Tensor | None) -> Float[Tensor, ""]:
    if target is None:
        return _nothing(output)
    loss = taken(task, "loss", task.loss, output, target)
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
    """Return 0, which depends on the output, but with a gradient of 0."""
    return output.flatten()[:0].sum()


def taken(
    task: Task, what: str, function: Callable[[Tensor, Tensor], Any], output: Tensor, target: Tensor
) -> Any:
    """Return `function(output, target)`; an error in it gets a note of the task and of `what` it
    is."""
    try:
        return function(output, target)
    except Exception as error:
        shapes = [described(part).removeprefix("one tensor ") for part in (output, target)]
        error.add_note(f"In the {what} of task {task.name}: output {shapes[0]}, target {shapes[1]}")
        raise


def _sum_of_means(
    mean: Callable[[Tensor, Tensor], Any],
    count: Callable[[Tensor], Tensor | int],
    output: Tensor,
    target: Tensor,
) -> Float[Tensor, " 2"]:
    value = exact(torch.as_tensor(mean(output, target)).detach())
    seen = exact(torch.as_tensor(count(target))).to(value.device)
    return torch.stack([(value * seen).where(seen > 0, 0), seen])


def _sum_of_values(
    values: Callable[[Tensor, Tensor], Values], output: Tensor, target: Tensor
) -> Float[Tensor, " 2"]:
    found, weights = values(output.detach(), target)
    return torch.stack([exact(found.where(weights > 0, 0)).sum(), exact(weights).sum()])


def _mean_of_values(
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


def _chosen(defaults: Sequence[Metric], metrics: Sequence[Any] | None) -> Sequence[Any]:
    """Return `metrics`, in which a text is the name of one of `defaults`, or else these."""
    if metrics is None:
        return defaults
    named = {metric.name: metric for metric in defaults}
    return [named.get(metric, metric) if isinstance(metric, str) else metric for metric in metrics]


# Classes


@dataclass(frozen=True)
class _Classes:
    """What tasks of classes compute of logits [n, C, ...] and labels: integers [n, ...], whole
    numbers [n] of floats, or class probabilities of the shape of the logits.

    - `ignore_index`: the integer that means a missing label. Among floats NaN does.
    - `class_weight`: C numbers, how much a label counts in the loss; None where all count alike.
    - `num_classes`: C of pixels, whose labels must be integers.
    """

    ignore_index: int
    class_weight: Weights | None
    num_classes: int | None = None

    def __post_init__(self) -> None:
        if self.class_weight is not None:
            weights = torch.as_tensor(self.class_weight, dtype=torch.float64).tolist()
            for weight in weights:
                check_number("class_weight", weight, 0, above=True)
            object.__setattr__(self, "class_weight", tuple(weights))

    # Labels

    def as_classes(self, labels: Tensor) -> Tensor:
        """Return floats [n], a column of pandas with missing labels, as integers; others as they
        are."""
        if labels.ndim != 1 or not labels.is_floating_point():
            return labels
        return labels.where(labels.isfinite(), self.ignore_index).long()

    def present(self, labels: Tensor) -> Tensor:
        """Return which labels are there."""
        if labels.is_floating_point():
            return labels.isnan().any(1).logical_not()
        return labels.long() != self.ignore_index  # -100 would be 156 among labels of eight bits

    def labelled(self, logits: Tensor, labels: Tensor) -> Pair:
        """Return logits [k, C] and labels [k], or probabilities [k, C]."""
        labels = self.as_classes(labels)
        counted = self.present(labels)
        labels = labels.movedim(1, -1) if labels.is_floating_point() else labels.long()
        return logits.movedim(1, -1)[counted], labels[counted]

    def checked(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits and labels as cross-entropy takes them, and which labels count.

        Raise InputError unless labels are classes, or probabilities, of the shape that `logits` ask
        for. A class out of range is torch's to refuse on the CPU. An accelerator would lose the
        process with it: there all logits are NaN instead, as of wrong probabilities.
        """
        given, labels = labels, self.as_classes(labels)
        soft, number = labels.is_floating_point(), logits.shape[1] if logits.ndim > 1 else 0
        needed = logits.shape if soft else logits.shape[:1] + logits.shape[2:]
        if self.num_classes is None:
            wanted = "[n, C, ...] with C >= 2 labels must be integers [n, ...] or probabilities"
            fits = number > 1
        else:
            wanted = f"[n, {self.num_classes}, H, W] labels must be integers [n, H, W]"
            fits = number == self.num_classes and not soft
        if not fits or labels.shape != needed:
            found = f"{described(logits)} and {described(given)}"
            raise InputError(f"For logits {wanted}. Found {found}.")
        counted, on_cpu = self.present(labels), labels.device.type == "cpu"
        if soft:
            labels = labels.to(logits.dtype).where(counted.unsqueeze(1), 1 / number)
            wrong = ((labels.sum(1) - 1).abs() > 0.01) | (labels < 0).any(1)
            if on_cpu and wrong.any():
                raise InputError("Probabilities must be at least 0, with sum 1 over the classes.")
            return _nan_where(wrong.any(), logits), labels, counted
        labels = labels.long()
        broken = (given != labels) & ~given.isnan()  # of floats: half a class, or an infinite one
        if on_cpu:
            if given.is_floating_point() and broken.any():
                raise InputError(
                    "Labels of classes must be integers, whole numbers or NaN. "
                    f"Found {given[broken][0].item():g}."
                )
            return logits, labels, counted
        wrong = broken | counted & ((labels < 0) | (labels >= number))
        return _nan_where(wrong.any(), logits), labels.masked_fill(wrong, 0), counted

    # The loss

    def weight(self, logits: Tensor) -> Tensor | None:
        return None if self.class_weight is None else logits.new_tensor(self.class_weight)

    def count(self, labels: Tensor) -> Tensor:
        """Return the number of labels, or the sum of their weights."""
        labels = self.as_classes(labels)
        counted = self.present(labels)
        if self.class_weight is None or labels.is_floating_point():
            return counted.sum()
        weight = torch.tensor(self.class_weight, device=labels.device)
        return weight[labels.long().clamp(0, len(weight) - 1)].where(counted, 0).sum()

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Float[Tensor, ""]:
        """Return the mean over the labels that are there, by torch; 0 where none is."""
        logits, labels, counted = self.checked(logits, labels)
        weight, ignore_index = self.weight(logits), self.ignore_index
        if labels.is_floating_point():
            values = F.cross_entropy(logits, labels, weight, reduction="none").where(counted, 0)
            return values.sum() / counted.sum().clamp(min=1)
        # torch's mean over no label is NaN, and so is its gradient: there it is given some label.
        some = counted.any()
        filled = labels.where(some, int(ignore_index == 0))
        mean = F.cross_entropy(logits, filled, weight, ignore_index=ignore_index)
        return mean.where(some, 0)

    def cross_entropies(self, logits: Tensor, labels: Tensor) -> Values:
        """Return that of every label, an integer, and its weight."""
        logits, labels, counted = self.checked(logits, labels)
        weight, ignore_index = self.weight(logits), self.ignore_index
        values = F.cross_entropy(
            logits, labels, weight, ignore_index=ignore_index, reduction="none"
        )
        if weight is None:
            return values, counted
        return values, weight[labels.where(counted, 0)].where(counted, 0)

    # Answers: the first of the largest logits

    def answered(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the class of each answer and of each label, which of them count, and 0, or NaN
        where a largest logit is not finite: a network without numbers has no accuracy."""
        logits, labels, counted = self.checked(logits.detach(), labels)
        truth = labels.argmax(1) if labels.is_floating_point() else labels
        largest, classes = logits.max(1)
        return classes, truth, counted, exact((0 * largest).where(counted, 0).sum())

    def right(self, logits: Tensor, labels: Tensor) -> Values:
        """Return 1 where an answer is right, else 0."""
        classes, truth, counted, lost = self.answered(logits, labels)
        return (classes == truth) + lost.to(logits), counted

    def confusion(self, logits: Tensor, labels: Tensor) -> Float[Tensor, "C C"]:
        """Return the confusion matrix of a batch."""
        classes, truth, counted, lost = self.answered(logits, labels)
        return exact(confusion_matrix(classes, truth, counted, logits.shape[1])) + lost

    # The best constant answer follows from how often each class occurs

    def frequencies(self, logits: Tensor, labels: Tensor) -> Float[Tensor, " C"]:
        """Return the number of labels of each class; of probabilities 0."""
        logits, labels = self.labelled(logits, labels)
        number = logits.shape[1]
        if labels.is_floating_point():
            labels = labels.new_zeros(0, dtype=torch.long)
        return exact(labels.clamp(0, number - 1).bincount(minlength=number))

    def least_loss(self, frequencies: Float[Tensor, " C"]) -> float:
        """Return the loss of answering with the weighted share of each class."""
        weight = self.weight(frequencies)
        mass = frequencies if weight is None else frequencies * weight
        shares = mass / mass.sum()
        return -float(torch.xlogy(shares, shares).sum())

    def loss(self, statistic: Callable[[Tensor, Tensor], Tensor]) -> Metric:
        constant = Metric("loss", False, self.frequencies, self.least_loss)
        return Metric("loss", False, statistic, constant=constant)

    def accuracy(self, name: str) -> Metric:
        constant = Metric(name, True, self.frequencies, _largest_share)
        statistic = partial(_sum_of_values, self.right)
        return Metric(name, True, statistic, constant=constant, reference=0.0)


def _largest_share(frequencies: Float[Tensor, " C"]) -> Tensor:
    return frequencies.max() / frequencies.sum()


def _nan_where(wrong: Tensor, values: Tensor) -> Tensor:
    """Return `values`, all NaN if it is `wrong`, which nothing waits to be told."""
    return values.masked_fill(wrong, torch.nan)


def classification(
    name: str,
    ignore_index: int = -100,
    *,
    class_weight: Weights | None = None,
    metrics: Sequence[Any] | None = None,
) -> Task:
    """Return a task of classes, trained on cross-entropy: logits [n, C] and labels [n], or logits
    [n, C, ...] and labels [n, ...], as of tokens.

    Labels are integers, or class probabilities of the shape of the logits; with these an answer is
    right where it is the most probable class. Labels [n] may be whole numbers of floats, as pandas
    has them in a column with missing ones.

    - `ignore_index`: the integer that means a missing label. Among floats NaN does.
    - `class_weight`: C numbers > 0, torch's `weight`. A label counts as much as its class weighs,
      in the loss and in the metric "loss"; of probabilities the terms are weighed, and the mean is
      over their number.
    - `metrics`: those of `Task` in place of "accuracy" and "loss", what is trained on, which go by
      their names: `["accuracy", AUROC(...)]`. An object of torchmetrics gets logits [k, C] and
      labels [k].

    The loss raises InputError for labels of another shape.
    """
    classes = _Classes(ignore_index, class_weight)
    losses = partial(_sum_of_means, classes.cross_entropy, classes.count)
    chosen = _chosen((classes.accuracy("accuracy"), classes.loss(losses)), metrics)
    return Task(name, classes.cross_entropy, chosen, classes.count, classes.labelled)


# Pixels


def segmentation(
    name: str,
    num_classes: int,
    ignore_index: int = -1,
    *,
    class_weight: Weights | None = None,
    metrics: Sequence[Any] | None = None,
) -> Task:
    """Return a task of a class for every pixel, trained on cross-entropy: logits [n, num_classes,
    H, W] and integer labels [n, H, W].

    - `ignore_index`, `class_weight`: those of `classification`.
    - `metrics`: those of `Task` in place of "mIoU", the mean over classes of intersection over
      union, "pixel accuracy", and "loss", what is trained on, which go by their names. mIoU comes
      from one confusion matrix of all pixels, without classes that neither occur nor are predicted.
      An object of torchmetrics gets logits [k, num_classes] and labels [k].

    The loss raises InputError for logits of another number of classes, and for labels of another
    shape or of floats.
    """
    classes = _Classes(ignore_index, class_weight, num_classes)
    defaults = (
        Metric("mIoU", True, classes.confusion, mean_iou, reference=0.0),
        classes.accuracy("pixel accuracy"),
        classes.loss(partial(_sum_of_values, classes.cross_entropies)),
    )
    loss = partial(_mean_of_values, classes.cross_entropies)
    return Task(name, loss, _chosen(defaults, metrics), classes.count, classes.labelled)


@torch.no_grad()
def confusion_matrix(
    predicted: Int[Tensor, "*pixels"],
    labels: Int[Tensor, "*pixels"],
    counted: Bool[Tensor, "*pixels"],
    num_classes: int,
) -> Int[Tensor, "C C"]:
    """Return how many of the pixels that are `counted` have the label of the row and the prediction
    of the column."""
    others = num_classes**2  # one more bin, for pixels that do not count
    bins = (labels * num_classes + predicted).where(counted, others).flatten()
    # Not bincount, which waits for a GPU to find the largest entry.
    counts = bins.new_zeros(others + 1).index_add_(0, bins, torch.ones_like(bins))
    return counts[:others].view(num_classes, num_classes)


def mean_iou(confusion: Num[Tensor, "C C"]) -> float:
    """Return the mean over classes of intersection over union, in [0, 1], higher is better.

    Classes that are in neither the rows nor the columns of `confusion` do not count; NaN where none
    is. A matrix of NaN, of answers that were not finite, has NaN.
    """
    both = confusion.diagonal()
    either = confusion.sum(0) + confusion.sum(1) - both
    return float((exact(both) / exact(either))[either > 0].mean())


def depth(name: str, *, metrics: Sequence[Any] | None = None) -> Task:
    """Return a task of a positive number for every pixel, trained on the absolute error: outputs
    [n, 1, H, W] and targets [n, 1, H, W] or [n, H, W]. One that is NaN or not above 0 is missing.

    - `metrics`: those of `Task` in place of "absolute error", in the units of the target; "relative
      error", the mean of |output - target| / target, a ratio, not per cent; and "loss", the first
      again, which go by their names. An object of torchmetrics gets outputs and targets [k].
    """
    constant = _constant(F.l1_loss, _is_positive)
    absolute = Metric("loss", False, partial(_sum_of_values, _absolute_error), constant=constant)
    relative = Metric("relative error", False, partial(_sum_of_values, _relative_error))
    defaults = replace(absolute, name="absolute error"), relative, absolute
    loss, labelled = partial(_mean_of_values, _absolute_error), partial(_labelled, _is_positive)
    count = partial(_number, _is_positive)
    return Task(name, loss, _chosen(defaults, metrics), count, labelled)


def _is_positive(target: Tensor) -> Tensor:
    return target > 0


def _absolute_error(output: Tensor, target: Tensor) -> Values:
    check_order(output, target)
    target = target.flatten()
    valid = target > 0
    # An invalid target may be NaN, and so would be the gradient, though the error does not count.
    return (output.flatten() - target.where(valid, 0)).abs(), valid


def _relative_error(output: Tensor, target: Tensor) -> Values:
    error, valid = _absolute_error(output, target)
    return error / target.flatten().where(valid, 1), valid


# Numbers


def check_order(output: Tensor, target: Tensor) -> None:
    """Raise InputError unless there is a target for each number, and the axes are in the same
    order."""
    one, other = ([size for size in t.shape if size != 1] for t in (output, target))
    if output.numel() != target.numel() or (one != other and sorted(one) == sorted(other)):
        raise InputError(
            "There must be one target for each number of the output, with the axes in its order. "
            f"Found {described(output)} and {described(target)}."
        )


def regression(
    name: str, loss: Loss = F.huber_loss, *, metrics: Sequence[Any] | None = None
) -> Task:
    """Return a task of numbers, trained on `loss`, Huber's by default, as for age in section 5.2.

    Outputs [n, 1] and targets [n], of any number type, are both taken as [n]. A NaN is a missing
    target.

    - `metrics`: those of `Task` in place of "loss", what is trained on, and "R2", the coefficient
      of determination, NaN where all targets are equal, which go by their names: `["loss"]` leaves
      R2 out. An object of torchmetrics gets outputs and targets [k].

    The loss raises InputError unless there are as many targets as numbers in the output, with the
    axes in the same order.
    """
    flat, count = partial(_flat, loss), partial(_number, _is_number)
    mean = Metric.mean("loss", flat, maximise=False, count=count)
    if loss in _ZERO_AT_THE_TARGET:  # another may be costly on all targets at once
        mean = replace(mean, constant=_constant(loss, _is_number))
    constant = Metric("R2", True, _squares, _of_the_mean)
    determination = Metric("R2", True, _squares, _determination, constant, reference=0.0)
    chosen = _chosen((mean, determination), metrics)
    return Task(name, flat, chosen, count, partial(_labelled, _is_number))


_ZERO_AT_THE_TARGET = F.huber_loss, F.l1_loss, F.mse_loss, F.smooth_l1_loss


def _flat(loss: Loss, output: Tensor, target: Tensor) -> Float[Tensor, ""]:
    """Return `loss` on the numbers that have a target; 0 where none has."""
    check_order(output, target)
    output, target = output.flatten(), target.flatten().to(output.dtype)
    counted = _is_number(target)
    if loss in _ZERO_AT_THE_TARGET:
        # A selection would wait for a GPU. Missing ones, as if right, only dilute the mean.
        mean = loss(output, target.where(counted, output.detach()))
        return (mean * (counted.numel() / counted.sum().clamp(min=1))).where(counted.any(), 0)
    return loss(output[counted], target[counted]).where(counted.any(), 0)


def _is_number(target: Tensor) -> Tensor:
    return target.isnan().logical_not()


def _number(are_there: Callable[[Tensor], Tensor], target: Tensor) -> Tensor:
    return are_there(target).sum()


def _labelled(are_there: Callable[[Tensor], Tensor], output: Tensor, target: Tensor) -> Pair:
    """Return outputs [k] and targets [k], of the dtype of the outputs."""
    check_order(output, target)
    output, target = output.flatten(), target.flatten()
    counted = are_there(target)
    return output[counted], target[counted].to(output.dtype)


def _constant(loss: Loss, are_there: Callable[[Tensor], Tensor]) -> Metric:
    """Return the smaller loss of the mean and the median of all targets, or of a sample of them."""
    return Metric("loss", False, partial(_sample, are_there), partial(_constant_loss, loss))


def _sample(
    are_there: Callable[[Tensor], Tensor], output: Tensor, target: Tensor
) -> list[Float[Tensor, " k"]]:
    found = _labelled(are_there, output, target)[1]
    return [found[:: max(1, len(found) // SAMPLE)]]


def _constant_loss(loss: Loss, batches: list[Tensor]) -> float:
    target = exact(torch.cat(batches))
    return min(float(loss(c.expand_as(target), target)) for c in (target.mean(), target.median()))


def _squares(output: Tensor, target: Tensor) -> list[Float[Tensor, " 4"]]:
    """Return number and mean of the targets of a batch, the sum of squares about it, and that of
    the errors. Batches are listed, since a difference of sums of squares would lose digits."""
    output, target = map(exact, _labelled(_is_number, output.detach(), target))
    if not len(target):
        return []
    mean = target[0] + (target - target[0]).mean()  # exact where all are equal
    squares = (target - mean).square().sum(), (target - output).square().sum()
    return [torch.stack([target.new_tensor(len(target)), mean, *squares])]


def _determination(batches: list[Float[Tensor, " 4"]]) -> float:
    if not batches:
        return math.nan
    number, mean, within, errors = torch.stack(batches).T
    apart = mean - mean[0]
    apart = apart - (number * apart).sum() / number.sum()
    total = (within + number * apart.square()).sum()
    return float(1 - errors.sum() / total) if total > 0 else math.nan


def _of_the_mean(batches: list[Float[Tensor, " 4"]]) -> float:
    return 0 * _determination(batches)
