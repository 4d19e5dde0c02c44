"""What the benchmarks share: steps, how they are run in turn, and what is said of them."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from pamal_core import Method, MultiForward, WeightEnsemble
from pamal_core.optimizers import make_optimizer
from pamal_core.tasks import Task


def plain_step(
    network: nn.Module,
    tasks: Sequence[Task],
    batch: Sequence[Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    one_by_one: bool = False,
) -> Callable[[], None]:
    """Return one step of a plain PyTorch loop, zero_grad included: back through the mean of the
    losses, or `one_by_one` through each of them."""

    def step() -> None:
        optimizer.zero_grad()
        outputs = network(batch[0])
        losses = [t.loss(o, y) for t, o, y in zip(tasks, outputs, batch[1:], strict=True)]
        for loss in losses if one_by_one else [sum(losses) / len(losses)]:
            loss.backward(retain_graph=one_by_one and loss is not losses[-1])
        optimizer.step()

    return step


def training_step(
    method: Method, batch: Sequence[Tensor], optimizer: torch.optim.Optimizer
) -> Callable[[], None]:
    """Return one step of `method` on `batch`, zero_grad included."""
    rng = np.random.default_rng(0)

    def step() -> None:
        optimizer.zero_grad()
        method.step(batch, method.draw(rng))
        optimizer.step()

    return step


def ensemble_step(
    members: Sequence[nn.Module],
    tasks: Sequence[Task],
    batch: Sequence[Tensor],
    window: int,
    lam: float = 0.0,
) -> Callable[[], None]:
    """Return a step of PaMaL, or of LS with a single member, with the optimiser of `train`."""
    share = [[1 / len(tasks)] * len(tasks)] if len(members) == 1 else None
    network = WeightEnsemble(members, task_weights=share, shared="encoder").to(batch[0].device)
    method = Method(network, tasks, penalty=MultiForward(lam), window=window)
    return training_step(method, batch, make_optimizer(method, 1e-3, None))


def in_turn(
    steps: Mapping[str, Callable[[], None]],
    rounds: int,
    repeats: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, np.ndarray]:
    """Return the seconds of each step [rounds], by its name: a round runs every step that
    often, and a round before the first warms up."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds + 1):
        for name, step in steps.items():
            start = clock()
            for _ in range(repeats):
                step()
            times[name].append((clock() - start) / repeats)
    return {name: np.array(values[1:]) for name, values in times.items()}


def peak_bytes(step: Callable[[], None]) -> int:
    """Return the most that one step adds to what is allocated already."""
    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        step()
    events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]
    return int(np.cumsum(changes).max())


def report(name: str, ratios: np.ndarray) -> None:
    print(f"{name}: {np.median(ratios):.3f} ({ratios.min():.3f} to {ratios.max():.3f})")
