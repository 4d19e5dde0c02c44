"""The one training loop. It knows nothing of the problem: batches in, steps of a method out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
from pamal_core.networks.hypernetwork import Hypernetwork
from pamal_core.tasks import labelled


@dataclass
class Training:
    """A training so far, as a hook of `train` finds it. `state_dict` has all it takes to go on.

    `history` has a row per finished epoch, to the last of which a hook may add. After a hook that
    sets `stop` no other epoch begins.
    """

    method: Method
    optimizer: torch.optim.Optimizer
    scheduler: LRScheduler | None = None
    average: AveragedModel | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    stop: bool = False

    def state_dict(self) -> dict[str, Any]:
        """The state of every part and the history: tensors, numbers, texts, lists and dicts."""
        states = {name: dict(part.state_dict()) for name, part in self._parts().items()}
        return states | {"history": self.history}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which `state_dict` returned."""
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.history[:] = [dict(row) for row in state["history"]]

    def _parts(self) -> dict[str, Any]:
        parts = {
            "network": self.method.network,
            "optimizer": self.optimizer,
            "balancer": self.method.balancer,
            "scheduler": self.scheduler,
            "average": self.average,
        }
        return {name: part for name, part in parts.items() if part is not None}


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
    resume: Mapping[str, Any] | None = None,
    on_epoch: Callable[[Training], None] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Train `method.network` in place; returns a row per epoch, with the mean loss of each task,
    [T], as "losses": the mean over steps that had a label of it, NaN where none had.

    `loader` yields (inputs, target_1, ..., target_T), or (inputs, {name: target}), anew each time
    it is iterated; several inputs are a tuple or a dict of their own.

    Without an `optimizer` it is Adam with M times `lr`: the gradient of a member is scaled by its
    alpha, 1/M in expectation (section 5). A `scheduler` of that optimizer takes one step after each
    epoch; torch's `ReduceLROnPlateau` is told the sum of the losses in that row, but for NaN.
    `average`, torch's `AveragedModel` of the network, is updated after each step.

    Every epoch starts by seeding torch's global generator, and that of the draws, from (`seed`,
    epoch). `on_epoch` is called after each epoch with the `Training` so far, whose state it may
    keep. A training that is given such a state as `resume` goes on from there, and equals one that
    was never interrupted, bit for bit; a loader that draws from numpy's global generator has to
    seed it itself.

    Raises NonFiniteError, before the optimiser steps, where a loss or a gradient is NaN or
    infinite, and InputError where a step does not fit into memory: it says what would.
    """
    if optimizer is None:
        optimizer = adam(method, lr * method.network.num_members)
    training = Training(method, optimizer, scheduler, average)
    if resume is not None:
        training.load_state_dict(resume)
    history = training.history
    bar = tqdm(range(len(history) + 1, epochs + 1), disable=not progress, unit="epoch")
    for epoch in bar:
        try:
            losses = _epoch(training, loader, seed, epoch)
            history.append({"losses": losses})
            if on_epoch is not None:
                on_epoch(training)
        except KeyboardInterrupt as stopped:
            stopped.add_note(f"Stopped in epoch {epoch}. The network is as its last step left it.")
            raise
        named = zip(method.tasks, losses, strict=True)
        bar.set_postfix({task.name: f"{loss:.4f}" for task, loss in named})
        if training.stop:
            break
    return history


def adam(method: Method, lr: float) -> torch.optim.Adam:
    """Adam for all that `method` trains.

    A hypernetwork has a hundred parameters for each weight of its model, and torch's usual dozen
    passes over them take three times as long as their gradient: it gets the fused form, one pass.
    """
    fused = True if isinstance(method.network, Hypernetwork) else None
    return torch.optim.Adam(method.parameters(), lr=lr, fused=fused)


def seed_everything(seed: int, epoch: int = 0) -> np.random.Generator:
    """Seed torch's global generator from (seed, epoch) and return a numpy generator of its own
    stream."""
    streams = np.random.SeedSequence([seed, epoch]).spawn(2)
    torch.manual_seed(int(streams[0].generate_state(1, np.uint64)[0] >> 1))
    return np.random.default_rng(streams[1])


def _epoch(training: Training, loader: Iterable[Batch], seed: int, epoch: int) -> list[float]:
    """The mean loss of each task over the steps of one epoch that had a label of it."""
    method, device = training.method, training.method.network.task_weights.device
    rng = seed_everything(seed, epoch)
    method.network.train()
    method.balancer.start_epoch([row["losses"] for row in training.history])
    total, steps = torch.zeros(len(method.tasks), device=device), 0
    counts = torch.zeros_like(total)
    for step, batch in enumerate(loader):
        batch = moved(batch, device)
        try:
            losses = _step(training, batch, rng)
        except NonFiniteError as error:
            raise NonFiniteError(f"Stopped in epoch {epoch}, step {step + 1}. {error}") from error
        total += losses.mean(0)
        counts += labelled(method.tasks, batch[1:], device)
        steps += 1
    if steps == 0:
        raise InputError("The loader must yield at least one batch an epoch. Found none.")
    distributed.average_buffers(method.network)
    means: list[float] = (total / counts).tolist()
    if isinstance(training.scheduler, ReduceLROnPlateau):
        training.scheduler.step(sum(mean for mean in means if mean == mean))
    elif training.scheduler is not None:
        training.scheduler.step()
    return means


def _step(training: Training, batch: Batch, rng: np.random.Generator) -> Tensor:
    method, optimizer = training.method, training.optimizer
    optimizer.zero_grad(set_to_none=True)
    try:
        losses = method.step(batch, rng)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        # A gradient can overflow where the losses do not; it must not touch the weights.
        if not all(_is_finite(p.grad) for p in parameters if p.grad is not None):
            raise NonFiniteError("All losses are finite but their gradient is not.")
        optimizer.step()
        if training.average is not None:
            training.average.update_parameters(method.network)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    else:
        return losses
    # Outside of the handler: the error held on to the graph that did not fit.
    raise too_large(method, batch, optimizer)


def _is_finite(values: Tensor) -> bool:
    """Whether all are. A sum is finite only then, and writes nothing; of finite values it may
    overflow, so that it does not decide alone."""
    return bool(values.sum().isfinite()) or bool(values.isfinite().all())
