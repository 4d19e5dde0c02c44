"""What methods attain over seeds, for two objectives."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pamal_core.front import Front, attained
from pamal_core.plots import style
from pamal_core.plots.fronts import fit_axes, name_axes

HATCHES = ("", "///", "\\\\\\", "...")


def attainment_figure(methods: Mapping[str, Sequence[Front]], provenance: str) -> Figure:
    """For each method, by name, the empirical attainment surfaces of its fronts, one per seed.

    What lies below and left of the line at least half of the seeds attain; the band runs from what
    all attain to what one does. Both objectives are better when higher.
    """
    methods = {name: [one.finite() for one in every] for name, every in methods.items()}
    figure, ax = plt.subplots(figsize=(7, 5))
    fronts = [front for of_method in methods.values() for front in of_method]
    fit_axes(ax, np.concatenate([front.values[front.non_dominated()] for front in fronts]))
    looks = zip(methods.items(), style.colours(len(methods)), cycle(HATCHES))
    left, below = ax.get_xlim()[0], ax.get_ylim()[0] - 1.0  # out of sight
    for (name, of_method), colour, hatch in looks:
        surfaces = [attained(of_method, share) for share in (1 / len(of_method), 0.5, 1.0)]
        grid = np.unique([left, *(x for surface in surfaces for x in surface[:, 0])])
        # The best second objective that goes with at least each value of the first.
        one, half, every = (
            np.where(s[:, 0] >= grid[:, None], s[:, 1], below).max(1) for s in surfaces
        )
        # At x itself the height is that of the first corner at or right of x: hence "pre".
        band: dict[str, Any] = {"x": grid, "y1": every, "y2": one, "step": "pre", "lw": 0}
        ax.fill_between(**band, color=colour, alpha=0.25)
        # The hatch is a layer of its own: in SVG one on a fill of its colour is not seen.
        ax.fill_between(**band, facecolor="none", edgecolor=colour, hatch=hatch, alpha=0.6)
        ax.step(grid, half, where="pre", color=colour, lw=2, label=name)
    name_axes(ax, fronts[0])
    return style.finish(figure, provenance, ncols=min(len(methods), 4))
