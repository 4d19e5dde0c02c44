"""What the benchmarks of a training step share."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from pamal_core import Method


def training_step(method: Method, batch: Sequence[torch.Tensor], lr: float) -> Callable[[], None]:
    """One step of `method` on `batch`, zero_grad and Adam included."""
    optimizer = torch.optim.Adam(method.parameters(), lr=lr)
    rng = np.random.default_rng(0)

    def step() -> None:
        optimizer.zero_grad()
        method.step(batch, rng)
        optimizer.step()

    return step


def seconds(
    step: Callable[[], None], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    start = clock()
    for _ in range(repeats):
        step()
    return clock() - start


def peak_bytes(step: Callable[[], None]) -> int:
    """The most that one step adds to what is allocated already."""
    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        step()
    events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]
    return int(np.cumsum(changes).max())


def report(ratios: Mapping[str, Sequence[float]]) -> None:
    for name, values in ratios.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"{name}: {middle:.3f} ({low:.3f} to {high:.3f})")
