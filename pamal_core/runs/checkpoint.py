"""The state of an unfinished run: how it is written, read and gone on from."""

import contextlib
import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from pamal_core import distributed
from pamal_core.errors import InputError
from pamal_core.inputs import Batch
from pamal_core.method import Method
from pamal_core.runs.atomic import write_atomic
from pamal_core.training import Training, train


class Checkpoint(NamedTuple):
    """Where a run keeps its state, the key that tells whose state it is, and for those who list
    runs the fields of its record that say what it is."""

    path: Path
    key: str
    about: Mapping[str, Any] = MappingProxyType({})

    def save(self, training: Training) -> None:
        """Write the state of `training`."""
        about = {"key": self.key, "about": json.dumps(dict(self.about))}
        save_state(self.path, {**about, **training.state_dict()})

    def load(self) -> dict[str, Any] | None:
        """The state that `save` wrote; None where there is none, InputError where it is that of
        another run."""
        if not self.path.exists():
            return None
        state = load_state(self.path)
        if state["key"] != self.key:
            raise InputError(
                f"{self.path} belongs to another run. Expected key {self.key}, "
                f"found {state['key']}. Delete it or write to another place."
            )
        return state


def train_resumably(
    method: Method,
    loader: Iterable[Batch],
    checkpoint: Checkpoint | None,
    *,
    on_epoch: Callable[[Training], None] = lambda _: None,
    **options: Any,
) -> list[dict[str, Any]]:
    """`train`, going on from `checkpoint`, where its state is kept after each epoch. `options` are
    those of `train`.

    Ctrl-C and SIGTERM stop it at once, and the exception says what is kept.
    """
    state = checkpoint.load() if checkpoint else None
    kept = len(state["history"]) if state else 0

    def keep(training: Training) -> None:
        nonlocal kept
        on_epoch(training)
        if checkpoint and distributed.is_first():
            checkpoint.save(training)
        kept = len(training.history)

    def explain() -> str:
        if checkpoint is None or kept == 0:
            return "No epoch is kept in a file."
        where = f"Epochs 1 to {kept} are kept in {checkpoint.path}"
        return f"{where}: the same command goes on from there."

    with stoppable(explain):
        return train(method, loader, resume=state, on_epoch=keep, **options)


@contextlib.contextmanager
def stoppable(explain: Callable[[], str]) -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does, and either has `explain()` as a note.

    Signals are for the main thread of a process: in others only Ctrl-C is explained.
    """

    def interrupt(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, interrupt) if is_main else None
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(explain())
        raise
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a nested dict of tensors, numbers, strings, lists and dicts, atomically."""
    tensors: dict[str, Tensor] = {}
    skeleton = _take_tensors(state, tensors)
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


def _put_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    match node:
        case {"tensor": key}:
            return tensors[key]
        case {"dict": items}:
            return {key: _put_tensors(value, tensors) for key, value in items}
        case {"list": items}:
            return [_put_tensors(value, tensors) for value in items]
    return node
