"""The files of a run: how they are named, who may write them, and how they are written whole. No
torch here.

Beside the record `name.json` are the weights, the checkpoint while it trains, and hidden files: the
lock, and what `write_atomic` is writing.
"""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from pamal_companion.data.atomic import HALF_WRITTEN, beside
from pamal_companion.data.places import user_path
from pamal_core.errors import InputError

WEIGHTS = ".safetensors"
CHECKPOINT = ".checkpoint.safetensors"
UNTIL_SAID = 10.0
"""Seconds of waiting for another process, after which it is said what is waited for."""
WITHOUT_LOCKS = {errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS}
"""Errors by which a file system says that it has no locks."""


def checked_name(out: str) -> str:
    """Return `out` with the home folder for "~"; raise ValueError if it cannot be the path of a
    file."""
    path = user_path(out, "out")
    # Bytes that are no text can be a name, but no record could tell it.
    is_text = not any("\ud800" <= letter <= "\udfff" for letter in out)
    # Not Path's name, which forgets "sub/" and "sub/.".
    if not is_text or os.path.basename(out).strip() in ("", ".", "..", "~"):
        raise ValueError(f"`out` must name a file, such as runs/mine.json. Found {out!r}.")
    return str(path)


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
        """Return the files of the network that the members of a soup begin as."""
        return RunFiles(self.record.with_name(f"{self.record.stem}.shared.json"))

    def start(self, key: str) -> "RunFiles":
        """Return the files of the start `key`, which several runs in a folder begin from and which
        stays."""
        return RunFiles(self.record.with_name(f".start-{key}.json"))

    @contextmanager
    def claimed(self, wait: bool) -> Iterator[None]:
        """Keep others from making the run meanwhile. Raise BusyError at once, unless `wait`, if
        somebody makes it already.

        What a process left behind that was killed while it wrote is removed.
        """
        check_writable(self.shared.checkpoint)  # the longest name; a lock waits where it cannot be
        lock = FileLock(self.lock, blocking=wait)
        try:
            acquire(lock, self.lock)
        except Timeout:
            raise BusyError(f"{self.record} is being made by another process.") from None
        try:
            own = (self.record, self.weights, self.checkpoint, self.shared.checkpoint)
            names = "|".join(re.escape(path.name) for path in own)
            for path in self.lock.parent.iterdir():
                if re.fullmatch(rf"\.({names}){HALF_WRITTEN}", path.name):
                    path.unlink(missing_ok=True)
            yield
        finally:
            lock.release()


def acquire(lock: BaseFileLock, path: Path) -> None:
    """Acquire `lock`, whose file is `path`. While another process holds it, say so after
    `UNTIL_SAID` seconds. Raise Timeout if the lock does not block and is held, and InputError if
    the file system refuses."""
    try:
        if not lock.blocking:
            lock.acquire()
            return
        try:
            lock.acquire(timeout=UNTIL_SAID)
        except Timeout:
            print(
                f"Waiting for the process that holds {path}, on this machine or on another one "
                "with the same disk. Ctrl-C ends the waiting. If no such process runs any more, "
                "delete that file and start again.",
                file=sys.stderr,
            )
            lock.acquire()
    except Timeout:
        raise
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            raise InputError(
                f"The file system of {path.parent} has no locks ({error.strerror}), so that two "
                "processes could write one run. Give an `out` on another disk and copy the record "
                "afterwards, or have the disk mounted with locks (NFS: with a lock daemon, or "
                "local_lock=flock on one machine)."
            ) from error
        raise InputError(f"Could not write {path}: {error.strerror or error}.") from error


def is_held(lock: Path) -> bool:
    """Return whether a process holds `lock`; True, too, where that cannot be told."""
    try:
        with FileLock(lock, timeout=0) if lock.exists() else nullcontext():
            return False
    except OSError:  # a Timeout among them
        return True
