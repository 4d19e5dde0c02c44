"""Attainment surfaces: what a share of several runs reaches."""

from collections.abc import Sequence

import moocore
import numpy as np

from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import check_same_objectives


def attained(fronts: Sequence[Front], share: float) -> np.ndarray:
    """Return the empirical attainment surface of `fronts`, each from another seed: the corners
    [K, T] of what at least `share` of them reach or surpass, in the units of the objectives.

    - `share`: above 0, up to 1. A front counts once, however many points it has.

    Raises InputError for no front, and for unlike objectives.
    """
    if not len(fronts):
        raise InputError("An attainment surface needs a front or more. Found none.")
    check_same_objectives(fronts)
    fronts = [front.finite() for front in fronts]
    points = np.concatenate([-front.better for front in fronts])  # `eaf` takes less as better
    sets = np.repeat(np.arange(len(fronts)), [len(front) for front in fronts])
    corners = moocore.eaf(points, sets, percentiles=[100 * share])[:, :-1]
    return corners * np.where(fronts[0].maximise, -1, 1)
