"""Optimisers and schedules of a training: given, or made for it."""

from collections.abc import Callable
from typing import Literal

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from pamal_core.checks import check_optimizer, check_schedule, needs_closure
from pamal_core.errors import check_number
from pamal_core.method import Method


def make_optimizer(
    method: Method, lr: float | None, optimizer: Optimizer | Callable[..., Optimizer] | None
) -> Optimizer:
    """Return `optimizer`, or what it makes of the parameters of `method`, or Adam at the rate `lr`.
    Raise InputError unless it can train `method`."""
    parameters = [p for p in method.parameters() if p.requires_grad]
    if optimizer is None:
        rate = 1e-3 * len(method.tasks) if lr is None else lr
        check_number("lr", rate, 0, above=True)
        # On a CPU the loop over weights takes longest: `foreach` has the same bits without it.
        kind = method.network.device.type
        is_gpu, is_cpu = kind == "cuda", kind == "cpu"
        optimizer = torch.optim.Adam(parameters, rate, foreach=is_cpu or None, fused=is_gpu or None)
    elif not isinstance(optimizer, Optimizer):
        optimizer = optimizer(parameters)
    check_optimizer(method, optimizer)
    return optimizer


def make_scheduler(
    scheduler: LRScheduler | Callable[[Optimizer], LRScheduler] | None,
    optimizer: Optimizer,
    epochs: int,
    interval: Literal["epoch", "step"],
    length: int,
) -> LRScheduler | None:
    """Return `scheduler`, or what it makes of `optimizer`. Raise InputError as `check_schedule`
    does."""
    if scheduler is None:
        return None
    if not isinstance(scheduler, LRScheduler):
        scheduler = scheduler(optimizer)
    check_schedule(scheduler, optimizer, epochs, interval, length)
    return scheduler


def step(optimizer: Optimizer) -> None:
    """Take a step. Raise InputError for an optimiser that asks for a closure only now."""
    try:
        optimizer.step()
    except (AssertionError, RuntimeError, TypeError) as error:
        if "closure" in str(error) or isinstance(error, AssertionError):
            raise needs_closure(optimizer) from error
        raise


def switch(optimizer: Optimizer, mode: Literal["train", "eval"]) -> None:
    """Switch an optimiser that has modes, as schedule-free ones do."""
    switch = getattr(optimizer, mode, None)
    if switch is not None:
        switch()
