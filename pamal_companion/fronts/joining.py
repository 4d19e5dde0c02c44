"""The points of several fronts as one front."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import check_same_objectives


def union(*fronts: Front) -> Front:
    """Return all points as one front, with a column "run": 0 for the points of the first front, 1
    for the points of the next. The runs of a front that is a union itself count on.

    If the networks differ in `num_members` or `task_weights`, the alphas are how much each point
    prefers each objective. `plot` draws no line through the points. Raises InputError for no front,
    for unlike objectives, and for a column "run" that is not of numbers.
    """
    if not fronts:
        raise InputError("A union needs a front or more. Found none.")
    check_same_objectives(fronts)
    tables, num_runs = [], 0
    for front in fronts:
        runs = front.table.get("run", pd.Series(0, front.table.index))
        is_whole = pd.api.types.is_numeric_dtype(runs) and bool((runs % 1 == 0).all())
        if not is_whole or (runs < 0).any():
            raise InputError(
                "The column `run` of a front in a union must count its runs from 0: give another "
                f"name to a column of your own. Found {runs.iloc[0]!r}."
            )
        tables.append(front.table.assign(run=runs + num_runs))
        num_runs += int(runs.max()) + 1
    alphas, task_weights = [front.alphas for front in fronts], fronts[0].task_weights
    if not all(np.array_equal(front.matrix, fronts[0].matrix) for front in fronts):
        alphas, task_weights = [front.preferences for front in fronts], None
    return replace(
        fronts[0],
        alphas=np.concatenate(alphas),
        table=pd.concat(tables, ignore_index=True),
        task_weights=task_weights,
        is_union=True,
    )
