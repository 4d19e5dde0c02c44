"""`runs`: every run below a folder."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pamal_core.errors import InputError
from pamal_core.runs.commands import output
from pamal_core.runs.commands.found import ABOUT, Found, hypervolume, runs
from pamal_core.runs.locks import CHECKPOINT

STATES = ("finished", "unfinished", "damaged")


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runs`."""
    add_folder(parser)
    parser.add_argument("--experiment", metavar="E", help="only runs of this experiment")
    parser.add_argument("--method", metavar="M", help="only runs of this method")


def add_folder(parser: ArgumentParser) -> None:
    """The folder, for commands that look at many runs."""
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path("results"), help="default: results"
    )


def checked(folder: Path) -> Path:
    """`folder`; InputError where there is none."""
    if not folder.is_dir():
        raise InputError(f"Expected a folder. Found none at {folder}.")
    return folder


def run(given: Namespace) -> int:
    """List the runs; 1 where one is damaged.

    What a damaged run is of cannot be told, so `--experiment` and `--method` leave it in.
    """
    wanted = {"experiment": given.experiment, "method": given.method}
    rows = [_row(found, given.folder) for found in runs(checked(given.folder))]
    rows = [
        row
        for row in rows
        if all(row[name] in (None, w or row[name]) for name, w in wanted.items())
    ]
    output.put(given.json, {"folder": given.folder, "runs": rows}, _text(rows))
    return int(any(row["state"] == "damaged" for row in rows))


def _row(found: Found, folder: Path) -> dict[str, Any]:
    """What is said of a run, null where it cannot be told; seconds are of training and evaluation,
    hypervolume is on validation (higher is better)."""
    record = found.record
    return {
        "path": found.path.relative_to(folder).as_posix(),
        "state": found.state,
        "why": found.why or None,
        "epochs": found.epochs,
        **{name: found.about.get(name) for name in ABOUT},
        "data": _kind(found.about["data"]) if found.about else None,
        "data_id": found.about.get("data"),
        "hypervolume": record and hypervolume(record),
        "seconds": record and round(record.seconds, 3),
    }


def _kind(data: str) -> str:
    """ "full" or "sample", or all of `data` where it is neither."""
    return next((part for part in data.split("/") if part in ("full", "sample")), data)


def _text(rows: list[dict[str, Any]]) -> str:
    """A table for each folder and experiment, a line for each damaged file, and the counts."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["state"] != "damaged":
            place = row["path"].rpartition("/")[0] or "."
            heading = f"{place}: {row['experiment']}" if row["experiment"] else place
            groups.setdefault(heading, []).append(row)
    parts = [_group(heading, group) for heading, group in groups.items()]
    parts += [output.paragraph(f"damaged: {row['why']}") for row in rows if row["why"]]
    counts = Counter(row["state"] for row in rows)
    return "\n\n".join([*parts, ", ".join(f"{counts[state]} {state}" for state in STATES)])


def _group(heading: str, rows: list[dict[str, Any]]) -> str:
    """A table of `rows` of one experiment; what options they share is said above it."""
    first, *others = (row["options"] or {} for row in rows)
    shared = {
        name: value
        for name, value in first.items()
        if others and all(name in each and each[name] == value for each in others)
    }
    if shared:
        heading += f", all with {output.options(shared)}"
    cells = [_cells(row, shared) for row in rows]
    return f"{output.paragraph(heading)}\n{output.table(cells, ['run', 'options'])}"


def _cells(row: dict[str, Any], shared: Collection[str]) -> dict[str, str]:
    name = row["path"].rpartition("/")[2]
    own = {name: value for name, value in (row["options"] or {}).items() if name not in shared}
    return {
        "run": name.removesuffix(CHECKPOINT).removesuffix(".json"),
        "state": f"{row['epochs']} epochs so far" if row["epochs"] is not None else row["state"],
        "method": row["method"],
        "seed": str(row["seed"]),
        "data": row["data"],
        "HV ↑": output.number(row["hypervolume"]),
        "seconds": output.number(row["seconds"], 0),
        "options": output.options(own),
    }
