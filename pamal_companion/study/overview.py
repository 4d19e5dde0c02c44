"""The main columns of all that was measured: a row for each setting and split."""

from typing import Any

import pandas as pd

from pamal_companion.runs.methods import METHODS
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.statistics import Sample, spread


def table(runs: Runs) -> pd.DataFrame:
    """Return a row for each setting that trained networks, and each split it was measured on: the
    options that differ from the paper's, its seeds, and mean ± deviation over these of its
    hypervolume and of the best that its networks reach on each task, by its `objectives`."""
    known = objectives(runs)
    rows = []
    for setting in sorted((one for one in runs if one.experiment in known), key=_place):
        measures = {"hypervolume": "hypervolume"}
        measures |= {f"task {k}": name for k, name in enumerate(known[setting.experiment], 1)}
        about = {
            "data": paper.DATA.get(setting.experiment, setting.experiment),
            "method": paper.PRINTED.get(setting.method, setting.method),
            "options": setting.name("epochs").partition(", ")[2],
            "epochs": setting.values["epochs"],
        }
        for split in frame.SPLITS:
            numbers = {
                column: frame.measured(runs, setting, measure, split)
                for column, measure in measures.items()
            }
            if seeds := max(map(len, numbers.values())):
                means = {column: spread(Sample.of(found)) for column, found in numbers.items()}
                rows.append({**about, "split": split, "seeds": seeds, **means})
    return pd.DataFrame(rows).fillna("").set_index("data")


def objectives(runs: Runs) -> dict[str, list[str]]:
    """Return the objectives of the networks of each experiment, one for each task. The toy
    problem, whose data are a formula, has no networks, and STL has one task."""
    found: dict[str, list[str]] = {}
    for (experiment, method, _), by_seed in runs.items():
        run = next(iter(by_seed.values()))
        if experiment not in found and method != "stl" and run.data != "formula":
            found[experiment] = [*run.objectives]
    return found


def _place(setting: Setting) -> tuple[Any, ...]:
    """Return where a setting stands: by experiment and method as the tables have them, those that
    differ in W and lambda alone first."""
    (experiment, method, options), values = setting, setting.values
    return (
        [*paper.DATA, experiment].index(experiment),
        experiment,
        [*METHODS, method].index(method),
        method,
        len(dict(options).keys() - {"W", "lam"}),
        *(values[name] if method == "pamal" else 0 for name in ("W", "lam")),
        setting.label(),
    )
