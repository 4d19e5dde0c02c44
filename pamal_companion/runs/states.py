"""Keep nested states in files: tensors as safetensors, all else as text in their header."""

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from pamal_companion.data.atomic import write_atomic
from pamal_companion.runs import state_files
from pamal_core.errors import InputError


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a nested dict of tensors, numbers, strings, lists and dicts, atomically."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_take_tensors(state, tensors))
    metadata = {"state": text, "checksum": _checksum(text, tensors)}
    write_atomic(path, safetensors.torch.save(tensors, metadata=metadata))


def load_state(path: Path, key: str | None = None) -> dict[str, Any]:
    """Return the state that `save_state` wrote, tensors on the CPU; raise InputError if the file is
    damaged or another, or not of the run with the `key`, if there is one."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
        text = metadata.get("state", "")
        state_files.check(metadata, _checksum(text, tensors))
        state: dict[str, Any] = json.loads(text, object_hook=lambda node: _restore(node, tensors))
        if not isinstance(state, dict):
            raise ValueError("it holds no dict")
    except state_files.READ_STATE_ERRORS as error:
        raise InputError(
            f"Expected a file written by `save_state`. {path} is damaged or another: {error}."
        ) from error
    if key is not None and state.get("key") != key:
        raise InputError(
            f"{path} belongs to another run. Expected key {key}, found {state.get('key')}. "
            "Delete it or write to another place."
        )
    return state


def _checksum(text: str, tensors: dict[str, Tensor]) -> str:
    """Return the checksum of `text` and of all tensors."""
    parts = (
        (key, tuple(tensor.shape), str(tensor.dtype), _bytes(tensor))
        for key, tensor in tensors.items()
    )
    return state_files.checksum(text, parts)


def _bytes(tensor: Tensor) -> Any:
    """Return the memory of a contiguous tensor."""
    return tensor.flatten().view(torch.uint8).numpy().data


def _take_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    """Return `node` with each tensor replaced by its key in `tensors`, where it is put; dicts keep
    the types of their keys."""
    if isinstance(node, Tensor):
        key = str(len(tensors))
        # safetensors refuses tensors that share memory, such as a buffer with two names.
        tensors[key] = node.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"tensor": key}
    if isinstance(node, dict):
        return {"dict": [[key, _take_tensors(value, tensors)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        return {"list": [_take_tensors(value, tensors) for value in node]}
    return node


def _restore(node: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """Return the tensor, dict or list in whose place `_take_tensors` left `node`."""
    ((kind, content),) = node.items()
    if kind == "tensor":
        return tensors[content]
    return dict(content) if kind == "dict" else content
