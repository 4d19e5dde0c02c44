"""Fronts of three members, as in the paper's Figure 5: a map of each objective over the simplex,
and the front itself in three dimensions."""

from collections.abc import Mapping
from math import isqrt
from typing import Any

import mpltern  # noqa: F401  # brings the projection "ternary"
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pamal_core.errors import InputError
from pamal_core.front import Front, Objective
from pamal_core.plots import style
from pamal_core.plots.fronts import names
from pamal_core.simplex import lattice

KEPT, BEST = "not dominated", "best of this objective"
MEMBERS = ("#D55E00", "#009E73", "#CC79A7")
VIEWS = ((22, 45), (22, -15))  # elevation and azimuth in degrees
# The corners of the part of the plane nearest to a point of the lattice with spacing 1, about the
# point: the centres of the six triangles that meet there, in order around it.
HEXAGON = np.array([(2, -1, -1), (1, 1, -2), (-1, 2, -1), (-2, 1, 1), (-1, -1, 2), (1, -2, 1)]) / 3


def cells(alphas: np.ndarray) -> np.ndarray:
    """The part of the plane nearest to each point of a lattice, hexagons [P, 6, 3] in barycentric
    coordinates; those at the rim reach out of the triangle.

    `alphas` [P, 3] is a whole lattice as `simplex.lattice` makes it, in any order. InputError for
    anything else.
    """
    return alphas[:, None] + HEXAGON / _steps(alphas)


def triangles_figure(fronts: Front | Mapping[str, Front], provenance: str) -> Figure:
    """One triangle per objective, each point of the lattice a cell with the colour of its value. Of
    several fronts, by their titles, each has a row; an objective has the same colours in all.

    Yellow is better whatever the direction of the objective. Corners are the members, the first on
    top, then left and right. White dots are the points of a front that are not dominated, the star
    is the best on this objective. InputError unless each is a whole lattice of three members.
    """
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    count = len(next(iter(titled.values())).objectives)
    every = np.concatenate([front.values for front in titled.values()])
    every = np.where(np.isfinite(every), every, np.nan)
    figure = plt.figure(figsize=(3.5 * count, 0.7 + 3 * len(titled)))
    last = [*titled.values()][-1]
    columns: list[list[Any]] = [[] for _ in range(count)]
    for row, (title, front) in enumerate(titled.items()):
        kept, members = front.non_dominated(), _members(front)
        for t, objective in enumerate(front.objectives):
            place = (len(titled), count, row * count + t + 1)
            ax: Any = figure.add_subplot(*place, projection="ternary")
            # A point with any objective that is not finite is a blank cell.
            values = np.where(front.is_finite, front.values[:, t], np.nan)
            best = np.nanargmax(values) if objective.maximise else np.nanargmin(values)
            projected = [ax.transProjection.transform(cell) for cell in cells(front.alphas)]
            cmap = "cividis" if objective.maximise else "cividis_r"
            mapped = PolyCollection(projected, array=values, cmap=cmap, edgecolors="face", lw=0.8)
            mapped.set_clim(np.nanmin(every[:, t]), np.nanmax(every[:, t]))
            ax.add_collection(mapped)
            dots = {"c": "w", "edgecolors": "k", "lw": 0.8, "clip_on": False}
            ax.scatter(*front.alphas[kept].T, s=16, zorder=4, label=KEPT, **dots)
            ax.scatter(*front.alphas[best], s=150, zorder=5, marker="*", label=BEST, **dots)
            for corner, name in zip("tlr", members, strict=True):
                # The top one is clear of a star.
                where = {"labelpad": 10} if corner == "t" else {"ha": "center"}
                getattr(ax, f"set_{corner}label")(name.replace(": ", "\n"), **where)
                axis = getattr(ax, f"{corner}axis")
                axis.set_ticks([])
                axis.set_label_rotation_mode("horizontal")
            ax.grid(False)
            ax.set_title("" if t else title, loc="left")
            columns[t].append(ax)
            if front is last:  # one bar says the colours of all rows
                below = columns[t] if row else ax
                bar = figure.colorbar(mapped, ax=below, orientation="horizontal", shrink=0.85)
                bar.set_label(names(front, gap="\n")[t])
                _number(bar.ax.xaxis, objective)
    return style.finish(figure, provenance, ncols=2)


def front_3d_figure(fronts: Front | Mapping[str, Front], provenance: str) -> Figure:
    """The three objectives of a front against each other, seen from two sides. Of several, by their
    titles, each has a row.

    Neighbours on the lattice are joined. Full points are not dominated, hollow ones are; the
    members have marks of their own. InputError unless each is a whole lattice of three members
    with three objectives.
    """
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    figure = plt.figure(figsize=(9.8, 5 * len(titled)))
    figure.set_layout_engine("constrained", rect=(0, 0.06, 1, 0.94))  # a label hangs out
    for row, (title, front) in enumerate(titled.items()):
        if len(front.objectives) != 3:
            raise InputError(f"A 3-D front needs 3 objectives. Found {len(front.objectives)}.")
        distances = np.abs(front.alphas[:, None] - front.alphas).max(-1) * _steps(front.alphas)
        edges = front.values[np.argwhere(np.triu(np.isclose(distances, 1)))]  # one step apart
        mesh = np.insert(edges, 2, np.nan, axis=1).reshape(-1, 3)  # one line, broken by nan
        kept, member = front.non_dominated(), front.alphas.max(1) == 1
        for column, (elevation, azimuth) in enumerate(VIEWS, start=1):
            place = (len(titled), len(VIEWS), row * len(VIEWS) + column)
            ax: Any = figure.add_subplot(*place, projection="3d")
            ax.view_init(elevation, azimuth)
            ax.plot(*mesh.T, color=style.COLOURS["other"], lw=0.6)
            blue = style.COLOURS["pamal"]
            dots = {"s": 22, "edgecolors": blue, "depthshade": False}
            ax.scatter(*front.values[kept & ~member].T, c=blue, label=KEPT, **dots)
            ax.scatter(*front.values[~kept & ~member].T, c="w", label="dominated", **dots)
            marks = zip(np.eye(3), _members(front), "^<>", MEMBERS, strict=True)
            for alpha, name, marker, colour in marks:
                point = front.values[(front.alphas == alpha).all(1).argmax()]
                ax.scatter(*point, s=90, c=colour, marker=marker, depthshade=False, label=name)
            named = zip(front.objectives, names(front, gap="\n"), strict=True)
            for axis, (objective, name) in zip((ax.xaxis, ax.yaxis, ax.zaxis), named, strict=True):
                # An arrow would point the wrong way where an axis runs from right to left.
                axis.set_label_text(name.replace(" →", "").replace("← ", ""))
                axis.labelpad = 12
                axis.set_tick_params(pad=4)
                _number(axis, objective)
            ax.set_title(title if column == 1 else "", loc="left", y=0.93)
    return style.finish(figure, provenance, ncols=5)


def _steps(alphas: np.ndarray) -> int:
    """The n - 1 of the lattice that `alphas` are; InputError where they are none."""
    steps = (isqrt(8 * len(alphas) + 1) - 3) // 2
    if alphas.ndim == 2 and alphas.shape[1] == 3 and steps > 0:
        ours, whole = (a[np.lexsort(np.rint(a.T * steps))] for a in (alphas, lattice(3, steps + 1)))
        if ours.shape == whole.shape and np.allclose(ours, whole):
            return steps
    raise InputError(
        "A triangle needs all points of a lattice of 3 members, such as lattice(3). "
        f"Found alphas of shape {alphas.shape}."
    )


def _members(front: Front) -> list[str]:
    """Each member's name, with the task it is for where there is one."""
    tasks = [objective.task for objective in front.objectives]
    weights = np.eye(3, len(tasks)) if front.task_weights is None else front.task_weights
    return [
        f"member {k}" + (f": {tasks[row.argmax()]}" if row.max() == 1 else "")
        for k, row in enumerate(weights, start=1)
    ]


def _number(axis: Axis, objective: Objective) -> None:
    """Few ticks; an accuracy is a share, shown in per cent."""
    axis.set_major_locator(MaxNLocator(3))
    if objective.name.endswith("/accuracy"):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.4g}%")
