"""What `train` checks before a weight is moved."""

import contextlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils._pytree import tree_map_only

from pamal_core.errors import InputError, check_choice
from pamal_core.inputs import Batch, described
from pamal_core.method import Method
from pamal_core.tasks import by_task, taken

if TYPE_CHECKING:
    from pamal_core.training import Training  # which imports this module

NOT_COMPARED = {"foreach", "fused", "capturable", "differentiable", "initial_lr", "params"}
"""Settings of an optimiser that say how it computes, not what."""


def check_training(training: "Training") -> None:
    """InputError unless the parts of a training fit one another."""
    method, optimizer, scheduler = training.method, training.optimizer, training.scheduler
    check_choice("scheduler_interval", training.scheduler_interval, ("epoch", "step"))
    for name, weight in method.network.named_parameters():
        if weight.requires_grad and weight.dtype not in (torch.float32, torch.float64):
            raise InputError(
                "Weights are trained in float32 or float64: fewer digits lose small steps. Found "
                f"{weight.dtype} in {name}. For speed set `network.precision = torch.bfloat16`."
            )
    unfit = torch.optim.LBFGS | torch.optim.SparseAdam
    if not isinstance(optimizer, torch.optim.Optimizer) or isinstance(optimizer, unfit):
        found = described(optimizer)
        raise InputError(
            f"`optimizer` must step on one dense gradient, as Adam does. Found {found}."
        )
    _check_trained(method, optimizer)
    if scheduler is not None and getattr(scheduler, "optimizer", None) is not optimizer:
        found = described(scheduler)
        raise InputError(f"`scheduler` must be of the `optimizer` given. Found {found} of another.")
    if isinstance(scheduler, ReduceLROnPlateau) and training.scheduler_interval == "step":
        raise InputError("ReduceLROnPlateau needs the losses of an epoch. Found one for each step.")
    networks = [n for n in (method.network, training.average) if n is not None]
    if len({tuple(p.shape for p in network.parameters()) for network in networks}) > 1:
        raise InputError("`average` must be AveragedModel(method.network). Found another's.")


def _check_trained(method: Method, optimizer: torch.optim.Optimizer) -> None:
    """InputError unless `optimizer` has all that `method` trains, each whole or in views that make
    it up (`parameter_groups`), and nothing else."""
    named: dict[str, Tensor] = dict(method.network.named_parameters())
    named |= {f"entry {k} of the balancer": p for k, p in enumerate(method.balancer.parameters())}
    own, given = Counter[int](), Counter[int]()  # how many numbers of each piece of memory
    for p in named.values():
        own[p.untyped_storage().data_ptr()] += p.numel()
    for p in (p for group in optimizer.param_groups for p in group["params"]):
        given[p.untyped_storage().data_ptr()] += p.numel()
    places = {n: p.untyped_storage().data_ptr() for n, p in named.items() if p.requires_grad}
    missing = [name for name, place in places.items() if given[place] < own[place]]
    foreign = len(given.keys() - own.keys())
    if missing or foreign:
        raise InputError(
            "`optimizer` must train what the method has and nothing else, such as "
            "`method.parameters()` of the network where it is now. Found "
            f"{', '.join(missing) or 'nothing'} missing and {foreign} tensors of others."
        )


@contextlib.contextmanager
def metrics_checked(method: Method, targets: Batch) -> Iterator[None]:
    """Around the first step: in the end InputError where a metric does not take the outputs of its
    first draw. The network runs no more often for it, and random numbers stay as they were."""
    seen: list[Any] = []

    def keep(_: Any, __: Any, outputs: Any) -> None:
        seen.append(tree_map_only(Tensor, Tensor.detach, outputs))
        hook.remove()

    hook = method.network.register_forward_hook(keep)
    try:
        yield
    finally:
        hook.remove()
    device = method.network.task_weights.device
    with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        triples = by_task(method.tasks, seen[0], targets)
        for t in method.network.trained_tasks:  # what `evaluate` judges
            task, output, target = triples[t]
            if target is None:
                continue
            for metric in task.metrics:
                with contextlib.suppress(ArithmeticError):  # 0 / 0: a batch may have no label
                    taken(task, f"metric {metric.name}", metric, output, target)


def made_with(training: "Training") -> dict[str, str]:
    """What a training must have in common with one that goes on from its state, as texts."""
    method, rule = training.method, training.method.balancer
    network, options = method.network, inspect.signature(type(rule)).parameters
    plain = {n: v for n in options if isinstance(v := getattr(rule, n, None), str | int | float)}
    groups = training.optimizer.param_groups
    about: dict[str, Any] = {
        "network": {n: [*p.shape] for n, p in network.named_parameters()},
        "precision": network.precision,
        "task_weights": network.task_weights.tolist(),
        "tasks": [task.name for task in method.tasks],
        "balancer": f"{type(rule).__name__} {plain}",
        **{name: getattr(method, name) for name in ("preference", "penalty", "window")},
        **{name: getattr(training, name) for name in ("scheduler_interval", "clip_norm", "seed")},
        **{n: type(getattr(training, n)).__name__ for n in ("optimizer", "scheduler", "average")},
        "groups": [[[*p.shape] for p in group["params"]] for group in groups],
    }
    for number, group in enumerate(groups):
        # A scheduler keeps the rate it began with: the present one is part of the state.
        begun = group | {"lr": group.get("initial_lr", group.get("lr"))}
        about |= {f"{name} of group {number}": begun[name] for name in begun.keys() - NOT_COMPARED}
    # A tuple is a list in a file; a class without a text of its own has its address for one.
    texts = {name: str([*v] if isinstance(v, tuple) else v) for name, v in about.items()}
    return {name: re.sub(" at 0x[0-9a-f]+", "", text) for name, text in texts.items()}


def check_same(state: Any, now: Mapping[str, str]) -> None:
    """InputError, with what differs, unless `state` is that of a training `made_with` the same."""
    if not isinstance(state, Mapping) or "made_with" not in state:
        found = described(state)
        raise InputError(f"`resume` must be what `Training.state_dict` returned. Found {found}.")
    then = state["made_with"]
    differ = [
        f"{name} {then[name]} in the state and {now[name]} here"
        for name in now
        if name in then and then[name] != now[name]  # a version of torch may have more settings
    ]
    if differ:
        raise InputError(
            "A training goes on with the method, the optimiser and the settings it was begun with. "
            f"Found {'; '.join(differ)}."
        )
