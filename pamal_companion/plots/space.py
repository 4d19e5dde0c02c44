"""Fronts of three objectives in space, as in the paper's Figures 5, 18 and 22."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from pamal_companion.plots import captions, style
from pamal_companion.plots.ternary import draw_networks, few_ticks
from pamal_core.errors import InputError
from pamal_core.front import Front

COLUMNS = 3
FROM: dict[str, Any] = {"elev": 22, "azim": 50}
"""Point of view: the corner that is best in all three objectives is nearest."""


@style.twice
def space_figure(fronts: Mapping[str, Front], provenance: str) -> Figure:
    """Draw fronts by their titles, each in a panel in space, on equal axes: a network is a point,
    joined to its neighbours in the triangle. Raise InputError unless each front is a whole lattice
    of three members with three objectives, of all of which higher is better."""
    columns = 1 if style.on_phone() else COLUMNS
    rows = -(-len(fronts) // columns)
    size = (style.width(), 0.4 + (3.2 if style.on_phone() else 2.6) * rows)
    # The layout does not know of names beside an axis in space.
    layout = ConstrainedLayoutEngine(rect=(0.05, 0, 0.95, 1))
    how: dict[str, Any] = {"figsize": size, "layout": layout, "squeeze": False}
    how["subplot_kw"] = {"projection": "3d"}
    with plt.rc_context({"grid.color": to_rgba(style.INK, 0.15)}):  # read as axes are made
        figure, axes = plt.subplots(rows, columns, **how)
    every = np.concatenate([front.values[front.is_finite] for front in fronts.values()])
    margin = 0.05 * np.ptp(every, axis=0)
    limits = np.stack([every.min(0) - margin, every.max(0) + margin], axis=1)
    for ax in axes.flat[len(fronts) :]:
        ax.set_axis_off()
    for ax, (title, front) in zip(axes.flat, fronts.items(), strict=False):
        if len(front.objectives) != 3 or not all(front.maximise):
            raise InputError(
                "A front in space needs three objectives, of all of which higher is better. Found "
                f"{', '.join(o.name for o in front.objectives)}."
            )
        draw_networks(ax, front, range(3), 60, depthshade=False)
        for axis, objective, ends in zip("xyz", front.objectives, limits, strict=True):
            getattr(ax, f"set_{axis}lim")(*ends)
            getattr(ax, f"set_{axis}label")(
                style.literal(objective.task), labelpad=6 if axis == "z" else 0
            )
            its = getattr(ax, f"{axis}axis")
            its.set_pane_color((0, 0, 0, 0))
            its.set_tick_params(pad=3 if axis == "z" else -1)
            few_ticks(its, objective)
        ax.view_init(**FROM)
        ax.set_box_aspect((1, 1, 0.85), zoom=0.9)
        ax.set_title(style.literal(title), loc="center", y=0.95)
    named = ", ".join(objective.words for objective in front.objectives)
    words = captions.bend(fronts.values())
    words += f"Axes: {named}. Each point is one network, joined to its neighbours in the triangle."
    words += " The corner that is nearest to you is the best in all three."
    tight = {"columnspacing": 1, "handletextpad": 0.3}
    return style.finish(figure, provenance, None, words, ncols=5, **tight)
