"""Two-task fronts, as in the paper's Figure 4."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.plots import style


def front_figure(fronts: Front | Mapping[str, Front], provenance: str = "") -> Figure:
    """A front of two tasks twice, by its objectives and by its losses, points coloured by alpha;
    once where the objectives are the losses, or a task has none. Of several, by their titles, each
    has a row, on equal axes.

    InputError for other numbers of tasks; `plots.ternary` draws three.
    """
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    first = next(iter(titled.values()))
    found = [objective.name for objective in first.objectives]
    if len(found) != 2:
        raise InputError(
            "A front of two tasks is drawn here; triangles_figure and front_3d_figure of "
            f"pamal_core.plots.ternary draw three. Found {', '.join(found)}."
        )
    losses = [f"{objective.task}/loss" for objective in first.objectives]
    has_others = {*losses} <= {*first.table} and losses != found
    columns = 1 + has_others
    height, gap = (4, "  ") if len(titled) == 1 else (3 * len(titled), "\n")
    shared: dict[str, Any] = {"squeeze": False, "sharex": "col", "sharey": "col"}
    size = (1 + 4 * columns, height)
    figure, axes = plt.subplots(len(titled), columns, figsize=size, layout="constrained", **shared)
    for row, (title, front) in zip(axes, titled.items(), strict=True):
        views = [front, front.on("loss")] if has_others else [front]
        for ax, every in zip(row, views, strict=True):
            view = every.finite()
            values = view.values
            ax.plot(*values.T, color=style.COLOURS["other"], lw=1, zorder=1)
            dots = ax.scatter(*values.T, c=view.alphas[:, 0], cmap="cividis", s=45, zorder=2)
            best = values[view.non_dominated()]
            ax.scatter(*best.T, s=110, facecolors="none", edgecolors="k", label="non-dominated")
            x, y = names(view)[0], names(view, gap)[1]
            ax.set(xlabel=x if ax in axes[-1] else "", ylabel=y)
        row[0].set_title(title, loc="left")
    axes[0, 0].legend(loc="best")
    figure.colorbar(dots, ax=axes, label="$\\alpha_1$, the share of the first member")
    return style.stamp(figure, provenance)


def seeds_figure(
    fronts: Mapping[int, Front],
    points: Mapping[str, Sequence[Front]],
    single: Sequence[float] | None,
    provenance: str,
    rivals: Mapping[str, Front] = MappingProxyType({}),
) -> Figure:
    """Figure 4: the front of each seed, by its number, as a line; other methods as points.

    The non-dominated part of a line is thick. `points` maps the name of a single-point method to
    its runs, which may be none, in an order that gives each its marker; `rivals` maps names such as
    "PHN" to one of their runs, which leaves the axes where it is further from the others than twice
    their extent; the legend then counts its points outside. `single` has one value per task, the
    mean of single-task learning, drawn as a vertical and a horizontal line.
    """
    fronts = {seed: front.finite() for seed, front in fronts.items()}
    rivals = {name: front.finite() for name, front in rivals.items()}
    many = len(points) > 3
    figure, ax = plt.subplots(figsize=(8.5 if many else 6.5, 5))
    for (seed, front), colour in zip(fronts.items(), style.colours(len(fronts)), strict=True):
        ax.plot(*front.values.T, color=colour, lw=1, marker=".", label=f"PaMaL, seed {seed}")
        kept = np.where(front.non_dominated()[:, None], front.values, np.nan)
        ax.plot(*kept.T, color=colour, lw=3.5)
    grey = style.COLOURS["other"]
    for marker, (name, runs) in zip(style.markers(len(points)), points.items(), strict=True):
        if runs:
            x, y = np.concatenate([run.finite().values for run in runs]).T
            ax.scatter(x, y, s=50, c=grey, ec="w", lw=0.5, marker=marker, label=name, zorder=3)
    if single is not None:
        ax.axvline(single[0], color="k", ls="--", lw=1, label="single-task, each on its own axis")
        ax.axhline(single[1], color="k", ls="--", lw=1)
    low, high = np.array([ax.dataLim.min, ax.dataLim.max])
    held, reach = [low, high], 2 * (high - low)
    # Dashes unlike those of single-task learning.
    looks = zip(style.markers(len(rivals), "s^Dv"), cycle(("-.", ":")))
    for (name, front), (marker, dashes) in zip(rivals.items(), looks, strict=True):
        near = (np.abs(front.values - np.clip(front.values, low, high)) <= reach).all(1)
        held.extend(front.values[near])
        label = name if near.all() else f"{name}, {(~near).sum()} of {len(near)} outside"
        look: dict[str, Any] = {"ls": dashes, "lw": 1, "marker": marker, "ms": 5, "mfc": "w"}
        ax.plot(*front.values.T, color="k", label=label, **look)
    if rivals:
        style.fit_axes(ax, np.array(held))
    name_axes(ax, next(iter(fronts.values())))
    if many:
        figure.legend(loc="outside right center", fontsize=8)
    else:
        ax.legend(loc="lower left")
    return style.stamp(figure, provenance)


def draw_line(ax: Axes, front: Front, first: Mapping[str, Any], **look: Any) -> None:
    """The front as a line along alpha with a mark per network; that of the first member has the
    look `first` besides."""
    front = front.finite()
    x, y = front.values.T
    ax.plot(x, y, **look)
    k = front.alphas[:, 0].argmax()
    ax.plot(x[k], y[k], **{**look, "label": None, **first})


def names(front: Front, gap: str = "  ") -> list[str]:
    """The objectives of `front` in words, each with the direction that is better."""
    return [
        style.directed(style.quantity(objective.name), objective.maximise, gap)
        for objective in front.objectives
    ]


def name_axes(ax: Axes, front: Front, gap: str = "  ", **look: Any) -> None:
    """Name both axes by the objectives of `front`."""
    x, y = names(front, gap)
    ax.set_xlabel(x, **look)
    ax.set_ylabel(y, **look)
