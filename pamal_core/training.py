"""The one training loop. It knows nothing of the problem: batches in, steps of a method out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel
from torch.utils._pytree import tree_map_only
from tqdm.auto import tqdm

from pamal_core import checks, distributed
from pamal_core.errors import InputError, check_choice, check_number, check_type
from pamal_core.inputs import Batch, check_loader, moved
from pamal_core.method import Method, NonFiniteError
from pamal_core.optimizers import adam
from pamal_core.tasks import label_counts

LOOKED_AT = {"cpu"}
"""Devices whose losses are looked at in each step; others would be waited for."""
LOOK_EVERY = 50
"""Steps after which the losses of other devices are looked at."""


@dataclass
class Training:
    """A training so far, as a hook of `train` finds it. `state_dict` has all it takes to continue.

    `history` has a row per finished epoch; a hook may add to the last one. `step` counts the steps
    taken. `losses` [W, T] and `alphas` [W, M] are those of the last step, on their device; the loss
    of a task that had no label in the batch is 0. After a hook has set `stop` no other step begins.
    """

    method: Method
    optimizer: torch.optim.Optimizer
    scheduler: LRScheduler | None = None
    average: AveragedModel | None = None
    scheduler_interval: Literal["epoch", "step"] = "epoch"
    clip_norm: float | None = None
    seed: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    step: int = 0
    losses: Tensor | None = None
    alphas: Tensor | None = None
    stop: bool = False
    unread: list[tuple[str, Tensor, Tensor]] = field(default_factory=list, repr=False)
    """Place, losses and alphas of the steps whose losses were not looked at yet."""

    def __post_init__(self) -> None:
        check_choice("scheduler_interval", self.scheduler_interval, ("epoch", "step"))
        checks.check_trained(self.method, self.optimizer)
        if self.scheduler is not None and self.scheduler.optimizer is not self.optimizer:
            raise InputError("`scheduler` must be of the `optimizer` given. Found one of another.")
        self.made_with = checks.made_with(self)

    def state_dict(self) -> dict[str, Any]:
        """The state of every part and the history: tensors, numbers, texts, lists and dicts. It is
        a copy, in main memory: training does not change it. NonFiniteError where a loss of it was
        not finite."""
        self.look()
        states = {name: dict(part.state_dict()) for name, part in self._parts().items()}
        about = {"made_with": self.made_with, "step": self.step, "past": self.method.past}
        state = states | about | {"history": self.history}
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
    optimizer: torch.optim.Optimizer | None = None,
    lr: float | None = None,
    scheduler: LRScheduler | None = None,
    scheduler_interval: Literal["epoch", "step"] = "epoch",
    clip_norm: float | None = None,
    average: AveragedModel | None = None,
    seed: int = 0,
    resume: Mapping[str, Any] | None = None,
    on_step: Callable[[Training], None] | None = None,
    on_epoch: Callable[[Training], None] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Train `method.network` in place.

    - `method`: what a step does.
    - `loader`: yields (inputs, target_1, ..., target_T) or (inputs, {name: target}), anew each time
      it is iterated; several inputs are a tuple or a dict of their own. One that draws from numpy's
      global generator has to seed it itself.
    - `epochs`: how often the loader is read, those before a `resume` included.
    - `optimizer`: trains what the method has. Without one it is Adam with `lr` (1e-3), with M times
      that for what alpha mixes (the members of a weight ensemble, the adapters of a low-rank one):
      the gradient of a member is scaled by its alpha, 1/M in expectation (section 5). With
      `parameter_groups` it has settings by the names of weights.
    - `scheduler`: of that optimizer, takes one step after each epoch, or after each step
      (`scheduler_interval`). torch's `ReduceLROnPlateau` is told the sum of the losses of the
      epoch, without those that are NaN.
    - `clip_norm`: the largest l2 norm of the gradient of all that is trained: a longer one is
      scaled to it. For anything else the optimizer has its own `register_step_pre_hook`.
    - `average`: torch's `AveragedModel` of the network, updated after each step.
    - `seed`: with the number of epochs that the method was trained for it seeds, at the start of
      every epoch, torch's global generator and that of the draws: a second call goes on where the
      first ended.
    - `resume`: the `Training.state_dict` of a training that was stopped: it ends with the same bits
      as one that was not.
    - `on_step`, `on_epoch`: called after each step and epoch with the `Training` so far, which they
      may stop; an epoch cut short counts with the steps it had.
    - `progress`: whether a bar is shown.

    Returns a row per epoch, whose "losses" [T] are the mean loss of each task over the steps that
    had a label of it, NaN where none had.

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
    for name, value in (("lr", lr), ("clip_norm", clip_norm)):
        if value is not None:
            check_number(name, value, 0, above=True)
    check_loader(loader, epochs)
    if optimizer is None:
        optimizer = adam(method, 1e-3 if lr is None else lr)
    elif lr is not None:
        raise InputError("`lr` is that of Adam without an `optimizer`. Found both.")
    training = Training(method, optimizer, scheduler, average, scheduler_interval, clip_norm, seed)
    if resume is not None:
        training.load_state_dict(resume)
    network, history, device = method.network, training.history, method.network.task_weights.device
    distributed.share_weights([*method.parameters(), *network.buffers()])
    length = length_hint(loader, 0) // distributed.count()  # 0 where the loader does not know it
    bar = tqdm(range(len(history) + 1, epochs + 1), disable=not progress, unit="epoch")
    for epoch in bar:
        rng = seed_everything(seed, len(method.past) + 1)
        network.train()
        method.balancer.start_epoch(method.past)
        total, labelled = torch.zeros(2, len(method.tasks), device=device)
        number = 0
        for number, batch in enumerate(distributed.shard(loader, epoch), start=1):
            batch = moved(batch, device)
            into_epoch = (number - 1) / length if length else 0.0
            alphas = method.draw(rng, min((epoch - 1 + into_epoch) / epochs, 1.0))
            if training.losses is None:
                checks.check_reach(method, batch, alphas[0])
            optimizer.zero_grad()
            for parameter in method.parameters():  # of which the optimiser may have views
                parameter.grad = None
            losses = method.accumulate(batch, alphas)
            distributed.average(parameter.grad for parameter in method.parameters())
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
            total += losses.mean(0)
            labelled += label_counts(method.tasks, batch[1:], device) > 0
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
        distributed.average(b for b in network.buffers() if b.is_floating_point())
        means: list[float] = (total / labelled).tolist()
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(sum(mean for mean in means if mean == mean))
        elif scheduler is not None and scheduler_interval == "epoch":
            scheduler.step()
        method.past.append(means)
        history.append({"losses": means})
        if on_epoch is not None:
            on_epoch(training)
        named = zip(method.tasks, means, strict=True)
        bar.set_postfix({task.name: f"{loss:.4f}" for task, loss in named})
        if training.stop:
            break
    return history


def seed_everything(seed: int, epoch: int = 0) -> np.random.Generator:
    """Seed torch's global generator from (seed, epoch) and return a numpy generator of its own
    stream, another one in each process."""
    streams = np.random.SeedSequence([seed, epoch]).spawn(2 + distributed.rank())
    torch.manual_seed(int(streams[0].generate_state(1, np.uint64)[0] >> 1))
    return np.random.default_rng(streams[-1])
