"""The state of a run in a file: how it is written, read and gone on from."""

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from pamal_companion.runs.files import write_atomic
from pamal_core import distributed
from pamal_core.errors import InputError
from pamal_core.inputs import Batch
from pamal_core.method import Method
from pamal_core.training import Training, train


def train_resumably(
    method: Method,
    loader: Iterable[Batch],
    checkpoint: Path | None,
    *,
    key: str = "",
    about: str = "",
    on_epoch: Callable[[Training], None] = lambda _: None,
    **options: Any,
) -> list[dict[str, Any]]:
    """`train`, going on from the file `checkpoint`, where its state is kept after each epoch.
    `options` are those of `train`.

    The `key` tells whose state it is, and `about` says so to those who list runs: the fields of the
    record as JSON. Ctrl-C and SIGTERM stop it at once, and the exception says what is kept.
    InputError where the checkpoint is damaged or has another key.
    """
    state = load_state(checkpoint, key) if checkpoint and checkpoint.exists() else None
    kept = len(state["history"]) if state else 0

    def keep(training: Training) -> None:
        nonlocal kept
        on_epoch(training)
        if checkpoint and distributed.rank() == 0:
            save_state(checkpoint, {"key": key, "about": about, **training.state_dict()})
        kept = len(training.history)

    def interrupt(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    # Signals are for the main thread of a process: in others only Ctrl-C is explained.
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, interrupt) if is_main else None
    try:
        return train(method, loader, resume=state, on_epoch=keep, **options)
    except KeyboardInterrupt as stop:
        note = "No epoch is kept in a file."
        if checkpoint and kept:
            where = f"Epochs 1 to {kept} are kept in {checkpoint}"
            note = f"{where}: the same command goes on from there."
        stop.add_note(note)
        raise
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a nested dict of tensors, numbers, strings, lists and dicts, atomically."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_take_tensors(state, tensors))
    metadata = {"state": text, "checksum": _checksum(text, tensors)}
    write_atomic(path, safetensors.torch.save(tensors, metadata=metadata))


def load_state(path: Path, key: str | None = None) -> dict[str, Any]:
    """What `save_state` wrote, tensors on the CPU. InputError where the file is damaged, or is not
    that of the run with this `key`."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            text, checksum = file.metadata()["state"], file.metadata()["checksum"]
        if checksum != _checksum(text, tensors):
            raise ValueError("its checksum is that of other values")
        state: dict[str, Any] = json.loads(text, object_hook=lambda node: _put(node, tensors))
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(
            f"Expected a file written by `save_state`. {path} is damaged or another: {error}."
        ) from error
    if key is not None and state["key"] != key:
        raise InputError(
            f"{path} belongs to another run. Expected key {key}, found {state['key']}. "
            "Delete it or write to another place."
        )
    return state


def _checksum(text: str, tensors: dict[str, Tensor]) -> str:
    """A SHA-256 of `text` and of the key, shape, dtype and bytes of each tensor."""
    digest = hashlib.sha256(text.encode())
    for key, tensor in sorted(tensors.items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _take_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    """`node` with each tensor moved to `tensors` and its key left in its place; dicts keep the
    types of their keys."""
    if isinstance(node, Tensor):
        key = str(len(tensors))
        # safetensors refuses two that share memory, as the buffers of a module with two names do.
        tensors[key] = node.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"tensor": key}
    if isinstance(node, dict):
        return {"dict": [[key, _take_tensors(value, tensors)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        return {"list": [_take_tensors(value, tensors) for value in node]}
    return node


def _put(node: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """What `_take_tensors` left in the place of a tensor, a dict or a list."""
    ((kind, content),) = node.items()
    return tensors[content] if kind == "tensor" else dict(content) if kind == "dict" else content
