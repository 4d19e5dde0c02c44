"""Stages: the trainings of which `fit` is made, one after the other and beside each other."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError, check_choice
from pamal_core.inputs import Batch
from pamal_core.method import Method
from pamal_core.network import Network
from pamal_core.optimizers import make_optimizer, make_scheduler, times_stepped
from pamal_core.skeleton import copied
from pamal_core.training import Training, train

OWN_WEIGHT = 0.9
"""Weight of its own task in the loss of a member of a soup. The other tasks share the rest."""


@dataclass
class Stage:
    """A training of `fit`: a method, the arguments with which `train` trains it, and a function
    that makes those of them anew that say how it steps."""

    method: Method
    options: dict[str, Any]
    parts: Callable[[], dict[str, Any]]


def maker(
    model: Any, shared: Any, seed: int, device: torch.device | str | None
) -> Callable[[np.ndarray | None], Network]:
    """Return a function that makes a network with the given task weights, or returns the network
    that `model` is if they are None. Raise InputError unless `model` is one of three things."""
    is_maker = not isinstance(model, nn.Module)
    if is_maker and not callable(model):
        raise InputError(
            "`model` must make a new model at each call, such as Net, or be a model or a network. "
            f"Found a {type(model).__name__}."
        )
    if is_maker:
        _check_maker(model)
    first = model
    if isinstance(model, Network):
        if shared is not None:
            raise InputError("`shared` must be left out: a network was made with it. Found both.")
        first, shared = _first_member(model), [*model.skeleton.shared]
    elif isinstance(shared, Iterator):
        shared = [*shared]  # which all networks read

    def make(rows: np.ndarray | None) -> Network:
        if rows is None:
            return model.to(device)
        torch.manual_seed(int(seed) % 2**64)  # torch takes no larger one
        members = [model() if is_maker else copied(first) for _ in rows]
        return WeightEnsemble(members, task_weights=rows, shared=shared).to(device)

    return make


def _check_maker(make: Callable[..., Any]) -> None:
    """Raise InputError if `make` has arguments without a default."""
    try:
        signature = inspect.signature(make)
    except ValueError:  # of a function that says nothing of its arguments
        return
    try:
        signature.bind()
    except TypeError as error:
        raise InputError(
            f"`model` must make a new model without arguments: lambda: Net(8) gives it some. Found "
            f"one with a {error}."
        ) from error


@torch.no_grad()
def _first_member(network: Network) -> nn.Module:
    """Return the module at the first corner of `network`, in training mode as its members were."""
    model = network.skeleton.export(network.theta(np.eye(network.num_members)[0])).train()
    for name in network.skeleton.frozen_modules:
        model.get_submodule(name).eval()
    return model


def rows_of_soup(num_tasks: int) -> np.ndarray:
    """Return the task weights of the members of a soup."""
    others = (1 - OWN_WEIGHT) / max(num_tasks - 1, 1)
    return np.where(np.eye(num_tasks) == 1, OWN_WEIGHT, others)


def parts_of(
    method: Method,
    epochs: int,
    length: int,
    lr: float | None,
    optimizer: Any = None,
    scheduler: Any = None,
    scheduler_interval: Literal["epoch", "step"] = "epoch",
) -> dict[str, Any]:
    """Return the arguments of `train` that say how `method` steps. An optimiser and a schedule are
    made here, so that one that does not fit is refused before anything is trained."""
    if optimizer is None and scheduler is None:
        return {"lr": lr}
    made = make_optimizer(method, lr, optimizer)
    times = times_stepped(epochs, scheduler_interval, length)
    with warnings.catch_warnings():  # `train` warns of it
        warnings.simplefilter("ignore")
        schedule = make_scheduler(scheduler, made, scheduler_interval, times)
    return {"optimizer": made, "scheduler": schedule, "scheduler_interval": scheduler_interval}


def train_stages(
    stages: Sequence[Stage], loader: Iterable[Batch], **more: Any
) -> list[dict[str, Any]]:
    """Train the stages, each from where the one before ended, and return the losses of each epoch.
    The last gets the arguments `more`; to resume it, no other is trained."""
    *before, last = stages
    for stage in before if more.get("resume") is None else ():
        train(stage.method, loader, **stage.options)
        _copy_into_members(last.method.network, stage.method.network)
        last.method.epoch_losses = stage.method.epoch_losses  # no order of batches comes again
        last.options |= last.parts()  # an optimiser may keep the weights that it was made with
    later = train(last.method, loader, **(last.options | more))
    every = last.method.epoch_losses
    number = len(every) - len(later)
    named = [
        {f"{name}/loss": loss for name, loss in zip(last.method.names, losses, strict=True)}
        for losses in every[:number]
    ]
    rows = [{"epoch": epoch} | row for epoch, row in enumerate(named, start=1)]
    return rows + [row | {"epoch": number + row["epoch"]} for row in later]


def epochs_beside(baseline: Any, passes: int, num_tasks: int, soup: bool) -> dict[str, list[int]]:
    """Return the epochs of each stage of each baseline, by name. Raise InputError if one cannot
    have as many `passes`. An epoch of the members of a soup takes a pass for each of them."""
    if baseline is None:
        return {}
    check_choice("baseline", baseline, ["ls", "soup", "both"])
    beside = {}
    if baseline != "soup":
        beside["LS"] = [passes]
    if baseline != "ls":
        if soup:
            raise InputError("`baseline` must be another recipe than the soup. Found soup=True.")
        apart = max((passes + num_tasks) // (2 * num_tasks), 1)  # the nearest number
        if num_tasks < 2 or passes <= num_tasks:
            raise InputError(
                "`baseline` can be a soup if there are two tasks or more, and more passes than "
                f"tasks. Found {num_tasks} tasks and {passes} passes."
            )
        beside["soup"] = [passes - apart * num_tasks, apart]
    return beside


def stop_after(stages: Sequence[Stage], passes: int, steps: int) -> None:
    """Let the stages of a baseline, planned for so many `passes`, end after so many `steps` of one
    draw: in the same shares, with schedules and averages as planned. Raise InputError if these are
    too few for all stages."""
    *before, last = stages
    window, share = last.method.window, -(-steps * last.options["epochs"] // passes)
    apart = min(share, (steps - len(before)) // window)
    if apart < 1:
        raise InputError(f"A soup has more steps than the hook let pass. Found {steps}.")
    numbers = [steps - apart * window] * len(before) + [apart]
    for stage, number in zip(stages, numbers, strict=True):
        stage.options["on_step"] = partial(_stop, number)


def _stop(number: int, training: Training) -> None:
    """Stop a training after so many steps."""
    training.stop = training.step >= number


@torch.no_grad()
def _copy_into_members(network: Network, one: Network) -> None:
    """Give each member of `network` the weights of the only member of `one`, whose skeleton, with
    buffers and frozen weights, it has already."""
    assert isinstance(network, WeightEnsemble) and isinstance(one, WeightEnsemble)
    pairs = zip(network.stacked.parameters(), one.stacked.parameters(), strict=True)
    for weights, weight in pairs:
        weights.copy_(weight)  # of shape [1, *shape]
