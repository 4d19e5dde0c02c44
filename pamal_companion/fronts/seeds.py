"""Means over seeds, and their intervals."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from pamal_companion.fronts.attainment import attained
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import check_same_objectives


class OverSeeds(NamedTuple):
    """Hold what several runs achieve: the mean of each point, half the width of the 95% interval of
    each mean (Student's t, a row per point), and the corners [K, T] of what at least half of the
    runs attain. K is 0 unless there are two or three objectives."""

    mean: Front
    half_width: pd.DataFrame
    attained: np.ndarray

    def table(self, digits: int = 3) -> pd.DataFrame:
        """Return a row of text for each point, "mean ± half width" of each objective to so many
        digits, as `DataFrame.to_latex` takes it. Its alpha goes before, if there are several
        members."""
        names = [objective.name for objective in self.mean.objectives]
        values, widths = self.mean.table[names], self.half_width[names]
        rows = {
            name: [
                f"{value:.{digits}f} ± {width:.{digits}f}"
                for value, width in zip(values[name], widths[name], strict=True)
            ]
            for name in names
        }
        alphas = {name: self.mean.to_frame()[name] for name in self.mean.alpha_names}
        if len(alphas) == 1:  # one network, whose only share is 1
            return pd.DataFrame(rows)
        return pd.DataFrame(alphas | rows)


def over_seeds(fronts: Iterable[Front]) -> OverSeeds:
    """Return the means of `fronts`, half the width of their 95% intervals, and the surface that
    half of them attain, as `OverSeeds` has them.

    - `fronts`: at least two with the same alphas, each from another seed.

    Columns of texts, such as a name of the run, have no mean and are left out. A warning names the
    first point that has no mean because a value is not finite. Raises InputError for fewer fronts,
    for unlike alphas, `task_weights`, objectives or columns, and if no point has a mean.
    """
    fronts = [*fronts]
    if fronts:
        check_same_objectives(fronts)
    are_alike = all(
        np.array_equal(front.alphas, fronts[0].alphas)
        and np.array_equal(front.matrix, fronts[0].matrix)
        for front in fronts
    )
    if len(fronts) < 2 or not are_alike:
        raise InputError(
            "Means over seeds need two fronts or more, all with the same alphas and `task_weights`."
        )
    first = fronts[0]
    for front in fronts[1:]:
        if others := {*first.table} ^ {*front.table}:
            raise InputError(
                "Means over seeds need fronts with the same columns. Found "
                f"{', '.join(sorted(others))} in some of them alone."
            )
    of_numbers = [{*front.table.select_dtypes("number")} for front in fronts]
    columns = [name for name in first.table if all(name in names for names in of_numbers)]
    tables = np.stack([front.table[columns].to_numpy(float) for front in fronts])
    with np.errstate(invalid="ignore"):  # of an infinite value
        half_width = stdtrit(len(fronts) - 1, 0.975) * tables.std(0, ddof=1) / len(fronts) ** 0.5
    mean = replace(first, table=pd.DataFrame(tables.mean(0), columns=columns))
    mean.finite()  # for its warning
    corners = np.empty((0, len(first.objectives)))
    if len(first.objectives) in (2, 3):
        corners = attained(fronts, 0.5)
    return OverSeeds(mean, pd.DataFrame(half_width, columns=columns), corners)
