"""The runs behind the paper's tables and figures: which are made, which are left, what they cost.

`workflow/grid.csv` has a row for each setting, `workflow/costs.csv` what a run takes. No torch here
until something is trained.
"""

import ast
import importlib
import json
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from pamal_companion.data.atomic import write_atomic
from pamal_companion.runs.files import RunFiles, is_held
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import names_in, parse_value
from pamal_core.errors import InputError, check_choice

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


@dataclass(frozen=True)
class Run:
    """One run: its setting, and where its record is.

    `records` are relative to the folder of the results. The run writes the first; the others are
    copies, for the tables that share it. `targets` and `places` (labels of the paper's LaTeX
    source) are those of all these tables.
    """

    experiment: str
    method: str
    options: Mapping[str, Any]
    seed: int
    records: tuple[str, ...]
    targets: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def notebook(self) -> str | None:
        """Return the notebook that makes the run, None for one of an ablation alone."""
        return self.experiment if self.records[0].startswith(f"{self.experiment}/") else None

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters that papermill or `Options` gets."""
        return {"data": "full", "method": self.method, **self.options, "seed": self.seed}

    @property
    def cost(self) -> Any:
        """Return the row of `costs.csv` for a run of this kind."""
        return cost(self.experiment, self.method)

    def is_done(self, results: Path) -> bool:
        """Return whether one of its records is in the folder `results`."""
        return any((results / record).exists() for record in self.records)


def runs(target: str = "paper") -> list[Run]:
    """Return the runs of `target`, each once; InputError for an unknown target."""
    check_choice("target", target, targets())
    return [run for run in _all() if any(_belongs(of, target) for of in run.targets)]


def targets() -> list[str]:
    """Return the names that `runs` knows, `paper` last."""
    return [*dict.fromkeys(row["target"] for row in read("grid")), "paper"]


def records(target: str = "paper") -> list[str]:
    """Return the records that the tables of `target` read, copies included."""
    return [
        record
        for run in runs(target)
        for record, of in zip(run.records, run.targets, strict=True)
        if _belongs(of, target)
    ]


def by_record() -> dict[str, Run]:
    """Return every run by each of its records."""
    return {record: run for run in _all() for record in run.records}


def maker(
    record: str, results: Path, changes: Mapping[str, Any] | None = None
) -> Callable[[], None]:
    """Return what makes the run of `record` without its notebook, with `changes` to its parameters,
    or copies the record where another table has it already. The grid has its setting; the seed may
    be another. InputError for a record of no such setting, and for changes that are refused."""
    changes = changes or {}
    if own := sorted(changes.keys() & {"out", "method", "seed"}):
        raise InputError(f"`{own[0]}` of a record is in its name. Found {changes[own[0]]!r}.")
    if changes and results.resolve() == RESULTS.resolve():
        raise InputError("A run with changes needs a folder of its own, such as --results mine.")
    run = by_record().get(record) or _of_another_seed(record)
    if run is None:
        raise InputError(
            "A record must be FOLDER/NAME_seed_NUMBER.json, of a setting in workflow/grid.csv. "
            f"Found {record!r}."
        )
    given = {**run.parameters, **changes, "out": str(results / record)}
    if run.experiment == "toy":  # a formula, which is no `Experiment`
        toy = importlib.import_module("pamal_companion.toy.run")
        train = partial(toy.run, toy.ToyOptions.create(**given))
    else:
        from pamal_companion.runs.experiment import experiment_of  # torch: only here
        from pamal_companion.runs.run import run as train_run

        experiment = experiment_of(run.experiment)
        train = partial(train_run, experiment, experiment.options.create(**given))
    path, made = results / record, [results / other for other in run.records]

    def go() -> None:
        copied = next((other for other in made if other.exists() and not path.exists()), None)
        if copied:
            write_atomic(path, copied.read_bytes())
        try:
            train()
        except InputError:  # of another run
            if copied:
                path.unlink()
            raise

    return go


def _of_another_seed(record: str) -> Run | None:
    """Return the run of `record` where the grid has its setting with other seeds only."""
    if found := re.fullmatch(r"(.+_seed_)(0|[1-9][0-9]*)\.json", record):
        for name, run in by_record().items():
            if name.startswith(found[1]):
                return replace(run, seed=int(found[2]), records=(record,))
    return None


def notebook_parameters(path: Path) -> set[str]:
    """Return the names that the parameters cell of the notebook at `path` binds."""
    return names_in(_parameters_cell(path))


def notebook_defaults(notebook: str) -> dict[str, Any]:
    """Return the values that a notebook of this repository has for its parameters."""
    tree = ast.parse(_parameters_cell(ROOT / "notebooks" / f"{notebook}.ipynb"))
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    return {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in assigned}


def _parameters_cell(path: Path) -> str:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    chosen = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    return "\n".join("".join(cell["source"]) for cell in chosen)


def cost(experiment: str, method: str) -> Any:
    """Return what a run takes, a row of `costs.csv`: `seconds` is the median of the measured wall
    time of one thread, NaN where no run of the kind has been made; `gpu_share` is in per cent of
    one GPU, `minutes` are the limit for a scheduler."""
    rows = _costs()
    row = rows.get((experiment, method), rows.get((experiment, "*")))
    if row is None:
        raise InputError(f"workflow/costs.csv needs a row for {experiment}. Found none.")
    return row


@cache
def _costs() -> dict[tuple[str, str], Any]:
    return {(row.experiment, row.method): row for row in _table("costs").itertuples()}


def status(results: Path) -> pd.DataFrame:
    """Return a row per target: runs that are made, being made and left, and hours of one thread for
    the latter two, as far as runs of their kind were measured; NaN where none was."""
    rows = []
    for target in targets():
        every = runs(target)
        left = [run for run in every if not run.is_done(results)]
        locks = [[RunFiles(results / record).lock for record in run.records] for run in left]
        running = sum(any(map(is_held, of_run)) for of_run in locks)
        seconds = pd.Series([run.cost.seconds for run in left], dtype=float)
        counts = (len(every), len(every) - len(left), running, len(left) - running)
        hours = seconds.sum(min_count=1 if left else 0) / 3600  # NaN: not measured, which is not 0
        rows.append((target, *counts, round(hours, 1), seconds.isna().sum()))
    columns = ["target", "runs", "done", "running", "left", "hours", "not measured"]
    return pd.DataFrame(rows, columns=columns)


def _belongs(of: str, target: str) -> bool:
    """Return whether a table that is `of` one target is part of `target`; of `paper` are all but
    "extras", the runs that are ours."""
    return of != "extras" if target == "paper" else of == target


@cache
def _all() -> tuple[Run, ...]:
    """Return every run of the grid, those of equal settings joined, in the order of the table."""
    shared: dict[str, dict[str, Any]] = {}
    for row in read("grid"):
        experiment, method = row["folder"].split("/")[-1], row["method"]
        options = _completed(experiment, method, parameters(row["options"]))
        what = {"experiment": experiment, "method": method, "options": options}
        for seed in map(int, row["seeds"].split()):
            fields = what | {"seed": seed, "records": (), "targets": (), "places": ()}
            run = shared.setdefault(json.dumps(fields, sort_keys=True), fields)
            run["records"] += (f"{row['folder']}/{row['name']}_seed_{seed}.json",)
            run["targets"] += (row["target"],)
            run["places"] += (row["place"],)
    return tuple(Run(**run) for run in shared.values())


def _completed(experiment: str, method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a row with the paper's for those that it does not name, where our
    default is another: all rows of an experiment are then of the same data."""
    known = importlib.import_module("pamal_companion.experiments.options")  # of a room above
    paper = known.options_of(experiment).of_the_paper.items()
    return options | {n: v for n, v in paper if n not in options and affects(n, method)}


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of `workflow/NAME.csv`; InputError where the package is not in its
    repository."""
    return _table(name, dtype=str, keep_default_na=False).to_dict("records")


def _table(name: str, **options: Any) -> pd.DataFrame:
    path = ROOT / "workflow" / f"{name}.csv"
    if not path.exists():
        raise InputError(f"The grid needs the repository. Found no {path}.")
    return pd.read_csv(path, **options)


def papermill(notebook: str, given: Mapping[str, Any]) -> str:
    """Return the command that executes a notebook of this repository with the parameters
    `given`."""
    words = ["papermill", f"notebooks/{notebook}.ipynb", "out.ipynb"]
    for name, value in given.items():
        # `-p` knows no lists.
        words += ["-y", f"{name}: {value}"] if isinstance(value, list) else ["-p", name, str(value)]
    return shlex.join(words)


def parameters(text: str) -> dict[str, Any]:
    """Return the parameters that a row names: `"W=2; p=[1, 2]"` is `{"W": 2, "p": [1, 2]}`."""
    pairs = (part.strip().partition("=") for part in text.split(";") if part.strip())
    return {name: value(written) for name, _, written in pairs}


def value(text: str) -> Any:
    """Return what is written after a name: as papermill reads it, whose rules know no lists, or a
    list."""
    if text.startswith("["):
        with suppress(ValueError):
            return json.loads(text)
    return parse_value(text)
