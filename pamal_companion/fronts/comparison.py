"""Fronts judged against each other."""

from collections.abc import Mapping

import moocore
import numpy as np
import pandas as pd

from pamal_companion.fronts.volume import hypervolume
from pamal_core.errors import InputError, check_type
from pamal_core.front import Front
from pamal_core.objectives import PerObjective, check_same_objectives


def compare(fronts: Mapping[str, Front], reference: PerObjective | None = None) -> pd.DataFrame:
    """Return a row for each of `fronts`, by its name, judged against the others together.

    - `fronts`: at least two with the same objectives, such as {"PaMaL": front, "LS": baseline}.
    - `reference`: of the hypervolumes, as `Front.hypervolume` takes it. By default each objective's
      own, or if it has none, the worst value over the non-dominated points of all.

    The columns, in the units of the objectives:

    - "hypervolume" (higher is better);
    - "additive epsilon" (lower is better), the least that must be added to each objective to reach
      all of the others;
    - "IGD+" (lower is better; units should be alike), the mean distance by which the others are
      ahead;
    - "attained" (higher is better), the share of the others' non-dominated points for which this
      front has a point that is as good in every objective.

    Raises InputError for one front, for unlike objectives, and for a `reference` that lacks one.
    """
    check_type("fronts", fronts, Mapping, '{"PaMaL": front, "LS": baseline}')
    if len(fronts) < 2:
        raise InputError(f"A comparison needs two fronts or more. Found {', '.join(fronts)}.")
    check_same_objectives(fronts.values())
    finite = {name: front.finite() for name, front in fronts.items()}
    points = {name: front.values[front.non_dominated()] for name, front in finite.items()}
    first = next(iter(finite.values()))
    up = np.array(first.maximise)
    if reference is None:
        every = np.concatenate([*points.values()])
        worst = np.where(up, every.min(0), every.max(0))
        reference = np.where(np.isnan(first.reference), worst, first.reference)
    rows = {}
    for name, ours in points.items():
        theirs = np.concatenate([values for other, values in points.items() if other != name])
        theirs = theirs[moocore.is_nondominated(theirs, maximise=up, keep_weakly=True)]
        reached = np.where(up, ours >= theirs[:, None], ours <= theirs[:, None])
        rows[name] = {
            "hypervolume": hypervolume(finite[name], reference),
            "additive epsilon": moocore.epsilon_additive(ours, theirs, maximise=up),
            "IGD+": moocore.igd_plus(ours, theirs, maximise=up),
            "attained": reached.all(2).any(1).mean(),
        }
    return pd.DataFrame(rows).T
