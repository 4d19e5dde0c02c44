"""Checks before a training: refuse what it would do wrong without an error."""

import contextlib
import inspect
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, ReduceLROnPlateau

from pamal_core.errors import InputError, is_number
from pamal_core.method import Method
from pamal_core.skeleton import autocast_now, full_precision
from pamal_core.tasks import Task, by_task, task_losses
from pamal_core.weights import as_leaves

PERIODS = ("T_max", "T_0", "total_iters", "total_size")
"""Attributes of torch's schedules with the number of steps that one cycle or one ramp takes."""


def check_gradients() -> None:
    """Raise InputError where torch computes no gradients."""
    if not torch.is_grad_enabled():
        raise InputError(
            "Training needs gradients. Found torch.no_grad() or torch.inference_mode() around it."
        )


def check_function(name: str, value: object) -> None:
    """Raise InputError unless `value`, of the argument `name`, can be called, or is None."""
    if not (value is None or callable(value)):
        raise InputError(f"`{name}` must be a function. Found {value!r}.")


def check_optimizer(method: Method, optimizer: Optimizer) -> None:
    """Raise InputError unless `optimizer` trains all parameters of `method` and no others, without
    a closure. A parameter may be in it whole, or as views that together cover it."""
    _, *arguments = inspect.signature(type(optimizer).step).parameters.values()
    for argument in arguments:
        is_several = argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD)
        if argument.default is argument.empty and not is_several:
            raise needs_more(optimizer, f"a {argument.name}")
    # SAM asks for a closure when it steps, not in its signature: its other method tells.
    if hasattr(optimizer, "first_step"):
        raise needs_more(optimizer, "a closure")
    named: dict[str, Tensor] = dict(method.network.named_parameters())
    named |= {f"entry {k} of the balancer": p for k, p in enumerate(method.balancer.parameters())}
    for name, weight in named.items():
        if weight.requires_grad and weight.dtype not in (torch.float32, torch.float64):
            raise InputError(
                "Weights are trained in float32 or float64: fewer digits lose small steps. Found "
                f"{weight.dtype} in {name}. For speed train under autocast to bfloat16."
            )

    def place(tensor: Tensor) -> int:
        return tensor.untyped_storage().data_ptr()

    ours, given = Counter[int](), Counter[int]()  # how many numbers of each piece of memory
    for weight in named.values():
        ours[place(weight)] += weight.numel()
    for group in optimizer.param_groups:
        for weight in group["params"]:
            given[place(weight)] += weight.numel()
    trained = {name: weight for name, weight in named.items() if weight.requires_grad}
    missing = [n for n, weight in trained.items() if given[place(weight)] < ours[place(weight)]]
    foreign = len(given.keys() - ours.keys())
    if missing or foreign:
        lacks = missing[0] if missing else "nothing"
        if len(missing) > 1:
            lacks += f" and {len(missing) - 1} more"
        raise InputError(
            "`optimizer` must train what the method has and nothing else: make it of "
            "`method.parameters()`, after the network is moved, or write a loop of your own for "
            f"several optimisers. Found {lacks} missing and {foreign} tensors of others."
        )


def needs_more(optimizer: Optimizer, what: str) -> InputError:
    """Return the error for an optimiser that needs something to step, such as a closure with which
    it computes losses several times."""
    return InputError(
        "`optimizer` must step along the gradient of one forward pass; for others write a loop "
        f"around `Method.step`. Found {type(optimizer).__name__}, which needs {what}."
    )


def check_reach(method: Method, runs: Sequence[Sequence[Any]], alpha: ArrayLike) -> None:
    """Run the first batch once, and raise InputError if training would be wrong without an error.

    - The losses train weights that do not follow from alpha: weights that the model reaches in
      another way than as its own attributes, or that were frozen when the network was made.
    - The forward pass writes into weights.
    - A loss compares each output with each target (`is_of_pairs`).
    - A loss is a sum over the batch (`check_mean`).

    Warn if a layer that is none of torch's changes running statistics: all alphas share them.

    `runs` is the batch as `inputs.runs_of` returns it. Random numbers and buffers stay as they
    were.
    """
    network, device = method.network, method.network.device
    theta = as_leaves(network.theta(alpha))
    before = {n: w.detach().clone() for n, w in theta.items()}
    skeleton = network.skeleton.eval_copy()
    model = skeleton.model
    with (
        skeleton.train().holding(theta),
        autocast_now(device),  # which forgets its casts of theta
        torch.random.fork_rng([device] if device.type == "cuda" else []),
    ):
        versions, losses, own = _versions(model), [], _own_statistics(model)
        for inputs, *targets in runs:
            outputs = skeleton(theta, inputs)
            with full_precision(device):
                losses.append(task_losses(method.tasks, outputs, targets))
                for triple in by_task(method.tasks, outputs, targets):
                    check_reduction(*triple)
        replaced = versions.items() - _versions(model).items()
        after = _own_statistics(model)
    if changed := [name for name in own if not torch.equal(own[name], after[name])]:
        warnings.warn(
            "All alphas share the running statistics of a layer that is none of torch's, and they "
            "belong to the middle of the front: derive it from a BatchNorm of torch, whose "
            f"statistics are estimated anew. Found {changed[0] or 'the top'!r}.",
            stacklevel=3,
        )
    written = [n for n in theta if not torch.equal(theta[n].nan_to_num(), before[n].nan_to_num())]
    if replaced or written:
        raise InputError(
            "A model must not write into its weights in its forward pass: they follow from alpha, "
            "or are frozen. Found one that does."
        )
    frozen = {p: f"{n}, frozen before" for n, p in model.named_parameters()}
    weight = _parameter_in(losses)
    if weight is not None:
        raise InputError(
            "All that the losses train must follow from alpha: weights of the members, reached as "
            "their own attributes, trainable from the start. Found "
            f"{frozen.get(weight, f'a parameter {[*weight.shape]} that is not one of them')}."
        )


def _parameter_in(losses: Sequence[Tensor]) -> nn.Parameter | None:
    """Return a parameter in the graphs of `losses`, None if there is none: theta has leaves of its
    own."""
    nodes, seen = [loss.grad_fn for loss in losses], set[Any]()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(weight := getattr(node, "variable", None), nn.Parameter):
            return weight
        nodes += [following for following, _ in node.next_functions]
    return None


@torch.no_grad()
def check_losses(
    method: Method, runs: Sequence[Sequence[Any]], alpha: ArrayLike, names: Sequence[str]
) -> None:
    """Raise InputError as `check_reduction` does, for the tasks `names`. The network runs in
    evaluation mode, in which no process waits for another one."""
    skeleton, theta = method.network.skeleton.eval_copy(), method.network.theta(alpha)
    for inputs, *targets in runs:
        outputs = skeleton(theta, inputs)
        with full_precision(method.network.device):
            for triple in by_task(method.tasks, outputs, targets):
                if triple[0].name in names:
                    check_reduction(*triple)


def _own_statistics(model: nn.Module) -> dict[str, Tensor]:
    """Return copies of the running means of layers that are none of torch's, by their names."""
    return {
        name: module._buffers["running_mean"].clone()
        for name, module in model.named_modules()
        if module._buffers.get("running_mean") is not None and not isinstance(module, _NormBase)
    }


def _versions(model: nn.Module) -> dict[str, tuple[int, int]]:
    """Return where each weight is, and how often torch has written into it."""
    return {name: (p.data_ptr(), p._version) for name, p in model.named_parameters()}


def check_reduction(task: Task, output: Tensor, target: Tensor | None) -> None:
    """Raise InputError unless the loss of `task` is a mean over the examples, in which each output
    is compared with its own target. Without a target nothing can be said."""
    if target is None:
        return
    if is_of_pairs(task.loss, output, target):
        raise of_pairs(f"The loss of task {task.name}", output, target)
    check_mean(task, output, target)


def _labelled(output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the examples that have all their targets, and all if they are not in one order."""
    if len(output) != len(target) or not target.isnan().any():
        return output, target
    has_all = target.isnan().reshape(len(target), -1).any(1).logical_not()
    return output[has_all], target[has_all]


def is_of_pairs(function: Callable[..., Any], output: Tensor, target: Tensor) -> bool:
    """Return whether a loss or a metric broadcasts outputs [n, 1] and targets [n] to n x n pairs.
    Then it does not change if the targets are in another order, not even for perfect outputs."""
    if not target.ndim or output.shape == target.shape or output.numel() != target.numel():
        return False
    output, target = _labelled(output, target)
    if not len(target):
        return False
    if bool((target == target.flatten()[0]).all()):  # as of a rare class: no order to be seen
        target = target.clone()
        target[0] = target[0] == 0
    right, shuffled = target.view_as(output).to(output.dtype), target.roll(1, 0)
    others = target, shuffled, torch.zeros_like(target)
    of_right = of_shuffled = of_zeros = of_mean = of_its_shape = math.nan
    with contextlib.suppress(Exception), warnings.catch_warnings():  # of outputs it cannot take
        warnings.simplefilter("ignore")
        of_right, of_shuffled, of_zeros = (float(function(right, other)) for other in others)
        of_mean = float(function(right.mean().expand_as(right), target))
        of_its_shape = float(function(right.view_as(target), target))
    sees_order = not math.isclose(of_right, of_shuffled, rel_tol=1e-6)  # or cannot be called
    sees_targets = not math.isclose(of_right, of_zeros, rel_tol=1e-6)
    if sees_order or not sees_targets or torch.equal(target, shuffled):
        return False
    # What compares two sets, such as their means, sees neither the shape nor the order. A loss of
    # pairs sees the shape, or else is smaller for a constant answer than for the right ones.
    if math.isnan(of_its_shape):  # it cannot be called so, which says nothing
        of_its_shape = of_right
    sees_shape = not math.isclose(of_right, of_its_shape, rel_tol=1e-6, abs_tol=1e-12)
    return sees_shape or of_mean < of_right - 1e-6 * abs(of_right)


def of_pairs(what: str, output: Tensor, target: Tensor) -> InputError:
    """Return the error for a loss or a metric, as `what` names it, that compares all pairs."""
    return InputError(
        f"{what} must compare each output with its own target. Found that it compares outputs "
        f"{[*output.shape]} with all targets {[*target.shape]}."
    )


def check_mean(task: Task, output: Tensor, target: Tensor) -> None:
    """Raise InputError if the loss of `task` doubles where each example is there twice: a sum over
    the batch grows with it, and so would a task's share of the direction."""
    factor = repeated(task, output, target)
    if factor is not None and abs(factor - 2) < 2e-3:
        half = (len(target) + 1) // 2  # two sizes, so that no other loss doubles by chance
        factor = repeated(task, output[:half], target[:half])
    if factor is not None and abs(factor - 2) < 2e-3:
        raise InputError(
            f"The loss of task {task.name} must be a mean over the batch. Found that it doubles "
            'where each example is there twice, as with reduction="sum".'
        )


@torch.no_grad()
def repeated(task: Task, output: Tensor, target: Tensor) -> float | None:
    """Return the factor by which the loss of `task` changes where each example is there twice.

    It is None if it cannot be said: without a target for each example, or with a loss that is
    random, near 0, or made for batches of one size.
    """
    if not output.ndim or not target.ndim or len(output) != len(target):
        return None
    twice = torch.cat([output, output]), torch.cat([target, target])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            once, again = (float(task.loss(output, target)) for _ in range(2))
            joined = float(task.loss(*twice))
    except Exception:
        return None
    is_known = once == again and math.isfinite(once) and math.isfinite(joined)
    return joined / once if is_known and abs(once) > 1e-6 else None


def check_schedule(
    scheduler: LRScheduler, optimizer: Optimizer, interval: Literal["epoch", "step"], times: int
) -> None:
    """Raise InputError unless `scheduler` is that of `optimizer` and is stepped as often as its
    `total_steps` says, and warn if it is not stepped often enough to reach its end. One that waits
    for a plateau must do so for the losses of epochs.

    - `interval`: whether it is stepped after each epoch or after each step.
    - `times`: how often it is stepped; 0 for the steps of a loader that does not know its length.
    """
    if scheduler.optimizer is not optimizer:
        raise InputError("`scheduler` must be of the `optimizer` given. Found one of another.")
    if isinstance(scheduler, ReduceLROnPlateau) and (interval == "step" or scheduler.mode == "max"):
        raise InputError(
            "ReduceLROnPlateau gets the sum of the losses of an epoch, of which less is better: "
            f'give it mode="min" and scheduler_interval="epoch". Found {scheduler.mode} and '
            f"{interval}."
        )
    if not times:
        return
    for part, number in _subschedules(scheduler, times):
        name = type(part).__name__
        often = f"it is stepped {number} times, after each {interval} (`scheduler_interval`)"
        total = getattr(part, "total_steps", None)
        if is_number(total) and total != number:
            raise InputError(f"`total_steps` of {name} must be {number}: {often}. Found {total}.")
        for period in PERIODS:
            steps: Any = getattr(part, period, None)
            if is_number(steps) and steps > number:
                warnings.warn(
                    f"{name} has `{period}` = {steps:g} but does not get there: {often}.",
                    stacklevel=4,  # the caller of `train`
                )


def rises_again(scheduler: Any, times: int) -> bool:
    """Return whether a cosine in `scheduler` is stepped beyond its end in so many `times`."""
    if not isinstance(scheduler, LRScheduler):
        return False
    parts = _subschedules(scheduler, times)
    return any(isinstance(part, CosineAnnealingLR) and part.T_max < n for part, n in parts)


def _subschedules(scheduler: LRScheduler, number: int) -> Iterator[tuple[LRScheduler, int]]:
    """Yield the schedules of which `scheduler` is made, each with how often it is stepped if
    `scheduler` is stepped `number` times."""
    parts = getattr(scheduler, "_schedulers", None)
    if parts is None:
        yield scheduler, number
        return
    shares = [number] * len(parts)  # of a ChainedScheduler, whose parts all take each step
    if hasattr(scheduler, "_milestones"):  # of a SequentialLR, whose parts follow each other
        ends = [0, *(min(milestone, number) for milestone in scheduler._milestones), number]
        shares = [end - begin for begin, end in pairwise(ends)]
    for part, share in zip(parts, shares, strict=True):
        yield from _subschedules(part, share)
