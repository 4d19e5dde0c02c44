"""`python -m pamal_companion COMMAND`. No torch here but for `data`, `run` and `bench`."""

import io
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from textwrap import fill
from typing import Any

# isort: split
try:
    import click
except ModuleNotFoundError:
    raise SystemExit(
        "error: The commands need more than the core. Type: pip install '.[companion]'"
    ) from None
import pandas as pd
from tqdm import tqdm

from pamal_companion.data.places import user_path
from pamal_companion.experiments.options import OPTIONS, differing
from pamal_companion.runs import folder, grid
from pamal_companion.runs.methods import added
from pamal_companion.runs.options import SETTINGS
from pamal_companion.runs.records import Record
from pamal_core.errors import InputError

Answer = tuple[dict[str, Any], list[str], bool]
"""The answer of a command as a document, and as paragraphs of text; and whether all is well."""
WIDTH = 100
SHORT = 21
"""The most points of a front that are all shown."""

_size = partial(tqdm.format_sizeof, suffix="B")


def _user_path(_: click.Context, param: click.Parameter, value: str) -> Path:
    """Return the path, with the home folder for "~"; raise InputError if there can be none."""
    return user_path(value, param.opts[0])


_in_folder = click.argument("path", callback=_user_path, default="results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code, 2 where what was given is wrong."""
    # A name of a file need not be text that this terminal can show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code: int = cli.main(arguments, "python -m pamal_companion", standalone_mode=False)
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


@click.group(invoke_without_command=True)
@click.pass_context
def cli(context: click.Context) -> int:
    """Data, runs and results of PaMaL."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0


def command(function: Callable[..., Answer], name: str | None = None) -> click.Command:
    """A command from a function that returns its `Answer`."""

    @cli.command(name)
    @click.option("--json", "as_json", is_flag=True, help="One JSON document instead.")
    @wraps(function)
    def run(as_json: bool, **given: Any) -> int:
        document, paragraphs, is_well = function(**given)
        if as_json:  # which has no NaN: null
            plain = json.loads(json.dumps(document, default=str), parse_constant=lambda _: None)
            print(json.dumps(plain, indent=2))
        else:  # what a terminal would act on is spelt out
            text = "\n\n".join(part.rstrip("\n") for part in paragraphs)
            shown = (c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
            print("".join(shown))
        return int(not is_well)

    return run


@command
@click.option("--root", help="Where data lie; default: $PAMAL_DATA, or ~/.cache/pamal.")
@click.option("--get", metavar="NAME", help="Download this data set, or say how to get it.")
def data(root: str | None, get: str | None) -> Answer:
    """Which data sets are ready, and how to get the others."""
    from pamal_companion.data.files import data_root  # here, as these import torch
    from pamal_companion.data.inventory import DATA_SETS, status

    if get not in (None, *DATA_SETS):
        raise InputError(f"`--get` must name one of {', '.join(DATA_SETS)}. Found {get!r}.")
    place = data_root(root)
    found = [status(name, place, download=name == get) for name in DATA_SETS if get in (None, name)]
    table = pd.DataFrame(found)[["name", "state", "bytes", "place"]]
    table["bytes"] = table["bytes"].map(_size)
    said = [f"{one['name']}: {one['what'].rstrip('.')}. {one['advice']}" for one in found]
    document = {"root": place, "data": found}
    return document, [_table(table), *said], all(one["state"] == "ready" for one in found)


@command
@_in_folder
@click.option("--experiment", metavar="E", help="Only runs of this experiment.")
@click.option("--method", metavar="M", help="Only runs of this method.")
def runs(path: Path, experiment: str | None, method: str | None) -> Answer:
    """Every run in a folder, or all of one record.

    What a damaged run is of cannot be told, so --experiment and --method leave it in.
    """
    if path.is_file() or (path.suffix == ".json" and not path.is_dir()):
        return _shown(path)
    wanted = {"experiment": experiment, "method": method}
    found = folder.runs(path)
    twice = folder.contradictions(found)
    rows = [
        row
        for row, _ in found
        if all(row[name] in (None, w or row[name]) for name, w in wanted.items())
    ]
    # A table for each folder, experiment and data, a line for each damaged file, and the counts.
    groups = defaultdict(list)
    for row in rows:
        if not row["why"]:
            place = Path(row["path"]).parent
            groups[f"{place}: {row['experiment']} on {row['data']}"].append(row)
    parts = [_group(heading, group) for heading, group in groups.items()]
    parts += [f"damaged: {row['why']}" for row in rows if row["why"]]
    counts = Counter(row["state"] for row in rows)
    said = ", ".join(f"{counts[state]} {state}" for state in ("finished", "unfinished", "damaged"))
    document = {"folder": path, "runs": rows, "contradictions": twice}
    return document, [*parts, *twice, said], not counts["damaged"]


@command
@_in_folder
def compare(path: Path) -> Answer:
    """Results beside the numbers in the paper's tables."""
    from pamal_companion.study import frame, tables

    found = folder.runs(path)
    rows = tables.compare(frame.runs(record for _, record in found if record))
    parts = [] if len(rows) else ["No run here has a row in the paper's tables."]
    if len(rows):
        rows = rows.rename_axis(["table", "setting", "measure"]).reset_index()
        columns = ["measure", "ours", "paper", "difference", "seeds", "verdict", "setting"]
        for title, table in rows.groupby("table", sort=False):
            # Per cent, or shares and errors.
            digits = table["paper"].map(lambda number: ".2f" if number > 1 else ".4f")
            texts = {
                column: [*map(_cell, table[column], sign + digits)]
                for column, sign in (("ours", ""), ("paper", ""), ("difference", "+"))
            }
            parts.append(f"{title}\n{_table(table.assign(**texts)[columns])}")
    damaged = [row["why"] for row, _ in found if row["why"]]
    twice = folder.contradictions(found)
    parts += [f"damaged: {why}" for why in damaged] + twice
    document = {"folder": path, "rows": rows.to_dict("records"), "damaged": damaged}
    document["contradictions"] = twice
    return document, parts, not damaged


@partial(command, name="grid")
@_in_folder
def grid_status(path: Path) -> Answer:
    """How many of the paper's runs are made, being made and left."""
    if not path.is_dir():
        raise InputError(f"Expected a folder of results. Found none at {path}.")
    table = grid.status(path)
    document = {"folder": path, "targets": table.to_dict("records")}
    return document, [table.to_string(index=False, na_rep="?")], True


@command
@click.argument("what", nargs=-1, required=True, metavar="RECORD... | SOURCE.ipynb TARGET.ipynb")
@click.option("-p", "given", nargs=2, multiple=True, metavar="NAME VALUE", help="A parameter.")
@click.option("--results", metavar="PATH", callback=_user_path, default=str(grid.RESULTS))
def run(what: tuple[str, ...], given: tuple[tuple[str, str], ...], results: Path) -> Answer:
    """Make records of the grid, or execute a notebook.

    Records are named relative to the folder --results, the one in the repository by default. The
    parameters are changes to those of the grid, or those of the notebook.
    """
    changes = {name: grid.value(value) for name, value in given}
    if what[0].endswith(".ipynb"):
        from pamal_companion.runs import notebooks  # the packages of the `book` extra

        if len(what) != 2:
            raise InputError(f"Expected SOURCE and TARGET of a notebook. Found {' '.join(what)}.")
        if results != grid.RESULTS:
            raise InputError("`--results` is where records go; a notebook has its parameters, -p.")
        source, target = (user_path(name, "path") for name in what)
        notebooks.run(source, target, changes)
        return {"made": [what[1]]}, [what[1]], True
    for make in [grid.maker(record, results, changes) for record in what]:
        make()
    made = [str(results / record) for record in what]
    return {"made": made}, ["\n".join(made)], True


@command
@click.argument("files", nargs=-1, required=True, metavar="MINE.py...")
@click.option("--experiments", default="", metavar="A,B", help="Default: those of the files.")
@click.option("--seeds", default="0,1,2", metavar="N,N", help="Seeds that judge.")
@click.option("--epochs", type=click.IntRange(1), help="Epochs of PaMaL; default: the paper's.")
@click.option("--out", metavar="PATH", callback=_user_path, default="bench", help="A folder.")
@click.option("-p", "given", nargs=2, multiple=True, metavar="NAME VALUE", help="A parameter.")
def bench(
    files: tuple[str, ...],
    experiments: str,
    seeds: str,
    epochs: int | None,
    out: Path,
    given: tuple[tuple[str, str], ...],
) -> Answer:
    """Compare a method or a data set of your own with the paper's.

    The files define balancers, functions that return a Method, or EXPERIMENT. Beside them PaMaL,
    LS, UW, Nash-MTL and the soup run, each with as many passes over the training data as PaMaL
    makes in --epochs. Finished runs in --out are read; a run that was stopped goes on.
    """
    from pamal_companion.runs import bench as own  # here, as this imports torch
    from pamal_companion.study import bench as study  # and this matplotlib

    known = [name for name, options in OPTIONS.items() if options.task_names]
    found = own.read([user_path(name, "path") for name in files], OPTIONS)
    numbers = own.seeds_of(seeds)
    names = [name.strip() for name in experiments.split(",") if name.strip()]
    changes = {name: grid.value(value) for name, value in given}
    document, parts, printed = dict[str, Any](), list[str](), list[Any]()
    with added(found.methods):
        # All that can be refused is, before anything is written.
        plans = [
            own.plan(experiment, found, epochs, changes)
            for experiment in own.chosen(names, found, known)
        ]
        for plan in plans:
            name, about = plan.experiment.name, plan.splits.description
            made, figure = own.make(plan, numbers, out), out / f"{name}.png"
            tables = study.tables(made.volumes, made.chosen, made.records, found.methods)
            printed += tables.values()
            caption = study.draw(figure, made.records, f"{about} Test.")
            document[name] = {"data": about, "passes": plan.passes, "figure": figure}
            document[name] |= {title: rows.to_dict("records") for title, rows in tables.items()}
            parts.append(fill(f"{name}: {about} Passes of each run: {plan.passes}.", WIDTH))
            parts += [f"{title}\n{_table(rows)}" for title, rows in tables.items()]
            parts.append(f"figure: {figure}\n{fill(caption, WIDTH)}")
    return document, [*parts, fill(study.words(printed), WIDTH)], True


def _group(heading: str, rows: list[dict[str, Any]]) -> str:
    """A table of `rows` of one experiment; what options they share is said above it."""
    said = [_told(row) for row in rows]
    first, *others = said
    shared = {n: v for n, v in first.items() if others and all(o.get(n) == v for o in others)}
    cells = []
    for row, options in zip(rows, said, strict=True):
        state = row["state"] if row["epochs"] is None else f"{row['epochs']} epochs so far"
        own = {name: value for name, value in options.items() if name not in shared}
        named = f"{row['path'].rpartition('/')[2]}  {_cell(own)}"
        numbers = row["hypervolume"], _cell(row["seconds"], ".0f")
        cells.append((state, row["method"], row["seed"], *numbers, named))
    columns = ["state", "method", "seed", "HV ↑", "seconds", "run and its options"]
    heading += f", all with {_cell(shared)}" if shared else ""
    return f"{heading}\n{_table(pd.DataFrame(cells, columns=columns))}"


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that the paper varies, and those that are not the defaults."""
    changed = differing(row)
    return {n: v for n, v in row["options"].items() if n in SETTINGS or n in changed}


def _shown(path: Path) -> Answer:
    """All of a record as a document, of a long front some points as text."""
    from pamal_companion.study.fronts import landmarks

    record = Record.read(path)
    fields = {"key": record.key} | record.model_dump(exclude={"points", "summary", "history"})
    parts = {name: part for name, part in record.summary.items() if isinstance(part, Mapping)}
    fields |= {name: value for name, value in record.summary.items() if name not in parts}
    said = [_definitions([(name, _cell(value)) for name, value in fields.items()])]
    if any(parts.values()):
        flat = [pd.json_normalize(dict(part), sep=" ", max_level=1) for part in parts.values()]
        summary = pd.concat([one.astype(object) for one in flat]).set_axis([*parts]).T
        # What is nested deeper, such as each run of the toy problem, is in the document alone.
        deep = summary.map(lambda value: isinstance(value, Mapping)).any(axis=1)
        said.append(summary[~deep].map(_cell).to_string(line_width=WIDTH))
    if any(point["split"] == "test" for point in record.points):
        front = record.front("test")
        is_short = len(front.table) <= SHORT
        frame = front.to_frame() if is_short else landmarks(front).assign(point=lambda f: f.index)
        alphas = frame.filter(regex="^alpha[/_]")
        frame = frame.drop(columns=[*alphas])
        frame.insert(0, "alpha", alphas.to_numpy().tolist())
        title = f"front on test, {len(front.table)} points{'' if is_short else ', some of them'}"
        said.append(f"{title}\n{_table(frame)}")
    document = {"path": path, "key": record.key} | record.model_dump(mode="json")
    return document, said, True


def _table(rows: pd.DataFrame) -> str:
    """`rows` as text; the last column breaks where a line is full."""
    *others, last = rows
    cells = rows.astype(object).map(_cell)
    lines = cells[others].to_string(index=False).splitlines()
    return _definitions(zip(lines, [last, *cells[last]], strict=True))


def _definitions(rows: Iterable[tuple[str, str]]) -> str:
    page = click.HelpFormatter(width=WIDTH)
    page.write_dl([*rows], col_max=WIDTH)
    return page.getvalue()


def _cell(value: object, spec: str = ".4f") -> str:
    """`value` as text, a dash where there is none: `{"W": 4, "lam": 0.0}` is `W=4 lam=0`."""
    if value is None or value != value:
        return "-"
    match value:
        case float():
            return format(value, spec)
        case list():
            return f"[{', '.join(_cell(each, 'g') for each in value)}]"
        case Mapping():
            return " ".join(f"{name}={_cell(each, 'g')}" for name, each in value.items())
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
