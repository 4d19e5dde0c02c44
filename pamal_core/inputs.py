"""Batches: the inputs of any model, and a target for each task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from operator import is_
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor, is_tensor
from torch.utils._pytree import tree_leaves

from pamal_core.errors import InputError

Inputs = Any
"""The inputs of a model: one tensor; several in a tuple or list, which are its arguments in order;
or several in a dict, which are its arguments by name. Anything else is its one argument."""
Batch = Sequence[Any] | Mapping[str, Any]
"""(inputs, target_1, ..., target_T), with a target for each task, or None if the batch has none; or
(inputs, {name: target}), in which the name of a task may be absent; or a named tuple (inputs, ...)
whose other fields all have the names of tasks, in any order; or one dict of inputs and
targets, in which the targets have the names of their tasks; or {name: (inputs, target)}, in which
each task has inputs of its own, through which the network runs one after the other."""


def arguments(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments in order and the arguments by name for a model that gets `inputs`. Their
    dicts, lists and objects are new ones, because a model may write into them, and runs at other
    alphas, too."""
    if isinstance(inputs, Mapping):
        return (), {name: _again(part) for name, part in inputs.items()}
    if _is_several(inputs):
        return tuple(map(_again, inputs)), {}
    return (_again(inputs),), {}


def _again(part: Any) -> Any:
    """Return `part` with new dicts and lists, or a shallow copy of an object: of the same
    tensors."""
    if type(part) is dict:
        return {name: _again(value) for name, value in part.items()}
    if type(part) is list:
        return [*map(_again, part)]
    if _is_object(part):
        with suppress(Exception):  # of what cannot be copied
            return copy(part)
    return part


def _is_object(part: Any) -> bool:
    """Return whether `part` has attributes that may be set, and is no tensor."""
    return not is_tensor(part) and hasattr(part, "__dict__")


def by_name(outputs: Any) -> Any:
    """Return the outputs of a model as a dict if they are a named tuple, and else unchanged."""
    is_named = isinstance(outputs, tuple) and hasattr(outputs, "_asdict")
    return outputs._asdict() if is_named else outputs


def num_examples(inputs: Inputs) -> int:
    """Return the length of the first tensor of `inputs` that has a length, or 0 if none has."""
    parts = (part for part in tree_leaves(arguments(inputs)) if isinstance(part, Tensor))
    return next((len(part) for part in parts if part.ndim), 0)


def to_device(batch: Batch, device: torch.device, names: Sequence[str] = ()) -> list[Any]:
    """Return `batch` on `device` as [inputs, target_1, ...] or [inputs, {name: target}]. Raise
    InputError unless it is a `Batch`. `names` are the names of the tasks."""
    if isinstance(batch, tuple) and (fields := getattr(batch, "_fields", ())[1:]):
        batch = _by_field(batch, fields, names)
    if isinstance(batch, Mapping):
        targets = {name: batch[name] for name in names if name in batch}
        inputs = {name: part for name, part in batch.items() if name not in targets}
        batch = (inputs, targets) if inputs else batch
    if not isinstance(batch, tuple | list) or not all(
        part is None or torch.is_tensor(part) for part in _targets(batch)
    ):
        raise InputError(
            "A batch must be a tuple or list (inputs, target_1, ..., target_T), one tensor per "
            "task, or None, or (inputs, {name: target}), or one dict of both; several inputs are a "
            f"tuple or a dict of their own. Found {described(batch)}."
        )
    return [_part_to_device(part, device) for part in batch]


def _by_field(batch: Any, fields: Sequence[str], names: Sequence[str]) -> Any:
    """Return a named tuple whose `fields` behind the inputs are tasks as (inputs, {name: target}),
    since their order may be another, and others unchanged. Raise InputError if the field of a task
    stands in the place of another one."""
    if {*fields} <= {*names} and not isinstance(batch[1], Mapping):
        return batch[0], dict(zip(fields, batch[1:], strict=True))
    wrong = [f for f, name in zip(fields, names, strict=False) if f in names and f != name]
    if wrong and len(fields) == len(names):
        raise InputError(
            "The fields of a named tuple behind the inputs must all be tasks, or else in the order "
            f"of the tasks, {', '.join(names)}. Found {', '.join(fields)}."
        )
    return batch


def runs_of(batch: Batch, device: torch.device, names: Sequence[str] = ()) -> list[list[Any]]:
    """Return `batch` on `device` as what the network runs on, each as `to_device` returns it: one
    for all tasks, or one for each task that has inputs of its own. Raise InputError as `to_device`
    does. `names` are the names of the tasks."""
    if not _is_by_task(batch, names):
        return [to_device(batch, device, names)]
    runs = []
    for name, part in batch.items():
        if isinstance(part, tuple | list):
            if len(part) != 2:
                raise InputError(
                    f"A batch of task {name} alone must be (inputs, target). Found "
                    f"{described(part)}."
                )
            inputs, target = part
            part = inputs, target if isinstance(target, Mapping) else {name: target}
        runs.append(to_device(part, device, names))
    return runs


def _is_by_task(batch: Any, names: Sequence[str]) -> TypeGuard[Mapping[str, Any]]:
    """Return whether `batch` is {name: batch}: targets are tensors, batches are collections."""
    if not isinstance(batch, Mapping) or len(batch) == 0:
        return False
    return all(n in names and isinstance(b, tuple | list | Mapping) for n, b in batch.items())


def _targets(batch: Sequence[Any]) -> Iterable[Any]:
    if len(batch) == 2 and isinstance(batch[1], Mapping):
        return batch[1].values()
    return batch[1:]


@contextmanager
def unchanged(batch: Sequence[Any]) -> Iterator[None]:
    """Raise InputError if the code of the `with` block writes into a tensor of `batch`, or sets
    attributes of an object in it, or of an object that this one keeps."""
    before = _contents(batch)
    tensors = [t for t in before if isinstance(t, Tensor) and not t.is_inference()]
    versions = [tensor._version for tensor in tensors]
    yield
    after = _contents(batch)
    is_same = len(after) == len(before) and all(map(is_, after, before))
    if not is_same or [tensor._version for tensor in tensors] != versions:
        raise InputError(
            "A model must not write into its inputs, nor a loss or a metric into outputs or "
            "targets: the network at the next alpha, or the next metric, gets the same. Found one "
            "that does."
        )


def _contents(batch: Any) -> list[Any]:
    """Return the tensors and other leaves of `batch`, and those that objects in it keep, and
    objects in these, as a graph keeps its tensors in a store."""
    leaves = found = tree_leaves(batch)
    for _ in range(2):
        kept = [vars(leaf) for leaf in found if _is_object(leaf)]
        if not kept:
            break
        found = tree_leaves(kept)
        leaves = leaves + found
    return leaves


def described(value: Any) -> str:
    """Return words for `value` in a message: the shape and dtype of a tensor or an array, the keys
    or types in a collection, or a type."""
    if isinstance(value, Tensor | np.ndarray):
        kind = "tensor" if isinstance(value, Tensor) else "array"
        return f"one {kind} {list(value.shape)} of {value.dtype}".replace("torch.", "")
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return f"a {kind} with keys {', '.join(map(str, value))}"
    if isinstance(value, tuple | list):
        return f"a {kind} of {', '.join(type(part).__name__ for part in value) or 'nothing'}"
    return kind


def described_alone(value: Any) -> str:
    """Return `described` without "one", which is said of a tensor in place of several."""
    return described(value).replace("one tensor", "a tensor")


def _part_to_device(part: Any, device: torch.device) -> Any:
    if isinstance(part, Mapping):
        return {name: _part_to_device(value, device) for name, value in part.items()}
    if _is_several(part):
        return [_part_to_device(value, device) for value in part]
    if not hasattr(part, "to"):
        return part
    # A copy to the CPU has to end before the CPU reads it.
    return part.to(device, non_blocking=device.type == "cuda")


def _is_several(part: Any) -> bool:
    """Return whether `part` is several inputs. A packed sequence is a tuple, but one input."""
    # Not `tuple | list`, which the compiler of torch 2.7 cannot read.
    return isinstance(part, (tuple, list)) and not hasattr(part, "to")
