"""The files of a run: how they are named, who may write them, and how they are written whole. No
torch here.

Beside the record `name.json` are the weights, the checkpoint while it trains, and hidden files: the
lock, and what `write_atomic` is writing.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from pamal_companion.data.atomic import HALF_WRITTEN, beside
from pamal_core.errors import InputError

WEIGHTS = ".safetensors"
CHECKPOINT = ".checkpoint.safetensors"


def checked_name(out: str) -> str:
    """Return `out`; raise ValueError where it cannot be the path of a file."""
    name = os.path.basename(out)  # not Path's, which forgets "sub/" and "sub/."
    try:
        is_text = "\0" not in out and bool(out.encode())
    except UnicodeEncodeError:
        is_text = False
    if not is_text or name.strip() in ("", ".", ".."):
        raise ValueError(f"`out` must name a file, such as runs/mine.json. Found {out!r}.")
    return out


def named_record(out: str) -> str:
    """Return the path of the record that `out` names, with .json if that is left out; raise
    ValueError where there can be none, or another run's file would have its name."""
    stem = checked_name(out).removesuffix(".json")
    name = os.path.basename(stem)
    if name.startswith(".") or not name:
        raise ValueError(f"`out` must not be hidden: `runs` would not list it. Found {out!r}.")
    if name.endswith((".checkpoint", ".shared")):
        raise ValueError(
            f"`out` must not end in .checkpoint or .shared, as other files of a run do. "
            f"Found {out!r}."
        )
    return f"{stem}.json"


def check_writable(path: Path) -> None:
    """Raise InputError unless `write_atomic` can write to `path`, whose folder is made; what is
    there stays as it is."""
    trial = beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        trial.touch(exist_ok=False)
        trial.unlink(missing_ok=True)  # whoever holds the lock may take it for half written
    except OSError as error:
        raise InputError(f"Could not write {path}: {error.strerror or error}.") from error
    if path.is_dir():
        raise InputError(f"Could not write {path}. Found a folder.")


class BusyError(InputError):
    """Another process is making this run."""


class RunFiles:
    """Where a run has its record, its weights and, while it trains, its checkpoint and its lock.

    The operating system gives the lock up when its process ends, however it ends, so a lock file
    locks nothing by being there. It is never deleted: another process may hold it by then.
    """

    def __init__(self, record: Path) -> None:
        stem = record.name.removesuffix(".json")  # not with_suffix: lr0.1 and lr0.5 are two names
        self.record = record.with_name(f"{stem}.json")
        self.weights = record.with_name(stem + WEIGHTS)
        self.checkpoint = record.with_name(stem + CHECKPOINT)
        self.lock = record.with_name(f".{stem}.json.lock")

    @property
    def shared(self) -> "RunFiles":
        """Those of the network that the members of a soup begin as."""
        return RunFiles(self.record.with_name(f"{self.record.stem}.shared.json"))

    def start(self, key: str) -> "RunFiles":
        """Those of the start `key`, which several runs in a folder begin from and which stays."""
        return RunFiles(self.record.with_name(f".start-{key}.json"))

    @contextmanager
    def claimed(self, wait: bool) -> Iterator[None]:
        """Nobody else makes the run meanwhile; BusyError at once, unless `wait`, if somebody does.

        What a process left behind that was killed while it wrote is removed.
        """
        check_writable(self.shared.checkpoint)  # the longest name; a lock waits where it cannot be
        lock = FileLock(self.lock, blocking=wait)
        try:
            lock.acquire()
        except Timeout:
            raise BusyError(f"{self.record} is being made by another process.") from None
        except OSError as error:
            raise InputError(f"Could not write {self.lock}: {error.strerror or error}.") from error
        try:
            own = (self.record, self.weights, self.checkpoint, self.shared.checkpoint)
            names = "|".join(re.escape(path.name) for path in own)
            for path in self.lock.parent.iterdir():
                if re.fullmatch(rf"\.({names}){HALF_WRITTEN}", path.name):
                    path.unlink(missing_ok=True)
            yield
        finally:
            lock.release()


def is_held(lock: Path) -> bool:
    """Whether a process holds `lock`; True, too, where that cannot be told."""
    try:
        with FileLock(lock, timeout=0) if lock.exists() else nullcontext():
            return False
    except OSError:  # a Timeout among them
        return True
