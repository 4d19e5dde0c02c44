"""Fronts of three members, as in the paper's Figure 5: a map of each objective over the simplex,
and the objectives two by two."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isqrt
from typing import Any

import mpltern  # noqa: F401  # brings the projection "ternary"
import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pamal_companion.plots import captions, style
from pamal_companion.plots.fronts import named
from pamal_companion.plots.words import listed, ranged
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

KEPT, BEST = "not dominated", "best of this objective"
INDEX = "₁₂₃"
POINTS = style.COLOURS["other"]
MEMBERS = style.TASKS
LOWEST = 0.1
"""The share of the networks that have the darkest colour: the worst few would take all shades."""
# The corners of the part of the plane nearest to a point of the lattice with spacing 1, about the
# point: the centres of the six triangles that meet there, in order around it.
HEXAGON = np.array([(2, -1, -1), (1, 1, -2), (-1, 2, -1), (-2, 1, 1), (-1, -1, 2), (1, -2, 1)]) / 3


def cells(alphas: np.ndarray) -> np.ndarray:
    """Return the part of the plane nearest to each point of a lattice, hexagons [P, 6, 3] in
    barycentric coordinates; those at the rim reach out of the triangle.

    `alphas` [P, 3] is a whole lattice as `simplex.lattice` makes it, in any order. InputError for
    anything else.
    """
    return alphas[:, None] + HEXAGON / _steps(alphas)


@style.twice
def triangles_figure(
    fronts: Front | Mapping[str, Front], provenance: str, alike: Sequence[Front] = ()
) -> Figure:
    """Draw one triangle per objective, each point of the lattice a cell with the colour of its
    value, yellow where that is better. Corners are the members, the first on top, then left and
    right. Of several fronts, by their titles, each has a row; an objective has the same colours
    in all, and in other figures of the fronts `alike`. Raise InputError unless each is a whole
    lattice of three members."""
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    count, last = len(next(iter(titled.values())).objectives), [*titled.values()][-1]
    every = np.concatenate([front.values for front in (*titled.values(), *alike)])
    every = np.where(np.isfinite(every), every, np.nan)
    shape = (len(titled), count)
    size = (style.WIDTH, 1 + 2.6 * len(titled))
    if style.on_phone():  # an objective below the other
        shape, size = (len(titled) * count, 1), (style.width(), 3.4 * count * len(titled))
    figure = plt.figure(figsize=size, layout="constrained")
    columns: list[list[Any]] = [[] for _ in range(count)]
    stars: list[np.ndarray] = []  # of each best network the share of the task's own member, first
    ranges: list[float] = []
    for row, (title, front) in enumerate(titled.items()):
        kept = front.non_dominated()
        for t, objective in enumerate(front.objectives):
            place = t * len(titled) + row if style.on_phone() else row * count + t
            ax: Any = figure.add_subplot(*shape, place + 1, projection="ternary")
            # A point with any objective that is not finite is a blank cell.
            values = np.where(front.is_finite, front.values[:, t], np.nan)
            best = np.nanargmax(values) if objective.maximise else np.nanargmin(values)
            if objective.task in (members := member_names(front)):
                stars.append(np.roll(front.alphas[best], -members.index(objective.task)))
            if objective.name.endswith("/accuracy"):
                ranges.append(100 * float(np.nanmax(values) - np.nanmin(values)))
            projected = [ax.transProjection.transform(cell) for cell in cells(front.alphas)]
            cmap = style.MAP if objective.maximise else f"{style.MAP}_r"
            mapped = PolyCollection(projected, array=values, cmap=cmap, edgecolors="face", lw=0.8)
            ends = (LOWEST, 1) if objective.maximise else (0, 1 - LOWEST)
            mapped.set_clim(*np.nanquantile(every[:, t], ends))
            ax.add_collection(mapped)
            dots = {"c": "w", "edgecolors": "k", "lw": 0.8, "clip_on": False}
            ax.scatter(*front.alphas[kept].T, s=12, zorder=4, label=KEPT, **dots)
            ax.scatter(*front.alphas[best], s=130, zorder=5, marker="*", label=BEST, **dots)
            for k, (side, name) in enumerate(zip("tlr", members, strict=True)):
                getattr(ax, f"{side}axis").set_ticks([])
                share, look = np.eye(3)[k], {"ha": "center", "fontsize": style.SMALL}
                corner = share + (0.03 if k == 0 else -0.06) * np.array((1, -0.5, -0.5))
                ax.text(
                    *corner,
                    f"α{INDEX[k]} = 1\n{style.literal(name)}",
                    va="top" if k else "bottom",
                    **look,
                )
                opposite = np.where(share == 1, -0.09, 0.545)
                look |= {"rotation": (0, -60, 60)[k], "va": "center"}
                ax.text(*opposite, f"α{INDEX[k]} = 0", **look)
            ax.grid(False)
            ax.set_title("" if t and not style.on_phone() else style.literal(title))
            columns[t].append(ax)
            if front is last:  # one bar says the colours of all rows
                way: dict[str, Any] = {"orientation": "horizontal", "shrink": 0.85}
                way |= {"extend": "min" if objective.maximise else "max", "extendfrac": 0.04}
                bar = figure.colorbar(mapped, ax=columns[t], label=named(objective, "\n"), **way)
                few_ticks(bar.ax.xaxis, objective)
    words = captions.where_best(stars)
    if ranges:
        points = ranged(ranges, ".1f")
        words += "From the worst network to the best the accuracy on a task differs by "
        words += f"{points} points. "
    words += (
        "Each cell is one network, each corner a member; a side has no share of the opposite one. "
        "The worst tenth of the networks has one colour."
    )
    return style.finish(figure, provenance, None, words, ncols=2)


@style.twice
def pairwise_figure(fronts: Front | Mapping[str, Front], provenance: str) -> Figure:
    """Draw the three objectives of a front two by two, a panel for each pair; neighbours on the
    lattice are joined. Of several fronts, by their titles, each has a row, on equal axes.
    Raise InputError unless each is a whole lattice of three members with three objectives."""
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    size = (style.WIDTH, 0.5 + 2.4 * len(titled))
    how: dict[str, Any] = {"sharex": "col", "sharey": "col", "squeeze": False, "figsize": size}
    if style.on_phone():  # the pairs of a front follow one another
        size = (style.width(), 2.4 * 3 * len(titled))
        figure, stacked = plt.subplots(3 * len(titled), 1, squeeze=False, figsize=size)
        axes = stacked.reshape(len(titled), 3)
    else:
        figure, axes = plt.subplots(len(titled), 3, **how)
    for row, (title, front) in zip(axes, titled.items(), strict=True):
        if len(front.objectives) != 3:
            raise InputError(f"Pairs of 3 objectives are drawn. Found {len(front.objectives)}.")
        for ax, pair in zip(row, combinations(range(3), 2), strict=True):
            draw_networks(ax, front, pair, 70)
            for axis, t in zip((ax.xaxis, ax.yaxis), pair, strict=True):
                objective = front.objectives[t]
                if axis is ax.yaxis or ax in axes[-1] or style.on_phone():
                    label = objective.words if objective.maximise else f"{objective.words} ↓"
                    axis.set_label_text(style.literal(label))
                few_ticks(axis, objective)
        row[0].set_title(style.literal(title))
    lower = [o.words for o in front.objectives if not o.maximise]
    words = captions.not_dominated(titled.values())
    words += "Each point is one network, joined to its neighbours in the triangle. Higher is better"
    words += f", but for {listed(lower)}." if lower else "."
    tight = {"columnspacing": 1, "handletextpad": 0.3}
    return style.finish(figure, provenance, None, words, ncols=5, **tight)


def draw_networks(ax: Any, front: Front, of: Sequence[int], size: int, **look: Any) -> None:
    """Draw the networks of a front by its objectives `of`, filled if they are not dominated and
    joined to their neighbours, and a mark of this `size` for each member. Raise InputError as
    `net`."""
    kept, member, points = front.non_dominated(), front.alphas.max(1) == 1, front.values[:, of]
    dots: dict[str, Any] = {"s": 14, "edgecolors": POINTS, "zorder": 2, **look}
    ax.plot(*net(front)[:, of].T, color=style.COLOURS["other"], lw=0.5, zorder=1)
    ax.scatter(*points[kept & ~member].T, c=POINTS, label=KEPT, **dots)
    ax.scatter(*points[~kept & ~member].T, c=style.PAPER, label="dominated", **dots)
    marks = zip(np.eye(3), member_names(front), "^<>", MEMBERS, strict=True)
    for alpha, name, marker, colour in marks:
        corner = points[(front.alphas == alpha).all(1).argmax()]
        mark: dict[str, Any] = {"s": size, "c": colour, "marker": marker, "zorder": 3, **look}
        ax.scatter(*corner, label=f"member of {style.literal(name)}", **mark)


def net(front: Front) -> Float[np.ndarray, "n 3"]:
    """Return the lines between neighbours on the lattice of `front` as one line through its values,
    broken by NaN. Raise InputError unless the front is a whole lattice of three members."""
    distances = np.abs(front.alphas[:, None] - front.alphas).max(-1) * _steps(front.alphas)
    edges = front.values[np.argwhere(np.triu(np.isclose(distances, 1)))]  # one step apart
    return np.insert(edges, 2, np.nan, axis=1).reshape(-1, 3)


def _steps(alphas: np.ndarray) -> int:
    """Return the n - 1 of the lattice that `alphas` are; InputError where they are none."""
    steps = (isqrt(8 * len(alphas) + 1) - 3) // 2
    if alphas.ndim == 2 and alphas.shape[1] == 3 and steps > 0:
        ours, whole = (a[np.lexsort(np.rint(a.T * steps))] for a in (alphas, lattice(3, steps + 1)))
        if ours.shape == whole.shape and np.allclose(ours, whole):
            return steps
    raise InputError(
        "A triangle needs all points of a lattice of 3 members, such as lattice(3). "
        f"Found alphas of shape {alphas.shape}."
    )


def upwards(front: Front) -> Front:
    """Return the same points with all objectives to be maximised, as in the paper's Figure 5:
    "age/loss", where lower is better, becomes "age/negative loss", its negative."""
    lower = [o.name for o in front.objectives if not o.maximise]
    names = {name: "/negative ".join(name.rsplit("/", 1)) for name in lower}
    negated = front.table.assign(**{name: -front.table[name] for name in names})
    objectives = tuple(Objective(names.get(o.name, o.name), True) for o in front.objectives)
    return replace(front, table=negated.rename(columns=names), objectives=objectives)


def member_names(front: Front) -> list[str]:
    """Return each member by the task it is for, or by its number where there is none."""
    tasks = [objective.task for objective in front.objectives]
    weights = np.eye(3, len(tasks)) if front.task_weights is None else front.task_weights
    return [
        tasks[row.argmax()] if row.max() == 1 else f"member {k}"
        for k, row in enumerate(weights, start=1)
    ]


def few_ticks(axis: Axis, objective: Objective) -> None:
    """Set few ticks. An accuracy is a share, shown in per cent."""
    axis.set_major_locator(MaxNLocator(3))
    if objective.name.endswith("/accuracy"):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.4g}%")
