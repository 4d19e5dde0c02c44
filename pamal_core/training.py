"""The training loop: batches in, steps of a method out. It knows nothing of the problem."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils._pytree import tree_map_only
from tqdm.auto import tqdm

from pamal_core.checks import check_function, check_gradients, check_losses, check_reach
from pamal_core.errors import (
    InputError,
    NonFiniteError,
    check_choice,
    check_number,
    check_type,
    is_number,
)
from pamal_core.inputs import described, runs_of
from pamal_core.loaders import Loader, check_loader, no_batch, to_train
from pamal_core.method import Method
from pamal_core.network import Network, is_in_another_order, names_of
from pamal_core.optimizers import make_optimizer, make_scheduler, step, switch, times_stepped
from pamal_core.skeleton import copied
from pamal_core.statistics import Calibration, CalibrationCache, check_calibration
from pamal_core.tasks import label_counts

PARTS = ("network", "optimizer", "balancer", "scheduler", "average")
"""Parts of a training that have a state. The last two may be missing."""
NEEDED = {"network", "epoch", "step", "is_cut", "history", "epoch_losses", "calibration"}
"""Keys without which a mapping is no state of a training."""
INTERVALS = "epoch", "step"
"""After what a schedule may be stepped."""
CHECKED_EVERY_STEP = {"cpu"}
"""Device types on which losses are checked every step. On others a check would synchronise."""
CHECK_INTERVAL = 50
"""Number of steps from one check to the next on other devices."""


@dataclass
class Training:
    """A training so far, as the hooks of `train` get it.

    `epoch` counts from 1, and `step` counts the steps taken. `losses` [W, T], on their device, and
    `alphas` [W, M] belong to the last step; the loss of a task without a label in the batch is 0.
    `history` has a row per finished epoch, and a hook may add entries to the last row. If a hook
    sets `stop`, no other step begins, unless `on_epoch` unsets it for another epoch. `is_cut` says
    whether the last epoch ended before its last step.
    """

    method: Method
    optimizer: Optimizer
    scheduler: LRScheduler | None = None
    average: AveragedModel | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    epoch: int = 0
    step: int = 0
    losses: Tensor | None = None
    alphas: np.ndarray | None = None
    stop: bool = False
    is_cut: bool = False
    unchecked: list[tuple[str, Tensor, np.ndarray]] = field(default_factory=list, repr=False)
    """Place, losses and alphas of the steps whose losses are not checked yet."""

    @property
    def network(self) -> Network:
        """Return the network to judge, with averaged weights if `train` has an `ema`."""
        if self.average is None:
            return self.method.network
        return cast(Network, self.average.module)

    def set_calibration(self, calibration: Calibration | None) -> None:
        """Give the network, and its average, the examples for its running statistics."""
        self.method.network.calibration = self.network.calibration = calibration

    def state_dict(self) -> dict[str, Any]:
        """Return a copy, in main memory, of the state of every part and the history: tensors,
        numbers, texts, lists and dicts. Raise NonFiniteError if a loss was not finite."""
        self.check_finite()
        state: dict[str, Any] = {n: dict(part.state_dict()) for n, part in self._parts().items()}
        method = self.method
        is_cut = bool(self.stop) and self.is_cut  # if a hook has unset `stop`, the training goes on
        state |= {"epoch": self.epoch, "step": self.step, "is_cut": is_cut}
        state |= {"history": self.history}
        state |= {"epoch_losses": method.epoch_losses, "calibration": method.network.calibration}
        return tree_map_only(Tensor, lambda t: t.detach().to("cpu", copy=True), state)

    def load_state_dict(self, state: Mapping[str, Any], epochs: int | None = None) -> None:
        """Continue from `state`, which `state_dict` returned after a whole epoch, and which stays
        as it is. Raise InputError if it is something else, or was taken within an epoch, or of a
        training with other parts, or after more than so many `epochs`."""
        self._check(state, epochs)
        (name, network), *others = self._parts().items()
        settings = self.optimizer.defaults.keys() & self.optimizer.param_groups[0].keys()
        for other, part in others:
            load_part(other, part, state)
        for group in self.optimizer.param_groups:
            if lacking := settings - group.keys():
                raise InputError(
                    "`resume` must be of a training with the same optimizer. Found one without "
                    f"{', '.join(sorted(lacking))}."
                )
        load_part(name, network, state)  # weights after all that may be refused
        self.step = state["step"]
        self.method.epoch_losses[:] = [list(losses) for losses in state["epoch_losses"]]
        self.history[:] = [dict(row) for row in state["history"]]
        self.set_calibration(state["calibration"])

    def _check(self, state: Any, epochs: int | None) -> None:
        """Raise InputError unless `state` is one of a training like this, as `load_state_dict`
        says."""
        if not isinstance(state, Mapping) or not state.keys() >= NEEDED:
            raise InputError(
                f"`resume` must be what `Training.state_dict` returned. Found {described(state)}."
            )
        if state["epoch"] > len(state["history"]):
            raise InputError(
                "A training goes on after a whole epoch: take its state in `on_epoch`. Found one "
                f"taken during epoch {state['epoch']}."
            )
        if state["is_cut"]:
            raise InputError(
                "A training goes on after a whole epoch: stop it in `on_epoch`. Found one that "
                f"`on_step` stopped during epoch {state['epoch']}."
            )
        if epochs is not None and len(state["history"]) > epochs:
            raise InputError(
                f"`resume` must have no more epochs than are to be trained, {epochs}. Found "
                f"{len(state['history'])}."
            )
        if unlike := {*PARTS} & (self._parts().keys() ^ state.keys()):
            raise InputError(
                "`resume` must be of a training with the same parts, such as an average (`ema`) or "
                f"a scheduler. Found {', '.join(sorted(unlike))} in one of the two alone."
            )
        columns = {f"{name}/loss" for name in self.method.names}
        for row in state["history"][-1:]:
            if not columns <= row.keys():
                raise InputError(
                    f"`resume` must be of the tasks {', '.join(self.method.names)}. Found a "
                    f"history of {', '.join(row)}."
                )
        names = names_of(state["network"].get("_extra_state", torch.empty(0)))
        if is_in_another_order(names, self.method.names):
            raise InputError(
                f"`resume` must be of the tasks in the same order, {', '.join(self.method.names)}: "
                f"alphas mean these. Found {', '.join(names)}."
            )
        for name, weight in self.method.network.named_parameters():
            shape = getattr(state["network"].get(name), "shape", ())
            if shape != weight.shape:
                raise InputError(
                    f"`resume` must be of a network with {name} {[*weight.shape]}. Found "
                    f"{[*shape] or 'none'}."
                )

    def check_finite(self) -> None:
        """Raise NonFiniteError if a loss since the last check, or the last gradient, is NaN or
        infinite. The message names the first such loss."""
        steps, self.unchecked = self.unchecked, []
        if not steps:
            return
        finite = torch.stack([losses.isfinite().all() for _, losses, _ in steps]).tolist()
        for (place, losses, alphas), is_finite in zip(steps, finite, strict=True):
            if not is_finite:
                w, t = losses.isfinite().logical_not().nonzero()[0].tolist()
                raise NonFiniteError(
                    f"Stopped in {place}. The loss of task {t + 1} ({self.method.tasks[t].name}) "
                    f"is {losses[w, t].item()} at alpha={alphas[w].tolist()}."
                )
        gradients = [p.grad for p in self.method.parameters() if p.grad is not None]
        # A sum is finite only if all values are; the sum of finite values may overflow.
        if not all(math.isfinite(g.sum()) or bool(g.isfinite().all()) for g in gradients):
            raise NonFiniteError(
                f"Stopped in {steps[-1][0]}. All losses are finite but their gradient is not."
            )

    def _parts(self) -> dict[str, Any]:
        method = self.method
        parts = method.network, self.optimizer, method.balancer, self.scheduler, self.average
        named = zip(PARTS, parts, strict=True)
        return {name: part for name, part in named if part is not None}


class Average(AveragedModel):
    """An average of the trained weights of a network. Frozen ones are copied, as buffers are: a
    mean of integers rounds, and one of infinities is NaN."""

    @torch.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Take the weights of `model` into the average."""
        super().update_parameters(model)
        for mean, weight in zip(self.module.parameters(), model.parameters(), strict=True):
            if not weight.requires_grad:
                mean.copy_(weight)


def load_part(name: str, part: Any, state: Mapping[str, Any]) -> None:
    """Give a part of a training its `state`. Raise InputError if it is that of another one."""
    try:
        part.load_state_dict(copy.deepcopy(state[name]))  # torch's optimisers take its tensors
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"`resume` must be of a training with the same {name}. Found another one."
        ) from error


def train(
    method: Method,
    loader: Loader,
    *,
    epochs: int,
    lr: float | None = None,
    optimizer: Optimizer | Callable[[list[Tensor]], Optimizer] | None = None,
    scheduler: LRScheduler | Callable[..., LRScheduler] | None = None,
    scheduler_interval: Literal["epoch", "step"] = "epoch",
    ema: float | None = None,
    calibration: Calibration | None = None,
    seed: int = 0,
    resume: Mapping[str, Any] | None = None,
    on_step: Callable[[Training], None] | None = None,
    on_epoch: Callable[[Training], None] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Train `method.network` in place, and return the losses of each epoch.

    Main arguments:

    - `method`: the network, its tasks, and what a step does.
    - `loader`: yields the batches of an epoch each time it is iterated. If it draws from a
      generator of its own or from numpy's, it has to seed that for each epoch. `{name: loader}`
      gives each task inputs of its own: a step has a batch of every loader, through which the
      network runs one after the other. An epoch is the longest; the others begin again.
    - `epochs`: how often the loader is read, including the epochs before a `resume`.
    - `lr`: the learning rate of Adam, by default 0.001 times the number of tasks. A baseline of one
      network has the same rate: Adam hardly notices that alpha scales the gradient of a member. A
      training that goes on has the rate of `resume`, as the optimiser's state has it.
    - `ema`: the decay of an exponential moving average of the weights over all steps, such as
      0.999. The network has the average when training ends; until then hooks find it as
      `training.network`.
    - `seed`: each epoch seeds torch's global generator and the draws by (seed, number of epochs
      that the method was trained for), so a second call goes on where the first ended.

    Other arguments:

    - `optimizer`: an optimiser of `method.parameters()` in place of Adam, or a function that makes
      one of the parameters that it gets. A hook of its own (`register_step_pre_hook`) may change
      the gradients, such as clip them. If it has modes, as schedule-free ones do, it is in
      evaluation mode in hooks, when training ends, and for the average of `ema`.
    - `scheduler`: a schedule of the optimiser's rate, or a function that makes one of the
      optimiser, or of the optimiser and how often the schedule is stepped. torch's
      `ReduceLROnPlateau` gets the sum of the losses of the epoch, without NaN.
    - `scheduler_interval`: whether the schedule is stepped after each "epoch" or each "step".
    - `calibration`: what `evaluate`, `predict` and `export` then estimate running statistics on:
      batches, or "shared" for the statistics that training leaves. By default the network keeps the
      first inputs of the first epoch, up to 512 examples or a batch more, if its layers track
      statistics.
    - `resume`: the `Training.state_dict` that `on_epoch` took of a training that was stopped. With
      the same arguments it ends with the same bits as one that was not. If it has all epochs
      already, none is trained.
    - `on_step`, `on_epoch`: called with the `Training` so far after each step and each epoch. It
      has `epoch`, `step`, `losses`, `alphas`, `network`, and in `history[-1]` the row that a logger
      wants of an epoch. They stop it by `training.stop = True`; an epoch cut short counts with the
      steps it had, and cannot be resumed.
    - `progress`: whether a bar is shown.

    Returns a row per epoch: `{"epoch": 1, "price/loss": 0.4, ...}`, with the mean loss of each task
    over the batches that had a label of it, NaN if none had.

    Raises InputError before a weight is moved if the arguments do not fit one another or if a loss
    trains weights that do not follow from alpha. A loss is checked at the first batch of the first
    epoch that has a label of its task. Raises NonFiniteError if a loss or a gradient is
    NaN or infinite: on a CPU before the optimiser steps, on other devices within 50 steps, and
    before an epoch ends or a state is taken.
    """
    check_type("method", method, Method, "Method(network, tasks)")
    check_gradients()
    check_number("epochs", epochs, 1, whole=True)
    check_number("seed", seed, 0, whole=True)
    check_choice("scheduler_interval", scheduler_interval, INTERVALS)
    check_loader(loader, epochs)
    loader = to_train(loader, method.names)
    check_calibration(calibration)
    if ema is not None and not (is_number(ema) and 0 < ema < 1):
        raise InputError(f"`ema` must be a decay above 0 and below 1. Found ema={ema!r}.")
    check_function("on_step", on_step)
    check_function("on_epoch", on_epoch)
    network, device = method.network, method.network.device
    optimizer = make_optimizer(method, lr, optimizer)
    length = length_hint(loader, 0)  # 0 if the loader does not know
    times = times_stepped(epochs, scheduler_interval, length)
    scheduler = make_scheduler(scheduler, optimizer, scheduler_interval, times)
    average = None
    if ema is not None:
        decay = get_ema_multi_avg_fn(ema)  # type: ignore[no-untyped-call]
        # Activations that a model keeps have a graph, with which torch would not copy it.
        average = Average(copied(network), multi_avg_fn=decay)
    training = Training(method, optimizer, scheduler, average)
    if resume is not None:
        training.load_state_dict(resume, epochs)
    if calibration is not None:
        kept = calibration if calibration == "shared" else [*calibration]
        network.check_examples(kept)
        training.set_calibration(kept)
    examples = CalibrationCache()
    keeps_examples = calibration is None and resume is None and bool(network.skeleton.tracking)
    history = training.history
    unseen = {*range(len(method.tasks))}  # tasks without a label so far: nothing called their loss
    bar = tqdm(range(len(history) + 1, epochs + 1), disable=not progress, unit="epoch")
    for epoch in bar:
        training.epoch = epoch
        rng = seed_everything(seed, len(method.epoch_losses) + 1)
        network.train()
        switch(optimizer, "train")
        method.balancer.start_epoch(method.epoch_losses)
        total, labelled = torch.zeros(2, len(method.tasks), device=device)
        number = 0
        for number, batch in enumerate(loader, start=1):
            runs = runs_of(batch, device, method.names)
            into_epoch = (number - 1) / length if length else 0.0
            alphas = method.draw(rng, min((epoch - 1 + into_epoch) / epochs, 1.0))
            is_first = training.losses is None
            if is_first:
                check_reach(method, runs, alphas[0])
            if keeps_examples:  # not before the check: a refused batch changes nothing
                for inputs, *_ in runs:
                    examples.add(inputs)
                training.set_calibration(examples.batches)
            optimizer.zero_grad()
            for parameter in method.parameters():  # an optimiser of views clears the views alone
                parameter.grad = None
            # What is on the device already is not copied there again.
            on_device = runs[0] if len(runs) == 1 else dict(zip(batch, runs, strict=True))
            losses = method.step(on_device, alphas)
            training.losses, training.alphas = losses, alphas
            counts = [label_counts(method.tasks, targets, device) for _, *targets in runs]
            has_label = torch.stack(counts).sum(0) > 0
            if unseen:
                seen = unseen & {t for t, has in enumerate(has_label.tolist()) if has}
                if seen and not is_first:
                    check_losses(method, runs, alphas[0], [method.names[t] for t in seen])
                unseen -= seen
            training.unchecked.append((f"epoch {epoch}, step {number}", losses, alphas))
            if device.type in CHECKED_EVERY_STEP or number % CHECK_INTERVAL == 0:
                training.check_finite()
            step(optimizer)
            training.step += 1
            if average is not None:
                switch(optimizer, "eval")
                average.update_parameters(network)
                switch(optimizer, "train")
            if scheduler is not None and scheduler_interval == "step":
                scheduler.step()
            total += losses.mean(0)
            labelled += has_label
            if on_step is not None:
                switch(optimizer, "eval")
                on_step(training)
                switch(optimizer, "train")
            if training.stop:
                break
        if number == 0:
            raise no_batch("loader")
        training.is_cut = bool(training.stop) and number != length_hint(loader, 0)
        training.check_finite()
        switch(optimizer, "eval")
        means: list[float] = (total / labelled).tolist()
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(sum(mean for mean in means if mean == mean))
        elif scheduler is not None and scheduler_interval == "epoch":
            scheduler.step()
        method.epoch_losses.append(means)
        named = dict(zip(method.names, means, strict=True))
        unseen.clear()  # to look for labels waits for a GPU
        history.append({"epoch": epoch} | {f"{name}/loss": loss for name, loss in named.items()})
        keeps_examples = False
        if on_epoch is not None:
            on_epoch(training)
        bar.set_postfix({name: f"{loss:.4f}" for name, loss in named.items()})
        if training.stop:
            break
    if average is not None:
        with torch.no_grad():
            for weight, mean in zip(network.parameters(), average.module.parameters(), strict=True):
                weight.copy_(mean)
    return history


def seed_everything(seed: int, epoch: int = 0) -> np.random.Generator:
    """Seed torch's global generator from (seed, epoch) and return a numpy generator of its own
    stream."""
    streams = np.random.SeedSequence([seed, epoch]).spawn(2)
    torch.manual_seed(int(streams[0].generate_state(1, np.uint64)[0] >> 1))
    return np.random.default_rng(streams[1])
