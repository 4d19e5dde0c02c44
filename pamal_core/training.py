"""The one training loop. It knows nothing of the problem: batches in, steps of a method out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_, get_total_norm
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel
from torch.utils._pytree import tree_map_only
from tqdm.auto import tqdm

from pamal_core import checks, distributed
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.inputs import Batch, check_loader, moved
from pamal_core.memory import is_out_of_memory, too_large
from pamal_core.method import Method, NonFiniteError
from pamal_core.optimizers import adam
from pamal_core.tasks import label_counts

READ_EVERY = 50
"""Steps after which a GPU is asked whether all of them were finite."""
SKIPPING = {"cuda"}
"""Devices on which torch's fused optimisers leave a step out where `found_inf` tells them to."""


@dataclass
class Training:
    """A training so far, as a hook of `train` finds it. `state_dict` has all it takes to continue.

    `history` has a row per finished epoch; a hook may add to the last one. `step` counts the steps
    taken. `losses` [W, T] and `alphas` [W, M] are those of the last step, on their device. After a
    hook has set `stop` no other step begins.
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
    unread: list[tuple[int, Tensor, Tensor, Tensor]] = field(default_factory=list, repr=False)
    """Step, losses, alphas and whether all was finite, of steps whose device was not yet asked."""

    def __post_init__(self) -> None:
        checks.check_training(self)
        self.made_with = checks.made_with(self)

    def state_dict(self) -> dict[str, Any]:
        """The state of every part and the history: tensors, numbers, texts, lists and dicts. It is
        a copy, in main memory: training does not change it."""
        states = {name: dict(part.state_dict()) for name, part in self._parts().items()}
        about = {"made_with": self.made_with, "step": self.step, "past": self.method.past}
        found = states | about | {"history": self.history}
        return tree_map_only(Tensor, lambda t: t.detach().to("cpu", copy=True), found)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which `state_dict` returned. InputError where it is that of
        another method, optimiser, learning rate, ...: it names what differs."""
        checks.check_same(state, self.made_with)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step = state["step"]
        self.method.past[:] = [list(losses) for losses in state["past"]]
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
    """Train `method.network` in place. Returns a row per epoch, whose "losses" [T] are the mean
    loss of each task over the steps that had a label of it, NaN where none had.

    `loader` yields (inputs, target_1, ..., target_T) or (inputs, {name: target}), anew each time it
    is iterated; several inputs are a tuple or a dict of their own.

    Without an `optimizer` it is Adam with `lr` (1e-3), with M times that for what alpha mixes (the
    members of a weight ensemble, the adapters of a low-rank one): the gradient of a member is
    scaled by its alpha, 1/M in expectation (section 5). With `parameter_groups` an optimizer has
    settings by the names of weights. A `scheduler` of that optimizer takes one step after each
    epoch, or after each step (`scheduler_interval`); torch's `ReduceLROnPlateau` is told the sum of
    the losses of the epoch, without those that are NaN. `clip_norm` is the largest l2 norm of the
    gradient of all that is trained: a longer one is scaled to it. For anything else with the
    gradient the optimizer has its own `register_step_pre_hook`. `average`, torch's `AveragedModel`
    of the network, is updated after each step.

    Every epoch starts by seeding torch's global generator, and that of the draws, from (`seed`,
    number of epochs that the method was trained for before): a second call goes on where the first
    ended. `on_step` and `on_epoch` are called after each step and epoch with the `Training` so far,
    which they may stop; an epoch cut short counts with the steps it had. `on_epoch` may keep the
    state, which is then given as `resume`: training equals one that was never interrupted, bit for
    bit. A loader that draws from numpy's global generator has to seed it itself.

    Raises InputError before a weight is moved where the arguments do not fit one another or the
    first batch, on which the network and the metrics are tried as `evaluate` uses them, too. Raises
    InputError where a step does not fit into memory, and says what would. Raises NonFiniteError
    where a loss or gradient is NaN or infinite, before the optimizer steps.

    A GPU is not waited for. There torch's fused optimizers (Adam without an `optimizer`) leave out
    a step that is not finite, and the error comes within 50 steps and this epoch. Other optimizers
    wait for it once a step, with `average` twice, and rules that are solved on the CPU once a draw.
    """
    check_type("method", method, Method, "Method(network, tasks)")
    check_number("epochs", epochs, 1, whole=True)
    check_number("seed", seed, 0, whole=True)
    for name, value in (("lr", lr), ("clip_norm", clip_norm)):
        if value is not None:
            check_number(name, value, 0, above=True)
    check_loader(loader, epochs, "epoch")
    if not torch.is_grad_enabled():
        raise InputError("`train` needs gradients. Found no_grad or inference_mode around it.")
    if distributed.splits(method.window):
        distributed.check_batches(loader)
    if optimizer is None:
        optimizer = adam(method, 1e-3 if lr is None else lr)
    elif lr is not None:
        raise InputError("`lr` is that of Adam without an `optimizer`. Found both.")
    training = Training(method, optimizer, scheduler, average, scheduler_interval, clip_norm, seed)
    if resume is not None:
        training.load_state_dict(resume)
    checks.check_cycle(training, loader, epochs)
    history = training.history
    bar = tqdm(range(len(history) + 1, epochs + 1), disable=not progress, unit="epoch")
    for epoch in bar:
        try:
            losses = _epoch(training, loader, epochs, on_step)
            method.past.append(losses)
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


def seed_everything(seed: int, epoch: int = 0) -> np.random.Generator:
    """Seed torch's global generator from (seed, epoch) and return a numpy generator of its own
    stream."""
    streams = np.random.SeedSequence([seed, epoch]).spawn(2)
    torch.manual_seed(int(streams[0].generate_state(1, np.uint64)[0] >> 1))
    return np.random.default_rng(streams[1])


def _epoch(
    training: Training,
    loader: Iterable[Batch],
    epochs: int,
    on_step: Callable[[Training], None] | None,
) -> list[float]:
    """The mean loss of each task over the steps of one epoch that had a label of it."""
    method, device = training.method, training.method.network.task_weights.device
    scheduler, by_step = training.scheduler, training.scheduler_interval == "step"
    rng = seed_everything(training.seed, len(method.past) + 1)
    method.network.train()
    method.balancer.start_epoch(method.past)
    total, steps = torch.zeros(len(method.tasks), device=device), 0
    length = length_hint(loader, 0)  # 0 where the loader does not know it
    counts = torch.zeros_like(total)
    for steps, batch in enumerate(loader, start=1):
        batch = moved(batch, device)
        try:
            into_epoch = (steps - 1) / length if length else 0.0
            progress = min((len(training.history) + into_epoch) / epochs, 1.0)
            losses = _step(training, batch, rng, steps, progress)
        except NonFiniteError as error:
            epoch = len(training.history) + 1
            raise NonFiniteError(f"Stopped in epoch {epoch}, step {steps}. {error}") from error
        total += losses.mean(0)
        counts += label_counts(method.tasks, batch[1:], device) > 0
        if steps % READ_EVERY == 0:
            _ask(training)
        if scheduler is not None and by_step:
            scheduler.step()
        if on_step is not None:
            on_step(training)
        if training.stop:
            break
    if steps == 0:
        raise InputError(
            "The loader must yield at least one batch an epoch; a generator has them once. Found "
            "none."
        )
    _ask(training)
    distributed.average_buffers(method.network)
    means: list[float] = (total / counts).tolist()
    if isinstance(scheduler, ReduceLROnPlateau):
        scheduler.step(sum(mean for mean in means if mean == mean))
    elif scheduler is not None and not by_step:
        scheduler.step()
    return means


def _step(
    training: Training, batch: Batch, rng: np.random.Generator, number: int, progress: float
) -> Tensor:
    """One step on `batch`, the `number`th of its epoch; its losses [W, T]."""
    method, optimizer = training.method, training.optimizer
    on_gpu = method.network.task_weights.device.type in SKIPPING
    is_first = training.losses is None
    optimizer.zero_grad(set_to_none=True)
    for parameter in method.parameters():  # of which the optimiser may have views
        parameter.grad = None
    try:
        alphas = method.draw(rng, progress)
        if is_first:
            seen = distributed.part(batch) if distributed.splits(method.window) else batch
            distributed.check_alike(method.network, batch)
            checks.try_training(method, seen, alphas[0])
        losses = method.accumulate(batch, alphas, check=is_first or not on_gpu)
        if is_first:
            checks.try_evaluation(method, seen, alphas[0])
        _guard(training, number, losses, alphas, on_gpu)
        if training.clip_norm is not None:
            clip_grad_norm_(method.parameters(), training.clip_norm)
        optimizer.step()
        if training.average is not None:
            training.average.update_parameters(method.network)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    else:
        training.step, training.losses, training.alphas = training.step + 1, losses, alphas
        return losses
    finally:
        vars(optimizer).pop("found_inf", None)
    # Outside of the handler: the error held on to the graph that did not fit.
    raise too_large(method, batch, optimizer)


def _guard(training: Training, number: int, losses: Tensor, alphas: Tensor, on_gpu: bool) -> None:
    """NonFiniteError where a loss or the gradient is not finite: it must not touch the weights. A
    fused optimiser on a GPU is told to leave such a step out, and is asked later."""
    method, optimizer = training.method, training.optimizer
    parameters = method.parameters()
    # A hypernetwork without chunks has an empty weight, which has no norm.
    gradients = [p.grad for p in parameters if p.grad is not None and p.grad.numel()]
    if not on_gpu:  # the losses were looked at draw by draw
        # A sum is finite only where all are, and writes nothing; of finite values it may overflow.
        is_finite = all(bool(g.sum().isfinite()) or bool(g.isfinite().all()) for g in gradients)
    else:
        flag = get_total_norm(gradients, torch.inf).isfinite() & losses.isfinite().all()
        # What torch's own scaler asks; a state that was loaded may have undone it.
        is_fused = getattr(optimizer, "_step_supports_amp_scaling", False) and all(
            group.get("fused") for group in optimizer.param_groups
        )
        # The first step of fused SGD makes its momentum, and cannot be left out.
        if is_fused and len({p.device for p in parameters}) == 1 and training.losses is not None:
            optimizer.found_inf = (~flag).float()  # type: ignore[attr-defined]
            training.unread.append((number, losses, alphas, flag))
            return
        is_finite = bool(flag)
    if not is_finite:
        raise NonFiniteError(method.explain(losses, alphas))


def _ask(training: Training) -> None:
    """NonFiniteError where a step that was not asked about yet was not finite."""
    unread, training.unread = training.unread, []
    flags = torch.stack([flag for *_, flag in unread]).tolist() if unread else []
    wrong = [step for step, is_finite in zip(unread, flags, strict=True) if not is_finite]
    if wrong:
        number, losses, alphas, _ = wrong[0]
        raise NonFiniteError(
            f"Stopped in epoch {len(training.history) + 1}, step {number}. "
            f"{training.method.explain(losses, alphas)} Steps that were not finite and left the "
            f"weights as they were: {', '.join(str(step[0]) for step in wrong)}."
        )
