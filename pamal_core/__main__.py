"""`python -m pamal_core COMMAND`. No torch here but for `data` and `run`."""

import io
import json
import math
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click
import pandas as pd

from pamal_core.errors import InputError
from pamal_core.runs import folder, grid
from pamal_core.runs.options import parse_value
from pamal_core.runs.paths import CHECKPOINT
from pamal_core.runs.records import ABOUT

WIDTH = 100
SHORT = 21
"""The most points of a front that are all shown."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code, 2 where what was given is wrong."""
    # A name of a file need not be text that this terminal can show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code: int = cli.main(arguments, "python -m pamal_core", standalone_mode=False)
        sys.stdout.flush()
        return code
    except click.Abort as stop:  # Ctrl-C, whose note says how to go on
        print(*getattr(stop.__context__, "__notes__", ["Stopped."]), file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (InputError, OSError, click.ClickException) as error:
        reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
    print("error:", " ".join(reason.split()), file=sys.stderr)
    return 2


@click.group(no_args_is_help=False)
def cli() -> None:
    """Data, runs and results of PaMaL."""


def command(
    function: Callable[..., tuple[dict[str, Any], str, bool]], name: str | None = None
) -> click.Command:
    """A command from a function that returns a document, the text that says the same, and whether
    all is well."""

    @wraps(function)
    def run(as_json: bool, **given: Any) -> int:
        document, text, is_well = function(**given)
        print(json.dumps(_plain(document), indent=2, allow_nan=False) if as_json else text)
        return int(not is_well)

    return cli.command(name)(
        click.option("--json", "as_json", is_flag=True, help="One JSON document instead.")(run)
    )


def _in_folder(name: str) -> Callable[[Any], Any]:
    return click.argument(name, type=click.Path(path_type=Path), default=Path("results"))


@command
@click.option("--root", help="Where data lie; default: $PAMAL_DATA, or ~/.cache/pamal.")
@click.option("--get", metavar="NAME", help="Download this data set, or say how to get it.")
def data(root: str | None, get: str | None) -> tuple[dict[str, Any], str, bool]:
    """Which data sets are ready, and how to get the others."""
    from pamal_core.data.files import data_root  # here, as these import torch
    from pamal_core.data.inventory import DATA_SETS, status

    place = data_root(root)
    if get is None:
        found = [status(name, place) for name in DATA_SETS]
    elif get in DATA_SETS:
        found = [status(get, place, download=True)]
    else:
        raise InputError(f"`--get` must name one of {', '.join(DATA_SETS)}. Found {get!r}.")
    rows = [
        {
            "data set": one.name,
            "state": one.state,
            "size": _size(one.bytes),
            "what and where": f"{one.what if one.state == 'ready' else 'see below'}, {one.place}",
        }
        for one in found
    ]
    below = [
        _wrapped(f"{one.name}: {one.what.rstrip('.')}. {one.advice}")
        for one in found
        if one.state != "ready"
    ]
    text = "\n\n".join([_table(rows), *below])
    return {"root": place, "data": [one._asdict() for one in found]}, text, not below


@command
@_in_folder("path")
@click.option("--experiment", metavar="E", help="Only runs of this experiment.")
@click.option("--method", metavar="M", help="Only runs of this method.")
def runs(
    path: Path, experiment: str | None, method: str | None
) -> tuple[dict[str, Any], str, bool]:
    """Every run in a folder, or all of one record.

    What a damaged run is of cannot be told, so --experiment and --method leave it in.
    """
    if path.suffix == ".json" and not path.is_dir():
        return _shown(path)
    if path.is_file():
        raise InputError(f"Expected a folder or a record. Found {path}.")
    wanted = {"experiment": experiment, "method": method}
    rows = [
        row
        for row in (_row(found, path) for found in folder.runs(path))
        if all(row[name] in (None, w or row[name]) for name, w in wanted.items())
    ]
    # A table for each folder and experiment, a line for each damaged file, and the counts.
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["state"] != "damaged":
            place = row["path"].rpartition("/")[0] or "."
            heading = f"{place}: {row['experiment']}" if row["experiment"] else place
            groups.setdefault(heading, []).append(row)
    parts = [_group(heading, group) for heading, group in groups.items()]
    parts += [_wrapped(f"damaged: {row['why']}") for row in rows if row["why"]]
    counts = Counter(row["state"] for row in rows)
    states = ("finished", "unfinished", "damaged")
    text = "\n\n".join([*parts, ", ".join(f"{counts[state]} {state}" for state in states)])
    return {"folder": path, "runs": rows}, text, not counts["damaged"]


@command
@_in_folder("path")
def compare(path: Path) -> tuple[dict[str, Any], str, bool]:
    """Results beside the numbers in the paper's tables."""
    from pamal_core.study import frame, tables

    found = folder.runs(path)
    rows = tables.compare(frame.runs(one.record for one in found if one.record))
    if len(rows):
        rows = rows.rename_axis(["table", "setting", "measure"]).reset_index()
    parts = []
    for title, table in rows.groupby("table", sort=False) if len(rows) else ():
        digits = 2 if table["paper"].max() > 1 else 4  # per cent, or shares
        specs = {"ours": f".{digits}f", "paper": f".{digits}f", "difference": f"+.{digits}f"}
        cells = {name: table[name].map(partial(_cell, spec=spec)) for name, spec in specs.items()}
        columns = ["measure", *specs, "seeds", "verdict", "setting"]
        parts.append(f"{title}\n{_table(table.assign(**cells)[columns])}")
    parts += [] if len(rows) else ["No run here has a row in the paper's tables."]
    damaged = [one.why for one in found if one.state == "damaged"]
    parts += [_wrapped(f"damaged: {why}") for why in damaged]
    document = {"folder": path, "rows": rows.to_dict("records"), "damaged": damaged}
    return document, "\n\n".join(parts), not damaged


@partial(command, name="grid")
@_in_folder("path")
def grid_status(path: Path) -> tuple[dict[str, Any], str, bool]:
    """How many of the paper's runs are made, being made and left."""
    table = grid.status(path)
    rows = table.to_dict("records")
    return {"folder": path, "targets": rows}, table.to_string(index=False), True


@command
@click.argument("what", nargs=-1, required=True, metavar="RECORD... | SOURCE.ipynb TARGET.ipynb")
@click.option("-p", "given", nargs=2, multiple=True, metavar="NAME VALUE", help="A parameter.")
@click.option("--results", type=click.Path(path_type=Path), default=grid.ROOT / "results")
def run(
    what: tuple[str, ...], given: tuple[tuple[str, str], ...], results: Path
) -> tuple[dict[str, Any], str, bool]:
    """Make records of the grid, or execute a notebook.

    Records are named relative to the folder --results, the one in the repository by default. The
    parameters are changes to those of the grid, or those of the notebook.
    """
    changes = {name: parse_value(value) for name, value in given}
    if what[0].endswith(".ipynb"):
        from pamal_core.runs import notebooks  # the packages of the `book` extra

        if len(what) != 2:
            raise InputError(f"Expected SOURCE and TARGET of a notebook. Found {' '.join(what)}.")
        notebooks.run(Path(what[0]), Path(what[1]), changes)
        return {"made": [what[1]]}, " -> ".join(what), True
    for record in what:
        grid.make(record, results, changes)
    made = [str(results / record) for record in what]
    return {"made": made}, "\n".join(made), True


@command
@_in_folder("path")
@click.option("--yes", is_flag=True, help="Delete them.")
def clean(path: Path, yes: bool) -> tuple[dict[str, Any], str, bool]:
    """What interrupted runs have left."""
    found = list(folder.stale(path))
    failed = {one.path: folder.delete(one.path) if yes else None for one in found}
    rows: list[dict[str, Any]] = [
        {
            "path": one.path.relative_to(path).as_posix(),
            "why": one.why,
            "bytes": one.bytes,
            "deleted": yes and failed[one.path] is None,
            "error": failed[one.path],
        }
        for one in found
    ]
    text = "Nothing is stale."
    if rows:
        cells = [
            {
                "size": _size(row["bytes"]),
                "why": row["why"],
                **({"deleted": row["error"] or "yes"} if yes else {}),
                "file": row["path"],
            }
            for row in rows
        ]
        count = f"{len(rows)} file{'s' if len(rows) > 1 else ''}"
        total = f"{count}, {_size(sum(one.bytes for one in found))}."
        text = f"{_table(cells)}\n\n{total}{'' if yes else ' --yes deletes them.'}"
    return {"folder": path, "stale": rows}, text, not any(failed.values())


def _row(found: folder.Found, place: Path) -> dict[str, Any]:
    """What is said of a run, null where it cannot be told; seconds are of training and evaluation,
    hypervolume is on validation (higher is better)."""
    record, data = found.record, str(found.about.get("data", ""))
    kind = next((part for part in data.split("/") if part in ("full", "sample")), data)
    return {
        "path": found.path.relative_to(place).as_posix(),
        "state": found.state,
        "why": found.why or None,
        "epochs": found.epochs,
        **{name: found.about.get(name) for name in ABOUT},
        "data": kind or None,
        "data_id": data or None,
        "hypervolume": record and record.hypervolume(),
        "seconds": record and round(record.seconds, 3),
    }


def _group(heading: str, rows: list[dict[str, Any]]) -> str:
    """A table of `rows` of one experiment; what options they share is said above it."""
    options = [row["options"] or {} for row in rows]
    shared = {
        name: value
        for name, value in options[0].items()
        if len(rows) > 1 and all(name in each and each[name] == value for each in options)
    }
    cells = []
    for row, given in zip(rows, options, strict=True):
        name = row["path"].rpartition("/")[2].removesuffix(CHECKPOINT).removesuffix(".json")
        own = {option: value for option, value in given.items() if option not in shared}
        cells.append(
            {
                "state": row["state"]
                if row["epochs"] is None
                else f"{row['epochs']} epochs so far",
                "method": row["method"],
                "seed": row["seed"],
                "data": row["data"],
                "HV ↑": row["hypervolume"],
                "seconds": _cell(row["seconds"], ".0f"),
                "run and its options": f"{name}  {_cell(own)}",
            }
        )
    heading += f", all with {_cell(shared)}" if shared else ""
    return f"{_wrapped(heading)}\n{_table(cells)}"


def _shown(path: Path) -> tuple[dict[str, Any], str, bool]:
    """All of a record as a document, of a long front some points as text."""
    from pamal_core.study.fronts import landmarks

    record = folder.read(path)
    names = ("objectives", "cost", "versions")
    fields = record.about | {"key": record.key} | {name: getattr(record, name) for name in names}
    parts = {name: part for name, part in record.summary.items() if isinstance(part, Mapping)}
    fields |= {name: value for name, value in record.summary.items() if name not in parts}
    texts = ["\n".join(_wrapped(_cell(value), f"{name:<19}") for name, value in fields.items())]
    if any(parts.values()):
        # What is nested deeper, such as each run of the toy problem, is in the document alone.
        flat = pd.DataFrame(map(_flat, parts.values()), index=[*parts], dtype=object).T
        texts.append(flat.map(_cell).to_string(line_width=WIDTH))
    if any(point["split"] == "test" for point in record.points):
        front = record.front("test")
        is_short = len(front.table) <= SHORT
        frame = front.to_frame() if is_short else landmarks(front)
        alphas = frame.filter(regex="^alpha_")
        frame = frame.drop(columns=list(alphas))
        frame.insert(0, "alpha", alphas.to_numpy().tolist())
        if not is_short:
            frame["point"] = frame.index
        title = f"front on test, {len(front.table)} points{'' if is_short else ', some of them'}"
        texts.append(f"{title}\n{_table(frame)}")
    document = {"path": path, "key": record.key} | record.model_dump(mode="json")
    return document, "\n\n".join(texts), True


def _flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `part` and those one level below, without what is nested deeper."""
    flat: dict[str, Any] = {}
    for name, value in part.items():
        below = value if isinstance(value, Mapping) else {"": value}
        flat |= {f"{name} {inner}".strip(): each for inner, each in below.items()}
    return {name: value for name, value in flat.items() if not isinstance(value, Mapping)}


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it: numbers that are not finite are null, paths are text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _table(rows: pd.DataFrame | Sequence[Mapping[str, Any]]) -> str:
    """`rows` as text; the last column breaks at blanks and hyphens where a line is full."""
    frame = pd.DataFrame(rows, dtype=object).map(_cell)
    *others, last = frame
    lines = frame[others].to_string(index=False).splitlines()
    cells = [last, *frame[last]]
    return "\n".join(_wrapped(cell, f"{line}  ") for line, cell in zip(lines, cells, strict=True))


def _wrapped(text: str, start: str = "") -> str:
    """`start` and then `text`, its later lines indented as far; a paragraph keeps words such as
    paths whole."""
    lines = textwrap.wrap(
        _printable(text),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * (len(start) or 4),
        break_long_words=False,
        break_on_hyphens=bool(start),
    )
    return "\n".join(lines) or start.rstrip()


def _cell(value: object, spec: str = ".4f") -> str:
    """`value` as text, a dash where there is none: `{"W": 4, "lam": 0.0}` is `W=4 lam=0`."""
    match value:
        case None:
            return "-"
        case float():
            return "-" if math.isnan(value) else format(value, spec)
        case list():
            return f"[{', '.join(_cell(each, 'g') for each in value)}]"
        case Mapping():
            return " ".join(f"{name}={_cell(each, 'g')}" for name, each in value.items())
    return _printable(str(value))


def _printable(text: str) -> str:
    """`text` with everything that a terminal would act on spelt out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _size(num_bytes: int | float) -> str:
    """A number of bytes in a unit that suits it: 1 MB is a million."""
    for unit, digits in (("B", 0), ("kB", 1), ("MB", 1)):
        if num_bytes < 1000:
            return f"{num_bytes:.{digits}f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} GB"


if __name__ == "__main__":
    sys.exit(main())
