"""UTKFace records beside the paper's table, and how much its tasks compete. No torch here."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.runs.records import Record
from pamal_core.study.paper import table
from pamal_core.study.tables import PRINTED

FULL = "utkface/full/"
# A record names what is not the default. To stand beside the paper it may name these, or set the
# others as the paper does: another length, network or part of the data is another experiment.
FREE = {"W", "p", "lam", "balancing", "task", "precision", "chunk"}
FIXED = {"epochs": 100, "size": 64}
# The paper's columns: the objective in a record, the unit, what to multiply it by, and digits.
COLUMNS = {
    "age": ("age/loss", "Huber loss (lower is better)", 1, 3),
    "gender": ("gender/accuracy", "% (higher is better)", 100, 2),
    "ethnicity": ("ethnicity/accuracy", "% (higher is better)", 100, 2),
}


def beside_the_paper(records: Sequence[Record]) -> pd.DataFrame:
    """The 16 rows of the paper's table (appendix B3) in its order: per task its mean and deviation
    over three seeds, and ours.

    Ours is the best of the subspace on test, each task on its own, as a mean over those of
    `records` that belong to the row: on the full data, with its method, balancing, W and p, no
    penalty (the caption has none), and every other option at its default but `precision` and
    `chunk`. STL is a record for each task. Where there is none it says "not run", or "needs the
    data" if one of `records` is of the sample.
    """
    runs = list({record.key: record for record in records}.values())
    on_sample = any(not record.data.startswith(FULL) for record in runs)
    missing = "needs the data" if on_sample else "not run"
    rows: dict[str, dict[tuple[str, str], Any]] = {}
    for _, row in table("utkface").iterrows():
        ours = [record.summary["test"]["best"] for record in runs if _belongs(record, row)]
        cells = rows.setdefault(_name(row), {})
        for task, (objective, unit, scale, digits) in COLUMNS.items():
            found = [scale * best[objective] for best in ours if objective in best]
            head = f"{task}, {unit}"
            cells[head, "paper"] = row[task]
            cells[head, "std"] = row[f"{task}_std"]
            cells[head, "ours"] = round(float(np.mean(found)), digits) if found else missing
    return pd.DataFrame.from_dict(rows, orient="index")


def pairs(front: Front) -> pd.DataFrame:
    """Spearman's correlation between the achievements on every two tasks, better being larger: -1
    where one task always gains what the other loses. By metric and by loss.

    Over all points, where it cannot be low for every pair: the weights themselves, on the lattice
    of 66 points, have -0.47. And over the edge between the two tasks' members, where there is no
    third task and -1 is possible. `Front.competition` is the mean over the pairs, the paper's
    criterion for PHN and COSMOS (appendix B4). NaN for a single point.
    """
    columns = {
        f"{where}, {metric}": (where, view)
        for where in ("all points", "edge")
        for metric, view in (("metric", front), ("loss", front.on("loss")))
    }
    rows = {}
    for two in combinations(range(len(front.objectives)), 2):
        names = [front.objectives[t].task for t in two]
        rows[" and ".join(names)] = {
            name: (_edge(view, two) if where == "edge" else _chosen(view, two)).competition()
            for name, (where, view) in columns.items()
        }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))


def _chosen(front: Front, two: tuple[int, ...]) -> Front:
    return replace(front, objectives=tuple(front.objectives[t] for t in two))


def _edge(front: Front, two: tuple[int, ...]) -> Front:
    """The points between the members of two tasks; all where members are not tasks."""
    chosen = _chosen(front, two)
    if front.alphas.shape[1] != len(front.objectives):
        return chosen
    there = ~np.delete(front.alphas, two, axis=1).any(axis=1)
    return replace(chosen, alphas=front.alphas[there], table=front.table[there])


def _belongs(record: Record, row: "pd.Series[Any]") -> bool:
    options = record.options
    balancing = row["balancing"] if isinstance(row["balancing"], str) else "none"
    drawn = (options.get("W"), options.get("p"), options.get("lam", 0))
    return (
        record.data.startswith(FULL)
        and PRINTED[record.method] == row["method"]
        and all(name in FREE or FIXED.get(name) == value for name, value in options.items())
        and options.get("balancing", "none") == balancing
        and (record.method != "pamal" or drawn == (row["W"], row["p"], 0))
    )


def _name(row: "pd.Series[Any]") -> str:
    """The row as the paper names it, with the balancing in full."""
    method = str(row["method"])
    if not isinstance(row["balancing"], str):
        return method
    return f"{method}, {row['balancing']} balancing (W = {row['W']:.0f}, p = {row['p']:.0f})"
