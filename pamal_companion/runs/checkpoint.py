"""The state of a training in a file: how it is written, read and gone on from."""

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Self

from pamal_companion.runs.states import load_state, save_state
from pamal_core.training import Training


class Checkpoint:
    """Keeps the state of a training in the file `path` after each epoch, or nowhere if it is None.

    As a context it turns SIGTERM into KeyboardInterrupt, and says on an interrupt what is kept.
    `key` tells whose state it is, and `about` says so to those who list runs: the fields of the
    record as JSON.

    Raises InputError if the file is damaged or has another key.
    """

    def __init__(self, path: Path | None, key: str = "", about: str = "") -> None:
        self.path, self.key, self.about = path, key, about
        self.state = load_state(path, key) if path and path.exists() else None
        """The state that `train` resumes from, None if nothing is kept yet."""
        self._num_epochs = len(self.state["history"]) if self.state else 0

    def keep(self, training: Training) -> None:
        """Write the state of `training` to the file; a hook of `train`, after each epoch."""
        if self.path:
            state = {"key": self.key, "about": self.about, **training.state_dict()}
            save_state(self.path, state)
        self._num_epochs = len(training.history)

    def __enter__(self) -> Self:
        # Signals are for the main thread of a process: in others only Ctrl-C is explained.
        self._is_main = threading.current_thread() is threading.main_thread()
        if self._is_main:
            self._before = signal.signal(signal.SIGTERM, _interrupt)
        return self

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if self._is_main:
            signal.signal(signal.SIGTERM, self._before or signal.SIG_DFL)
        # Its start, within it, may have said it already.
        if isinstance(error, KeyboardInterrupt) and not hasattr(error, "__notes__"):
            note = "No epoch is kept in a file."
            if self.path and self._num_epochs:
                where = f"Epochs 1 to {self._num_epochs} are kept in {self.path}"
                note = f"{where}: the same command goes on from there."
            error.add_note(note)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
