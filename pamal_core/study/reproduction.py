"""Every table of the paper beside what the committed records say. No torch here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study.comparison import Row, compare
from pamal_core.study.tables import PRINTED

FAR = 2.0
"""A number is reproduced where it lies within so many spreads over seeds of the paper's."""


class Table(NamedTuple):
    """A table of the paper: what it shows, its label in the LaTeX source, the split it is measured
    on, and the target of the workflow that makes its runs."""

    title: str
    place: str
    split: str
    target: str


TABLES = {
    "multimnist": Table("C2, MultiMNIST", "tab:hv:small experiments", "test", "multimnist"),
    "census": Table("C2, Census", "tab:hv:small experiments", "test", "census"),
    "multiforward_multimnist": Table(
        "B1, MultiMNIST", "tab:hv analysis:multimnist", "validation", "ablations"
    ),
    "multiforward_census": Table("B1, Census", "tab:hv analysis:census", "validation", "ablations"),
    "multimnist3": Table("C3, MultiMNIST3", "tab:multimnist3:baselines", "test", "multimnist3"),
    "utkface": Table("B3, UTKFace", "tab:utkface:baselines", "test", "utkface"),
    "cityscapes_I": Table(
        "C4, CityScapes, setting I", "tab:cityscapes-full (setting I)", "test", "cityscapes"
    ),
    "cityscapes_II": Table(
        "5.3 and C4, CityScapes, setting II",
        "tab:cityscapes-full (setting II)",
        "test",
        "cityscapes",
    ),
    **{
        f"{method}_{data}": Table(
            f"B4, {PRINTED[method]} on {name}",
            f"table:appendix:ablation:{method} - {data}",
            "validation",
            "ablations",
        )
        for method in ("phn", "cosmos")
        for data, name in (("multimnist", "MultiMNIST"), ("census", "Census"))
    },
}


def report(name: str, results: Path) -> pd.DataFrame:
    """The table `name` of `TABLES`: a row for each setting and measure, "not run" where there is no
    record in the folder `results`.

    Ours is the mean over the seeds that there are, the paper's over three; `±` are the standard
    deviations, which divide by one less than the number of seeds (the paper's as printed). The
    difference is ours minus the paper's, also in spreads. A spread is the root of the summed
    squares of the paper's deviation and of ours, which is pooled over all settings of the table:
    that of two or three seeds is often small by chance. A verdict needs one of the two.
    """
    rows = [_cells(*pair, TABLES[name].split) for pair in _rows(TABLES[name], results)]
    found = pd.DataFrame(rows)
    both = pd.concat([_pooled(found), found["paper ±"] ** 2], axis=1).sum(axis=1, min_count=1)
    found["in spreads"] = found["difference"] / np.sqrt(both)
    found["verdict"] = [
        verdict(*pair) for pair in zip(found["seeds"], found["in spreads"], strict=True)
    ]
    return found.set_index(["setting", "measure"]).rename_axis([None, None])


def _pooled(found: pd.DataFrame) -> pd.Series:
    """For each row the variance over our seeds, pooled over all rows of its measure."""
    freedom = (found["seeds"] - 1).where(found["ours ±"].notna(), 0)
    squares = freedom * found["ours ±"].fillna(0) ** 2
    sums = [column.groupby(found["measure"]).transform("sum") for column in (squares, freedom)]
    return sums[0] / sums[1].replace(0, np.nan)


def shown(name: str, results: Path, digits: int = 4) -> pd.DataFrame:
    """`report` for a page: all numbers with as many digits, and nothing in place of NaN."""
    found = report(name, results)
    for column in found.select_dtypes("float"):
        places = 1 if column == "in spreads" else digits
        found[column] = ["" if np.isnan(v) else f"{v:.{places}f}" for v in found[column]]
    return found


def coverage(results: Path) -> pd.DataFrame:
    """A row for each table: how many of its runs are made, their hours of training and evaluation,
    how many numbers are reproduced, and the target of the workflow that makes the rest."""
    found = {}
    for name, table in TABLES.items():
        paths = [results / path for _, of_one in _settings(table) for path in of_one]
        records = [Record.read(path) for path in paths if path.exists()]
        verdicts = report(name, results)["verdict"].value_counts()
        found[table.title] = {
            "runs made": len(records),
            "of": len(paths),
            "hours": round(sum(record.seconds for record in records) / 3600, 2),
            **{verdict: verdicts.get(verdict, 0) for verdict in ("reproduced", "not reproduced")},
            "TARGET": table.target,
        }
    return pd.DataFrame.from_dict(found, orient="index")


def _settings(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Each setting of `table` by its method and the options that not all of them share, with the
    paths of its records."""
    every = [
        r for r in grid.read("grid") if (r["place"], r["target"]) == (table.place, table.target)
    ]
    options = [{*filter(None, row["options"].split("; "))} for row in every]
    shared = set.intersection(*options)
    for row in every:
        paths = [f"{row['folder']}/{row['name']}_seed_{s}.json" for s in row["seeds"].split()]
        own = [option for option in row["options"].split("; ") if option and option not in shared]
        yield PRINTED[row["method"]] + (f" ({', '.join(own)})" if own else ""), paths


def _rows(table: Table, results: Path) -> Iterator[tuple[str, Row | None]]:
    for label, paths in _settings(table):
        records = [Record.read(results / path) for path in paths if (results / path).exists()]
        rows = [row for row in compare(records) if row.measure.startswith(table.split)]
        yield from ((label, row) for row in rows)
        if not rows:
            yield label, None


def _cells(setting: str, row: Row | None, split: str) -> dict[str, Any]:
    if row is None:
        empty = dict.fromkeys(("paper", "paper ±", "ours", "ours ±"), np.nan)
        return {"setting": setting, "measure": "", **empty, "seeds": 0, "difference": np.nan}
    return {
        "setting": setting,
        "measure": row.what.removeprefix(f"{split} "),
        "paper": row.paper,
        "paper ±": row.paper_std,
        "ours": row.measured,
        "ours ±": row.std,
        "seeds": len(row.seeds),
        "difference": row.difference,
    }


def verdict(seeds: int, spreads: float) -> str:
    """ "reproduced" or "not reproduced"; "not run" without seeds, and "no spread" for NaN."""
    if seeds == 0:
        return "not run"
    if np.isnan(spreads):
        return "no spread"
    return "reproduced" if abs(spreads) <= FAR else "not reproduced"
