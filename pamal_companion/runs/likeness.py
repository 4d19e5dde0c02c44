"""Say in words how two methods and their optimisers differ."""

from typing import Any

from torch.optim import Optimizer

from pamal_core.method import Method

NO_SETTINGS = ("params", "fused", "foreach")
"""Entries of an optimiser's group that do not change what it computes."""
Trained = tuple[Method, Optimizer]


def differences(one: Trained, expected: Trained) -> list[str]:
    """Return in words where `one` is not like `expected`: in classes and fields of the network, the
    tasks, the preference, the balancer, the penalty, the window and the optimiser. Initial weights
    and functions are not compared."""
    found, wanted = _fields(*one), _fields(*expected)
    return [
        f"{name} is {found.get(name, 'none')}, not {wanted.get(name, 'none')}"
        for name in {**wanted, **found}
        if found.get(name) != wanted.get(name)
    ]


def _fields(method: Method, optimizer: Optimizer) -> dict[str, Any]:
    """Return what is compared, by name."""
    network, skeleton = method.network, method.network.skeleton
    fields: dict[str, Any] = {
        "the network": type(network).__name__,
        "the model": type(skeleton.model).__name__,
        "the number of members": network.num_members,
        "the number of weights": skeleton.num_weights,
        "the number of shared weights": skeleton.num_shared,
        "the matrix of task weights": network.task_weights.tolist(),
        "the list of tasks": [
            (t.name, *(metric.name for metric in t.metrics)) for t in method.tasks
        ],
        "the preference": repr(method.preference),
        "the balancer": _described(method.balancer),
        "the penalty": repr(method.active_penalty),
        "the window": method.window,
        "the optimiser": type(optimizer).__name__,
    }
    fields |= {f"the weight {name}": [*like.shape] for name, like in skeleton.like.items()}
    for number, group in enumerate(optimizer.param_groups):
        sizes = {"numbers": sum(weight.numel() for weight in group["params"])}
        settings = {name: value for name, value in group.items() if name not in NO_SETTINGS}
        for name, value in (sizes | settings).items():
            fields[f"{name} of the optimiser's group {number}"] = value
    return fields


def _described(part: Any) -> str:
    """Return the class of `part` and those of its fields that are plain values."""
    plain = {n: v for n, v in vars(part).items() if isinstance(v, str | int | float | None)}
    return f"{type(part).__name__}({', '.join(f'{n}={v!r}' for n, v in plain.items())})"
