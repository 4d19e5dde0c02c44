"""The paper: its settings, and its numbers as they are printed.

`printed/` has the numbers, transcribed; its README says what each column is, and `layout` which
table each belongs to.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pamal_companion.experiments.options import OPTIONS, options_of
from pamal_companion.runs.methods import METHODS, affects
from pamal_companion.runs.options import Options
from pamal_companion.study.statistics import Sample
from pamal_core.errors import check_choice
from pamal_core.front import Front
from pamal_core.objectives import Objective

FOLDER = Path(__file__).parent / "printed"

DATA = {name: options.title for name, options in OPTIONS.items()}
TASKS = {name: options.task_names for name, options in OPTIONS.items() if options.task_names}
PRINTED = {name: row.printed for name, row in METHODS.items()}
ONE_NETWORK = [name for name, row in METHODS.items() if row.one_network]
"""The methods that end with one network for all tasks."""


@cache
def options_of_run(experiment: str, method: str) -> Mapping[str, Any]:
    """Return every option of a run as the paper has it; what its method does not use has the common
    default."""
    options = options_of(experiment)
    usual = options.defaults_of(method) | dict(options.of_the_paper)
    used = {name: key_of(value) for name, value in usual.items() if affects(name, method)}
    return Options.defaults_of(method) | used


def key_of(value: Any) -> Any:
    """Return `value` with tuples for its lists, so that it can be a key."""
    return tuple(map(key_of, value)) if isinstance(value, list) else value


SEEDS = 3
"""The number of seeds of the paper's tables."""


def table(name: str) -> pd.DataFrame:
    """Return the file `name`, such as "hypervolume"; an empty cell is NaN. InputError for an
    unknown name."""
    check_choice("name", name, sorted(path.stem for path in FOLDER.glob("*.csv")))
    return pd.read_csv(FOLDER / f"{name}.csv")


@cache
def authors(split: str = "test") -> pd.DataFrame:
    """Return the authors' own accuracies on MultiMNIST, published with a later paper: a row for
    each seed, task (1 or 2) and, for PaMaL, alpha_1; methods by our names."""
    found = table("authors_multimnist").query("split == @split and metric == 'accuracy'")
    return found.replace({"method": {"nashmtl": "nash_mtl", "autol": "auto_lambda"}})


@cache
def authors_fronts(split: str = "test") -> Mapping[str, Mapping[int, Front]]:
    """Return `authors` as fronts, by method and seed."""
    tasks = [f"{task}/accuracy" for task in TASKS["multimnist"]]
    objectives = tuple(Objective(task, True) for task in tasks)
    rows = authors(split).assign(share=lambda found: -found.alpha_1.fillna(1))
    fronts: dict[str, dict[int, Front]] = {}
    for (method, seed), of_run in rows.groupby(["method", "seed"]):
        table = of_run.pivot(index="share", columns="task", values="value").set_axis(tasks, axis=1)
        alphas = np.c_[-table.index, 1 + table.index]
        front = Front(alphas, table.reset_index(drop=True), objectives)
        fronts.setdefault(method, {})[int(seed)] = front
    return fronts


def authors_volumes(method: str, split: str = "test") -> Sample:
    """Return the hypervolume from 0 of a seed of the authors', over their seeds."""
    fronts = authors_fronts(split).get(method, {}).values()
    return Sample.of([front.hypervolume([0.0, 0.0]) for front in fronts])
