"""Optimisers and schedules of a training: given, or made for it."""

import inspect
import traceback
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from pamal_core.checks import check_optimizer, check_schedule, needs_more
from pamal_core.errors import InputError, check_number, shown
from pamal_core.method import Method

POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def make_optimizer(
    method: Method, lr: float | None, optimizer: Optimizer | Callable[..., Optimizer] | None
) -> Optimizer:
    """Return `optimizer`, or what it makes of the parameters of `method`, or Adam at the rate `lr`.
    Raise InputError unless it can train `method`."""
    if lr is not None and optimizer is not None:
        raise InputError("`lr` is for a training without `optimizer`. Found both.")
    parameters = method.parameters()  # also what is frozen, as a hook may unfreeze it
    made: Optimizer
    if optimizer is None:
        rate = 1e-3 * len(method.tasks) if lr is None else lr
        check_number("lr", rate, 0, above=True)
        # On a CPU the loop over weights takes longest: `foreach` has the same bits without it.
        kind = method.network.device.type
        is_gpu, is_cpu = kind == "cuda", kind == "cpu"
        made = torch.optim.Adam(parameters, rate, foreach=is_cpu or None, fused=is_gpu or None)
    elif isinstance(optimizer, Optimizer):
        made = optimizer
    else:
        made = _made("optimizer", optimizer, [parameters], "param_groups", "torch.optim.SGD")
    check_optimizer(method, made)
    return made


def times_stepped(epochs: int, interval: Literal["epoch", "step"], length: int) -> int:
    """Return how often a schedule is stepped in so many epochs of `length` steps. A loader that
    does not know its length has 0."""
    return epochs * (length if interval == "step" else 1)


def make_scheduler(
    scheduler: LRScheduler | Callable[..., LRScheduler] | None,
    optimizer: Optimizer,
    interval: Literal["epoch", "step"],
    times: int,
) -> LRScheduler | None:
    """Return `scheduler`, or what it makes of `optimizer` and, if it takes two arguments, of how
    many `times` it is stepped. Raise InputError as `check_schedule` does."""
    if scheduler is None:
        return None
    made: LRScheduler
    if isinstance(scheduler, LRScheduler):
        made = scheduler
    else:
        example = "lambda optimizer: StepLR(optimizer, 10)"
        given: list[Any] = [optimizer]
        if callable(scheduler) and _takes_two(scheduler):
            if not times:
                raise InputError(
                    "A schedule that is made for a number of steps needs a loader with a length. "
                    "Found one without."
                )
            given.append(times)
        made = _made("scheduler", scheduler, given, "optimizer", example)
    check_schedule(made, optimizer, interval, times)
    return made


def _takes_two(function: Callable[..., Any]) -> bool:
    """Return whether `function` must be given two arguments. A class of torch means another thing
    by its second one."""
    if inspect.isclass(getattr(function, "func", function)):  # or a partial of one
        return False
    try:
        every = inspect.signature(function).parameters.values()
    except ValueError:  # of a function that says nothing of its arguments
        return False
    needed = [one for one in every if one.default is one.empty and one.kind in POSITIONAL]
    return len(needed) == 2


def _made(name: str, function: Any, given: list[Any], attribute: str, example: str) -> Any:
    """Return what `function`, given for the argument `name`, makes of the arguments `given`. Raise
    InputError if it is no function, or makes something without the `attribute` that tells what is
    right."""
    made = function(*given) if callable(function) else None
    if not hasattr(made, attribute):
        found = shown(function)
        if callable(function):
            found = f"a function that makes {shown(made)}"
        raise InputError(
            f"`{name}` must be one of torch's or a function that makes one, such as {example}. "
            f"Found {found}."
        )
    return made


def step(optimizer: Optimizer) -> None:
    """Take a step. Raise InputError for an optimiser that asks for a closure only now."""
    try:
        optimizer.step()
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1].line  # such as `assert closure`
        if "closure" in f"{error} {line}":
            raise needs_more(optimizer, "a closure") from error
        raise


def switch(optimizer: Optimizer, mode: Literal["train", "eval"]) -> None:
    """Switch an optimiser that has modes, as schedule-free ones do."""
    switch = getattr(optimizer, mode, None)
    if callable(switch):
        switch()
