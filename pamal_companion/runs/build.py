"""Methods from options: each is a network, a preference, a balancer and a penalty; and the
optimiser of the paper."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset

from pamal_companion.baselines.annealed import Annealed
from pamal_companion.baselines.auto_lambda import AutoLambda
from pamal_companion.baselines.cosmos import Conditioned, Cosine
from pamal_companion.baselines.epo import EPO
from pamal_companion.baselines.low_rank import MIXTURES, LowRankEnsemble
from pamal_companion.baselines.phn import Hypernetwork
from pamal_companion.baselines.rotograd import Rotated, RotoGrad
from pamal_companion.data.batches import batches
from pamal_companion.runs.methods import METHODS, affects
from pamal_companion.runs.options import Options
from pamal_core import balancing
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet, on_simplex
from pamal_core.tasks import Task


def build(
    options: Options,
    tasks: Sequence[Task],
    make_network: Callable[[int], nn.Module],
    shared: str,
    train: TensorDataset,
) -> Method:
    """Return the method of `options`.

    `make_network(extra)` makes one member, freshly initialised, whose first layer takes `extra`
    features (or channels) more than the inputs of `train` have. `shared` names its encoder.
    """
    o, num_tasks, row = options, len(tasks), METHODS[options.method]
    if row.make is not None:
        return row.make(tasks, make_network, shared)
    if o.method == "phn":
        depth = 3 if getattr(o, "target", "plain") == "released" else 2
        written = Hypernetwork(
            make_network(0), num_tasks, shared=shared, depth=depth, chunk=o.chunk
        )
        solver = EPO() if o.solver == "epo" else balancing.Linear()
        return Method(written, tasks, preference=preference(o), balancer=solver)
    if o.method == "cosmos":
        example = train[:2][0]
        given = Conditioned(make_network(num_tasks), num_tasks, shared=shared, example=example)
        return Method(given, tasks, preference=preference(o), penalty=Cosine(o.lam))
    rows = task_weights(o, num_tasks)
    if o.method == "low_rank":
        one = make_network(0)
        adapted = LowRankEnsemble(
            one, num_tasks, rank=o.rank, train_base=o.train_base, peft=False, shared=shared
        )
        return Method(adapted, tasks, preference=preference(o), window=o.W)
    if o.method == "rotograd":
        example = train[:2][0]
        members: list[nn.Module] = [Rotated(make_network(0), example) for _ in rows]
        if getattr(o, "trained", "all") == "released":
            for member in members:
                member.get_submodule("heads")[-1].requires_grad_(False)  # type: ignore[index]
    else:
        members = [make_network(0) for _ in rows]
    network = WeightEnsemble(members, task_weights=rows, shared=shared)
    match o.method:
        case "pamal":
            return Method(
                network,
                tasks,
                preference=preference(o),
                balancer=balancer(o),
                penalty=multi_forward(o),
                window=o.W,
            )
        case "soup":  # every corner once a step: each member is trained alone, on its own weights
            corners = Dirichlet(0.0, stratified=True)
            return Method(network, tasks, preference=corners, window=len(rows))
        case "ls" | "stl":
            rule: balancing.Balancer = balancer(o)
        case "rotograd":
            rule = RotoGrad(network.skeleton.model)
        case "auto_lambda":  # its validation batches are drawn from the training data
            others = batches(train, o.batch_size, shuffle=True)
            rule = AutoLambda(network, tasks, others, lr=o.lr)
        case _:
            known = dict(options) | {"num_tasks": num_tasks}
            make = getattr(balancing, row.rule) if isinstance(row.rule, str) else row.rule
            rule = make(**{option: known[option] for option in row.options})
    return Method(network, tasks, balancer=rule)


def task_weights(options: Options, num_tasks: int) -> np.ndarray:
    """Return the matrix W [M, T] that makes a weight ensemble the method `options` name."""
    match options.method:
        case "pamal" | "low_rank":
            return np.eye(num_tasks)
        case "stl":
            if options.task >= num_tasks:
                raise InputError(f"`task` must be below {num_tasks}. Found task={options.task}.")
            return np.eye(num_tasks)[[options.task]]
        case "soup":
            rest = np.full((num_tasks, num_tasks), 0.1 / (num_tasks - 1))
            np.fill_diagonal(rest, 0.9)
            return rest
        case "ls" if options.weights is not None:
            return on_simplex([options.weights], num_tasks, name="weights")
    return np.full((1, num_tasks), 1 / num_tasks)


def preference(options: Options) -> Dirichlet | Annealed:
    """Return how alpha is drawn."""
    p = tuple(options.p) if isinstance(options.p, list) else options.p
    if options.p_first is not None:
        return Annealed(options.p_first, p, options.draws == "stratified")
    return Dirichlet(p, options.draws == "stratified")


def multi_forward(options: Options) -> MultiForward:
    """Return PaMaL's penalty."""
    return MultiForward(options.lam, options.penalty, options.edges, options.skip)


def balancer(options: Options) -> balancing.LossBalancer | balancing.GradientBalancer:
    """Return the balancer of `options.balancing`."""
    match options.balancing:
        case "loss":
            return balancing.MovingAverage(options.history, options.balancing_form)
        case "gradient":
            return balancing.UnitNorm(options.balancing_form)
    return balancing.Linear()


def adam(method: Method, options: Options) -> torch.optim.Adam:
    """Return Adam for all that `method` trains, with the rate of `options`; what alpha mixes has M
    times that rate unless `lr_scaling` is "plain" or the method has no such option, because the
    gradient of a member is scaled by its alpha, 1/M in expectation (section 5).
    """
    network, lr, rate = method.network, options.lr, options.lr
    mixed = []
    if isinstance(network, MIXTURES):
        mixed = [
            weight
            for name, weight in network.named_parameters()
            if weight.requires_grad and not name.startswith("base.")
        ]
        if options.lr_scaling == "members" and affects("lr_scaling", options.method):
            rate = lr * network.num_members
    others = [p for p in method.parameters() if not any(p is one for one in mixed)]
    pairs = (mixed, rate), ([p for p in others if p.requires_grad], lr)
    groups = [{"params": params, "lr": own} for params, own in pairs if params]
    # A hypernetwork has a hundred parameters for each weight of its model, and torch's usual dozen
    # passes over them take three times as long as their gradient.
    is_large = isinstance(network, Hypernetwork) or network.device.type == "cuda"
    is_cpu = not is_large and network.device.type == "cpu"
    # On a CPU the loop over weights takes longest: `foreach` has the same bits without it.
    return torch.optim.Adam(groups, foreach=is_cpu or None, fused=is_large or None)
