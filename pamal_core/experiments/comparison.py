"""Any record beside the rows that the paper's tables have for it. No torch here."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core.experiments import cityscapes_tables, multimnist3_tables, utkface_tables
from pamal_core.experiments.tables import ONE_NETWORK, baselines_beside_the_paper, beside_the_paper
from pamal_core.paper import table
from pamal_core.records import Record

Pair = tuple[float, float]
"""Measured, and in the paper."""


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
    """A mean over the seeds of one setting, and what the paper prints; `measure` has its direction.

    `options` are those that tell the setting from others of its experiment and method.
    """

    experiment: str
    method: str
    options: Mapping[str, Any]
    measure: str
    measured: float
    paper: float
    seeds: tuple[int, ...]

    @property
    def difference(self) -> float:
        """Measured minus the paper."""
        return self.measured - self.paper


def compare(records: Iterable[Record]) -> list[Row]:
    """A row for each setting and measure that the paper has a number for.

    A run that is there twice counts once. Left out are records of other data than the paper's, and
    with options that it does not have. A baseline's hypervolume is left out as well, since the
    paper's is that of three runs together; `multimnist_tables` compares those.
    """
    found: dict[tuple[str, ...], dict[str, list[Pair]]] = {}
    of: dict[tuple[str, ...], list[Record]] = {}
    for record in {record.key: record for record in records}.values():
        setting = (record.experiment, record.method, json.dumps(record.options), record.data)
        for measure, pair in _pairs(record).items():
            if np.isfinite(pair).all():
                found.setdefault(setting, {}).setdefault(measure, []).append(pair)
        of.setdefault(setting, []).append(record)
    return [
        _row(of[setting], measure, pairs)
        for setting, measures in found.items()
        for measure, pairs in measures.items()
    ]


def _row(records: Sequence[Record], measure: str, pairs: Sequence[Pair]) -> Row:
    first = records[0]
    options = {name: value for name, value in first.options.items() if name in _free(first)}
    measured, paper = np.mean(pairs, axis=0).tolist()
    seeds = tuple(sorted(record.seed for record in records))
    return Row(first.experiment, first.method, options, measure, measured, paper, seeds)


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
        f"test {head}": (ours, paper)
        for head in rows.columns.unique(0)
        for ours, paper in zip(rows[head, "ours"], rows[head, "paper"], strict=True)
        if not isinstance(ours, str)
    }


def _three_digits(record: Record) -> dict[str, Pair]:
    rows = multimnist3_tables.beside_the_paper(record)
    return {
        f"test {name}": (row["measured"], row["paper, mean of 3"]) for name, row in rows.iterrows()
    }


def _pamal(record: Record) -> dict[str, Pair]:
    """The table of multi-forward training (appendix B1), and that of results on test (C2): there
    the paper's is the mean of its three rows."""
    name, data = record.experiment, DATA[record.experiment]
    rows = beside_the_paper(record, f"multiforward_{name}", data.ids)
    pairs = {n: (row["measured"], row["paper, mean of 3"]) for n, row in rows.iterrows()}
    if (record.options.get("W"), record.options.get("lam")) == data.own:
        printed = table("hypervolume").query("dataset == @name and method == 'PML'")
        columns = ["accuracy_1", "accuracy_2", "hypervolume"]
        test = record.summary["test"]
        named = {f"accuracy on {_task(n)}": v for n, v in test["best"].items()}
        ours = named | {"hypervolume": test["hypervolume"]}
        for (n, value), paper in zip(ours.items(), printed[columns].mean(), strict=True):
            pairs[f"test {n} (higher is better)"] = (value, paper)
    return pairs


def _baseline(record: Record) -> dict[str, Pair]:
    (row,) = baselines_beside_the_paper([record], record.experiment).to_dict("records")
    tasks = dict.fromkeys(task for task, _ in row)
    return {
        f"test accuracy on {task} (higher is better)": (row[task, "measured"], row[task, "paper"])
        for task in tasks
    }


def _sweep(record: Record) -> dict[str, Pair]:
    """The tables of appendix B4."""
    # Here, as it brings matplotlib along.
    from pamal_core.experiments import ablation_phn_cosmos as ablation

    theirs = ablation.printed(record.experiment, record.method)
    swept = {"solver", "lr"} | record.options.keys()  # these have a default
    if not swept.issuperset(theirs.index.names) or ablation.setting(record) not in theirs.index:
        return {}
    rows = ablation.beside_the_paper(ablation.measured([record]), theirs, comparable=True)
    pair = rows["measured"]["hypervolume"].item(), rows["paper"]["hypervolume"].item()
    return {"validation hypervolume (higher is better)": pair}


def _task(objective: str) -> str:
    return objective.rpartition("/")[0]
