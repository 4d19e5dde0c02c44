"""The one training loop. It knows nothing of the problem: batches in, steps of a method out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils._pytree import tree_map_only
from tqdm.auto import tqdm

from pamal_core import checks, distributed
from pamal_core.errors import InputError, check_choice, check_number, check_type
from pamal_core.inputs import Batch, check_loader, moved
from pamal_core.method import Method, NonFiniteError
from pamal_core.network import Network
from pamal_core.skeleton import copied
from pamal_core.statistics import Calibration, Kept, check_calibration
from pamal_core.tasks import label_counts

LOOKED_AT = {"cpu"}
"""Devices whose losses are looked at in each step; others would be waited for."""
LOOK_EVERY = 50
"""Steps after which the losses of other devices are looked at."""


@dataclass
class Training:
    """A training so far, as a hook of `train` finds it. `state_dict` has all it takes to continue.

    `epoch` counts from 1 and is 0 before the first, `step` counts the steps taken. `losses` [W, T],
    on their device, and `alphas` [W, M] are those of the last step, the losses as means over its
    batches; that of a task that had no label in a batch is 0. `history` has a row per finished
    epoch; a hook may add to the last one. After a hook has set `stop` no other step begins.
    """

    method: Method
    optimizer: Optimizer
    scheduler: LRScheduler | None = None
    average: AveragedModel | None = None
    ema: float | None = None
    scheduler_interval: Literal["epoch", "step"] = "epoch"
    clip_norm: float | None = None
    seed: int = 0
    accumulate: int = 1
    history: list[dict[str, Any]] = field(default_factory=list)
    epoch: int = 0
    step: int = 0
    losses: Tensor | None = None
    alphas: np.ndarray | None = None
    stop: bool = False
    unread: list[tuple[str, Tensor, np.ndarray]] = field(default_factory=list, repr=False)
    """Place, losses and alphas of the steps whose losses were not looked at yet."""

    def __post_init__(self) -> None:
        check_choice("scheduler_interval", self.scheduler_interval, ("epoch", "step"))
        checks.check_trained(self.method, self.optimizer)
        if self.scheduler is not None and self.scheduler.optimizer is not self.optimizer:
            raise InputError("`scheduler` must be of the `optimizer` given. Found one of another.")
        if self.average is not None:
            cast(Network, self.average.module).task_names = self.method.names
        self.made_with = checks.made_with(self)

    @property
    def network(self) -> Network:
        """The network to judge: that with averaged weights, if `ema` makes one."""
        if self.ema is None or self.average is None:
            return self.method.network
        return cast(Network, self.average.module)

    def keep(self, calibration: Calibration | None) -> None:
        """Make `calibration` that of the network, and of its average."""
        self.method.network.calibration = calibration
        if self.average is not None:
            cast(Network, self.average.module).calibration = calibration

    def state_dict(self) -> dict[str, Any]:
        """The state of every part and the history: tensors, numbers, texts, lists and dicts. It is
        a copy, in main memory: training does not change it. NonFiniteError where a loss of it was
        not finite."""
        self.look()
        states = {name: dict(part.state_dict()) for name, part in self._parts().items()}
        about = {"made_with": self.made_with, "epoch": self.epoch, "step": self.step}
        about |= {"past": self.method.past, "history": self.history}
        about |= {"calibration": self.method.network.calibration}
        state = states | about
        return tree_map_only(Tensor, lambda t: t.detach().to("cpu", copy=True), state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which `state_dict` returned. InputError where it is that of
        another method, optimiser, learning rate, ...: it names what differs."""
        checks.check_same(state, self.made_with)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step = state["step"]
        self.method.past[:] = [list(losses) for losses in state["past"]]
        self.history[:] = [dict(row) for row in state["history"]]
        self.keep(state["calibration"])

    def look(self) -> None:
        """NonFiniteError where a loss of the steps since the last look, in any process, was NaN or
        infinite, or the last gradient is; it names the first loss."""
        steps, self.unread = self.unread, []
        if not steps:
            return
        finite = torch.stack([losses.isfinite().all() for _, losses, _ in steps])
        if not distributed.in_any(~finite.all()):
            gradients = [p.grad for p in self.method.parameters() if p.grad is not None]
            # A sum is finite only where all are; of finite values it may overflow.
            if all(bool(g.sum().isfinite()) or bool(g.isfinite().all()) for g in gradients):
                return
            raise NonFiniteError(
                f"Stopped in {steps[-1][0]}. All losses are finite but their gradient is not."
            )
        for (place, losses, alphas), is_finite in zip(steps, finite.tolist(), strict=True):
            if not is_finite:
                w, t = losses.isfinite().logical_not().nonzero()[0].tolist()
                raise NonFiniteError(
                    f"Stopped in {place}. The loss of task {t + 1} ({self.method.tasks[t].name}) "
                    f"is {losses[w, t].item()} at alpha={alphas[w].tolist()}."
                )
        raise NonFiniteError("Stopped, as a loss in another process is not finite.")

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
    lr: float | None = None,
    optimizer: Optimizer | Callable[[list[Tensor]], Optimizer] | None = None,
    scheduler: LRScheduler | Callable[[Optimizer], LRScheduler] | None = None,
    scheduler_interval: Literal["epoch", "step"] = "epoch",
    clip_norm: float | None = None,
    accumulate: int = 1,
    ema: float | None = None,
    average: AveragedModel | None = None,
    calibration: Calibration | None = None,
    seed: int = 0,
    resume: Mapping[str, Any] | None = None,
    on_step: Callable[[Training], None] | None = None,
    on_epoch: Callable[[Training], None] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Train `method.network` in place.

    - `method`: what a step does.
    - `loader`: yields batches, anew each time it is iterated. One that draws from a generator of
      its own, or from numpy's, has to seed it itself, for each epoch.
    - `epochs`: how often the loader is read, those before a `resume` included.
    - `lr`: the learning rate of Adam, by default 0.001 times the number of tasks. Alpha scales the
      gradient of a member, by 1/M in expectation, which Adam hardly notices: a fair rival of one
      network has the same rate.
    - `optimizer`: trains what the method has, in place of Adam; or a function that makes one of its
      parameters. With `parameter_groups` it has settings by the names of weights; one that
      treats a weight as a whole (Muon, Adafactor, LARS) needs them: else it sees the matrix of all
      members.
    - `scheduler`: of the optimizer, or a function that makes one of it; takes one step after each
      epoch, or after each step (`scheduler_interval`). torch's `ReduceLROnPlateau` is told the sum
      of the losses of the epoch, without those that are NaN.
    - `clip_norm`: the largest l2 norm of the gradient of all that is trained: a longer one is
      scaled to it. For anything else the optimizer has its own `register_step_pre_hook`.
    - `accumulate`: the number of batches in a step, which have the same draws and the mean of their
      gradients; the last step of an epoch may have fewer. With `Linear`, no penalty, no BatchNorm
      and as many labels in each it is the step of one large batch. Other balancers, and penalties,
      act on each batch.
    - `ema`: the share of all steps over which weights are averaged, exponentially and from the
      first step: 0.1 is a decay of 1 - 1 / (0.1 steps). The network has the average when training
      ends; until then hooks find it as `training.network`.
    - `average`: torch's `AveragedModel` of the network, updated after each step. It stays beside
      the network; `evaluate` takes it.
    - `calibration`: what `evaluate`, `predict` and `export` then estimate running statistics on:
      batches, or "shared" for the statistics that training leaves. By default the network keeps the
      first inputs of this call, 512 examples or more, where its layers track statistics.
    - `seed`: with the number of epochs that the method was trained for it seeds, at the start of
      every epoch, torch's global generator and that of the draws: a second call goes on where the
      first ended.
    - `resume`: the `Training.state_dict` that `on_epoch` took of a training that was stopped: it
      ends with the same bits as one that was not.
    - `on_step`, `on_epoch`: called after each step and epoch with the `Training` so far, which they
      may stop; an epoch cut short counts with the steps it had.
    - `progress`: whether a bar is shown.

    Returns a row per epoch: `{"epoch": 1, "price/loss": 0.4, ...}`, with the mean loss of each task
    over the batches that had a label of it, NaN where none had.

    Raises InputError before a weight is moved where the arguments do not fit one another, and where
    a loss trains weights that do not follow from alpha. Raises NonFiniteError where a loss is NaN
    or infinite: on a CPU before the optimizer steps. An accelerator is not waited for; there the
    error comes within 50 steps, and before an epoch ends or a state is taken.

    Several processes (`distributed.join`) train as with torch's DistributedDataParallel: each takes
    its share of the batches, and draws of its own.
    """
    check_type("method", method, Method, "Method(network, tasks)")
    check_number("epochs", epochs, 1, whole=True)
    check_number("seed", seed, 0, whole=True)
    check_number("accumulate", accumulate, 1, whole=True)
    for name, value in (("lr", lr), ("clip_norm", clip_norm), ("ema", ema)):
        if value is not None:
            check_number(name, value, 0, above=True)
    check_loader(loader, epochs)
    check_calibration(calibration)
    pairs = {"lr": (lr, "optimizer", optimizer), "ema": (ema, "average", average)}
    for name, (value, other, given) in pairs.items():
        if value is not None and given is not None:
            raise InputError(f"`{name}` is for a training without `{other}`. Found both.")
    parameters = [p for p in method.parameters() if p.requires_grad]
    if optimizer is None:
        rate = 1e-3 * len(method.tasks) if lr is None else lr
        on_gpu = method.network.device.type == "cuda"
        optimizer = torch.optim.Adam(parameters, rate, fused=True if on_gpu else None)
    elif not isinstance(optimizer, Optimizer):
        optimizer = optimizer(parameters)
    if scheduler is not None and not isinstance(scheduler, LRScheduler):
        scheduler = scheduler(optimizer)
    # Steps of an epoch, 0 where the loader does not know its length.
    length = -(-distributed.length(loader) // accumulate)
    if ema is not None:
        average = _average_of(method.network, epochs * length, ema)
    training = Training(
        method, optimizer, scheduler, average, ema, scheduler_interval, clip_norm, seed, accumulate
    )
    if resume is not None:
        training.load_state_dict(resume)
    if calibration is not None:
        training.keep(calibration if calibration == "shared" else [*calibration])
    kept, has_buffers = Kept(), any(True for _ in method.network.skeleton.model.buffers())
    keeps = calibration is None and resume is None and has_buffers
    network, history, device = method.network, training.history, method.network.device
    distributed.share_weights([*method.parameters(), *network.buffers()])
    bar = tqdm(range(len(history) + 1, epochs + 1), disable=not progress, unit="epoch")
    for epoch in bar:
        training.epoch = epoch
        rng = seed_everything(seed, len(method.past) + 1)
        network.train()
        method.balancer.start_epoch(method.past)
        total, labelled = torch.zeros(2, len(method.tasks), device=device)
        number, batches = 0, distributed.shard(loader, epoch)
        while group := list(islice(batches, accumulate)):
            number += 1
            into_epoch = (number - 1) / length if length else 0.0
            alphas = method.draw(rng, min((epoch - 1 + into_epoch) / epochs, 1.0))
            optimizer.zero_grad()
            for parameter in method.parameters():  # of which the optimiser may have views
                parameter.grad = None
            parts = []
            for batch in group:
                batch = moved(batch, device, method.names)
                if training.losses is None:
                    checks.check_reach(method, batch, alphas[0])
                if keeps:  # a batch that is refused leaves what an earlier training kept
                    kept.add(batch[0])
                    training.keep(kept.batches)
                parts.append(method.step(batch, alphas))
                total += parts[-1].mean(0)
                labelled += label_counts(method.tasks, batch[1:], device) > 0
            losses = torch.stack(parts).mean(0)
            distributed.average((p.grad for p in method.parameters()), of=len(group))
            training.losses, training.alphas = losses, alphas
            training.unread.append((f"epoch {epoch}, step {number}", losses, alphas))
            if device.type in LOOKED_AT or number % LOOK_EVERY == 0:
                training.look()
            if clip_norm is not None:
                clip_grad_norm_(method.parameters(), clip_norm)
            optimizer.step()
            if average is not None:
                average.update_parameters(network)
            training.step += 1
            if scheduler is not None and scheduler_interval == "step":
                scheduler.step()
            if on_step is not None:
                on_step(training)
            if training.stop:
                break
        if number == 0:
            raise InputError(
                "The loader must yield at least one batch an epoch; a generator has them once. "
                "Found none."
            )
        training.look()
        distributed.average([total, labelled])
        distributed.average_buffers(network.skeleton.model.buffers())
        means: list[float] = (total / labelled).tolist()
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(sum(mean for mean in means if mean == mean))
        elif scheduler is not None and scheduler_interval == "epoch":
            scheduler.step()
        method.past.append(means)
        named = dict(zip(method.names, means, strict=True))
        history.append({"epoch": epoch} | {f"{name}/loss": loss for name, loss in named.items()})
        if keeps and not network.skeleton.tracking:
            training.keep(None)
        keeps = False
        if on_epoch is not None:
            on_epoch(training)
        bar.set_postfix({name: f"{loss:.4f}" for name, loss in named.items()})
        if training.stop:
            break
    if ema is not None:
        with torch.no_grad():
            for ours, mean in zip(network.parameters(), training.network.parameters(), strict=True):
                ours.copy_(mean)
    return history


def _average_of(network: Network, steps: int, ema: float) -> AveragedModel:
    """Return an exponential average over the share `ema` of `steps`."""
    if not steps:
        raise InputError(
            "`ema` is a share of all steps, so the loader must have a length. Found one without."
        )
    decay = 1 - 1 / max(ema * steps, 1.0)
    average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    # A copy of a model that keeps activations, which torch would not copy, is one without them.
    return AveragedModel(copied(network), multi_avg_fn=average)


def seed_everything(seed: int, epoch: int = 0) -> np.random.Generator:
    """Seed torch's global generator from (seed, epoch) and return a numpy generator of its own
    stream, another one in each process."""
    streams = np.random.SeedSequence([seed, epoch]).spawn(2 + distributed.rank())
    torch.manual_seed(int(streams[0].generate_state(1, np.uint64)[0] >> 1))
    return np.random.default_rng(streams[-1])
