"""Choosing a point of a front by bounds, by weights, or by the task that is to be best."""

import warnings
from typing import Any

import numpy as np

from pamal_core.errors import InputError, check_choice, is_number
from pamal_core.front import Front
from pamal_core.objectives import Bounds, PerObjective, Point, by_objective


def choose(
    front: Front, best: str | None, at_least: Bounds, at_most: Bounds, weights: PerObjective | None
) -> Point:
    """Return the point of `Front.choose`, among those with finite objectives."""
    finite, rows = front[front.is_finite], np.flatnonzero(front.is_finite)
    misses = _misses(finite, _bounds("at_least", at_least), _bounds("at_most", at_most))
    met = np.flatnonzero(sum(misses.values(), np.zeros(len(finite))) == 0)
    if not len(met):
        unmet = [text for text, short in misses.items() if short.min() > 0]
        nearest = np.sum([*misses.values()], axis=0).argmin()
        raise InputError(
            f"No point of the front meets {' nor '.join(unmet) or ' and '.join(misses)}. The "
            f"nearest is row {rows[nearest]}, with {finite.table.round(4).iloc[nearest].to_dict()}."
        )
    better = finite.better
    # With a weight of 0, a dominated point could tie with the one that dominates it.
    met = met[finite[met].kept()]
    shares, differs = scaled(finite, better[met])
    ranks = [*np.sort(shares).T]  # the worst objective of each point, the second worst, ...
    if weights is not None:
        importance = by_objective(front.objectives, "weights", weights)
        if (importance < 0).any() or not importance.any():
            raise InputError(f"`weights` must be numbers >= 0, not all 0. Found {weights!r}.")
        ranks = [(importance[differs] * shares).sum(1)]
    if best is not None:
        names = [objective.name for objective in front.objectives]
        column = front.column(best) if isinstance(best, str) else best
        check_choice("best", column, names)
        ranks.insert(0, better[met, names.index(column)])
    # The last key counts most; of equal points the first is taken.
    order = np.lexsort([-rank for rank in reversed(ranks)]) if ranks else [0]
    return front[rows[met[order[0]]]]


def scaled(front: Front, better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale points between the worst and the best non-dominated points of `front`.

    - `better`: [P, T], with the signs with which higher is better.

    Returns the points, scaled to 0 at the worst and 1 at the best, on the D objectives that differ:
    [P, D]; and which objectives these are: bool [T]. If all non-dominated points are alike in an
    objective, its scale is that of these and of the points in `better`.
    """
    kept = front[front.kept()].better
    every = np.vstack([kept, better])
    alike = np.ptp(kept, axis=0) == 0
    low = np.where(alike, every.min(0), kept.min(0))
    span = np.where(alike, every.max(0), kept.max(0)) - low
    differs = span > 0
    return (better - low)[:, differs] / span[differs], differs


def spread(front: Front, number: int) -> np.ndarray:
    """Return the rows of at most `number` non-dominated points that are far from each other: the
    one of `choose` without wishes, the best of each task, and then each time the farthest."""
    rows = np.flatnonzero(front.kept())
    shares, _ = scaled(front[rows], front.better[rows])
    first = choose(front[rows], None, {}, {}, None).row
    chosen = [*dict.fromkeys([first, *shares.argmax(0).tolist()])][:number]
    while len(chosen) < min(number, len(rows)):
        distances = np.linalg.norm(shares[:, None] - shares[chosen], axis=2).min(1)
        distances[chosen] = -1
        chosen.append(int(distances.argmax()))
    return np.asarray(rows[chosen])


def _bounds(side: str, bounds: Any) -> dict[str, Any]:
    """Return the `bounds` of a `side` as a dict. Raise InputError unless they are a mapping."""
    try:
        return dict(bounds)
    except (TypeError, ValueError):
        raise InputError(
            f'`{side}` must have a number for each bound, by name, such as {{"price": 0.9}}. '
            f"Found {bounds!r}."
        ) from None


def _misses(front: Front, at_least: Bounds, at_most: Bounds) -> dict[str, np.ndarray]:
    """Return for each bound, in words, by what share of the extent of its column each point misses
    it: [P], 0 if the bound is met, inf if there is no number."""
    known, misses = front.known, dict[str, np.ndarray]()
    bounds = {"at_least": at_least, "at_most": at_most}
    for side, other, sign in ("at_least", "at_most", 1), ("at_most", "at_least", -1):
        bounded = {*map(front.column, bounds[other])}
        for given, limit in bounds[side].items():
            name = front.column(given)
            if name not in front.table or not is_number(limit):
                raise InputError(
                    f"A bound must be a finite number, and name one of {[*front.table]}. "
                    f"Found {limit!r} for {given!r}."
                )
            if name in known and known[name].maximise != (sign > 0) and name not in bounded:
                way, good = ("below", "lower") if sign > 0 else ("above", "higher")
                warnings.warn(
                    f"`{side}` bounds {name} from {way}, where {good} is better: `{other}` is "
                    "the bound that keeps it good.",
                    stacklevel=4,  # the caller of `Front.choose`
                )
            column = front.table[name].to_numpy(float)
            numbers = column[np.isfinite(column)]
            extent = np.ptp(numbers) if len(numbers) else 0.0
            short = np.clip(sign * (limit - column), 0, None) / (extent or 1.0)
            text = f"{name} {side.replace('_', ' ')} {limit:.4g}"
            missed = np.where(np.isfinite(column), short, np.inf)
            misses[text] = np.maximum(misses.get(text, 0.0), missed)  # two may be rounded alike
    return misses
