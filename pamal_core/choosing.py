"""Choosing one point of a front. No torch here."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import moocore
import numpy as np

from pamal_core.errors import InputError, is_number

if TYPE_CHECKING:
    from pamal_core.front import Front

Weights = Mapping[str, float | int] | Sequence[float | int] | np.ndarray
"""One number >= 0 per objective, by name or in their order."""
Bounds = Mapping[str, float | int]
"""Columns of a front's table and the least, or the most, that is accepted of each."""
Missed = dict[tuple[str, str], np.ndarray]
"""For the column and the words of each bound by how much each point misses it [P], inf where it is
not finite."""
LOWER, HIGHER = ("loss", "error"), ("accuracy", "IoU")
"""How the names of metrics end that are better the lower, or the higher, they are."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What `Front.choose` chose: the alpha [M], its row in the front, counted from 0, and all its
    metrics."""

    alpha: np.ndarray
    row: int
    metrics: dict[str, float]


def choose(
    front: "Front", weights: Weights | None, at_least: Bounds, at_most: Bounds, knee: bool
) -> Choice:
    """See `Front.choose`."""
    finite, rows = front.finite(), np.flatnonzero(front.is_finite)
    better = finite.better
    kept = finite.non_dominated()
    low, span = better[kept].min(0), np.ptp(better[kept], axis=0)
    scaled = _weights(front, weights) * ((better - low) / np.where(span > 0, span, 1))
    missed = _missed(finite, "at_least", at_least) | _missed(finite, "at_most", at_most)
    _warn_of_the_wrong_side(finite, at_least, at_most)
    met = np.flatnonzero(sum(missed.values(), np.zeros(len(better))) == 0)
    if not len(met):
        raise InputError(_conflict(finite, rows, missed))
    # An objective of weight 0 leaves points alike of which one dominates the other.
    met = met[moocore.is_nondominated(better[met], maximise=True, keep_weakly=True)]
    score = _trade_off(scaled[met], scaled[kept]) if knee else scaled[met].sum(1)
    row = int(rows[met[score.argmax()]])
    return Choice(front.alphas[row].copy(), row, front.table.iloc[row].to_dict())


def _trade_off(points: np.ndarray, front: np.ndarray) -> np.ndarray:
    """What the cheapest move from each point to another of the front loses per unit it gains
    (Rachmawati and Srinivasan, 2009); inf where no move gains anything."""
    scores = []
    for point in points:
        lost, gained = (np.clip(d, 0, None).sum(1) for d in (point - front, front - point))
        scores.append((lost[gained > 0] / gained[gained > 0]).min(initial=np.inf))
    return np.array(scores)


def _weights(front: "Front", weights: Weights | None) -> np.ndarray:
    names = [o.name for o in front.objectives]
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        given = [weights[name] for name in names] if {*weights} == {*names} else []
    else:
        given = [*weights] if isinstance(weights, Sequence | np.ndarray) else []
    right = len(given) == len(names) and all(is_number(w) and w >= 0 for w in given) and any(given)
    if not right:
        raise InputError(
            f"`weights` must be finite numbers >= 0, not all 0, one for each of {names}, by name "
            f"or in this order. Found {weights!r}."
        )
    return np.array(given, dtype=float)


def _missed(front: "Front", side: str, limits: Bounds) -> Missed:
    missed = {}
    if not isinstance(limits, Mapping):
        raise InputError(f"`{side}` must be a dict of columns and bounds. Found {limits!r}.")
    for name, limit in limits.items():
        if name not in front.table:
            raise InputError(f"A bound must name one of {[*front.table]}. Found {name!r}.")
        values = front.table[name].to_numpy(float)
        if not (is_number(limit) and np.isfinite(values).any()):
            raise InputError(
                f"A bound must be a finite number, of a column with some. Found {limit!r} for "
                f"{name}, {np.isfinite(values).sum()} of whose {len(values)} values are finite."
            )
        short = np.clip(limit - values if side == "at_least" else values - limit, 0, None)
        text = f"{name} {side.replace('_', ' ')} {limit:.4g}"
        missed[name, text] = np.where(np.isfinite(values), short, np.inf)
    return missed


def _warn_of_the_wrong_side(front: "Front", at_least: Bounds, at_most: Bounds) -> None:
    """A warning for each column that is bounded on the side that is better, and only there."""
    known = [name for name in front.table if name.endswith(LOWER + HIGHER)]
    maximise = {name: name.endswith(HIGHER) for name in known}
    maximise |= {o.name: o.maximise for o in front.objectives}
    sides = ("at_least", "below", "lower", "at_most"), ("at_most", "above", "higher", "at_least")
    for name in [name for name in front.table if (name in at_least) != (name in at_most)]:
        if maximise.get(name) == (name in at_most):
            side, place, good, other = sides[name in at_most]
            warnings.warn(
                f"`{side}` bounds {name} from {place}, where {good} is better: `{other}` is the "
                "bound that keeps it good.",
                stacklevel=4,
            )


def _conflict(front: "Front", rows: np.ndarray, missed: Missed) -> str:
    """Which bounds no point meets, alone or in pairs, and the point that misses them by least, in
    shares of the extent of each column."""
    by_text = {text: short for (_, text), short in missed.items()}
    alone = [f"{text} (by {s.min():.2g} or more)" for text, s in by_text.items() if s.min()]
    met = {text: short for text, short in by_text.items() if not short.min()}
    both = [(a, b) for a, b in combinations(met, 2) if (met[a] + met[b]).min()]
    pairs = [f"{a} together with {b}" for a, b in both]
    every = [f"all of {', '.join(by_text)}, though any two of them are met"]
    reasons = alone + pairs or every
    more = [f"{len(reasons) - 3} more"] * (len(reasons) > 3)
    columns = [front.table[name].to_numpy(float) for name, _ in missed]
    extents = [np.ptp(column[np.isfinite(column)]) or 1.0 for column in columns]
    far = sum(short / extent for short, extent in zip(missed.values(), extents, strict=True))
    best = int(np.argmin(far))
    found = [
        f"{name} {front.table[name].iloc[best]:.4g}"
        + (f" ({short[best]:.2g} off)" if short[best] else "")
        for (name, _), short in missed.items()
    ]
    return (
        f"No point of the front meets {'; nor '.join(reasons[:3] + more)}. The nearest is row "
        f"{rows[best]}, alpha {front.alphas[best].round(3).tolist()}: {', '.join(found)}."
    )
