"""How much of a known Pareto front a curve in loss space covers. No torch here."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree


class Coverage(NamedTuple):
    """Two distances in the units of the losses, lower is better; infinite for a curve that is not
    finite.

    `gap` is the largest distance from a point of the front to the curve, `excess` the largest from
    a point of the curve to the front.
    """

    gap: float
    excess: float

    def verdict(self, within: float) -> Literal["exact", "superset", "subset", "off"]:
        """The curve covers the front within that distance and ends with it ("exact") or goes on
        ("superset"), or it covers only a part ("subset"), or leaves the front besides ("off")."""
        if self.gap <= within:
            return "exact" if self.excess <= within else "superset"
        return "subset" if self.excess <= within else "off"


def coverage(front: Float[np.ndarray, "K T"], curve: Float[np.ndarray, "I T"]) -> Coverage:
    """Compare dense samples of a front and of a curve.

    Distances are taken to the nearest sample, so they exceed those to the curve between the samples
    by at most half the distance of two neighbours.
    """
    if not np.isfinite(curve).all():
        return Coverage(np.inf, np.inf)
    gap = KDTree(curve).query(front)[0].max()
    excess = KDTree(front).query(curve)[0].max()
    return Coverage(float(gap), float(excess))
