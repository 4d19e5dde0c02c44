"""What runs have left in a folder, as far as it can be told without torch."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import safetensors

from pamal_core.errors import InputError
from pamal_core.runs.locks import CHECKPOINT, record_of
from pamal_core.runs.records import Record

ABOUT = ("experiment", "method", "options", "seed", "data")


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


def runs(folder: Path) -> list[Found]:
    """Every run below `folder`, in the order of their paths.

    A checkpoint beside the finished record of its run is no run of its own.
    """
    found = []
    for place, names in folders(folder):
        for path in (place / name for name in sorted(names) if not name.startswith(".")):
            if path.is_file() and path.suffix == ".json":
                found.append(_record(path))
            elif path.is_file() and is_checkpoint(path, names):
                found.append(_checkpoint(path))
    finished = {(run.path, run.key) for run in found if run.record}
    return [
        run
        for run in found
        if run.epochs is None or (record_of(run.path), run.key) not in finished
        # A run may have ended, and taken its checkpoint away, while we were looking.
        if run.state != "damaged" or run.path.exists()
    ]


def folders(folder: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    """`folder` and every folder below it, in order, with the names of its files.

    Links to folders are not followed and hidden folders passed over. InputError where one cannot be
    read.
    """

    def refuse(error: OSError) -> None:
        raise InputError(f"Could not read the folder {error.filename}: {error.strerror}.")

    for place, inside, names in os.walk(folder, onerror=refuse):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        yield Path(place), names


def is_checkpoint(path: Path, names: Sequence[str]) -> bool:
    """Whether `path` is named as a checkpoint and not as the weights of a record among `names`."""
    return path.name.endswith(CHECKPOINT) and path.with_suffix(".json").name not in names


def read(path: Path) -> Record:
    """The record in `path`, whose points and summary are all there; InputError where one is not."""
    record = Record.read(path)
    try:
        for split in {point["split"] for point in record.points}:
            record.front(split)
        for split in {"validation", "test"} & record.summary.keys():
            hypervolume(record, split)
            [float(record.summary[split]["best"][name]) for name in record.objectives]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is not a whole record: {reason}.") from error
    return record


def hypervolume(record: Record, split: str = "validation") -> float | None:
    """Higher is better. None where a record has none: single-task learning, the toy problem."""
    value = record.summary[split]["hypervolume"] if split in record.summary else None
    return None if value is None else float(value)


def header(path: Path) -> dict[str, Any]:
    """What `save_state` wrote to `path`, by name, tensors and all below left as they are written.

    InputError where the file is damaged or another.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            state = dict(json.loads(file.metadata()["state"])["dict"])
        return state | {"key": str(state["key"])}
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"{path} is damaged or another file: {error}.") from error


def _record(path: Path) -> Found:
    weights = path.with_suffix(".safetensors")
    try:
        record = read(path)
        if weights.exists() and header(weights)["key"] != record.key:
            raise InputError(f"{weights} has the weights of another run than {path}.")
    except InputError as error:
        return Found(path, "damaged", why=str(error))
    about = {name: getattr(record, name) for name in ABOUT}
    return Found(path, "finished", record.key, about, record)


def _checkpoint(path: Path) -> Found:
    try:
        state = header(path)
        epochs, about = len(state["history"]["list"]), json.loads(state["about"])
        about = {name: about[name] for name in ABOUT}
        return Found(path, "unfinished", state["key"], about, epochs=epochs)
    except InputError as error:
        return Found(path, "damaged", why=str(error))
    except (KeyError, TypeError, ValueError):
        return Found(path, "damaged", why=f"{path} is not a checkpoint.")
