"""Schedules of learning rates: check that a training is as long as the cycle of its schedule."""

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from pamal_core.errors import InputError, is_number

PERIODS = ("T_max", "T_0", "total_iters", "total_size")
"""Attributes of torch's schedules with the number of steps that one cycle or one ramp takes."""


def check_schedule(
    scheduler: LRScheduler,
    optimizer: Optimizer,
    epochs: int,
    interval: Literal["epoch", "step"],
    length: int,
) -> None:
    """Raise InputError unless `scheduler` is that of `optimizer` and is stepped as often as its
    `total_steps` says, and warn if it is not stepped often enough to reach its end.

    - `interval`: whether it is stepped after each epoch or after each step.
    - `length`: the number of steps in an epoch, or 0 if the loader does not know it.
    """
    if scheduler.optimizer is not optimizer:
        raise InputError("`scheduler` must be of the `optimizer` given. Found one of another.")
    if interval == "step" and not length:
        return
    for part, number in _parts(scheduler, epochs * (length if interval == "step" else 1)):
        name = type(part).__name__
        often = f"it is stepped {number} times, after each {interval} (`scheduler_interval`)"
        total = getattr(part, "total_steps", None)
        if is_number(total) and total != number:
            raise InputError(f"`total_steps` of {name} must be {number}: {often}. Found {total}.")
        for period in PERIODS:
            steps: Any = getattr(part, period, None)
            if is_number(steps) and steps > number:
                warnings.warn(
                    f"{name} has `{period}` = {steps:g} but does not get there: {often}.",
                    stacklevel=3,
                )


def _parts(scheduler: LRScheduler, number: int) -> Iterator[tuple[LRScheduler, int]]:
    """Yield the schedules of which `scheduler` is made, each with how often it is stepped if
    `scheduler` is stepped `number` times."""
    parts = getattr(scheduler, "_schedulers", None)
    if parts is None:
        yield scheduler, number
        return
    shares = [number] * len(parts)  # of a ChainedScheduler, whose parts all take each step
    if hasattr(scheduler, "_milestones"):  # of a SequentialLR, whose parts follow each other
        ends = [0, *(min(milestone, number) for milestone in scheduler._milestones), number]
        shares = [end - begin for begin, end in pairwise(ends)]
    for part, share in zip(parts, shares, strict=True):
        yield from _parts(part, share)
