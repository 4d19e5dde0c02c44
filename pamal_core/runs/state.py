"""Nested state, such as a checkpoint, as safetensors: nothing is pickled."""

import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from pamal_core.errors import InputError
from pamal_core.runs.atomic import write_atomic


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a nested dict of tensors, numbers, strings, lists and dicts, atomically."""
    tensors: dict[str, Tensor] = {}
    skeleton = _take_tensors(state, tensors)
    _unshare(tensors)
    text = json.dumps(skeleton)
    metadata = {"state": text, "checksum": _checksum(text, tensors)}
    write_atomic(path, safetensors.torch.save(tensors, metadata=metadata))


def load_state(path: Path) -> dict[str, Any]:
    """What `save_state` wrote, tensors on the CPU. InputError where the file is damaged."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            text, checksum = file.metadata()["state"], file.metadata()["checksum"]
        if checksum != _checksum(text, tensors):
            raise ValueError("its checksum is that of other values")
        return _put_tensors(json.loads(text), tensors)
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(
            f"Expected a file written by `save_state`. {path} is damaged or another: {error}."
        ) from error


def _checksum(text: str, tensors: dict[str, Tensor]) -> str:
    """A SHA-256 of `text` and of the key, shape, dtype and bytes of each tensor."""
    digest = hashlib.sha256(text.encode())
    for key, tensor in sorted(tensors.items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _unshare(tensors: dict[str, Tensor]) -> None:
    """Give each of `tensors` memory of its own. safetensors refuses any that two share, as the
    buffers of a module with two names do."""
    seen: set[int] = set()
    for key, tensor in tensors.items():
        memory = tensor.untyped_storage().data_ptr()
        if memory in seen:
            tensors[key] = tensor.clone()
        seen.add(memory)


def _take_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    """`node` with each tensor moved to `tensors` and its key left in its place; dicts keep the
    types of their keys."""
    if isinstance(node, Tensor):
        key = str(len(tensors))
        tensors[key] = node.detach().cpu().contiguous()
        return {"tensor": key}
    if isinstance(node, dict):
        return {"dict": [[key, _take_tensors(value, tensors)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        return {"list": [_take_tensors(value, tensors) for value in node]}
    return node


def _put_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    match node:
        case {"tensor": key}:
            return tensors[key]
        case {"dict": items}:
            return {key: _put_tensors(value, tensors) for key, value in items}
        case {"list": items}:
            return [_put_tensors(value, tensors) for value in items]
    return node
