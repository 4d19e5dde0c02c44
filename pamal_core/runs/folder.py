"""What runs have left in a folder: the runs, and what can go. No torch here."""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import safetensors
from filelock import FileLock

from pamal_core.errors import InputError
from pamal_core.runs.paths import CHECKPOINT, LOCK, TEMPORARY, WEIGHTS, is_held, record_of
from pamal_core.runs.records import ABOUT, Record

QUIET = 600
"""Seconds that nobody has written to what may be in the making, on this machine or another."""


class Found(NamedTuple):
    """A run: its record if it is finished, the number of epochs if it is not, else why neither can
    be told. `path` is that of the record or of the checkpoint, `key` the run's; `about` are the
    fields of its record that say what it is, empty where it is damaged."""

    path: Path
    state: Literal["finished", "unfinished", "damaged"]
    key: str | None = None
    about: Mapping[str, Any] = MappingProxyType({})
    record: Record | None = None
    epochs: int | None = None
    why: str = ""


class Stale(NamedTuple):
    """A file that no run needs, and why."""

    path: Path
    why: str
    bytes: int


def runs(folder: Path) -> list[Found]:
    """Every run below `folder`, in the order of their paths.

    A checkpoint beside the finished record of its run is no run of its own.
    """
    found = [
        _found(path)
        for place, names in _folders(folder)
        for path in (place / name for name in names if not name.startswith("."))
        if path.is_file() and (path.suffix == ".json" or _is_checkpoint(path, names))
    ]
    finished = {(run.path, run.key) for run in found if run.record}
    return [
        run
        for run in found
        if run.epochs is None or (record_of(run.path), run.key) not in finished
        # A run may have ended, and taken its checkpoint away, while we were looking.
        if run.state != "damaged" or run.path.exists()
    ]


def read(path: Path) -> Record:
    """The record in `path`, whose points and summary are all there; InputError where one is not."""
    record = Record.read(path)
    try:
        for split in {point["split"] for point in record.points}:
            record.front(split)
        for split in {"validation", "test"} & record.summary.keys():
            record.hypervolume(split)
            [float(record.summary[split]["best"][name]) for name in record.objectives]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is not a whole record: {reason}.") from error
    return record


def stale(folder: Path) -> Iterator[Stale]:
    """What can go below `folder`: never a record, nothing behind a link, nothing of a run whose
    lock is held.

    That is checkpoints beside the finished record of their run; weights that `RunFiles.finish`
    wrote and that have no other file of their name beside them; what `write_atomic` has left behind
    half-written; and locks that nobody holds. Weights and half-written files must have been quiet.
    """
    for place, names in _folders(folder):
        paths = [place / name for name in names]
        paths = [path for path in paths if path.is_file() and not path.is_symlink()]
        held = {_run_of(path) for path in paths if LOCK.fullmatch(path.name) and is_held(path)}
        for path in paths:
            if _run_of(path) not in held and (why := _why(path, names)):
                yield Stale(path, why, path.lstat().st_size)


def delete(path: Path) -> str | None:
    """Delete `path`, a lock while we hold it; why that was not possible, or None."""
    try:
        with FileLock(path, timeout=0) if LOCK.fullmatch(path.name) else nullcontext():
            path.unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _folders(folder: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    """`folder` and every folder below it, in order, with the names of its files.

    Links to folders are not followed and hidden folders passed over. InputError where one cannot be
    read.
    """
    if not folder.is_dir():
        raise InputError(f"Expected a folder. Found none at {folder}.")

    def refuse(error: OSError) -> None:
        raise InputError(f"Could not read the folder {error.filename}: {error.strerror}.")

    for place, inside, names in os.walk(folder, onerror=refuse):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        yield Path(place), sorted(names)


def _is_checkpoint(path: Path, names: Sequence[str]) -> bool:
    """Whether `path` is named as a checkpoint and not as the weights of a record among `names`."""
    return path.name.endswith(CHECKPOINT) and path.with_suffix(".json").name not in names


def _found(path: Path) -> Found:
    """The run whose record or checkpoint is `path`."""
    try:
        if path.suffix == ".json":
            record, weights = read(path), path.with_suffix(WEIGHTS)
            if weights.exists() and _header(weights)["key"] != record.key:
                raise InputError(f"{weights} has the weights of another run than {path}.")
            return Found(path, "finished", record.key, record.about, record)
        state = _header(path)
        epochs, about = len(state["history"]["list"]), json.loads(state["about"])
        about = {name: about[name] for name in ABOUT}
        return Found(path, "unfinished", state["key"], about, epochs=epochs)
    except InputError as error:
        return Found(path, "damaged", why=str(error))
    except (KeyError, TypeError, ValueError):
        return Found(path, "damaged", why=f"{path} is not a checkpoint.")


def _header(path: Path) -> dict[str, Any]:
    """What `save_state` wrote to `path`, by name, tensors and all below left as they are written.

    InputError where the file is damaged or another.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            state = dict(json.loads(file.metadata()["state"])["dict"])
        return state | {"key": str(state["key"])}
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"{path} is damaged or another file: {error}.") from error


def _run_of(path: Path) -> str:
    """The name of the run that `path`, a lock perhaps, is a file of."""
    hidden = LOCK.fullmatch(path.name) or TEMPORARY.fullmatch(path.name)
    name = (hidden[1] if hidden else path.name).removesuffix(".json")
    return name.removesuffix(CHECKPOINT).removesuffix(WEIGHTS)


def _why(path: Path, names: Sequence[str]) -> str:
    """Why `path`, one of `names`, is stale; empty where it is not."""
    is_quiet = time.time() - path.stat().st_mtime > QUIET
    if LOCK.fullmatch(path.name):
        # One with something in it is not filelock's.
        return "" if path.stat().st_size else "lock that nobody holds"
    if TEMPORARY.fullmatch(path.name):
        return "half-written" if is_quiet else ""
    with suppress(InputError):  # a damaged record or other weights
        if _is_checkpoint(path, names):
            key = read(record_of(path)).key
            with suppress(InputError):  # a damaged checkpoint is that of its name
                key = "" if _header(path)["key"] != key else key
            return "checkpoint of a finished run" if key else ""
        alone = [Path(name).stem for name in names].count(path.stem) == 1
        if path.suffix == WEIGHTS and alone and is_quiet:
            is_ours = _header(path).keys() == {"key", "network"}
            return "weights without a record" if is_ours else ""
    return ""
