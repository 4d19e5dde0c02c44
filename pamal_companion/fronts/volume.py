"""Hypervolumes in many objectives, whose exact value takes long."""

import warnings

import moocore
import numpy as np

from pamal_core.front import Front
from pamal_core.objectives import PerObjective, by_objective

LONG = 1e11
"""Bound on n^(T-2), for n points in T > 4 objectives, above which a hypervolume is approximate."""


def hypervolume(front: Front, reference: PerObjective | None = None) -> float:
    """Return `front.hypervolume(reference)`, or `approximate_hypervolume`, with a warning, if the
    exact one takes long.

    It is exact for T <= 4, and for n non-dominated points with n^(T-2) <= 10^11: 68 in eight
    objectives.
    """
    ref, front = _reference(front, reference), front.finite()
    num_points, num_tasks = int(_inside(front, ref).sum()), len(ref)
    if num_tasks <= 4 or float(num_points) ** (num_tasks - 2) <= LONG:
        return front.hypervolume(ref)
    warnings.warn(
        f"The hypervolume of {num_points} points in {num_tasks} objectives is approximate, to "
        "about 1%; `front.hypervolume` waits for the exact one.",
        stacklevel=2,
    )
    return approximate_hypervolume(front, ref)


def approximate_hypervolume(front: Front, reference: PerObjective | None = None) -> float:
    """Return the volume between the points and `reference`, as `Front.hypervolume` takes it, by
    `moocore.hv_approx`: within about 1%, in less than a second. Higher is better."""
    ref, front = _reference(front, reference), front.finite()
    inside = _inside(front, ref)
    if not inside.any():
        return 0.0
    beyond = (front.values[inside] - ref) * np.where(front.maximise, 1, -1)
    span = beyond.max(0)  # the approximation draws directions, which must not depend on units
    share = moocore.hv_approx(beyond / span, ref=np.zeros(len(ref)), maximise=True)
    return float(share * span.prod())


def _reference(front: Front, reference: PerObjective | None) -> np.ndarray:
    given = front.reference if reference is None else reference
    return by_objective(front.objectives, "reference", given)


def _inside(front: Front, ref: np.ndarray) -> np.ndarray:
    """Return which points add volume: bool [P]."""
    is_better = front.better > np.where(front.maximise, ref, -ref)
    return front.non_dominated() & is_better.all(1)
