"""Keep nested states in files: tensors as safetensors, all else as text in their header."""

import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from pamal_companion.data.atomic import READ_ERRORS, write_atomic
from pamal_core.errors import InputError


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a nested dict of tensors, numbers, strings, lists and dicts, atomically."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_take_tensors(state, tensors))
    metadata = {"state": text, "checksum": _checksum(text, tensors)}
    write_atomic(path, safetensors.torch.save(tensors, metadata=metadata))


def load_state(path: Path) -> dict[str, Any]:
    """Return the state that `save_state` wrote, tensors on the CPU; raise InputError if the file is
    damaged or another."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
        text, checksum = metadata.get("state"), metadata.get("checksum")
        if text is None:
            raise ValueError("it has tensors alone")
        if checksum != _checksum(text, tensors):
            raise ValueError("its checksum is that of other values")
        state: dict[str, Any] = json.loads(text, object_hook=lambda node: _restore(node, tensors))
        if not isinstance(state, dict):
            raise ValueError("it holds no dict")
    except (safetensors.SafetensorError, *READ_ERRORS) as error:
        raise InputError(
            f"Expected a file written by `save_state`. {path} is damaged or another: {error}."
        ) from error
    return state


def _checksum(text: str, tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of `text` and of the key, shape, dtype and bytes of each tensor."""
    digest = hashlib.sha256(text.encode())
    for key, tensor in sorted(tensors.items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
