"""Fronts of three objectives in space, as in the paper's Figures 5, 18 and 22."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from pamal_companion.plots import captions, style
from pamal_companion.plots.ternary import KEPT, MEMBERS, POINTS, few_ticks, member_names, net
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
        _draw(ax, front)
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


def _draw(ax: Any, front: Front) -> None:
    """Draw the networks of a front as points in space, and the net that joins them."""
    if len(front.objectives) != 3 or not all(front.maximise):
        raise InputError(
            "A front in space needs three objectives, of all of which higher is better. Found "
            f"{', '.join(o.name for o in front.objectives)}."
        )
    kept, member = front.non_dominated(), front.alphas.max(1) == 1
    blue: dict[str, Any] = {"s": 14, "edgecolors": POINTS, "depthshade": False}
    ax.plot(*net(front).T, color=style.COLOURS["other"], lw=0.5)
    ax.scatter(*front.values[kept & ~member].T, c=POINTS, label=KEPT, **blue)
    hollow = {"c": style.PAPER, "label": "dominated", **blue}
    ax.scatter(*front.values[~kept & ~member].T, **hollow)
    marks = zip(np.eye(3), member_names(front), "^<>", MEMBERS, strict=True)
    for alpha, name, marker, colour in marks:
        point = front.values[(front.alphas == alpha).all(1).argmax()]
        look: dict[str, Any] = {"s": 60, "c": colour, "marker": marker, "depthshade": False}
        ax.scatter(*point, label=f"member of {style.literal(name)}", **look)
