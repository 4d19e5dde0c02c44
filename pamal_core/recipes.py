"""The methods as data: each is a network, a preference, a balancer and a penalty."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import nn

from pamal_core.balancing import (
    IMTL,
    MGDA,
    Balancer,
    CAGrad,
    DynamicWeightAverage,
    GradDrop,
    GradientBalancer,
    Linear,
    LossBalancer,
    MovingAverage,
    NashMTL,
    PCGrad,
    RandomWeighting,
    UncertaintyWeighting,
    UnitNorm,
)
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.options import Options
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Task

# Methods that are one network with uniform task weights and a balancer of their own, made for T.
BASELINES: dict[str, Callable[[int], Balancer]] = {
    "uw": UncertaintyWeighting,
    "dwa": lambda _: DynamicWeightAverage(),
    "rlw": lambda _: RandomWeighting(),
    "mgda": lambda _: MGDA(),
    "pcgrad": lambda _: PCGrad(),
    "imtl": lambda _: IMTL(),
    "graddrop": lambda _: GradDrop(),
    "cagrad": lambda _: CAGrad(),
    "nash_mtl": lambda _: NashMTL(),
}

# Options that mean something for some methods only; the others neither use nor record them.
ONLY_FOR: dict[str, frozenset[str]] = {
    "task": frozenset({"stl"}),
    **dict.fromkeys(
        ["W", "lam", "p", "penalty", "edges", "skip", "lr_scaling"], frozenset({"pamal"})
    ),
    **dict.fromkeys(["balancing", "balancing_form", "history"], frozenset({"pamal", "ls", "stl"})),
}


def task_weights(options: Options, num_tasks: int) -> np.ndarray:
    """The matrix W [M, T] that makes a weight ensemble the method `options` name."""
    match options.method:
        case "pamal":
            return np.eye(num_tasks)
        case name if name == "ls" or name in BASELINES:
            return np.full((1, num_tasks), 1 / num_tasks)
        case "stl":
            if options.task >= num_tasks:
                raise InputError(f"`task` must be below {num_tasks}. Found task={options.task}.")
            return np.eye(num_tasks)[[options.task]]
    raise InputError(f"No recipe for method={options.method!r}.")


def build(
    options: Options, tasks: Sequence[Task], make_network: Callable[[], nn.Module], shared: str
) -> Method:
    """The method of `options`; `make_network` makes one member, freshly initialised, and is called
    M times."""
    rows = task_weights(options, len(tasks))
    members = [make_network() for _ in rows]
    network = WeightEnsemble(members, task_weights=rows, shared=shared)
    if options.method in BASELINES:
        return Method(network, tasks, balancer=BASELINES[options.method](len(tasks)))
    if options.method != "pamal":
        return Method(network, tasks, balancer=balancer(options))
    preference = Dirichlet(tuple(options.p) if isinstance(options.p, list) else options.p)
    penalty = MultiForward(options.lam, options.penalty, options.edges, options.skip)
    return Method(network, tasks, preference, balancer(options), penalty, options.W)


def balancer(options: Options) -> LossBalancer | GradientBalancer:
    """The balancer of `options.balancing`."""
    match options.balancing:
        case "loss":
            return MovingAverage(options.history, options.balancing_form)
        case "gradient":
            return UnitNorm(options.balancing_form)
    return Linear()
