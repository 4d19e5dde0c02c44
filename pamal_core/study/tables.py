"""The paper's tables beside ours: what was to be run, what was run, and what is printed, joined.

What is not run is a row, too.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study import frame, paper
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import value
from pamal_core.study.paper import TABLES, Row, Table
from pamal_core.study.statistics import beside, pooled, verdict

SEEDS = 3
"""How many the paper's tables have."""


def row_of(setting: Setting, name: str) -> Row | None:
    """The row of the table `name` that runs of `setting` belong to, None where it has none.

    A run is the paper's where every option that it has differently is free there, or has the value
    of the row.
    """
    table, values = TABLES[name], setting.values
    differing = {option: v for option, v in setting.options if option not in table.free}
    for row in paper.rows(name):
        told = {**table.fixed, **row.keys}
        if (
            (setting.experiment, setting.method) == (table.experiment, row.method)
            and all(told.get(option) == v for option, v in differing.items())
            and all(values[option] == v for option, v in told.items())
        ):
            return row
    return None


def planned(name: str) -> dict[Setting, list[int]]:
    """The settings that the grid has for the table `name`, each with its seeds."""
    table = TABLES[name]
    found: dict[Setting, list[int]] = {}
    for run in grid.runs(table.target):
        if (table.place, table.target) in zip(run.places, run.targets, strict=True):
            found.setdefault(frame.of(run), []).append(run.seed)
    return found


def report(name: str, runs: Runs, settings: Iterable[Setting] | None = None) -> pd.DataFrame:
    """The table `name` of the paper with every setting that it asks for, run or not; or with those
    of `settings` that belong to it.

    Ours is the mean over the seeds that there are, the paper's over three; "±" are standard
    deviations over seeds (n - 1). The difference is ours minus the paper's, also in spreads: the
    root of the summed squares of the paper's deviation and of ours, which is pooled over all
    settings that the table asks for, or where none of them has been run over those that are shown.
    A verdict needs one of the two.
    """
    usual = _numbers(name, planned(name) or settings or (), runs)
    found = usual if settings is None else _numbers(name, settings, runs)
    own, spread = (pooled(of["ours ±"], of["seeds"], of["measure"]) for of in (found, usual))
    squares = [found["measure"].map(spread.fillna(own)) ** 2, found["paper ±"] ** 2]
    found["in spreads"] = found["difference"] / np.sqrt(
        pd.concat(squares, axis=1).sum(axis=1, min_count=1)
    )
    found["verdict"] = list(map(verdict, found["seeds"], found["in spreads"]))
    return found.set_index(["setting", "measure"]).rename_axis([None, None])


def compare(runs: Runs, recorded: Runs | None = None) -> pd.DataFrame:
    """The rows of every table that any of `runs` belongs to, under the table's title; those of
    sample data belong to none. `recorded` are more runs over which deviations are pooled."""
    found = {}
    for name, table in TABLES.items():
        if settings := [setting for setting in runs if row_of(setting, name)]:
            found[table.title] = report(name, {**(recorded or {}), **runs}, settings)
    return pd.concat(found) if found else pd.DataFrame()


def _numbers(name: str, settings: Iterable[Setting], runs: Runs) -> pd.DataFrame:
    """A row for each of `settings` and each number that the paper has for it, in its order."""
    table, order = TABLES[name], paper.rows(name)
    pairs = [(row, s) for s in settings if (row := row_of(s, name))]
    return pd.DataFrame(
        _cells(setting, row, printed, table, runs.get(setting, {}))
        for row, setting in sorted(pairs, key=lambda pair: order.index(pair[0]))
        for printed, column in table.columns.items()
        if setting.method != "stl"
        or column.task in ("", paper.TASKS[table.experiment][setting.values["task"]])
    )


def _cells(
    setting: Setting, row: Row, printed: str, table: Table, runs: Mapping[int, Record]
) -> dict[str, object]:
    column = table.columns[printed]
    every = [column.unit * value(record, column.measure, table.split) for record in runs.values()]
    text, values = column.text, [number for number in every if not np.isnan(number)]
    seeds = len(values)
    # The paper's hypervolume of a baseline on test is that of its three seeds together (C2).
    if column.measure == "hypervolume" and table.split == "test" and row.method != "pamal":
        text, three = f"hypervolume of {SEEDS} seeds ↑", list(runs.values())[:SEEDS]
        values = [frame.volume(three, "test")] if len(three) == SEEDS else []
        seeds = len(three) if values else 0
    label = setting.label(*(key for key in table.keys if key in row.keys))
    cells = beside("paper", *row.numbers[printed], values)
    return {"setting": label, "measure": text, **cells, "seeds": seeds}


def shown(found: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """A table for a page: every number with as many digits, spreads with one, nothing for NaN."""
    text = {
        name: ["" if np.isnan(v) else f"{v:.{1 if name == 'in spreads' else digits}f}" for v in of]
        for name, of in found.select_dtypes("float").items()
    }
    return found.assign(**text)


def progress(runs: Runs) -> pd.DataFrame:
    """A row for each table: how many of its runs are made, their hours of training and evaluation,
    how many numbers are reproduced, and the target of the workflow that makes the rest."""
    found = {}
    for name, table in TABLES.items():
        wanted = [(s, seed) for s, seeds in planned(name).items() for seed in seeds]
        made = [runs[s][seed] for s, seed in wanted if seed in runs.get(s, {})]
        verdicts = report(name, runs)["verdict"].value_counts()
        found[table.title] = {
            "runs made": len(made),
            "of": len(wanted),
            "hours": round(sum(record.seconds for record in made) / 3600, 2),
            **{word: verdicts.get(word, 0) for word in ("reproduced", "not reproduced")},
            "TARGET": table.target,
        }
    return pd.DataFrame.from_dict(found, orient="index")
