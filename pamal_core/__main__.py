"""`python -m pamal_core COMMAND`. No torch here but for `data` and `run`."""

import functools
import io
import json
import math
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
import pandas as pd

from pamal_core.errors import InputError
from pamal_core.runs import folder, grid
from pamal_core.runs.options import parse_value
from pamal_core.runs.paths import CHECKPOINT
from pamal_core.runs.records import ABOUT, Record

WIDTH = 100
NARROWEST = 16
SHORT = 21
"""The most points of a front that are all shown."""

Cells = dict[str, str]


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
    except click.ClickException as error:
        reason = error.format_message()
    except click.Abort as stop:  # Ctrl-C, whose note says how to go on
        print(*getattr(stop.__context__, "__notes__", ["Stopped."]), file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (InputError, OSError) as error:
        reason = str(error)
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

    @functools.wraps(function)
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
            "where": str(one.place),
            "what": one.what if one.state == "ready" else "see below",
        }
        for one in found
    ]
    below = [
        _paragraph(f"{one.name}: {one.what.rstrip('.')}. {one.advice}")
        for one in found
        if one.state != "ready"
    ]
    text = "\n\n".join([_table(rows, ["where", "what"]), *below])
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
    parts += [_paragraph(f"damaged: {row['why']}") for row in rows if row["why"]]
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
    parts = []
    for title, table in rows.groupby(level=0, sort=False) if len(rows) else ():
        digits = 2 if table["paper"].max() > 1 else 4  # per cent, or shares
        cells = [
            {
                "setting": setting,
                "measure": measure,
                "ours": _number(row["ours"], digits),
                "paper": _number(row["paper"], digits),
                "difference": f"{row['difference']:+.{digits}f}",
                "seeds": str(row["seeds"]),
                "verdict": row["verdict"],
            }
            for (_, setting, measure), row in table.iterrows()
        ]
        parts.append(f"{title}\n{_table(cells, ['setting'])}")
    parts += [] if len(rows) else ["No run here has a row in the paper's tables."]
    damaged = [one.why for one in found if one.state == "damaged"]
    parts += [_paragraph(f"damaged: {why}") for why in damaged]
    named = rows.rename_axis(["table", "setting", "measure"]).reset_index() if len(rows) else rows
    document = {"folder": path, "rows": named.to_dict("records"), "damaged": damaged}
    return document, "\n\n".join(parts), not damaged


@functools.partial(command, name="grid")
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
            {"file": row["path"], "size": _size(row["bytes"]), "why": row["why"]}
            | ({"deleted": row["error"] or "yes"} if yes else {})
            for row in rows
        ]
        count = f"{len(rows)} file{'s' if len(rows) > 1 else ''}"
        total = f"{count}, {_size(sum(one.bytes for one in found))}."
        text = f"{_table(cells, ['file'])}\n\n{total}{'' if yes else ' --yes deletes them.'}"
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
    first, *others = (row["options"] or {} for row in rows)
    shared = {
        name: value
        for name, value in first.items()
        if others and all(name in each and each[name] == value for each in others)
    }
    if shared:
        heading += f", all with {_options(shared)}"
    cells = [
        {
            "run": row["path"].rpartition("/")[2].removesuffix(CHECKPOINT).removesuffix(".json"),
            "state": row["state"] if row["epochs"] is None else f"{row['epochs']} epochs so far",
            "method": row["method"],
            "seed": str(row["seed"]),
            "data": row["data"],
            "HV ↑": _number(row["hypervolume"]),
            "seconds": _number(row["seconds"], 0),
            "options": _options({n: v for n, v in row["options"].items() if n not in shared}),
        }
        for row in rows
    ]
    return f"{_paragraph(heading)}\n{_table(cells, ['run', 'options'])}"


def _shown(path: Path) -> tuple[dict[str, Any], str, bool]:
    """All of a record as a document, of a long front some points as text."""
    record = folder.read(path)
    try:
        parts = (_about(record), _summary(record), _best(record), _chosen(record), _front(record))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a whole record: {error}.") from error
    document = {"path": path, "key": record.key} | record.model_dump(mode="json")
    return document, "\n\n".join(part for part in parts if part), True


def _about(record: Record) -> str:
    def cost(name: str, value: float | None) -> str:
        what, _, unit = name.replace("_", " ").rpartition(" ")
        if value is None:
            return f"{what} -"
        return f"{what} {_size(value) if unit == 'bytes' else f'{value:.1f} {unit}'}"

    fields = {
        **record.about,
        "options": _options(record.options),
        "key": record.key,
        "cost": ", ".join(cost(*item) for item in record.cost.items()) or "-",
        "versions": _options(record.versions),
    }
    return "\n".join(_paragraph(f"{name:<12}{value}", 12) for name, value in fields.items())


def _summary(record: Record) -> str:
    """The numbers of each part of the summary, and the others."""

    def numbers(part: object) -> dict[str, Any]:
        items = part.items() if isinstance(part, Mapping) else ()
        return {n: v for n, v in items if v is None or isinstance(v, int | float | str)}

    rows = {name: found for name, part in record.summary.items() if (found := numbers(part))}
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    cells = [
        {"summary": name} | {column: _value(row.get(column)) for column in columns}
        for name, row in rows.items()
    ]
    others = [f"{name}: {_value(value)}" for name, value in numbers(record.summary).items()]
    return "\n".join([*([_table(cells)] if cells else []), *others])


def _best(record: Record) -> str:
    """The best value of each objective on its own, and its value at the alpha that was chosen."""
    chosen = record.summary.get("chosen_on_validation", {}).get("test", {})
    bests = {name: record.summary.get(name, {}).get("best") for name in ("validation", "test")}
    if not all(bests.values()):
        return ""
    rows = [
        {
            "objective": name,
            "better": {"max": "higher", "min": "lower"}[way],
            "best on validation": _number(bests["validation"][name]),
            "best on test": _number(bests["test"][name]),
            "test, at the chosen alpha": _number(chosen.get(name)),
        }
        for name, way in record.objectives.items()
    ]
    return _table(rows)


def _chosen(record: Record) -> str:
    alpha = record.summary.get("chosen_on_validation", {}).get("alpha")
    return f"alpha chosen on validation: {_alpha(alpha)}" if alpha else ""


def _front(record: Record) -> str:
    """The front on test: all points with all metrics, or the landmarks of a long one."""
    from pamal_core.study.fronts import landmarks

    if not any(point["split"] == "test" for point in record.points):
        return ""
    front = record.front("test")
    is_short = len(front.table) <= SHORT
    frame = front.to_frame() if is_short else landmarks(front)
    alphas = [name for name in frame if str(name).startswith("alpha_")]
    cells = [
        ({} if is_short else {"point": str(name)})
        | {"alpha": _alpha([row[alpha] for alpha in alphas])}
        | {str(n): _value(row[n]) for n in frame if n not in alphas and n != "non_dominated"}
        | {"dominated": "" if row["non_dominated"] else "yes"}
        for name, row in frame.iterrows()
    ]
    wrapped = [] if is_short else ["point"]
    title = f"front on test, {len(front.table)} points"
    return f"{title}{'' if is_short else ', some of them'}\n{_table(cells, wrapped)}"


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it: numbers that are not finite are null, paths are text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _table(rows: Sequence[Mapping[str, str]], wrapped: Collection[str] = ()) -> str:
    """`rows`, all with the same columns, as text that is at most `WIDTH` wide where that can be.

    Of the columns `wrapped` the widest is made narrower first; it breaks at blanks and hyphens.
    Columns of numbers are aligned at their right.
    """
    frame = pd.DataFrame(rows).map(_printable)
    widths = {name: max(len(name), *frame[name].map(len)) for name in frame}
    while sum(widths.values()) + 2 * (len(widths) - 1) > WIDTH:
        widest = max(wrapped, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    numbers = frame.apply(lambda cells: cells.str.fullmatch(r"-|[+-]*\d+(\.\d*)?").all())
    text = []
    for line in [list(frame), *frame.to_numpy()]:
        cells = [textwrap.wrap(cell, widths[n]) for n, cell in zip(frame, line, strict=True)]
        for parts in zip_longest(*cells, fillvalue="") if any(cells) else [[""] * len(cells)]:
            padded = [
                f"{part:{'>' if numbers[name] else '<'}{widths[name]}}"
                for name, part in zip(frame, parts, strict=True)
            ]
            text.append("  ".join(padded).rstrip())
    return "\n".join(text)


def _paragraph(text: str, indent: int = 4) -> str:
    """One paragraph, its later lines indented; words too long for a line, such as paths, whole."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(map(_printable, lines))


def _printable(text: str) -> str:
    """`text` with everything that a terminal would act on spelt out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _number(value: int | float | None, digits: int = 4) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _value(value: object) -> str:
    return _number(value) if value is None or isinstance(value, float) else str(value)


def _alpha(alpha: Sequence[float]) -> str:
    return "(" + ", ".join(f"{entry:g}" for entry in alpha) + ")"


def _options(values: Mapping[str, Any]) -> str:
    """`{"W": 4, "lam": 0.0}` is `W=4 lam=0`."""
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values.items()
    )


def _size(num_bytes: int | float) -> str:
    """A number of bytes in a unit that suits it: 1 MB is a million."""
    for unit, digits in (("B", 0), ("kB", 1), ("MB", 1)):
        if num_bytes < 1000:
            return f"{num_bytes:.{digits}f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} GB"


if __name__ == "__main__":
    sys.exit(main())
