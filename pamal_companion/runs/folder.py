"""The runs in a folder: finished, unfinished or damaged. No torch here."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pamal_companion.runs.files import CHECKPOINT, WEIGHTS
from pamal_companion.runs.records import ABOUT, About, Record
from pamal_companion.runs.state_files import outline
from pamal_core.errors import InputError

REGISTERED = "registered"
"""A folder of runs that nobody looks at before the last one is made: it is left out of those above
it."""

Listed = dict[str, Any]
"""The facts about a run, None for one that cannot be told: its path, that of the record or of the
checkpoint; its state, "finished", "unfinished" or "damaged", and why; how many epochs an unfinished
one has; the fields `ABOUT`; the seconds of training and evaluation, and the hypervolume on
validation (higher is better)."""


def runs(folder: Path) -> list[tuple[Listed, Record | None]]:
    """Return every run below `folder`, in the order of their paths, with its record if it is
    finished.

    A checkpoint beside the finished record of its run is no run of its own.
    """
    found = [_run(path, folder) for path in files(folder, ".json", CHECKPOINT)]
    return [run for run in found if run]


def contradiction(known: dict[str, tuple[str, Record]], path: str, record: Record) -> str:
    """Return a sentence that names both files if `record`, in `path`, is of a run in `known` and
    tells other numbers, else an empty text. `known` has records by their keys, and gets this one.
    """
    other, before = known.setdefault(record.key, (path, record))
    numbers = [(one.objectives, one.points, one.summary) for one in (before, record)]
    if numbers[0] == numbers[1]:
        return ""
    return (
        f"{other} and {path} are records of one run and tell different numbers, such as a "
        f"hypervolume of {before.hypervolume():.4f} and {record.hypervolume():.4f}. The second "
        "counts: delete the one that is wrong."
    )


def contradictions(found: Iterable[tuple[Listed, Record | None]]) -> list[str]:
    """Return what `contradiction` says of the runs in a folder."""
    known: dict[str, tuple[str, Record]] = {}
    said = [contradiction(known, row["path"], record) for row, record in found if record]
    return [sentence for sentence in said if sentence]


def files(folder: Path, *endings: str) -> Iterator[Path]:
    """Yield the files in `folder`, at any depth, whose names have one of the `endings`: those of a
    folder by name, then those of the folders in it. Hidden ones, such as JupyterLab leaves, links
    to folders and `REGISTERED` are left out. InputError where a folder cannot be read."""

    def refuse(error: OSError) -> None:
        raise InputError(f"Could not read the folder {error.filename}: {error.strerror}.")

    for place, inside, names in os.walk(folder, onerror=refuse):
        inside[:] = sorted(n for n in inside if not n.startswith(".") and n != REGISTERED)
        for name in sorted(names):
            path = Path(place, name)
            if name.endswith(endings) and not name.startswith(".") and path.is_file():
                yield path


def _run(path: Path, folder: Path) -> tuple[Listed, Record | None] | None:
    """Return the run of the record or checkpoint `path`, None where it has ended while we were
    looking."""
    row: Listed = {"path": path.relative_to(folder).as_posix()}
    row |= dict.fromkeys(("state", "why", "epochs", *ABOUT, "hypervolume", "seconds"))
    try:
        if path.suffix == ".json":
            record, weights = Record.read(path), path.with_suffix(WEIGHTS)
            if weights.exists() and outline(weights, whole=False)["key"] != record.key:
                raise InputError(f"{weights} has the weights of another run than {path}.")
            measured = {"hypervolume": record.hypervolume(), "seconds": round(record.seconds, 3)}
            return row | record.about | measured | {"state": "finished"}, record
        state = outline(path, whole=True)
        own = path.with_name(path.name.removesuffix(CHECKPOINT) + ".json")
        with suppress(InputError):
            if Record.find(own, state["key"]):
                return None
        about, epochs = About(**json.loads(state["about"])), len(state["history"]["list"])
        return row | about.about | {"state": "unfinished", "epochs": epochs}, None
    except InputError as error:
        why = str(error)
    except (KeyError, TypeError, ValueError, RecursionError):
        why = f"{path} is not a checkpoint."
    return (row | {"state": "damaged", "why": why}, None) if path.exists() else None
