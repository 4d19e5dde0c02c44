"""Methods from options: each is a network, a preference, a balancer and a penalty."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import TensorDataset

from pamal_core.balancing import (
    EPO,
    AutoLambda,
    Balancer,
    GradientBalancer,
    Linear,
    LossBalancer,
    MovingAverage,
    RotoGrad,
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
from pamal_core.runs.methods import METHODS
from pamal_core.runs.options import Options
from pamal_core.simplex import Dirichlet, on_simplex
from pamal_core.tasks import Task


@dataclass(frozen=True)
class Parts:
    """What a method is built from.

    `make_network(extra)` makes one member, freshly initialised, whose first layer takes `extra`
    features (or channels) more than the inputs of `train` have. `shared` names its encoder.
    """

    options: Options
    tasks: Sequence[Task]
    make_network: Callable[[int], nn.Module]
    shared: str
    train: TensorDataset

    def ensemble(
        self, wrapped: Callable[[nn.Module], nn.Module] = lambda member: member
    ) -> WeightEnsemble:
        """A member for each row of `task_weights`."""
        rows = task_weights(self.options, len(self.tasks))
        members = [wrapped(self.make_network(0)) for _ in rows]
        return WeightEnsemble(members, task_weights=rows, shared=self.shared)

    def one_network(self, balancer: Balancer) -> Method:
        """One network, trained with `balancer`."""
        return Method(self.ensemble(), self.tasks, balancer=balancer)


def build(
    options: Options,
    tasks: Sequence[Task],
    make_network: Callable[[int], nn.Module],
    shared: str,
    train: TensorDataset,
) -> Method:
    """The method of `options`, from the other `Parts`."""
    return METHODS[options.method].build(Parts(options, tasks, make_network, shared, train))


def pamal(parts: Parts) -> Method:
    """An ensemble with a member per task."""
    o = parts.options
    return Method(parts.ensemble(), parts.tasks, preference(o), balancer(o), multi_forward(o), o.W)


def fixed_weights(parts: Parts) -> Method:
    """LS and STL."""
    return parts.one_network(balancer(parts.options))


def auto_lambda(parts: Parts) -> Method:
    """Auto-lambda, whose validation batches are drawn from the training data."""
    network, o = parts.ensemble(), parts.options
    others = batches(parts.train, o.batch_size, shuffle=True)
    rule = AutoLambda(network, parts.tasks, others, lr=o.lr)
    return Method(network, parts.tasks, balancer=rule)


def rotograd(parts: Parts) -> Method:
    """One network whose features are rotated for each task."""
    example = parts.train[:2][0]
    network = parts.ensemble(lambda member: Rotated(member, example))
    return Method(network, parts.tasks, balancer=RotoGrad(network.skeleton.model))


def phn(parts: Parts) -> Method:
    """A hypernetwork that writes the weights for each alpha."""
    o, num_tasks = parts.options, len(parts.tasks)
    network = Hypernetwork(parts.make_network(0), num_tasks, shared=parts.shared, chunk=o.chunk)
    return Method(network, parts.tasks, preference(o), EPO() if o.solver == "epo" else Linear())


def cosmos(parts: Parts) -> Method:
    """One network that is given alpha with its input."""
    o, num_tasks, example = parts.options, len(parts.tasks), parts.train[:2][0]
    member = parts.make_network(num_tasks)
    network = Conditioned(member, num_tasks, shared=parts.shared, example=example)
    return Method(network, parts.tasks, preference(o), penalty=Cosine(o.lam))


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


def averaged(options: Options, network: Network) -> AveragedModel | None:
    """The mean of `network`'s weights over the steps of training; None where the last ones count.

    The statistics of BatchNorm are not averaged: they are those of the last weights.
    """
    if options.average == 0:
        return None
    decay = get_ema_multi_avg_fn(options.average)  # type: ignore[no-untyped-call]
    return AveragedModel(network, multi_avg_fn=decay)
