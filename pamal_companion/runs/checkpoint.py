"""The state of a run in a file: how it is written, read and gone on from."""

import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from pamal_companion.runs.states import load_state, save_state
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
    state = load_own(checkpoint, key) if checkpoint and checkpoint.exists() else None
    kept = len(state["history"]) if state else 0

    def keep(training: Training) -> None:
        nonlocal kept
        on_epoch(training)
        if checkpoint:
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


def load_own(path: Path, key: str) -> dict[str, Any]:
    """Return what `save_state` wrote to `path` for the run with this `key`; raise InputError where
    it is that of another."""
    state = load_state(path)
    if state.get("key") != key:
        raise InputError(
            f"{path} belongs to another run. Expected key {key}, found {state.get('key')}. "
            "Delete it or write to another place."
        )
    return state
