"""What `train` checks before a weight is moved."""

import contextlib
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import length_hint
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau
from torch.utils._pytree import tree_leaves, tree_map

from pamal_core.errors import InputError, check_choice
from pamal_core.inputs import Batch, described
from pamal_core.method import Method
from pamal_core.networks.base import Network
from pamal_core.networks.skeleton import NO_WRITING
from pamal_core.shapes import ByMember, Theta
from pamal_core.tasks import Metric, Task, by_task, taken, task_losses

if TYPE_CHECKING:
    from pamal_core.training import Training  # which imports this module

NOT_COMPARED = {"foreach", "fused", "capturable", "differentiable", "initial_lr", "params"}
"""Settings of an optimiser that say how it computes, not what."""

BY_MATRIX = {"Muon", "Shampoo", "SOAP"}
"""Optimisers that look at a parameter as the matrix of a layer."""


def check_training(training: "Training") -> None:
    """InputError unless the parts of a training fit one another."""
    method, optimizer, scheduler = training.method, training.optimizer, training.scheduler
    check_choice("scheduler_interval", training.scheduler_interval, ("epoch", "step"))
    for name, weight in method.network.named_parameters():
        if weight.requires_grad and weight.dtype not in (torch.float32, torch.float64):
            raise InputError(
                "Weights are trained in float32 or float64: fewer digits lose small steps. Found "
                f"{weight.dtype} in {name}. For speed set `network.precision = torch.bfloat16`."
            )
    unfit = torch.optim.LBFGS | torch.optim.SparseAdam
    if not isinstance(optimizer, torch.optim.Optimizer) or isinstance(optimizer, unfit):
        found = described(optimizer)
        raise InputError(
            f"`optimizer` must step on one dense gradient, as Adam does. Found {found}."
        )
    _, *step = inspect.signature(type(optimizer).step).parameters.values()  # schedulers wrap it
    if any(p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD for p in step):
        raise InputError(
            "`optimizer` must take a step without a closure, on the gradient that it finds. Found "
            f"{described(optimizer)}, which needs one."
        )
    _check_trained(method, optimizer)
    if scheduler is not None and getattr(scheduler, "optimizer", None) is not optimizer:
        found = described(scheduler)
        raise InputError(f"`scheduler` must be of the `optimizer` given. Found {found} of another.")
    if isinstance(scheduler, ReduceLROnPlateau) and training.scheduler_interval == "step":
        raise InputError("ReduceLROnPlateau needs the losses of an epoch. Found one for each step.")
    networks = [n for n in (method.network, training.average) if n is not None]
    if len({tuple(p.shape for p in network.parameters()) for network in networks}) > 1:
        raise InputError("`average` must be AveragedModel(method.network). Found another's.")


def check_cycle(training: "Training", loader: Iterable[Batch], epochs: int) -> None:
    """InputError where OneCycleLR, which fails after its last step, ends before the training, or
    has the steps of the training and takes one an epoch."""
    schedule, length = training.scheduler, length_hint(loader, 0)  # 0 where it does not know it
    if not isinstance(schedule, OneCycleLR):
        return
    by_step, left = training.scheduler_interval == "step", epochs - len(training.history)
    needed = left * (length if by_step else 1)
    rest = schedule.total_steps - schedule.last_epoch
    if needed > rest or (not by_step and 1 < length <= rest / max(left, 1)):
        raise InputError(
            "OneCycleLR must have as many steps as it takes: one for each step of the training "
            '(`scheduler_interval="step"`) or for each epoch. Found that it has '
            f"{rest} and takes {needed}, with scheduler_interval={training.scheduler_interval!r}."
        )


def _check_trained(method: Method, optimizer: torch.optim.Optimizer) -> None:
    """InputError unless `optimizer` has all that `method` trains, each whole or in views that make
    it up (`parameter_groups`), and nothing else."""
    named: dict[str, Tensor] = dict(method.network.named_parameters())
    named |= {f"entry {k} of the balancer": p for k, p in enumerate(method.balancer.parameters())}
    own, given = Counter[int](), Counter[int]()  # how many numbers of each piece of memory
    for p in named.values():
        own[p.untyped_storage().data_ptr()] += p.numel()
    for p in (p for group in optimizer.param_groups for p in group["params"]):
        given[p.untyped_storage().data_ptr()] += p.numel()
    places = {n: p.untyped_storage().data_ptr() for n, p in named.items() if p.requires_grad}
    if not places:
        raise InputError("A method needs weights to train. Found that all of them are frozen.")
    whole = any(p is method.network.flat for g in optimizer.param_groups for p in g["params"])
    if whole and type(optimizer).__name__ in BY_MATRIX:
        raise InputError(
            "An optimiser for matrices needs each weight on its own, as `parameter_groups` has "
            f"them. Found {described(optimizer)} of the matrix of all members."
        )
    missing = [name for name, place in places.items() if given[place] < own[place]]
    foreign = len(given.keys() - own.keys())
    if missing or foreign:
        raise InputError(
            "`optimizer` must train what the method has and nothing else, such as "
            "`method.parameters()` of the network where it is now. Found "
            f"{', '.join(missing) or 'nothing'} missing and {foreign} tensors of others."
        )


def try_training(method: Method, batch: Batch, alpha: ByMember) -> None:
    """InputError where a step would train what does not follow from alpha: weights that the model
    reaches in another way than as its own, some that were frozen when the network was made, or such
    that its forward pass writes into. Random numbers and buffers stay as they were."""
    network, (inputs, *targets) = method.network, batch
    theta = network.weights(alpha).detach().requires_grad_()
    with _trying(network, theta):
        network.train()
        losses = task_losses(method.tasks, network(theta, inputs), targets)
    own = {p: f"{n}, frozen before" for n, p in network.skeleton.model.named_parameters()}
    nodes, seen = [losses.grad_fn], set[Any]()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(weight := getattr(node, "variable", None), nn.Parameter):
            raise InputError(
                "All that the losses train must follow from alpha: weights of the members, reached "
                "as their own attributes, trainable from the start. Found "
                f"{own.get(weight, f'a parameter {[*weight.shape]} that is not one of them')}."
            )
        nodes += [following for following, _ in node.next_functions]


@contextlib.contextmanager
def _trying(network: Network, theta: Theta) -> Iterator[None]:
    """Within it the network is in evaluation mode, with the weights `theta`, and whatever it does
    has no effect; InputError where it writes into them."""
    device, views = theta.device, network.skeleton.views(theta.detach())
    before = {name: view.clone() for name, view in views.items()}
    with (
        network.evaluating(),
        network.skeleton.holding(theta),
        torch.random.fork_rng([device] if device.type == "cuda" else []),
    ):
        places = {n: p.data_ptr() for n, p in network.skeleton.model.named_parameters()}
        yield
        now = dict(network.skeleton.model.named_parameters())
        for name, value in before.items():
            if now[name].data_ptr() != places[name] or not torch.equal(now[name], value):
                raise InputError(f"{NO_WRITING} Found one that writes into {name}.")


@torch.no_grad()
def try_evaluation(method: Method, batch: Batch, alpha: ByMember) -> None:
    """InputError where `evaluate` would fail at `alpha`: many a model returns something else in
    evaluation mode. Random numbers and buffers stay as they were."""
    network, (inputs, *targets) = method.network, batch
    theta = network.weights(alpha)
    with _trying(network, theta):
        triples = by_task(method.tasks, network(theta, inputs), targets)
        for t in network.trained_tasks:  # what `evaluate` judges
            task, output, target = triples[t]
            if target is None:
                continue
            for metric in task.metrics:
                with contextlib.suppress(ArithmeticError):  # 0 / 0: a batch may have no label
                    taken(task, f"metric {metric.name}", metric, output, target)
                _check_sum(task, metric, output, target)


def _check_sum(task: Task, metric: Metric, output: Tensor, target: Tensor) -> None:
    """InputError where the statistic of half of a batch has another shape: it cannot be summed."""
    half, shapes = len(output) // 2 if output.ndim else 0, []
    with contextlib.suppress(Exception), warnings.catch_warnings():  # not all can be halved
        warnings.simplefilter("ignore")
        for pair in ((output, target), (output[:half], target[:half]))[: 1 + bool(half)]:
            shapes.append([*torch.as_tensor(metric.statistic(*pair)).shape])
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        raise InputError(
            f"The statistic of metric {metric.name} of task {task.name} must be one that is summed "
            "over batches, of one shape whatever their size: sums and counts, no list of answers. "
            f"Found {shapes[0]} for {len(output)} examples and {shapes[1]} for {half}."
        )


def made_with(training: "Training") -> dict[str, str]:
    """What a training must have in common with one that goes on from its state, as texts."""
    method, rule = training.method, training.method.balancer
    network, schedule = method.network, training.scheduler

    def numbers(value: Any) -> Any:
        """`value`; of a function the numbers in its code and those that it closes over."""
        if not inspect.isfunction(value):
            return value
        value = inspect.unwrap(value)
        cells = (cell.cell_contents for cell in value.__closure__ or ())
        return [n for n in (*cells, *value.__code__.co_consts) if isinstance(n, int | float)]

    def given(part: Any) -> dict[str, Any]:
        """The numbers and texts that `part` was made with, as far as it keeps them."""
        names = [] if part is None else inspect.signature(type(part)).parameters
        # LambdaLR keeps its argument `lr_lambda` as `lr_lambdas`.
        kept = {n: vars(part).get(n, vars(part).get(f"{n}s")) for n in names if n != "last_epoch"}
        values = {name: tree_map(numbers, value) for name, value in kept.items()}
        return {
            name: value
            for name, value in values.items()
            if all(isinstance(one, str | int | float) for one in tree_leaves(value))
        }

    groups = training.optimizer.param_groups
    about: dict[str, Any] = {
        "network": {n: [*p.shape] for n, p in network.named_parameters()},
        "precision": network.precision,
        "task_weights": network.task_weights.tolist(),
        "tasks": [(task.name, task.loss) for task in method.tasks],
        "balancer": f"{type(rule).__name__} {given(rule)}",
        "scheduler": f"{type(schedule).__name__} {given(schedule)}",
        **{name: getattr(method, name) for name in ("preference", "penalty", "window")},
        **{name: getattr(training, name) for name in ("scheduler_interval", "clip_norm", "seed")},
        "optimizer": type(training.optimizer).__name__,
        "average": f"{type(training.average).__name__} {given(training.average)}",
        "groups": [[[*p.shape] for p in group["params"]] for group in groups],
    }
    for number, group in enumerate(groups):
        # A scheduler keeps the rate it began with: the present one is part of the state.
        begun = group | {"lr": group.get("initial_lr", group.get("lr"))}
        about |= {f"{name} of group {number}": begun[name] for name in begun.keys() - NOT_COMPARED}
    # A tuple is a list in a file; a class without a text of its own has its address for one.
    texts = {name: str([*v] if isinstance(v, tuple) else v) for name, v in about.items()}
    return {name: re.sub(" at 0x[0-9a-f]+", "", text) for name, text in texts.items()}


def check_same(state: Any, now: Mapping[str, str]) -> None:
    """InputError, with what differs, unless `state` is that of a training `made_with` the same."""
    if not isinstance(state, Mapping) or "made_with" not in state:
        found = described(state)
        raise InputError(f"`resume` must be what `Training.state_dict` returned. Found {found}.")
    then = state["made_with"]
    differ = [
        f"{name} {then[name]} in the state and {now[name]} here"
        for name in now
        if name in then and then[name] != now[name]  # a version of torch may have more settings
    ]
    if differ:
        raise InputError(
            "A training goes on with the method, the optimiser and the settings it was begun with. "
            f"Found {'; '.join(differ)}."
        )
