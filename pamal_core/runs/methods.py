"""The methods as data: each is a network, a preference, a balancer and a penalty."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import TensorDataset

from pamal_core.balancing import (
    EPO,
    IMTL,
    MGDA,
    AutoLambda,
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
    RotoGrad,
    UncertaintyWeighting,
    UnitNorm,
)
from pamal_core.data.batches import batches
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.networks.base import Network
from pamal_core.networks.conditioned import Conditioned
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.networks.hypernetwork import Hypernetwork
from pamal_core.networks.rotated import Rotated
from pamal_core.penalties import Cosine, MultiForward
from pamal_core.runs.options import Options
from pamal_core.simplex import Dirichlet, on_simplex
from pamal_core.tasks import Task

# Methods that are one network with uniform task weights and a balancer of their own, for T tasks.
BASELINES: dict[str, Callable[[Options, int], Balancer]] = {
    "uw": lambda _, num_tasks: UncertaintyWeighting(num_tasks),
    "dwa": lambda options, _: DynamicWeightAverage(options.temperature),
    "rlw": lambda *_: RandomWeighting(),
    "mgda": lambda options, _: MGDA(options.heads),
    "pcgrad": lambda options, _: PCGrad(options.heads),
    "imtl": lambda options, _: IMTL(options.heads),
    "graddrop": lambda *_: GradDrop(),
    "cagrad": lambda options, _: CAGrad(options.c, options.heads),
    "nash_mtl": lambda options, _: NashMTL(options.heads),
}

# Options that mean something for some methods only; the others neither use nor record them.
ONLY_FOR: dict[str, frozenset[str]] = {
    "task": frozenset({"stl"}),
    **dict.fromkeys(["W", "penalty", "edges", "skip", "lr_scaling"], frozenset({"pamal"})),
    "lam": frozenset({"pamal", "cosmos"}),
    **dict.fromkeys(["p", "draws", "grid"], frozenset({"pamal", "cosmos", "phn"})),
    "weights": frozenset({"ls"}),
    **dict.fromkeys(["solver", "chunk"], frozenset({"phn"})),
    **dict.fromkeys(["balancing", "balancing_form", "history"], frozenset({"pamal", "ls", "stl"})),
    "heads": frozenset({"mgda", "pcgrad", "imtl", "cagrad", "nash_mtl"}),
    "c": frozenset({"cagrad"}),
    "temperature": frozenset({"dwa"}),
}


def task_weights(options: Options, num_tasks: int) -> np.ndarray:
    """The matrix W [M, T] that makes a weight ensemble the method `options` name."""
    match options.method:
        case "pamal":
            return np.eye(num_tasks)
        case "stl":
            if options.task >= num_tasks:
                raise InputError(f"`task` must be below {num_tasks}. Found task={options.task}.")
            return np.eye(num_tasks)[[options.task]]
        case "ls" if options.weights is not None:
            return on_simplex([options.weights], num_tasks, name="weights")
    return np.full((1, num_tasks), 1 / num_tasks)


def build(
    options: Options,
    tasks: Sequence[Task],
    make_network: Callable[[int], nn.Module],
    shared: str,
    train: TensorDataset,
) -> Method:
    """The method of `options`.

    `make_network(extra)` makes one member, freshly initialised, whose first layer takes `extra`
    features (or channels) more than the inputs of `train` have. `shared` names its encoder.
    """
    num_tasks, example = len(tasks), train[:2][0]
    match options.method:
        case "phn":
            writer = Hypernetwork(make_network(0), num_tasks, shared=shared, chunk=options.chunk)
            solver = EPO() if options.solver == "epo" else Linear()
            return Method(writer, tasks, preference(options), solver)
        case "cosmos":
            member = make_network(num_tasks)
            told = Conditioned(member, num_tasks, shared=shared, example=example)
            return Method(told, tasks, preference(options), penalty=Cosine(options.lam))
    rows = task_weights(options, num_tasks)
    members = [make_network(0) for _ in rows]
    if options.method == "rotograd":
        members = [Rotated(member, example) for member in members]
    network = WeightEnsemble(members, task_weights=rows, shared=shared)
    if options.method != "pamal":
        return Method(network, tasks, balancer=_baseline(options, network, tasks, train))
    draws = preference(options)
    return Method(network, tasks, draws, balancer(options), multi_forward(options), options.W)


def _baseline(
    options: Options, network: WeightEnsemble, tasks: Sequence[Task], train: TensorDataset
) -> Balancer:
    """The balancer of a method with a single member."""
    match options.method:
        case "auto_lambda":
            others = batches(train, options.batch_size, shuffle=True)
            return AutoLambda(network, tasks, others, lr=options.lr)
        case "rotograd":
            return RotoGrad(network.skeleton.model)
        case "ls" | "stl":
            return balancer(options)
    return BASELINES[options.method](options, len(tasks))


def averaged(options: Options, network: Network) -> AveragedModel | None:
    """The mean of `network`'s weights over the steps of training; None where the last ones count.

    The statistics of BatchNorm are not averaged: they are those of the last weights.
    """
    if options.average == 0:
        return None
    decay = get_ema_multi_avg_fn(options.average)  # type: ignore[no-untyped-call]
    return AveragedModel(network, multi_avg_fn=decay)


def preference(options: Options) -> Dirichlet:
    """How alpha is drawn."""
    p = tuple(options.p) if isinstance(options.p, list) else options.p
    return Dirichlet(p, options.draws == "stratified")


def multi_forward(options: Options) -> MultiForward:
    """PaMaL's penalty."""
    return MultiForward(options.lam, options.penalty, options.edges, options.skip)


def balancer(options: Options) -> LossBalancer | GradientBalancer:
    """The balancer of `options.balancing`."""
    match options.balancing:
        case "loss":
            return MovingAverage(options.history, options.balancing_form)
        case "gradient":
            return UnitNorm(options.balancing_form)
    return Linear()
