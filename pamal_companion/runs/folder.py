"""What runs have left in a folder: the runs, and what can go. No torch here."""

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import safetensors
from filelock import FileLock

from pamal_companion.runs.files import CHECKPOINT, WEIGHTS, is_held
from pamal_companion.runs.records import ABOUT, Record
from pamal_core.errors import InputError

REGISTERED = "registered"
"""A folder of runs that are not looked at: nothing reads them before the last one is made."""
QUIET = 600
"""Seconds that nobody has written to what may be in the making, on this machine or another."""
LOCK = re.compile(r"\.(.+)\.lock")
TEMPORARY = re.compile(r"\.(.+)\.\d{1,7}\.[0-9a-f]{8}")


Listed = dict[str, Any]
"""What is said of a run, None where it cannot be told: its path, that of the record or of the
checkpoint; its state, "finished", "unfinished" or "damaged", and why; how many epochs an unfinished
one has; the fields `ABOUT`; the seconds of training and evaluation, and the hypervolume on
validation (higher is better)."""


def runs(folder: Path) -> list[tuple[Listed, Record | None]]:
    """Every run below `folder`, in the order of their paths, with its record if it is finished.

    A checkpoint beside the finished record of its run is no run of its own.
    """
    return [
        run
        for place, names in _folders(folder)
        for path in (place / name for name in names if not name.startswith("."))
        if path.is_file() and (path.suffix == ".json" or _is_checkpoint(path, names))
        if (run := _run(path, folder))
    ]


def stale(folder: Path) -> Iterator[tuple[Path, str]]:
    """What can go below `folder`, and why: never a record, nothing behind a link, nothing of a run
    whose lock is held.

    That is checkpoints beside the finished record of their run; weights that `run` wrote and that
    have no other file of their name beside them; what `write_atomic` has left behind half-written;
    and locks that nobody holds. Weights and half-written files must have been quiet.
    """
    for place, names in _folders(folder):
        every = (place / name for name in names)
        paths = [path for path in every if path.is_file() and not path.is_symlink()]
        held = {_run_of(path) for path in paths if LOCK.fullmatch(path.name) and is_held(path)}
        for path in paths:
            if _run_of(path) not in held and (why := _why(path, names)):
                yield path, why


def delete(path: Path) -> str | None:
    """Delete `path`, a lock while we hold it; why that was not possible, or None."""
    try:
        with FileLock(path, timeout=0) if LOCK.fullmatch(path.name) else nullcontext():
            path.unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _folders(folder: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    """`folder` and every folder below it that is no link, not hidden and not `REGISTERED`, in
    order, with the names of its files; InputError where one cannot be read."""

    def refuse(error: OSError) -> None:
        raise InputError(f"Could not read the folder {error.filename}: {error.strerror}.")

    for place, inside, names in os.walk(folder, onerror=refuse):
        inside[:] = sorted(n for n in inside if not n.startswith(".") and n != REGISTERED)
        yield Path(place), sorted(names)


def _is_checkpoint(path: Path, names: Sequence[str]) -> bool:
    """Whether `path` is named as a checkpoint and not as the weights of a record among `names`."""
    return path.name.endswith(CHECKPOINT) and path.with_suffix(".json").name not in names


def _run_of(path: Path) -> str:
    """The name of the run that `path`, a lock perhaps, is a file of."""
    hidden = LOCK.fullmatch(path.name) or TEMPORARY.fullmatch(path.name)
    name = (hidden[1] if hidden else path.name).removesuffix(".json")
    return name.removesuffix(CHECKPOINT).removesuffix(WEIGHTS)


def _run(path: Path, folder: Path) -> tuple[Listed, Record | None] | None:
    """The run of the record or checkpoint `path`, None where it has ended while we were looking."""
    row: Listed = {"path": path.relative_to(folder).as_posix()}
    row |= dict.fromkeys(("state", "why", "epochs", *ABOUT, "hypervolume", "seconds"))
    try:
        if path.suffix == ".json":
            record, weights = Record.read(path), path.with_suffix(WEIGHTS)
            if weights.exists() and _header(weights)["key"] != record.key:
                raise InputError(f"{weights} has the weights of another run than {path}.")
            measured = {"hypervolume": record.hypervolume(), "seconds": round(record.seconds, 3)}
            return row | record.about | measured | {"state": "finished"}, record
        state = _header(path)
        if state["key"] == _finished(path):
            return None
        about, epochs = json.loads(state["about"]), len(state["history"]["list"])
        row |= {name: about[name] for name in ABOUT}
        return row | {"state": "unfinished", "epochs": epochs}, None
    except InputError as error:
        why = str(error)
    except (KeyError, TypeError, ValueError):
        why = f"{path} is not a checkpoint."
    return (row | {"state": "damaged", "why": why}, None) if path.exists() else None


def _finished(checkpoint: Path) -> str | None:
    """The key of the finished run whose record is beside `checkpoint`, if there is one."""
    name = checkpoint.name.removesuffix(CHECKPOINT) + ".json"
    with suppress(InputError):
        return Record.read(checkpoint.with_name(name)).key
    return None


def _header(path: Path) -> dict[str, Any]:
    """What `save_state` wrote to `path`, by name, tensors and all below left as they are written;
    InputError where the file is damaged or another."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            state = dict(json.loads(file.metadata()["state"])["dict"])
        return state | {"key": str(state["key"])}
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"{path} is damaged or another file: {error}.") from error


def _why(path: Path, names: Sequence[str]) -> str | None:
    """Why `path`, one of `names`, is stale; None where it is not."""
    is_quiet = time.time() - path.stat().st_mtime > QUIET
    if LOCK.fullmatch(path.name):
        # One with something in it is not filelock's.
        return None if path.stat().st_size else "lock that nobody holds"
    if TEMPORARY.fullmatch(path.name):
        return "half-written" if is_quiet else None
    if _is_checkpoint(path, names):
        key = other = _finished(path)
        with suppress(InputError):  # a damaged checkpoint is that of its name
            other = _header(path)["key"]
        return "checkpoint of a finished run" if key is not None and key == other else None
    with suppress(InputError):  # damaged weights
        alone = [Path(name).stem for name in names].count(path.stem) == 1
        if path.suffix == WEIGHTS and alone and is_quiet:
            is_ours = _header(path).keys() == {"key", "network"}
            return "weights without a record" if is_ours else None
    return None
