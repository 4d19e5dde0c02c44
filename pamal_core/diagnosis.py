"""Diagnosis of a problem by `fit`: what cannot be right, and what may be meant otherwise.

`train` obeys, `fit` advises. A note is one sentence with what was found and what to change.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_leaves

from pamal_core.checks import check_reduction, is_of_pairs, of_pairs, repeated
from pamal_core.errors import InputError
from pamal_core.evaluation import measure
from pamal_core.front import Front
from pamal_core.inputs import Batch, Inputs, arguments, num_examples, runs_of
from pamal_core.judged import Judged, Moments, by_answer, disturbed, is_between_0_and_1, is_bound
from pamal_core.loaders import no_batch
from pamal_core.metrics import Metric
from pamal_core.network import Network
from pamal_core.skeleton import Skeleton
from pamal_core.tasks import Task, by_task, label_counts, targets_by_task
from pamal_core.weights import Weights, as_leaves

UNLIKE = 30
"""Ratio of two losses above which a balancer is recommended."""
UNLIKE_AT_FIRST = 10
"""Least ratio that they then have before training: a loss is also small once its task is learnt."""
SMALL = 1e-3
"""A loss below which nothing is said of its scale."""
WIDE = 10
"""The standard deviation of targets above which they should be divided by it."""
CHANGED = 0.05
"""By what share a loss changes that depends on the size of a batch, if examples are there twice. A
standard deviation over the batch changes by less."""
ROUNDED = 1e-6
"""A difference of metrics below which it is one of rounding."""
DRAWS = 4
"""At so many random weights outputs must be in [0, 1] to be there at all weights."""


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
    losses: dict[str, float] = field(default_factory=dict)
    """The loss of each task, for its sample, before training."""

    @property
    def trained(self) -> list[Task]:
        """Return the tasks that some member is trained on. Of the others nothing is said."""
        return [self.tasks[t] for t in self.network.trained_tasks]

    def before(self) -> list[str]:
        """Return notes on the data, the outputs, the losses and the metrics.

        Raise InputError if a task has no labels to be judged by, if inputs are NaN and outputs,
        too, if BatchNorm gets a single example, if a loss or a metric compares all pairs of outputs
        and targets, and if a loss is a sum over the batch. An error in a metric is raised as it is.
        """
        corner = np.eye(self.network.num_members)[:1]
        measure(self.network, self.tasks, self.validation, corner, argument="validation")
        counts, seconds, number = torch.zeros(len(self.tasks)), dict[str, list[Any]](), 0
        for number, batch in enumerate(self.validation, start=1):
            for run in self._runs(batch):
                self._check_inputs(run[0], f"batch {number} of `validation`")
                counts += label_counts(self.tasks, run[1:], counts.device)
                for task, _ in self._targets(run):
                    if task.name in self.samples:
                        seconds.setdefault(task.name, run)
                    self.samples.setdefault(task.name, run)
        if number == 0:  # at its second reading
            raise no_batch("validation")
        if bare := [self.tasks[t].name for t in self.network.trained_tasks if not counts[t]]:
            raise InputError(
                f"`validation` must have labels of each task. Found none of {', '.join(bare)}."
            )
        first = self._all_judged(self.network)
        for judged in first:
            check_reduction(*judged)
            check_metrics(*judged)
        self.losses = {judged.task.name: judged.loss(judged.output) for judged in first}
        numbers = {judged.task.name: Moments() for judged in first if judged.asks_for_numbers()}
        notes = [*self._read_loader(numbers)]
        skeleton, theta = self.network.skeleton.eval_copy(), middle(self.network)
        for judged in first:
            deviation = numbers.get(judged.task.name, Moments()).deviation
            spread = float(judged.output.double().std(correction=0))
            is_made_for_them = spread > 1 and UNLIKE * spread > deviation
            if deviation > WIDE and not is_made_for_them:
                notes.append(
                    f"Targets of task {judged.task.name} have a standard deviation of "
                    f"{deviation:.3g}, and the network begins with answers near each other: divide "
                    f"them by {deviation:.2g}."
                )
            notes += self._on_probabilities(judged)
            factor = repeated(*judged)
            if factor is not None and abs(factor - 1) > CHANGED:
                notes.append(
                    f"The loss of task {judged.task.name} depends on the size of a batch: it is "
                    f"{factor:.3g} times as large if each example is there twice. Train and judge "
                    "with one batch_size."
                )
            if judged.task.name in seconds:
                more = self._judged(skeleton, theta, judged.task, seconds[judged.task.name])
                notes += of_batches([judged, *more])
        return notes

    def after_first_epoch(self, network: Network) -> list[str]:
        """Return a note if two losses of `network` at the middle of its front are of unlike scale.
        The loss of a task whose metric is perfect for a constant answer is no measure of it."""
        losses = {}
        for judged in self._all_judged(network):
            loss = judged.loss(judged.output)
            if loss > SMALL and math.isfinite(loss) and not judged.is_perfect_if_constant():
                losses[judged.task.name] = loss
        if not losses:
            return []
        least, largest = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
        is_unlike = losses[largest] > UNLIKE * losses[least]
        if not is_unlike or self.losses[largest] < UNLIKE_AT_FIRST * self.losses[least]:
            return []
        return [
            f"After an epoch the loss of task {largest}, {losses[largest]:.3g}, is "
            f"{losses[largest] / losses[least]:.0f} times that of {least}, {losses[least]:.3g}, so "
            "that it decides almost alone: balancer=UnitNorm() gives both the same say."
        ]

    def unlabelled(self, history: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return a note for each task whose loss is NaN in every epoch of `history`. Before
        training it cannot be known: a loader may yield other batches in each epoch."""
        return [
            f"Task {task.name} was not trained, because no batch of `loader` had a label of it: "
            "its targets are all None, NaN or the label for a missing one."
            for task in self.trained
            if all(math.isnan(row[f"{task.name}/loss"]) for row in history)
        ]

    def after(self, front: Front) -> list[str]:
        """Return a note for each task that is at no alpha better than a constant answer, the mean
        of the network's own outputs. If this answer or 0 is perfect, as for a gap or for outputs
        that are losses, none can be better."""
        notes = []
        for objective, better in zip(front.objectives, front.better.T, strict=True):
            if not np.isfinite(better).any():
                continue
            row = int(np.where(np.isfinite(better), better, -np.inf).argmax())
            task = next(task for task in self.tasks if task.name == objective.task)
            best, constant, of_zero = front.table[objective.name].iloc[row], math.nan, math.nan
            with suppress(Exception):  # a metric may fail if all outputs are equal
                constant, of_zero = self._constants(task, front.alphas[row])
            gain = best - constant if objective.maximise else constant - best
            is_best = any(is_bound(value, objective.maximise) for value in (constant, of_zero))
            if gain <= 1e-6 * abs(constant) and not is_best:
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
        if not number:
            raise no_batch("loader")
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

    def _is_finite(self, inputs: Inputs) -> bool:
        """Return whether outputs for `inputs` are finite, and their gradient by the weights, too:
        the one or the other alone may saturate."""
        theta = middle(self.network)
        leaves = as_leaves(theta)
        outputs = self.network.skeleton.eval_copy()(leaves, inputs)
        sums = [part.sum() for part in tree_leaves(outputs) if isinstance(part, Tensor)]
        trained = [part for part in sums if part.requires_grad]
        with torch.backends.cudnn.flags(enabled=False):  # has no gradient in evaluation mode
            slopes = torch.autograd.grad(trained, [*leaves.values()], allow_unused=True)
        parts = [*sums, *(slope for slope in slopes if slope is not None)]
        return all(bool(part.isfinite().all()) for part in parts)

    def _normalises(self, inputs: Inputs) -> bool:
        """Return whether some BatchNorm takes its statistics from `inputs`, a single example. Raise
        InputError if it cannot."""
        skeleton = self.network.skeleton.eval_copy().train()
        if not any(isinstance(part, _BatchNorm) and part.training for part in skeleton.modules()):
            return False
        device = self.network.device
        try:
            with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
                skeleton(middle(self.network), inputs)
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
        if not takes_logits or not is_between_0_and_1(output):
            return
        skeleton, theta = self.network.skeleton.eval_copy(), middle(self.network)
        for _ in range(DRAWS):
            moved = {name: disturbed(weight, rng) for name, weight in theta.items()}
            again = self._judged(skeleton, moved, task, self.samples[task.name])
            if not all(is_between_0_and_1(at.output) for at in again):
                return
        adds_up = of_classes and bool((output.sum(1) - 1).abs().max() < SMALL)
        yield (
            f"Outputs of task {task.name} look like probabilities, in [0, 1] whatever the weights: "
            f"leave out the {'softmax' if adds_up else 'sigmoid'}, because the loss takes logits."
        )

    @torch.no_grad()
    def _constants(self, task: Task, alpha: np.ndarray) -> tuple[float, float]:
        """Return the objective of `task` on the validation data if each output is the mean of the
        outputs at `alpha`, and if each is 0."""
        model = self.network.export(alpha)

        def outputs() -> Iterator[Judged]:
            for batch in self.validation:
                for run in self._runs(batch):
                    args, named = arguments(run[0])
                    yield from self._of_task(task, model(*args, **named), run)

        total, number = torch.zeros(1, dtype=torch.float64), 0
        for judged in outputs():
            each = by_answer(judged.output)
            total = total.to(each.device) + each.double().sum(0)
            number += len(each)
        metric, of_mean, of_zero = task.metrics[0], None, None
        for _, output, target in outputs():
            mean = (total / number).to(output)
            if output.ndim > 1:  # [C] as [1, C, 1, ...]
                mean = mean.view(1, -1, *[1] * (output.ndim - 2))
            of_mean = metric.add(of_mean, mean.expand_as(output).clone(), target)
            of_zero = metric.add(of_zero, torch.zeros_like(output), target)
        return metric.of(of_mean), metric.of(of_zero)

    def _all_judged(self, network: Network) -> list[Judged]:
        """Return the trained tasks with their outputs at the middle of `network` for their
        samples."""
        skeleton, theta = network.skeleton.eval_copy(), middle(network)
        return [
            judged
            for task in self.trained
            for judged in self._judged(skeleton, theta, task, self.samples[task.name])
        ]

    @torch.no_grad()
    def _judged(
        self, skeleton: Skeleton, theta: Weights, task: Task, run: Sequence[Any]
    ) -> list[Judged]:
        """Return `task` with its output at `theta` for a run: a list of one, or of none if the task
        judges no tensor of outputs."""
        return [*self._of_task(task, skeleton(theta, run[0]), run)]

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


def check_metrics(task: Task, output: Tensor, target: Tensor) -> None:
    """Raise InputError if a metric of `task` compares all pairs of outputs and targets.

    Such a metric has another value for perfect outputs if they have the shape of the target. A
    metric of two distributions, which does not see their order either, has the same.
    """
    right = target.to(output.dtype)
    for metric in task.metrics:
        values: list[float] = []
        if is_of_pairs(metric, output, target):
            with suppress(Exception):  # of outputs that it cannot take
                values = [float(metric(o, target)) for o in (right.view_as(output), right)]
        if values and not math.isclose(*values, rel_tol=1e-6):
            raise of_pairs(f"Metric {metric.name} of task {task.name}", output, target)


@torch.no_grad()
def of_batches(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield a note for each metric of a task that is another one of all examples at once than of
    the batches in which they come."""
    task, *_ = judged[0]
    for metric in task.metrics:
        if not isinstance(metric, Metric):  # of torchmetrics, which gathers by itself
            continue
        with suppress(Exception), warnings.catch_warnings():  # of outputs that it cannot take
            warnings.simplefilter("ignore")
            total = None
            for _, output, target in judged:
                total = metric.add(total, output, target)
            in_batches = metric.of(total)
            outputs = torch.cat([output for _, output, _ in judged])
            targets = torch.cat([target for *_, target in judged])
            whole, again = (metric(outputs, targets) for _ in range(2))
            is_random = whole != again
            if not is_random and abs(in_batches - whole) > CHANGED * abs(whole) + ROUNDED:
                yield (
                    f"Metric {metric.name} of task {task.name} depends on the size of a batch: of "
                    f"the first {len(judged)} batches it is {in_batches:.3g}, and {whole:.3g} of "
                    "their examples at once. Let its statistic be sums, or a list of what it "
                    "needs, and compute the metric in `value`."
                )


def middle(network: Network) -> Weights:
    """Return the weights at the alpha with equal entries."""
    return network.theta(np.full(network.num_members, 1 / network.num_members))
