"""The files of a run: how they are named, who may write them, and how they are written whole. No
torch here.

Beside the record `name.json` are the weights, the checkpoint while it trains, and hidden files: the
lock, and what `write_atomic` is writing.
"""

import glob
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from pamal_core.errors import InputError

WEIGHTS = ".safetensors"
CHECKPOINT = ".checkpoint.safetensors"


class BusyError(InputError):
    """Another process is making this run."""


class RunFiles:
    """Where a run has its record, its weights and, while it trains, its checkpoint and its lock.

    The operating system gives the lock up when its process ends, however it ends, so a lock file
    that stays behind locks nothing.
    """

    def __init__(self, record: Path) -> None:
        self.record = record
        self.weights = record.with_suffix(WEIGHTS)
        self.checkpoint = record.with_suffix(CHECKPOINT)
        self.lock = record.with_name(f".{record.name}.lock")

    @property
    def shared(self) -> "RunFiles":
        """Those of the network that the members of a soup begin as."""
        return RunFiles(self.record.with_suffix(".shared.json"))

    @contextmanager
    def claimed(self, wait: bool) -> Iterator[None]:
        """Nobody else makes the run meanwhile; BusyError at once, unless `wait`, if somebody does.

        What a process left behind that was killed while it wrote is removed.
        """
        lock = FileLock(self.lock, blocking=wait)
        try:
            self.lock.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise BusyError(f"{self.record} is being made by another process.") from None
        except OSError as error:
            raise InputError(f"Could not write {self.lock}: {error.strerror or error}.") from error
        try:
            for path in (self.record, self.weights, self.checkpoint, self.shared.checkpoint):
                for half_written in path.parent.glob(f".{glob.escape(path.name)}.*.*"):
                    half_written.unlink(missing_ok=True)
            yield
        finally:
            self.lock.unlink(missing_ok=True)  # those who wait notice, and make a new one
            lock.release()


def is_held(lock: Path) -> bool:
    """Whether a process holds `lock`; True, too, where that cannot be told."""
    try:
        with FileLock(lock, timeout=0) if lock.exists() else nullcontext():
            return False
    except OSError:  # a Timeout among them
        return True
