"""What `train` checks before a weight is moved."""

import contextlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils._pytree import tree_leaves, tree_map_only

from pamal_core.errors import InputError, check_choice
from pamal_core.inputs import Batch, described
from pamal_core.memory import is_out_of_memory
from pamal_core.method import Method
from pamal_core.tasks import check_counts

if TYPE_CHECKING:
    from pamal_core.training import Training  # which imports this module

HOW_FAST = {"foreach", "fused", "capturable", "differentiable"}
"""Settings of an optimiser that say how it computes, not what."""
WRONG = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a metric raises that does not fit its task."""


def check_arguments(
    method: Any, loader: Any, epochs: Any, seed: Any, positive: Mapping[str, Any]
) -> None:
    """InputError where an argument of `train` is of the wrong type or out of range. Those in
    `positive` may be None."""
    if not isinstance(method, Method):
        raise InputError(f"`method` must be a Method. Found {described(method)}.")
    for name, value, least in (("epochs", epochs, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"`{name}` must be a whole number from {least}. Found {value!r}.")
    for name, value in positive.items():
        if value is not None and not (isinstance(value, int | float) and 0 < value < float("inf")):
            raise InputError(f"`{name}` must be a finite number above 0. Found {value!r}.")
    if not isinstance(loader, Iterable):
        raise InputError(f"`loader` must yield batches anew each epoch. Found {described(loader)}.")
    if isinstance(loader, Iterator) and epochs != 1:
        raise InputError(
            "`loader` must yield its batches anew each epoch, as a DataLoader or a list does. "
            f"Found a {type(loader).__name__}, which has them once, for {epochs} epochs."
        )


def check_training(training: "Training") -> None:
    """InputError unless the parts of a training fit one another."""
    method, optimizer, scheduler = training.method, training.optimizer, training.scheduler
    check_choice("scheduler_interval", training.scheduler_interval, ("epoch", "step"))
    named = dict(method.network.named_parameters())
    for name, parameter in named.items():
        if parameter.requires_grad and parameter.dtype not in (torch.float32, torch.float64):
            raise InputError(
                "Weights are trained in float32 or float64: in fewer digits small steps are lost, "
                f"and in float16 those of Adam are NaN. Found {parameter.dtype} in {name}. Give "
                "members.float(), and `network.precision = torch.bfloat16` for speed."
            )
    for name, module in method.network.skeleton.model.named_modules():
        if getattr(module, "sparse", False) is True:
            raise InputError(
                "Gradients are those of one dense vector of weights. Found sparse=True in "
                f"{name or 'the model'}, a {type(module).__name__}: make it with sparse=False."
            )
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InputError(f"`optimizer` must be one of torch. Found {described(optimizer)}.")
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    needs_closure = closure is not None and closure.default is inspect.Parameter.empty
    if needs_closure or isinstance(optimizer, torch.optim.SparseAdam):
        raise InputError(
            "`optimizer` must step on one dense gradient, as SGD and Adam do. "
            f"Found {type(optimizer).__name__}."
        )
    _check_trained(method, optimizer, named)
    if scheduler is not None and getattr(scheduler, "optimizer", None) is not optimizer:
        raise InputError(
            "`scheduler` must be one of the `optimizer` that is given, too. Found one of "
            f"{'another' if hasattr(scheduler, 'optimizer') else 'none'}."
        )
    if isinstance(scheduler, ReduceLROnPlateau) and training.scheduler_interval == "step":
        raise InputError("ReduceLROnPlateau needs the losses of an epoch. Found one for each step.")
    if training.average is not None:
        shapes = [[p.shape for p in n.parameters()] for n in (training.average, method.network)]
        if shapes[0] != shapes[1]:
            raise InputError("`average` must be AveragedModel(method.network). Found another's.")


def _check_trained(
    method: Method, optimizer: torch.optim.Optimizer, named: Mapping[str, Tensor]
) -> None:
    """InputError unless `optimizer` has all that `method` trains, each whole or in views that make
    it up, and nothing else."""
    learned = {f"entry {k} of the balancer": p for k, p in enumerate(method.balancer.parameters())}
    own = {**named, **learned}
    given = {p for group in optimizer.param_groups for p in group["params"]}
    places = {parameter.untyped_storage().data_ptr() for parameter in own.values()}
    sizes = dict.fromkeys(places, 0)
    foreign = 0
    for view in given - {*own.values()}:
        place = view.untyped_storage().data_ptr()
        sizes[place] = sizes.get(place, 0) + view.numel()
        foreign += place not in places
    missing = [
        name
        for name, p in own.items()
        if p.requires_grad and p not in given and sizes[p.untyped_storage().data_ptr()] != p.numel()
    ]
    if missing or foreign:
        raise InputError(
            "`optimizer` must train what the method has and nothing else, such as "
            "`method.parameters()` of the network where it is now. Found "
            f"{', '.join(missing) or 'nothing'} missing and {foreign} tensors of others."
        )


@contextlib.contextmanager
def metrics_checked(method: Method, targets: Batch) -> Iterator[None]:
    """Around the first step: in the end InputError where a metric does not take the outputs of its
    first draw. The network runs no more often for it, and random numbers stay as they were."""
    outputs: list[Any] = []

    def keep(_: Any, __: Any, output: Any) -> None:
        if not outputs:
            outputs.append(tree_map_only(Tensor, Tensor.detach, output))

    hook = method.network.register_forward_hook(keep)
    try:
        yield
    finally:
        hook.remove()
    check_counts(method.tasks, outputs[0], targets)
    trained = method.network.task_weights
    device = trained.device
    with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        columns = zip(method.tasks, outputs[0], targets, trained.any(0).tolist(), strict=True)
        for task, output, target, is_trained in columns:
            for metric in task.metrics if is_trained else ():  # as `evaluate` judges them
                try:
                    float(metric.value(metric.statistic(output, target)))
                except WRONG as error:
                    if is_out_of_memory(error):
                        raise
                    raise InputError(
                        f"The metric {metric.name} of task {task.name} must take what it is given. "
                        f"Found {described(output)} and {described(target)}: {error}"
                    ) from error


def check_dtypes(method: Method, inputs: Any, error: RuntimeError) -> None:
    """InputError where `error` came of inputs that are not of the dtype of the weights."""
    expected = method.network.task_weights.dtype
    found = {part.dtype for part in tree_leaves(inputs) if isinstance(part, Tensor)} - {expected}
    if found and "type" in str(error):
        raise InputError(
            f"The model must take its inputs, and its weights are {expected}. Found inputs of "
            f"{', '.join(map(str, found))}: {error}"
        ) from error


def made_with(training: "Training") -> dict[str, str]:
    """What a training must have in common with one that goes on from its state, as texts."""
    method, optimizer, network = training.method, training.optimizer, training.method.network
    rule = method.balancer
    options = {name: getattr(rule, name, None) for name in inspect.signature(type(rule)).parameters}
    plain = {name: v for name, v in options.items() if isinstance(v, str | int | float)}
    weights = ", ".join(f"{name} {[*p.shape]}" for name, p in network.named_parameters())
    about = {
        "network": f"{type(network).__name__} of {weights} in {network.precision}",
        "task_weights": network.task_weights.tolist(),
        "tasks": [task.name for task in method.tasks],
        "preference": method.preference,
        "balancer": f"{type(rule).__name__} {plain}",
        "penalty": method.penalty,
        "window": method.window,
        "optimizer": type(optimizer).__name__,
        "scheduler": type(training.scheduler).__name__,
        "scheduler_interval": training.scheduler_interval,
        "clip_norm": training.clip_norm,
        "average": type(training.average).__name__,
        "seed": training.seed,
    }
    for number, group in enumerate(optimizer.param_groups):
        # A scheduler keeps the rate it began with: the present one is part of the state.
        settings = {**group, "lr": group.get("initial_lr", group.get("lr"))}
        settings["params"] = [[*p.shape] for p in group["params"]]
        for name in settings.keys() - HOW_FAST - {"initial_lr"}:
            value = settings[name]
            value = value.item() if torch.is_tensor(value) else value
            about[f"{name} of group {number}"] = [*value] if isinstance(value, tuple) else value
    # A class without a text of its own has its address for one.
    return {name: re.sub(" at 0x[0-9a-f]+", "", str(value)) for name, value in about.items()}


def check_same(state: object, now: Mapping[str, str]) -> None:
    """InputError, with what differs, unless `state` is that of a training `made_with` the same."""
    if not isinstance(state, Mapping) or "made_with" not in state:
        raise InputError(
            f"A state must be what `Training.state_dict` returned. Found {described(state)}."
        )
    then = state["made_with"]
    differ = [
        f"{name} {then.get(name, 'absent')} in the state and {now.get(name, 'absent')} here"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]
    if differ:
        raise InputError(
            "A training goes on with the method, the optimiser and the settings it was begun with. "
            f"Found {'; '.join(differ)}."
        )
