"""What a choice changes that the paper leaves open: pairs of runs that differ in one option.

`workflow/choices.csv` has a row for each pair: the option, our default, another value, and the
names of the runs with the two. No torch here.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study.beyond import groups
from pamal_core.study.pairs import differences


def hypervolumes(results: Path) -> pd.DataFrame:
    """The hypervolume on validation, higher is better, of each pair in the folder `results`: means
    with our default and with the other value, and their difference, its mean and with each seed;
    "not run" where no seed has both."""
    return _table(results, grid.read("choices"), Record.hypervolume)


def orders(results: Path) -> pd.DataFrame:
    """The same for the rank correlation of how much a point of the front cares about a task with
    its loss on validation, a mean over tasks: -1 is a front in order. Of PaMaL alone."""
    fronts = [row for row in grid.read("choices") if row["data"].startswith("PaMaL")]
    return _table(results, fronts, Record.order)


def _table(
    results: Path, rows: list[dict[str, str]], measure: Callable[[Record], float]
) -> pd.DataFrame:
    pairs = {
        str(k): (_by_seed(results, row["one"], measure), _by_seed(results, row["two"], measure))
        for k, row in enumerate(rows)
    }
    # Of three seeds the interval is the range of the differences, which stand beside it.
    found = differences(pairs, ("default", "other")).drop(columns="95 %", errors="ignore")
    values = [f"{row['option']}: {row['default']} → {row['other']}" for row in rows]
    found.insert(0, "option", values)
    found.insert(0, "runs", [row["data"] for row in rows])
    return found.set_index(pd.Index([row["topic"] for row in rows]))


def _by_seed(results: Path, name: str, measure: Callable[[Record], float]) -> dict[int, float]:
    return {seed: measure(run.records[0]) for seed, run in groups(results, name).items()}
