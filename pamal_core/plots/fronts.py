"""Two-task fronts, as in the paper's Figure 4. No torch here: everything comes from records."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.plots import style

MARKERS = "osD^v<>PXhdp"
RIVALS = {"PHN": ("-.", "s"), "COSMOS": (":", "^")}  # unlike the lines of single-task learning


def front_figure(fronts: Front | Mapping[str, Front], provenance: str = "") -> Figure:
    """A front of two tasks twice, by its objectives and by its losses, points coloured by alpha;
    once where the objectives are the losses, or a task has none. Of several, by their titles, each
    has a row, on equal axes.

    InputError for other numbers of tasks; `plots.ternary` draws three.
    """
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    first = next(iter(titled.values()))
    if len(first.objectives) != 2:
        names = ", ".join(objective.name for objective in first.objectives)
        raise InputError(
            "A front of two tasks is drawn here; triangles_figure and front_3d_figure of "
            f"pamal_core.plots.ternary draw three. Found {names}."
        )
    columns = len(_views(first))
    size = (1 + 4 * columns, 4 if len(titled) == 1 else 3 * len(titled))
    shared: dict[str, Any] = {"squeeze": False, "sharex": "col", "sharey": "col"}
    figure, axes = plt.subplots(len(titled), columns, figsize=size, layout="constrained", **shared)
    for row, (title, front) in zip(axes, titled.items(), strict=True):
        for ax, view in zip(row, _views(front), strict=True):
            values = view.values
            ax.plot(*values.T, color=style.COLOURS["other"], lw=1, zorder=1)
            dots = ax.scatter(*values.T, c=front.alphas[:, 0], cmap="cividis", s=45, zorder=2)
            best = values[view.non_dominated()]
            ax.scatter(*best.T, s=110, facecolors="none", edgecolors="k", label="non-dominated")
            name_axes(ax, view)
            if len(titled) > 1:
                ax.set_ylabel(ax.get_ylabel().replace("  (", "\n("))
            if ax not in axes[-1]:
                ax.set_xlabel("")
        row[0].set_title(title, loc="left")
    axes[0, 0].legend(loc="best")
    figure.colorbar(dots, ax=axes, label="$\\alpha_1$, the share of the first member")
    style.stamp(figure, provenance)
    return figure


def _views(front: Front) -> list[Front]:
    losses = [f"{objective.task}/loss" for objective in front.objectives]
    others = {*losses} <= {*front.table} and losses != [o.name for o in front.objectives]
    return [front, front.on("loss")] if others else [front]


def seeds_figure(
    fronts: Sequence[Front],
    points: Mapping[str, Sequence[Front]],
    single: Sequence[float] | None,
    provenance: str,
    rivals: Mapping[str, Front] = MappingProxyType({}),
) -> Figure:
    """Figure 4: the front of each seed as a line, other methods as points.

    The non-dominated part of a line is thick. `points` maps the name of a single-point method to
    its runs, which may be none, in an order that gives each its marker; `rivals` maps "PHN" and
    "COSMOS" to one of their runs, which may leave the axes where it goes far; the legend then
    counts its points outside. `single` has one value per task, the mean of single-task learning,
    drawn as a vertical and a horizontal line.
    """
    many = len(points) > 3
    figure, ax = plt.subplots(figsize=(8.5 if many else 6.5, 5))
    for seed, front in enumerate(fronts):
        colour, values = style.SEEDS[seed], front.values
        ax.plot(*values.T, color=colour, lw=1, marker=".", label=f"PaMaL, seed {seed}")
        kept = np.where(front.non_dominated()[:, None], values, np.nan)
        ax.plot(*kept.T, color=colour, lw=3.5)
    grey = style.COLOURS["other"]
    for marker, (name, runs) in zip(MARKERS, points.items(), strict=False):
        if runs:
            x, y = np.concatenate([run.values for run in runs]).T
            ax.scatter(x, y, s=50, c=grey, ec="w", lw=0.5, marker=marker, label=name, zorder=3)
    if single is not None:
        ax.axvline(single[0], color="k", ls="--", lw=1, label="single-task, each on its own axis")
        ax.axhline(single[1], color="k", ls="--", lw=1)
    if rivals:
        _draw_rivals(ax, rivals)
    name_axes(ax, fronts[0])
    if many:
        figure.legend(loc="outside right center", fontsize=8)
    else:
        ax.legend(loc="lower left")
    style.stamp(figure, provenance)
    return figure


def _draw_rivals(ax: Axes, rivals: Mapping[str, Front]) -> None:
    """Each as a line with hollow marks, on axes that hold all that is drawn already and those of
    its points that are no further from it than twice its extent."""
    low, high = np.array([ax.dataLim.min, ax.dataLim.max])
    held, reach = [low, high], 2 * (high - low)
    for name, front in rivals.items():
        near = (np.abs(front.values - np.clip(front.values, low, high)) <= reach).all(1)
        held.extend(front.values[near])
        label = name if near.all() else f"{name}, {(~near).sum()} of {len(near)} outside"
        dashes, marker = RIVALS[name]
        look: dict[str, Any] = {"ls": dashes, "lw": 1, "marker": marker, "ms": 5, "mfc": "w"}
        ax.plot(*front.values.T, color="k", label=label, **look)
    fit_axes(ax, np.array(held))


def fit_axes(ax: Axes, values: Float[np.ndarray, "P 2"]) -> None:
    """Set the limits of both axes so that they hold `values` and little more."""
    low, high = values.min(0), values.max(0)
    margin = 0.05 * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    ax.set(xlim=(left, right), ylim=(bottom, top))


def name_axes(ax: Axes, front: Front) -> None:
    """Name both axes by the objectives of `front`, each with the direction that is better."""
    x, y = (style.quantity(objective.name) for objective in front.objectives)
    style.label(ax, x, y, maximise=(front.maximise[0], front.maximise[1]))
