"""The one training loop. It knows nothing of the problem: batches in, steps of a method,
checkpoints out."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from pamal_core import distributed
from pamal_core.errors import InputError
from pamal_core.inputs import Batch, moved
from pamal_core.memory import is_out_of_memory, too_large
from pamal_core.method import Method, NonFiniteError
from pamal_core.networks.base import Network
from pamal_core.networks.hypernetwork import Hypernetwork
from pamal_core.runs.signals import stoppable
from pamal_core.runs.state import load_state, save_state

EpochHook = Callable[[int, Method], dict[str, Any] | None]


class Checkpoint(NamedTuple):
    """Where a run keeps its state, the key that tells whose state it is, and for those who list
    runs the fields of its record that say what it is."""

    path: Path
    key: str
    about: Mapping[str, Any] = MappingProxyType({})


def train(
    method: Method,
    loader: Iterable[Batch],
    *,
    epochs: int,
    optimizer: torch.optim.Optimizer | None = None,
    lr: float = 1e-3,
    scheduler: LRScheduler | None = None,
    average: AveragedModel | None = None,
    seed: int = 0,
    checkpoint: Checkpoint | None = None,
    on_epoch: EpochHook | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Train `method.network` in place; returns a row per epoch, with the mean loss of each task,
    [T], as "losses".

    `loader` yields (inputs, target_1, ..., target_T) anew each time it is iterated; several inputs
    are a tuple or a dict of their own. Without an `optimizer` it is Adam with M times `lr`: the
    gradient of a member is scaled by its alpha, 1/M in expectation (section 5). A `scheduler` of
    that optimizer takes one step after each epoch; torch's `ReduceLROnPlateau` is told the sum of
    the losses in that row. `average`, torch's `AveragedModel` of the network, is updated after each
    step.

    Every epoch starts by seeding torch's global generator, and that of the draws, from (`seed`,
    epoch), so that a run resumed from its `checkpoint`, written after each epoch, equals one that
    was never interrupted, bit for bit; a loader that draws from numpy's global one has to seed it
    itself. `on_epoch(epoch, method)` is called after each epoch, epochs counted from 1; what
    it returns joins the row of the epoch.

    Ctrl-C and SIGTERM stop it at once; a run with a checkpoint goes on from its last whole epoch
    when it is started again, and the exception says so.

    Raises NonFiniteError, before the optimiser steps, where a loss or a gradient is NaN or
    infinite, and InputError where a step does not fit into memory: it says what would.
    """
    network = method.network
    if optimizer is None:
        optimizer = adam(method, lr * network.num_members)
    parts = {"network": network, "optimizer": optimizer, "balancer": method.balancer}
    if scheduler is not None:
        parts["scheduler"] = scheduler
    if average is not None:
        parts["average"] = average
    history = _resume(checkpoint, parts)
    bar = tqdm(range(len(history) + 1, epochs + 1), disable=not progress, unit="epoch")
    stop = stoppable(lambda: _how_to_go_on(checkpoint, len(history)))
    with stop, _updated(average, network, optimizer):
        for epoch in bar:
            rng = seed_everything(seed, epoch)
            network.train()
            method.balancer.start_epoch([row["losses"] for row in history])
            losses = _epoch(method, loader, optimizer, rng, epoch)
            distributed.average_buffers(network)
            _anneal(scheduler, losses)
            more = on_epoch(epoch, method) if on_epoch is not None else None
            row = {"losses": losses, **(more or {})}
            if checkpoint is not None and distributed.is_first():
                _save(checkpoint, parts, [*history, row])
            history.append(row)
            named = zip(method.tasks, losses, strict=True)
            bar.set_postfix({task.name: f"{loss:.4f}" for task, loss in named})
    return history


def adam(method: Method, lr: float) -> torch.optim.Adam:
    """Adam for all that `method` trains.

    A hypernetwork has a hundred parameters for each weight of its model, and torch's usual dozen
    passes over them take three times as long as their gradient: it gets the fused form, one pass.
    """
    fused = True if isinstance(method.network, Hypernetwork) else None
    return torch.optim.Adam(method.parameters(), lr=lr, fused=fused)


def _anneal(scheduler: LRScheduler | None, losses: list[float]) -> None:
    if isinstance(scheduler, ReduceLROnPlateau):
        scheduler.step(sum(losses))
    elif scheduler is not None:
        scheduler.step()


@contextlib.contextmanager
def _updated(
    average: AveragedModel | None, network: Network, optimizer: torch.optim.Optimizer
) -> Iterator[None]:
    """`average` follows `network` with each step of `optimizer`."""
    if average is None:
        yield
        return
    hook = optimizer.register_step_post_hook(lambda *_: average.update_parameters(network))
    try:
        yield
    finally:
        hook.remove()


def _how_to_go_on(checkpoint: Checkpoint | None, done: int) -> str:
    if checkpoint is None or done == 0:
        return f"Stopped in epoch {done + 1}. Nothing was kept."
    return (
        f"Stopped in epoch {done + 1}. Epochs 1 to {done} are kept in {checkpoint.path}: the same "
        "command goes on from there."
    )


def seed_everything(seed: int, epoch: int = 0) -> np.random.Generator:
    """Seed torch's global generator from (seed, epoch) and return a numpy generator of its own
    stream."""
    streams = np.random.SeedSequence([seed, epoch]).spawn(2)
    torch.manual_seed(int(streams[0].generate_state(1, np.uint64)[0] >> 1))
    return np.random.default_rng(streams[1])


def _epoch(
    method: Method,
    loader: Iterable[Batch],
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    epoch: int,
) -> list[float]:
    device = method.network.task_weights.device
    total, steps = torch.zeros(len(method.tasks), device=device), 0
    for step, batch in enumerate(loader):
        batch = moved(batch, device)
        try:
            losses = _step(method, batch, optimizer, rng)
        except NonFiniteError as error:
            raise NonFiniteError(f"Stopped in epoch {epoch}, step {step + 1}. {error}") from error
        total += losses.mean(0)
        steps += 1
    if steps == 0:
        raise InputError("The loader must yield at least one batch an epoch. Found none.")
    return (total / steps).tolist()


def _step(
    method: Method,
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
) -> Tensor:
    optimizer.zero_grad(set_to_none=True)
    try:
        losses = method.step(batch, rng)
        _check_gradients(optimizer)
        optimizer.step()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    else:
        return losses
    # Outside of the handler: the error held on to the graph that did not fit.
    raise too_large(method, batch, optimizer)


def _check_gradients(optimizer: torch.optim.Optimizer) -> None:
    """A gradient can overflow where the losses do not; the weights must not be touched by it."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None and not _is_finite(parameter.grad):
                raise NonFiniteError("All losses are finite but their gradient is not.")


def _is_finite(values: Tensor) -> bool:
    """Whether all are. A sum is finite only then, and writes nothing; of finite values it may
    overflow, so that it does not decide alone."""
    return bool(values.sum().isfinite()) or bool(values.isfinite().all())


def _save(checkpoint: Checkpoint, parts: dict[str, Any], history: list[dict[str, Any]]) -> None:
    states = {name: dict(part.state_dict()) for name, part in parts.items()}
    about = {"key": checkpoint.key, "about": json.dumps(dict(checkpoint.about))}
    save_state(checkpoint.path, {**about, **states, "history": history})


def _resume(checkpoint: Checkpoint | None, parts: dict[str, Any]) -> list[dict[str, Any]]:
    """Load the checkpoint, if there is one, into `parts`; the history it has."""
    if checkpoint is None or not checkpoint.path.exists():
        return []
    state: dict[str, Any] = load_state(checkpoint.path)
    if state["key"] != checkpoint.key:
        raise InputError(
            f"{checkpoint.path} belongs to another run. Expected key {checkpoint.key}, "
            f"found {state['key']}. Delete it or write to another place."
        )
    for name, part in parts.items():
        part.load_state_dict(state[name])
    return list(state["history"])
