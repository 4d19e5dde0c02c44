"""What `fit` says of a problem: what cannot be right, and what may be meant otherwise.

`train` obeys, `fit` advises. A note is one sentence with what was found and what to change.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_leaves

from pamal_core.checks import repeated
from pamal_core.errors import InputError
from pamal_core.evaluation import measure
from pamal_core.front import Front
from pamal_core.inputs import Batch, Inputs, arguments, num_examples, runs_of
from pamal_core.network import Network
from pamal_core.skeleton import full_precision
from pamal_core.tasks import Task, by_task, label_counts, targets_by_task
from pamal_core.weights import Weights

UNLIKE = 30
"""How many times one loss may be another before a balancer is recommended."""
SMALL = 1e-3
"""A loss below which nothing is said of its scale."""
WIDE = 10
"""The standard deviation of targets above which they should be divided by it."""
CHANGED = 0.01
"""By what share a loss changes that depends on the size of a batch, if examples are there twice."""
DRAWS = 4
"""At so many random weights outputs must be in [0, 1] to be there at all weights."""


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


@dataclass
class Moments:
    """The number, the mean and the sum of squares about the mean of the values seen so far."""

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, values: Tensor) -> None:
        values = values[values.isfinite()].double()
        if not len(values):
            return
        total, shift = self.number + len(values), float(values.mean()) - self.mean
        within = float((values - values.mean()).square().sum())
        self.squares += within + shift**2 * self.number * len(values) / total
        self.mean += shift * len(values) / total
        self.number = total

    @property
    def deviation(self) -> float:
        return math.sqrt(self.squares / self.number) if self.number else 0.0


@dataclass
class Diagnosis:
    """Look at the problem of a `fit` before training, after its first epoch, and at its front.

    It moves no weight and no random number of the training.
    """

    network: Network
    tasks: Sequence[Task]
    loader: Iterable[Batch]
    validation: Iterable[Batch]
    samples: dict[str, list[Any]] = field(default_factory=dict)
    """For each task the first [inputs, targets ...] of the validation that have a target of it."""

    def before(self) -> list[str]:
        """Return notes on the data, the outputs and the losses.

        Raise InputError if a task has no labels to be judged by, if inputs are NaN and outputs,
        too, and if BatchNorm gets a single example. An error in a metric is raised as it is.
        """
        measure(self.network, self.tasks, self.validation, np.eye(self.network.num_members)[:1])
        counts = torch.zeros(len(self.tasks))
        for number, batch in enumerate(self.validation, start=1):
            for run in self._runs(batch):
                self._check_inputs(run[0], f"batch {number} of `validation`")
                counts += label_counts(self.tasks, run[1:], counts.device)
                for task, _ in self._targets(run):
                    self.samples.setdefault(task.name, run)
        if bare := [task.name for task, n in zip(self.tasks, counts, strict=True) if not n]:
            raise InputError(
                f"`validation` must have labels of each task. Found none of {', '.join(bare)}."
            )
        theta = self.network.theta(self.middle)
        first = [judged for task in self.tasks for judged in self._judged(task, theta)]
        numbers = {judged.task.name: Moments() for judged in first if _is_of_numbers(judged)}
        notes = [*self._read_loader(numbers)]
        for name, moments in numbers.items():
            if (deviation := moments.deviation) > WIDE:
                notes.append(
                    f"Targets of task {name} have a standard deviation of {deviation:.3g}, and "
                    f"networks begin with answers near 0: divide them by {deviation:.2g}."
                )
        for judged in first:
            notes += self._on_probabilities(judged)
            factor = repeated(*judged)
            if factor is not None and abs(factor - 1) > CHANGED:
                notes.append(
                    f"The loss of task {judged.task.name} depends on the size of a batch: it is "
                    f"{factor:.3g} times as large if each example is there twice. Train and judge "
                    "with one batch_size."
                )
        return notes

    def after_first_epoch(self) -> list[str]:
        """Return a note if two losses at the middle of the front are of unlike scale. The loss of a
        task whose metric is perfect for a constant answer is no measure of it."""
        losses, theta = {}, self.network.theta(self.middle)
        for task in self.tasks:
            for judged in self._judged(task, theta):
                loss = judged.loss(judged.output)
                if loss > SMALL and math.isfinite(loss) and not _is_perfect_if_constant(judged):
                    losses[task.name] = loss
        least, *_, largest = sorted(losses, key=losses.__getitem__) or ["", ""]
        if not losses or losses[largest] <= UNLIKE * losses[least]:
            return []
        return [
            f"After an epoch the loss of task {largest}, {losses[largest]:.3g}, is "
            f"{losses[largest] / losses[least]:.0f} times that of {least}, {losses[least]:.3g}, so "
            "that it decides almost alone: balancer=UnitNorm() gives both the same say."
        ]

    def after(self, front: Front) -> list[str]:
        """Return a note for each task that is at no alpha better than a constant answer, the mean
        of the network's own outputs. If that is perfect, such as a gap of 0, none can be better."""
        notes = []
        for objective, better in zip(front.objectives, front.better.T, strict=True):
            if not np.isfinite(better).any():
                continue
            row = int(np.where(np.isfinite(better), better, -np.inf).argmax())
            task = next(task for task in self.tasks if task.name == objective.task)
            best, constant = front.values[row, front.objectives.index(objective)], math.nan
            with suppress(Exception):  # a metric may fail if all outputs are equal
                constant = self._constant(task, front.alphas[row])
            gain = best - constant if objective.maximise else constant - best
            if gain <= 1e-6 * abs(constant) and not _is_bound(constant, objective.maximise):
                notes.append(
                    f"At no alpha is task {task.name} better than a constant answer: "
                    f"{task.metrics[0].name} {best:.4g} at best, {constant:.4g} with the mean "
                    "output in place of each. Train longer or at another rate, or look at its loss."
                )
        return notes

    # Data

    def _read_loader(self, numbers: dict[str, Moments]) -> Iterator[str]:
        """Read `loader` once, add the targets to `numbers`, by task, and yield a note if BatchNorm
        gets single examples."""
        singles, number, single = 0, 0, None
        for number, batch in enumerate(self.loader, start=1):
            for run in self._runs(batch):
                self._check_inputs(run[0], f"batch {number} of `loader`")
                if num_examples(run[0]) == 1:
                    singles, single = singles + 1, run[0]
                for task, target in self._targets(run):
                    if task.name in numbers:
                        numbers[task.name].add(target.flatten())
        if single is not None and self._normalises(single):
            change = "drop_last=True" if singles == 1 < number else "a larger batch_size"
            yield (
                f"BatchNorm is trained on a single example in {singles} of {number} batches of "
                f"`loader`: make it with {change}."
            )

    def _check_inputs(self, inputs: Inputs, place: str) -> None:
        """Raise InputError if `inputs` are not finite, and the outputs, too: a model may be made
        for missing values."""
        args, named = arguments(inputs)
        parts = {f"argument {k}": part for k, part in enumerate(args, start=1)} | named
        for name, part in parts.items():
            if not isinstance(part, Tensor) or not part.is_floating_point():
                continue
            wrong = int(part.isfinite().logical_not().sum())
            if wrong and not self._is_finite(inputs):
                where = "" if len(parts) == 1 else f" in {name}"
                raise InputError(
                    "Inputs must be finite numbers, unless the model replaces others. Found "
                    f"{wrong} that are NaN or infinite{where}, in {place}."
                )

    @torch.no_grad()
    def _is_finite(self, inputs: Inputs) -> bool:
        outputs = self.network.skeleton.eval_copy()(self.network.theta(self.middle), inputs)
        return all(bool(o.isfinite().all()) for o in tree_leaves(outputs) if torch.is_tensor(o))

    def _normalises(self, inputs: Inputs) -> bool:
        """Return whether some BatchNorm takes its statistics from `inputs`, a single example. Raise
        InputError if it cannot."""
        skeleton = self.network.skeleton.eval_copy().train()
        if not any(isinstance(part, _BatchNorm) and part.training for part in skeleton.modules()):
            return False
        device = self.network.device
        try:
            with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
                skeleton(self.network.theta(self.middle), inputs)
        except ValueError as error:
            if "more than 1 value" not in str(error):
                raise
            raise InputError(
                "BatchNorm cannot be trained on a single example, which a batch of `loader` is: "
                "make the loader with drop_last=True or a larger batch_size."
            ) from error
        return True

    # Outputs

    def _on_probabilities(self, judged: Judged) -> Iterator[str]:
        """Yield a note if a loss of logits gets outputs that are in [0, 1] whatever the weights."""
        task, output = judged.task, judged.output
        of_classes = output.ndim > 1 and output.shape[1] > 1 and task.chances is None
        at_zero = judged.loss(torch.zeros_like(output))
        takes_logits = task.chances is not None or math.isclose(at_zero, math.log(2), rel_tol=1e-5)
        if of_classes:  # a softmax does not see a constant
            takes_logits = math.isclose(
                judged.loss(output), judged.loss(output + 1), rel_tol=1e-5, abs_tol=1e-7
            )
        rng = torch.Generator().manual_seed(0)
        if not takes_logits or not _is_between_0_and_1(output):
            return
        for _ in range(DRAWS):
            theta = self.network.theta(self.middle)
            moved = {name: _moved(weight, rng) for name, weight in theta.items()}
            if not all(_is_between_0_and_1(at.output) for at in self._judged(task, moved)):
                return
        adds_up = of_classes and bool((output.sum(1) - 1).abs().max() < SMALL)
        yield (
            f"Outputs of task {task.name} look like probabilities, in [0, 1] whatever the weights: "
            f"leave out the {'softmax' if adds_up else 'sigmoid'}, because the loss takes logits."
        )

    @torch.no_grad()
    def _constant(self, task: Task, alpha: np.ndarray) -> float:
        """Return the objective of `task` on the validation data if each output is the mean of the
        outputs at `alpha`."""
        model = self.network.export(alpha)

        def outputs() -> Iterator[Judged]:
            for batch in self.validation:
                for run in self._runs(batch):
                    args, named = arguments(run[0])
                    yield from self._of_task(task, model(*args, **named), run)

        total, number = torch.zeros(1, dtype=torch.float64), 0
        for judged in outputs():
            each = _by_answer(judged.output)
            total, number = total.to(each.device) + each.double().sum(0), number + len(each)
        metric, gathered = task.metrics[0], None
        for _, output, target in outputs():
            mean = (total / number).to(output)
            answer = mean.view(1, -1, *[1] * (output.ndim - 2)) if output.ndim > 1 else mean
            gathered = metric.add(gathered, answer.expand_as(output).clone(), target)
        return float(metric.of(gathered))

    @torch.no_grad()
    def _judged(self, task: Task, theta: Weights) -> list[Judged]:
        """Return `task` with its output at `theta` for its sample: a list of one, or of none if
        the task judges no tensor of outputs."""
        run = self.samples[task.name]
        outputs = self.network.skeleton.eval_copy()(theta, run[0])
        return [*self._of_task(task, outputs, run)]

    def _of_task(self, task: Task, outputs: Any, run: Sequence[Any]) -> Iterator[Judged]:
        for judges, output, target in by_task(self.tasks, outputs, run[1:]):
            if judges is task and target is not None and output.ndim and output.numel():
                yield Judged(task, output, target)

    def _targets(self, run: Sequence[Any]) -> Iterator[tuple[Task, Tensor]]:
        for task, target in zip(self.tasks, targets_by_task(self.tasks, run[1:]), strict=False):
            if target is not None:
                yield task, target

    def _runs(self, batch: Batch) -> list[list[Any]]:
        return runs_of(batch, self.network.device, [task.name for task in self.tasks])

    @property
    def middle(self) -> np.ndarray:
        return np.full(self.network.num_members, 1 / self.network.num_members)


def _by_answer(output: Tensor) -> Tensor:
    """Return outputs [n, C, ...] as answers [n ..., C], and outputs [n] as they are."""
    return output.movedim(1, -1).flatten(0, -2) if output.ndim > 1 else output


def _is_of_numbers(judged: Judged) -> bool:
    """Return whether a task asks for its targets themselves: if they are the output, the loss is 0,
    and otherwise above."""
    task, output, target = judged
    if task.chances is not None or target.numel() != output.numel():
        return False
    answer = target.reshape(output.shape).to(output.dtype).nan_to_num()
    return abs(judged.loss(answer)) <= 1e-6 < judged.loss(answer + 1)


def _is_perfect_if_constant(judged: Judged) -> bool:
    """Return whether the mean output in place of each output attains the bound of the metric."""
    metric, output = judged.task.metrics[0], judged.output
    with suppress(Exception):
        constant = float(metric(output.mean(0, keepdim=True).expand_as(output), judged.target))
        return _is_bound(constant, metric.maximise)
    return False


def _is_bound(value: float, maximise: bool) -> bool:
    """Return whether `value` is the best that a metric can be: 1 if higher is better, else 0."""
    return abs(value - (1 if maximise else 0)) < 1e-6


def _is_between_0_and_1(output: Tensor) -> bool:
    return bool(((output >= 0) & (output <= 1)).all())


def _moved(weight: Tensor, rng: torch.Generator) -> Tensor:
    """Return `weight` with noise that is large beside it."""
    scale = 3 * max(float(weight.std()) if weight.numel() > 1 else 0.0, 0.1)
    return weight + scale * torch.randn(weight.shape, generator=rng).to(weight)
