"""The graphs of multi-forward regularisation (section 3.3, Figure 3, appendix B1).

Edges come from `simplex.edges`, the values of the penalty from whoever calls.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import mpltern  # noqa: F401  (gives matplotlib its ternary axes)
import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray as Array

from pamal_core.plots import style

Graphs = Sequence[Int[Array, "_ 2"]]
"""The edges (i, j) between draws, for each task."""
FRONT: dict[str, Any] = {"color": style.COLOURS["front"], "lw": 6, "alpha": 0.4}
IN_ORDER: dict[str, Any] = {"color": style.COLOURS["other"], "lw": 0.8}
DROPPED: dict[str, Any] = {"color": style.COLOURS["other"], "ls": "--", "lw": 0.9}


def penalty_figure(
    situations: Mapping[str, Float[Array, "W 2"]],
    edges: Graphs,
    values: pd.DataFrame,
    front: Float[Array, "K 2"],
    provenance: str,
) -> Figure:
    """Figure 3: losses of W draws, a panel for each situation, arrows where an edge is violated.

    An edge (i, j) of task t is violated where draw j has the higher loss on t; its arrow has the
    colour of the task, other edges are thin lines. `values` has a row for each situation and a
    column for each sign of the penalty. `front` is a line to compare with.
    """
    figure, axes = style.panels(len(situations), 2, (4.2, 4.1), sharex=True, sharey=True)
    colours = style.colours(len(edges))
    for ax, (name, losses) in zip(axes, situations.items(), strict=True):
        ax.plot(*front.T, **FRONT, zorder=0)
        for t, graph in enumerate(edges):
            for i, j in graph:
                if losses[j, t] > losses[i, t]:
                    _arrow(ax, losses[i], losses[j], color=colours[t], lw=2, bend=0.3)
                else:
                    ax.plot(*losses[[i, j]].T, **IN_ORDER, zorder=1)
        _numbered(ax, losses)
        signs = ", ".join(f"{sign} {values.loc[name, sign]:.3f}" for sign in values)
        ax.set_title(f"{name}\npenalty: {signs}", fontsize=10)
        style.label_losses(ax)
        ax.margins(0.1)
    looks = {f"violated edge of task {t}": {"color": c, "lw": 2} for t, c in enumerate(colours, 1)}
    looks |= {"edges in order": IN_ORDER, "exact front": FRONT}
    return style.finish(figure, provenance, style.key(looks), ncols=4, fontsize=8)


def two_tasks_figure(
    alphas: Float[Array, "W 2"], full: Graphs, kept: Graphs, provenance: str
) -> Figure:
    """Appendix B1: draws on the line from member 2 to member 1, task 1 above it, task 2 below.

    One above the other: the full graph, its edges that are not kept dashed, and the graph that is
    kept.
    """
    figure, axes = plt.subplots(2, 1, figsize=(8, 6.4), sharex=True)
    points = alphas * [1, 0]
    colours = style.colours(2)
    for ax, graphs in zip(axes, (full, kept), strict=True):
        ax.axhline(0, color="black", lw=0.8)
        for t, (graph, chosen) in enumerate(zip(graphs, kept, strict=True)):
            for i, j in graph:
                look = {"color": colours[t], "lw": 1.8} if [i, j] in chosen.tolist() else DROPPED
                _arrow(ax, points[i], points[j], bend=-0.3, **look)
        _numbered(ax, points)
        ax.set(ylim=(-0.28, 0.28), yticks=[], xlim=(-0.03, 1.03))
        ax.set_title(f"{sum(map(len, graphs))} edges", fontsize=10)
        ax.spines["left"].set_visible(False)
        ax.grid(False)
    axes[1].set_xlabel("$\\alpha_1 = 1 - \\alpha_2$")
    looks = {f"task {t}": {"color": c, "lw": 1.8} for t, c in enumerate(colours, 1)}
    handles = style.key({**looks, "not kept": DROPPED})
    return style.finish(figure, provenance, handles, ncols=3, fontsize=9)


def three_tasks_figure(
    alphas: Float[Array, "W 3"], full: Graphs, kept: Graphs, provenance: str
) -> Figure:
    """Appendix B1: draws in the triangle, one triangle per task; edges that are not kept dashed."""
    # The layout engine takes ten seconds for ternary axes; known margins need none.
    figure = plt.figure(figsize=(9.6, 3.4), layout="none")
    figure.subplots_adjust(0.05, 0.14, 0.96, 0.72, wspace=0.5)
    for t, (graph, chosen) in enumerate(zip(full, kept, strict=True)):
        ax: Any = figure.add_subplot(1, 3, t + 1, projection="ternary")
        for i, j in graph:
            if [i, j] in chosen.tolist():
                step = alphas[j] - alphas[i]
                step = step * max(0.5, 1 - 0.07 / np.linalg.norm(step))  # ends beside the node
                ax.quiver(
                    *alphas[i], *step, angles="xy", scale_units="xy", scale=1,
                    color=style.SEEDS[t], width=0.012, zorder=3,
                )  # fmt: skip
            else:
                ax.plot(*alphas[[i, j]].T, **DROPPED, zorder=2)
        ax.scatter(*alphas.T, s=170, color="white", edgecolors="black", zorder=4, clip_on=False)
        for w, alpha in enumerate(alphas, start=1):
            ax.text(*alpha, str(w), ha="center", va="center", fontsize=9, zorder=5)
        ax.set(**{f"{side}label": f"$\\alpha_{k}$" for k, side in enumerate("tlr", start=1)})
        ax.grid(alpha=0.4)
        ax.set_title(f"task {t + 1}: {len(graph)} edges, {len(chosen)} kept", pad=30, fontsize=10)
    return style.stamp(figure, provenance)


def _arrow(
    ax: Axes, start: Float[Array, " 2"], end: Float[Array, " 2"], *, bend: float, **look: Any
) -> None:
    """An arrow with a bend, so that the two directions of one edge do not cover each other."""
    shape = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "shrinkA": 8, "shrinkB": 8}
    ax.annotate("", tuple(end), tuple(start), arrowprops={**shape, **look})


def _numbered(ax: Axes, points: Float[Array, "W 2"]) -> None:
    """The draws, counted from 1."""
    ax.plot(*points.T, "o", ms=15, mfc="white", mec="black", zorder=3)
    for w, (x, y) in enumerate(points, start=1):
        ax.text(x, y, str(w), ha="center", va="center", fontsize=9, zorder=4)
