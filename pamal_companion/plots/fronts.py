"""Two-task fronts, as in the paper's Figure 4."""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

from pamal_companion.fronts.seeds import OverSeeds
from pamal_companion.plots import captions, style
from pamal_companion.plots.words import ranged
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective, check_same_objectives

COLUMNS, HELD = 4, 0.25
SIGNS = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])
"""Signs of the four corners of an interval of two objectives."""


@style.twice
def front_figure(fronts: Front | Mapping[str, Front], provenance: str = "") -> Figure:
    """Draw a front of two tasks by its objectives and by its losses, a line along alpha whose ends
    are named; by its objectives alone where these are the losses, or a task has none. Of several,
    by their titles, each has a column, on equal axes.

    InputError for other numbers of tasks; `plots.ternary` draws three.
    """
    titled = fronts if isinstance(fronts, Mapping) else {"": fronts}
    first = next(iter(titled.values()))
    found = [objective.name for objective in first.objectives]
    if len(found) != 2:
        raise InputError(
            "A front of two tasks is drawn here; triangles_figure and pairwise_figure of "
            f"pamal_companion.plots.ternary draw three. Found {', '.join(found)}."
        )
    losses = [f"{objective.task}/loss" for objective in first.objectives]
    views: list[Mapping[str, Front]] = [titled]
    if {*losses} <= {*first.table} and losses != found:
        views.append({title: front.on("loss", maximise=False) for title, front in titled.items()})
    if len(titled) == 1:
        shape, size = (1, len(views)), (style.WIDTH if len(views) > 1 else 4.5, 3.1)
    else:
        shape, size = (len(views), 1), (style.WIDTH, 2.5 * len(views))
    if style.on_phone():
        shape, size = (len(views), 1), (style.width(), 2.9 * len(titled) * len(views))
    figure = plt.figure(figsize=size, layout="constrained")
    counts: list[int] = []
    points = 0
    for part, view in zip(figure.subfigures(*shape, squeeze=False).flat, views, strict=True):
        grid = (len(view), 1) if style.on_phone() else (1, len(view))
        axes = part.subplots(*grid, squeeze=False, sharex=True, sharey=True).flat
        for ax, (title, one) in zip(axes, view.items(), strict=True):
            front = one.finite()
            kept, values, color = front.non_dominated(), front.values, style.METHODS["PaMaL"][0]
            if view is titled:
                counts.append(int(kept.sum()))
                points = max(points, len(kept))
            ax.plot(*values.T, color=color, lw=1, zorder=1)
            look: dict[str, Any] = {"s": 30, "edgecolors": color, "zorder": 2}
            ax.scatter(*values[kept].T, c=color, label="not dominated", **look)
            ax.scatter(*values[~kept].T, c=style.PAPER, label="dominated", **look)
            share = front.alphas[:, 0]
            if len(values) > 1:
                for end, k, inner in (("1", share.argmax(), -2), ("0", share.argmin(), 1)):
                    style.beside(ax, f"α₁ = {end}", values[k], values[share.argsort()[inner]])
            ax.set_title(style.literal(title) if view is titled else "")
            ax.locator_params(nbins=4)
            ax.margins(0.2)
        x, y = next(iter(view.values())).objectives
        style.label_once(part, named(x), named(y, "\n"))
    number = ranged(counts)
    words = (
        f"A run leaves a choice of {number} networks of which none dominates another (filled), "
        f"of {points} along α₁, the share of the first member."
    )
    if max(counts) == 1:
        words = "One network dominates all others along α₁, the share of the first member."
    return style.stamp(figure, provenance, words)


@style.twice
def seeds_figure(
    fronts: Mapping[int, Front],
    points: Mapping[str, Sequence[Front]],
    single: Sequence[float] | None,
    provenance: str,
    baselines: Mapping[str, Sequence[Front]] = MappingProxyType({}),
) -> Figure:
    """Draw Figure 4: the front of each seed, by its number, and other methods.

    `points` maps the name of a method that ends with one network to its runs, which may be none;
    `baselines` maps names such as "PHN" and "PHN, tuned" to their runs, each of which is a front.
    More than three methods have a panel each, on equal axes, which leave out what is further from
    the fronts and points than `HELD` of their extent, and count it. `single` is the mean of
    single-task learning [T].
    """
    ours = [front.finite() for front in fronts.values()]
    dots = {name: [run.finite() for run in runs] for name, runs in points.items() if runs}
    lines = {name: [run.finite() for run in runs] for name, runs in baselines.items() if runs}
    looks = style.looks([*dots, *lines])
    methods = list(dict.fromkeys(name.partition(",")[0] for name in looks))
    many = len(methods) > 3
    titles, columns = (methods, COLUMNS) if many else ([""], 1)
    size = (1.6, style.WIDTH) if many else (4.0, 6.0)
    figure, axes = style.panels(titles, columns, *size, phone=2, sharex=True, sharey=True)
    values = np.concatenate([front.values for front in (*ours, *chain(*dots.values()))])
    low, high = values.min(0), values.max(0)
    rest = np.concatenate([values, *(run.values for run in chain(*lines.values()))])
    near = (np.abs(rest - np.clip(rest, low, high)) <= HELD * (high - low)).all(1)
    style.fit_axes(axes[0], rest[near])
    for ax, title in zip(axes, titles, strict=True):
        for seed, front in zip(fronts, ours, strict=True):
            blue: dict[str, Any] = {"color": style.METHODS["PaMaL"][0]}
            ax.plot(*front.values.T, **blue, lw=0.8, label="PaMaL")
            kept = np.where(front.non_dominated()[:, None], front.values, np.nan)
            ax.plot(*kept.T, **blue, lw=2 if many else 3, marker="o", ms=0 if many else 4)
            if not many and 1 < len(ours) <= 5:
                k = front.alphas[:, 0].argmax()
                style.beside(ax, f"seed {seed}", front.values[k], front.values.mean(0))
        for name, runs in dots.items():
            if name.partition(",")[0] == title or not many:
                x, y = np.concatenate([run.values for run in runs]).T
                look = {key: looks[name][key] for key in ("color", "marker")}
                ax.scatter(x, y, s=36, **look, label=name, ec=style.INK, lw=0.6, zorder=3)
        drawn = [np.empty((0, 2))]
        for name, runs in lines.items():
            if name.partition(",")[0] == title or not many:
                how = looks[name] | {"lw": 1.2, "ms": 4, "mfc": style.PAPER, "label": name}
                for run in runs:
                    ax.plot(*run.values.T, **how)
                    drawn.append(run.values)
        style.count_outside(ax, np.concatenate(drawn))
        if single is not None:
            dashes: dict[str, Any] = {"color": style.INK, "ls": "--", "lw": 0.8}
            ax.axvline(single[0], **dashes, label="single-task, each on its own axis")
            ax.axhline(single[1], **dashes)
        ax.locator_params(nbins=4 if many else 7)
    words = _beaten(ours, [run.values for runs in dots.values() for run in runs])
    words += captions.line_by_line(ours, lines)
    words += "Each line is one run of PaMaL, its thick part not dominated."
    if lines and not many:
        words = words.replace("Each line is one run of PaMaL, its", "Each line is one run, PaMaL's")
    if single is not None:
        words += " Dashed straight lines: single-task learning, each on its own axis."
    if many:
        style.label_once(figure, *map(named, ours[0].objectives))
        words += " Each panel adds the runs of one method"
        words += "; a line is a front, dashed: tuned." if lines else "."
    else:
        name_axes(axes[0], ours[0])
        shown = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
        axes[0].legend(shown.values(), shown, loc="lower left")
    return style.stamp(figure, provenance, words)


def _beaten(fronts: Sequence[Front], others: Sequence[np.ndarray]) -> str:
    """Return a sentence that counts those of the `others` than which a network of one of the
    `fronts`, of objectives of which higher is better, is better in both; nothing of none."""
    if not others or not all(fronts[0].maximise):
        return ""
    ours = np.concatenate([front.values for front in fronts])
    points = np.concatenate(others)
    beaten = captions.beaten(ours, points)
    number = "1 mark" if len(points) == 1 else f"{len(points)} marks"
    whose = "PaMaL" if len(fronts) == 1 else "some run of PaMaL"
    return f"For {beaten} of {number} of other methods {whose} has a better network on both tasks. "


@style.twice
def band_figure(fronts: Mapping[str, OverSeeds], provenance: str = "") -> Figure:
    """Draw the means over seeds of fronts of two tasks, by the names of their methods, with the 95%
    interval of each mean.

    A front is a line along alpha in a band, and one network, such as LS, a point in a cross. The
    band joins the intervals of both objectives of one point after the other.
    """
    first = next(iter(fronts.values())).mean
    if len(first.objectives) != 2:
        raise InputError(f"A band has two objectives. Found {len(first.objectives)}.")
    check_same_objectives([over.mean for over in fronts.values()])
    figure, ax = plt.subplots(figsize=(style.width(4.5), 3.6), layout="constrained")
    names = [objective.name for objective in first.objectives]
    for (name, look), over in zip(style.looks([*fronts]).items(), fronts.values(), strict=True):
        means, widths = over.mean.values, over.half_width[names].to_numpy()
        color = look["color"]
        if len(means) == 1:
            x, y = widths.T
            cross: dict[str, Any] = {"fmt": look["marker"], "color": color, "capsize": 3}
            label = style.literal(name)
            ax.errorbar(means[:, 0], means[:, 1], yerr=y, xerr=x, **cross, label=label)
            continue
        along = over.mean.alphas[:, 0].argsort(kind="stable")
        for k, j in pairwise(along):
            corners = [means[i] + widths[i] * sign for i in (k, j) for sign in SIGNS]
            ax.fill(*_hull(np.array(corners)).T, color=color, alpha=0.2, lw=0)
        ax.plot(*means[along].T, **look, lw=1.2, ms=4, label=style.literal(name))
    ax.legend(loc="best")
    name_axes(ax, first)
    seeds = (
        "Means over seeds, and the 95% interval of each mean: a band, or a cross of one network."
    )
    return style.stamp(figure, provenance, seeds)


def _hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull of `points` [n, 2], which may lie on one line."""
    if np.linalg.matrix_rank(points - points[0]) < 2:
        return points
    return points[ConvexHull(points).vertices]


def draw_line(ax: Axes, front: Front, first: Mapping[str, Any], **look: Any) -> None:
    """Draw the front as a line along alpha with a mark per network; that of the first member has
    the look `first` besides."""
    front = front.finite()
    ax.plot(*front.values.T, **look)
    ax.plot(*front.values[front.alphas[:, 0].argmax()], **{**look, "label": None, **first})


def named(objective: Objective, gap: str = "  ") -> str:
    """Return the objective in words, with the direction that is better."""
    return f"{style.literal(objective.words)}{gap}({style.WORDS[objective.maximise]})"


def name_axes(ax: Axes, front: Front, gap: str = "  ") -> None:
    """Name both axes by the objectives of `front`."""
    x, y = front.objectives
    ax.set(xlabel=named(x, gap), ylabel=named(y, gap))
