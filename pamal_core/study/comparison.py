"""Any record beside the rows that the paper's tables have for it. No torch here."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core.runs.records import Record
from pamal_core.study import cityscapes_tables, multimnist3_tables, utkface_tables
from pamal_core.study.paper import table
from pamal_core.study.tables import (
    ONE_NETWORK,
    PRINTED,
    REFERENCE,
    baselines_beside_the_paper,
    beside_the_paper,
    union,
)


class Pair(NamedTuple):
    """What was measured, and what the paper prints: its number and, where it has one, the standard
    deviation over its seeds."""

    measured: float
    paper: float
    paper_std: float = np.nan


class Data(NamedTuple):
    """One of the paper's small data sets: how the ids of its data begin, and W and lambda of its
    results on test (appendix C2)."""

    ids: str
    own: tuple[int, float]


DATA = {
    "multimnist": Data("multimnist/full/", (4, 0.0)),
    "census": Data("census/full/age+education/as_released/", (2, 5.0)),
}
# A record names what is not the default. What it may name to stand beside the paper: options that
# the paper varies or that say how and not what, and others with the paper's value.
FREE = {"W", "lam", "penalty", "skip", "task", "lr_scaling", "antialias", "precision"}
SWEPT = FREE | {"p", "solver", "lr", "chunk"}
FIXED = {"p": 1.0, "balancing": "none", "masters": "as_released"}
EPOCHS = {"multimnist": 10, "census": 10, "multimnist3": 20}


class Row(NamedTuple):
    """What one setting reached with each seed, and what the paper prints; `measure` has its unit
    and direction.

    `options` are those that tell the setting from others of its experiment and method. `paper_std`
    is NaN where the paper has none.
    """

    experiment: str
    method: str
    options: Mapping[str, Any]
    measure: str
    values: tuple[float, ...]
    paper: float
    paper_std: float
    seeds: tuple[int, ...]

    @property
    def what(self) -> str:
        """The measure with an arrow for its direction."""
        text = self.measure.replace("(higher is better)", "↑")
        return text.replace("(lower is better)", "↓")

    @property
    def measured(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.values))

    @property
    def std(self) -> float:
        """The standard deviation over the seeds, which estimates that of all; NaN of one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else np.nan

    @property
    def difference(self) -> float:
        """Measured minus the paper."""
        return self.measured - self.paper


def compare(records: Iterable[Record]) -> list[Row]:
    """A row for each setting and measure that the paper has a number for.

    A run that is there twice counts once. Left out are records of other data than the paper's, and
    with options that it does not have. The paper's test hypervolume of a baseline is that of three
    runs together, and so is ours: it is left out where there are others than three.
    """
    found: dict[tuple[str, ...], dict[str, list[Pair]]] = {}
    of: dict[tuple[str, ...], list[Record]] = {}
    for record in sorted({r.key: r for r in records}.values(), key=lambda record: record.seed):
        setting = (
            record.experiment,
            record.method,
            json.dumps(record.options, sort_keys=True),
            record.data,
        )
        for measure, pair in _pairs(record).items():
            if np.isfinite(pair[:2]).all():
                found.setdefault(setting, {}).setdefault(measure, []).append(pair)
        of.setdefault(setting, []).append(record)
    for key, measures in found.items():
        measures |= _together(of[key])
    return [
        _row(of[key], measure, pairs)
        for key, measures in found.items()
        for measure, pairs in measures.items()
    ]


def _together(records: Sequence[Record]) -> dict[str, list[Pair]]:
    """The hypervolume of three baselines' test points, as in appendix C2."""
    method, rows = records[0].method, table("hypervolume")
    rows = rows[(rows.dataset == records[0].experiment) & (rows.method == PRINTED.get(method))]
    if len(records) != 3 or method not in ONE_NETWORK or rows.empty:
        return {}
    measured = union([record.front("test") for record in records]).hypervolume(REFERENCE)
    pair = Pair(measured, rows["hypervolume"].item())
    return {"test hypervolume of 3 seeds (higher is better)": [pair]}


def _row(records: Sequence[Record], measure: str, pairs: Sequence[Pair]) -> Row:
    first = records[0]
    options = {name: value for name, value in first.options.items() if name in _free(first)}
    values = tuple(pair.measured for pair in pairs)
    seeds = tuple(record.seed for record in records)
    _, paper, std = pairs[0]
    return Row(first.experiment, first.method, options, measure, values, paper, std, seeds)


def _free(record: Record) -> set[str]:
    """The options that may differ from their defaults, and tell one setting from another."""
    pictures = {"utkface": utkface_tables.FREE, "cityscapes": cityscapes_tables.LEFT_OPEN}
    return pictures.get(record.experiment, SWEPT if record.method in ("phn", "cosmos") else FREE)


def _pairs(record: Record) -> dict[str, Pair]:
    """What each table says of `record`; NaN, or nothing, where it has no row."""
    if record.experiment in ("utkface", "cityscapes"):
        return _pictures(record)
    fixed = FIXED | {"epochs": EPOCHS.get(record.experiment)}
    as_printed = all(
        (name in _free(record) and not isinstance(value, list)) or fixed.get(name) == value
        for name, value in record.options.items()
    )
    if not as_printed or record.experiment not in EPOCHS:
        return {}
    if record.experiment not in DATA:
        return _three_digits(record)
    if not record.data.startswith(DATA[record.experiment].ids):
        return {}
    tables: dict[str, Callable[[Record], dict[str, Pair]]]
    tables = {"pamal": _pamal, "phn": _sweep, "cosmos": _sweep}
    tables |= dict.fromkeys(ONE_NETWORK, _baseline)
    return tables[record.method](record) if record.method in tables else {}


def _pictures(record: Record) -> dict[str, Pair]:
    """The table of UTKFace (appendix B3), those of CityScapes (C4); they choose their records."""
    if record.experiment == "utkface":
        found = [utkface_tables.beside_the_paper([record])]
    else:
        found = [cityscapes_tables.beside_the_paper([record], setting) for setting in ("I", "II")]
    rows = pd.concat(found)
    return {
        f"test {head}": Pair(row["ours"], row["paper"], row.get("std", np.nan))
        for head in rows.columns.unique(0)
        for _, row in rows[head].iterrows()
        if not isinstance(row["ours"], str)
    }


def _three_digits(record: Record) -> dict[str, Pair]:
    rows = multimnist3_tables.beside_the_paper(record)
    return {
        f"test {name}": Pair(row["measured"], row["paper, mean of 3"], row["paper, std"])
        for name, row in rows.iterrows()
    }


def _pamal(record: Record) -> dict[str, Pair]:
    """The table of multi-forward training (appendix B1), and that of results on test (C2): there
    the paper's is the mean of its three rows."""
    name, data = record.experiment, DATA[record.experiment]
    rows = beside_the_paper(record, f"multiforward_{name}", data.ids)
    pairs = {
        n: Pair(*row[["measured", "paper, mean of 3", "paper, std"]]) for n, row in rows.iterrows()
    }
    if (record.options.get("W"), record.options.get("lam")) == data.own:
        printed = table("hypervolume").query("dataset == @name and method == 'PML'")
        columns = ["accuracy_1", "accuracy_2", "hypervolume"]
        test = record.summary["test"]
        named = {f"accuracy on {_task(n)}": v for n, v in test["best"].items()}
        ours = named | {"hypervolume": test["hypervolume"]}
        for (n, value), column in zip(ours.items(), columns, strict=True):
            paper = printed[column]
            pairs[f"test {n} (higher is better)"] = Pair(value, paper.mean(), paper.std())
    return pairs


def _baseline(record: Record) -> dict[str, Pair]:
    row = baselines_beside_the_paper([record], record.experiment).iloc[0]
    return {
        f"test accuracy on {task} (higher is better)": Pair(*row[task][["measured", "paper"]])
        for task in row.index.unique(0)
    }


def _sweep(record: Record) -> dict[str, Pair]:
    """The tables of appendix B4."""
    # Here, as it brings matplotlib along.
    from pamal_core.study import ablation_phn_cosmos as ablation

    theirs = ablation.printed(record.experiment, record.method)
    swept = {"solver", "lr"} | record.options.keys()  # these have a default
    if not swept.issuperset(theirs.index.names) or ablation.setting(record) not in theirs.index:
        return {}
    rows = ablation.beside_the_paper(ablation.measured([record]), theirs, comparable=True)
    pair = (rows[who]["hypervolume"].item() for who in ("measured", "paper"))
    return {"validation hypervolume (higher is better)": Pair(*pair)}


def _task(objective: str) -> str:
    return objective.rpartition("/")[0]
