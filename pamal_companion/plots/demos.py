"""Drawings of the method (the subspace, the penalty's graphs, the hypervolume, the preference), and
figures of Theorem 1 and Claim 1.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import LogLocator, NullFormatter
from numpy import ndarray as Array

from pamal_companion.plots import style
from pamal_companion.plots.fronts import name_axes
from pamal_companion.plots.ternary import INDEX  # which gives matplotlib its ternary axes, too
from pamal_core.front import Front

Graphs = Sequence[Int[Array, "_ 2"]]
"""The edges (i, j) between draws, for each task, as `plots.edges` returns them."""
Points = Float[Array, "_ 2"]
"""Points of a plane, such as the losses of two tasks."""
Outputs = Float[Array, "A X"]
"""A number for each alpha and x."""
Curve = tuple[Float[Array, " K"], Float[Array, " K"]]
FRONT: dict[str, Any] = {"color": style.COLOURS["front"], "lw": 6, "alpha": 0.4}
IN_ORDER: dict[str, Any] = {"color": style.COLOURS["other"], "lw": 0.8}
KEPT_EDGES = (
    "For each task an edge to the next draw in its order is enough, because draws of which each is "
    "in order with the next are all in order."
)
DROPPED: dict[str, Any] = {"color": style.COLOURS["other"], "ls": "--", "lw": 0.9}


@style.twice
def parameter_space_figure(
    corners: Float[Array, "3 2"],
    sets: Mapping[str, Float[Array, "_ 3"]],
    shown: Float[Array, " 3"],
    num_weights: int,
    provenance: str,
) -> Figure:
    """Draw three members, `corners`, in the plane through them, a panel for each set of alphas
    inside. `shown` is one alpha whose network is marked, with a line to each member as wide as its
    share."""
    figure, axes = style.panels(sets, len(sets), 3.6, sharey=True)
    here = shown @ corners
    for ax, alphas in zip(axes, sets.values(), strict=True):
        ax.add_patch(Polygon(corners, fc=style.COLOURS["front"], alpha=0.2, ec="none"))
        ax.add_patch(Polygon(corners, fill=False, ec=style.COLOURS["other"]))
        ax.plot(*(alphas @ corners).T, ".", color=style.COLOURS["other"], ms=5)
        for k, corner in enumerate(corners):
            ax.plot(*np.stack((here, corner)).T, color=style.SEEDS[k], lw=10 * shown[k])
            ax.plot(*corner, "o", color=style.SEEDS[k], ms=13, mec=style.PAPER)
            name_at = {"xy": 1.13 * corner, "ha": "center", "va": "center", "fontsize": 12}
            ax.annotate(f"θ{INDEX[k]}", **name_at)
        ax.plot(*here, "X", color=style.INK, ms=11, mec=style.PAPER)
        ax.set(aspect="equal", xlabel="distance in weight space")
        ax.margins(0.14)
    axes[0].set_ylabel("distance in weight space")
    words = " + ".join(f"{a:g} θ{INDEX[k]}" for k, a in enumerate(shown))
    gap = "\n" if style.on_phone() else " "
    figure.suptitle(f"θ(α) = {words},{gap}each θ with {num_weights:,} weights")
    words = (
        "Every point of the triangle is a network, because mixtures of members lie between them: "
        "the larger the share of a member (the width of its line), the nearer it is. Dots are "
        "networks."
    )
    return style.stamp(figure, provenance, words)


@style.twice
def penalty_figure(
    situations: Mapping[str, Points],
    edges: Graphs,
    values: pd.DataFrame,
    front: Points,
    provenance: str,
) -> Figure:
    """Draw Figure 3: losses of W draws, a panel for each situation, arrows where an edge is
    violated.

    An edge (i, j) of task t is violated where draw j has the higher loss on t; its arrow has the
    colour of the task, other edges are thin lines. `values` has a row for each situation and a
    column for each sign of the penalty. `front` is a line to compare with.
    """
    signs = (", ".join(f"{s} {values.loc[name, s]:.3f}" for s in values) for name in situations)
    titles = [f"{name}\npenalty: {text}" for name, text in zip(situations, signs, strict=True)]
    figure, axes = style.panels(titles, 2, 3.4, sharex=True, sharey=True)
    colours = style.colours(len(edges))
    for ax, losses in zip(axes, situations.values(), strict=True):
        ax.plot(*front.T, **FRONT, zorder=0)
        for t, graph in enumerate(edges):
            for i, j in graph:
                if losses[j, t] > losses[i, t]:
                    _arrow(ax, losses[i], losses[j], color=colours[t], lw=2, bend=0.3)
                else:
                    ax.plot(*losses[[i, j]].T, **IN_ORDER, zorder=1)
        _numbered(ax, losses)
        style.label_losses(ax)
        ax.margins(0.1)
    looks = {f"violated edge of task {t}": {"color": c, "lw": 2} for t, c in enumerate(colours, 1)}
    looks |= {"edges in order": IN_ORDER, "exact front": FRONT}
    words = (
        "The penalty looks at the order of the draws alone, because it compares the losses of two "
        "draws, an edge, at a time: it can vanish far from the front, and be large on it. An arrow "
        "is a violated edge: its end has a larger share of the task and yet the higher loss."
    )
    return style.finish(figure, provenance, style.key(looks), words, ncols=2)


@style.twice
def two_tasks_figure(
    alphas: Float[Array, "W 2"], full: Graphs, kept: Graphs, provenance: str
) -> Figure:
    """Draw Appendix B1: draws on the line from member 2 to member 1, task 1 above it, task 2 below:
    the full graph, its edges that are not kept dashed, and under it the graph that is kept."""
    titles = [f"{sum(map(len, graphs))} edges" for graphs in (full, kept)]
    figure, axes = style.panels(titles, 1, 2.8, sharex=True)
    points, colours = alphas * [1, 0], style.colours(2)
    for ax, graphs in zip(axes, (full, kept), strict=True):
        ax.axhline(0, color=style.INK, lw=0.8)
        for t, (graph, chosen) in enumerate(zip(graphs, kept, strict=True)):
            for i, j in graph:
                look = {"color": colours[t], "lw": 1.8} if [i, j] in chosen.tolist() else DROPPED
                _arrow(ax, points[i], points[j], bend=-0.3, **look)
        _numbered(ax, points)
        ax.set(ylim=(-0.28, 0.28), yticks=[], xlim=(-0.03, 1.03))
        ax.spines["left"].set_visible(False)
        ax.grid(False)
    axes[1].set_xlabel("α₁ = 1 - α₂")
    looks = {f"task {t}": {"color": c, "lw": 1.8} for t, c in enumerate(colours, 1)}
    handles = style.key({**looks, "not kept": DROPPED})
    return style.finish(figure, provenance, handles, KEPT_EDGES, ncols=3)


@style.twice
def three_tasks_figure(
    alphas: Float[Array, "W 3"], full: Graphs, kept: Graphs, provenance: str
) -> Figure:
    """Draw Appendix B1: draws in the triangle, one triangle per task; edges that are not kept
    dashed."""
    # The layout engine takes ten seconds for ternary axes; known margins need none.
    size, shape = (style.WIDTH, 2.9), (1, len(full))
    if style.on_phone():
        size, shape = (style.width(), 3.1 * len(full)), (len(full), 1)
    figure = plt.figure(figsize=size, layout="none")
    margins = (0.14, 0.05, 0.86, 0.92) if style.on_phone() else (0.06, 0.16, 0.94, 0.72)
    figure.subplots_adjust(*margins, wspace=0.6, hspace=0.8)
    for t, (graph, chosen) in enumerate(zip(full, kept, strict=True)):
        ax: Any = figure.add_subplot(*shape, t + 1, projection="ternary")
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
        look = {"color": style.PAPER, "edgecolors": style.INK, "clip_on": False}
        ax.scatter(*alphas.T, s=170, zorder=4, **look)
        for w, alpha in enumerate(alphas, start=1):
            ax.text(*alpha, str(w), ha="center", va="center", zorder=5)
        ax.set(**{f"{side}label": f"α{INDEX[k]}" for k, side in enumerate("tlr")})
        ax.grid(alpha=0.4)
        ax.set_title(f"task {t + 1}: {len(graph)} edges, {len(chosen)} kept", pad=26, loc="center")
    return style.stamp(figure, provenance, f"{KEPT_EDGES} Dashed: not kept.")


def _arrow(ax: Axes, start: Array, end: Array, *, bend: float, **look: Any) -> None:
    """Draw an arrow with a bend, so that the two directions of one edge do not cover each other."""
    shape = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "shrinkA": 8, "shrinkB": 8}
    ax.annotate("", tuple(end), tuple(start), arrowprops={**shape, **look})


def _numbered(ax: Axes, points: Points) -> None:
    ax.plot(*points.T, "o", ms=15, mfc=style.PAPER, mec=style.INK, zorder=3)
    for w, (x, y) in enumerate(points, start=1):
        ax.text(x, y, str(w), ha="center", va="center", zorder=4)


@style.twice
def hypervolume_figure(
    fronts: Sequence[Front], reference: tuple[float, float], provenance: str
) -> Figure:
    """Draw in the plane of two losses the boxes between the points of each front and
    `reference`, and their union. Points that are worse than the reference in a loss have none."""
    titles = [
        f"{len(front.alphas)} networks: hypervolume {front.hypervolume(reference):.4f}"
        for front in fronts
    ]
    figure, axes = style.panels(titles, len(fronts), 4.0, sharey=True)
    fill: dict[str, Any] = {"fc": style.COLOURS["front"], "zorder": 0}
    # Outlines above every filling, so that the boxes of the union can be told apart.
    outline: dict[str, Any] = {"fill": False, "ec": style.PAPER, "lw": 1, "zorder": 1}
    for ax, front in zip(axes, fronts, strict=True):
        for point in front.values[(front.values < reference).all(1)]:
            for look in (fill, outline):
                ax.add_patch(Rectangle(tuple(point), *np.subtract(reference, point), **look))
        kept = front.non_dominated()
        ax.plot(*front.values[kept].T, "o", color=style.COLOURS["second"], label="non-dominated")
        ax.plot(*front.values[~kept].T, "o", color=style.INK, mfc=style.PAPER, label="dominated")
        ax.plot(*reference, "*", ms=16, color=style.INK, label="reference", clip_on=False)
        style.label_losses(ax)
        ax.set_aspect("equal")
    words = (
        "Each network that is not dominated adds the box between it and the reference, so a denser "
        "front covers more, and a dominated network adds nothing."
    )
    return style.finish(figure, provenance, None, words, ncols=3)


@style.twice
def densities_figure(
    draws: Mapping[float, Float[Array, " _"]], densities: Mapping[float, Curve], provenance: str
) -> Figure:
    """Draw for each p a histogram of alpha_1 and the density, as pairs (alpha_1, density), at the
    middles of equal cells, which together are what a panel shows."""
    figure, axes = style.panels([f"p = {p:g}" for p in draws], 2, 2.4)
    for ax, (p, sample) in zip(axes, draws.items(), strict=True):
        x, density = densities[p]
        half = (x[1] - x[0]) / 2
        bins = np.linspace(x[0] - half, x[-1] + half, 41)
        # Shares of all draws, so that those outside the panel count, too.
        heights = np.histogram(sample, bins)[0] / (len(sample) * np.diff(bins))
        colour, top = style.COLOURS["front"], 1.15 * heights.max()
        ax.stairs(heights, bins, fill=True, color=colour, label="histogram of draws")
        ax.plot(x, density, color=style.INK, lw=1.5, label="density of Beta(p, p)")
        ax.set(xlabel="α₁", ylabel="density", ylim=(0, top))
    words = (
        "If p is below 1 most draws lie near a member, and if it is above 1 most lie in the "
        "middle, because Beta(p, p) has its mass there."
    )
    return style.finish(figure, provenance, None, words, ncols=2)


@style.twice
def functions_figure(
    x: Array, a: Array, wanted: Outputs, found: Mapping[str, Outputs], provenance: str
) -> Figure:
    """Draw the functions of a family, one thick line for each a, and the networks' on them,
    dashed."""
    figure, axes = style.panels(found, len(found), 3.4, sharey=True)
    shades = style.SEQUENTIAL(np.linspace(0, 1, len(a)))
    for ax, outputs in zip(axes, found.values(), strict=True):
        for n, shade in enumerate(shades):
            ax.plot(x, wanted[n], color=shade, lw=5, alpha=0.35)
            label = f"α = {a[n]:.2f}" if len(a) <= 12 else None
            ax.plot(x, outputs[n], color=shade, ls="--", lw=1.3, label=label)
        ax.set_xlabel("x")
        ax.set_ylabel("f(x; αθ + (1 - α)θ′)")
        ax.label_outer()
    words = (
        "A line in weight space holds a whole family of functions: the network at α (dashed) gives "
        "the function for α (the thick line below it), as near as its hidden units allow."
    )
    return style.finish(figure, provenance, None, words, loc="outside right center", ncols=1)


@style.twice
def errors_figure(x: Array, a: Array, errors: Mapping[str, Outputs], provenance: str) -> Figure:
    """Draw absolute errors over x and alpha, each evenly spaced, a map for each network; darker is
    better."""
    figure, axes = style.panels(errors, len(errors), 3.4, sharey=True)
    norm = LogNorm(1e-5, max(error.max() for error in errors.values()), clip=True)
    # A value is a pixel, and a few hundred in a row are as many as can be seen: noise takes room.
    x = x[:: (thin := -(-len(x) // (250 if style.on_phone() else 500)))]
    dx, da = (x[1] - x[0]) / 2, (a[1] - a[0]) / 2
    pixels: dict[str, Any] = {"origin": "lower", "aspect": "auto", "interpolation": "none"}
    extent = (x[0] - dx, x[-1] + dx, a[0] - da, a[-1] + da)
    for ax, error in zip(axes, errors.values(), strict=True):
        image = ax.imshow(error[:, ::thin], norm=norm, cmap=style.MAP, extent=extent, **pixels)
        ax.set_xlabel("x")
        ax.grid(False)
    axes[0].set_ylabel("α")
    bar: dict[str, Any] = {"location": "bottom" if style.on_phone() else "right"}
    figure.colorbar(
        image, ax=axes, **bar, label="absolute error  (log scale; lower is better)", extend="min"
    )
    words = (
        "A network is accurate at the alphas for which it was made, and need not be between them, "
        "because nothing asked it to be: the darker, the better."
    )
    return style.stamp(figure, provenance, words)


@style.twice
def sizes_figure(curves: Mapping[str, Curve], bound: Curve, provenance: str) -> Figure:
    """Draw largest errors over the number Q of hidden units, a line for each network, and the bound
    of the comb."""
    figure, ax = plt.subplots(figsize=(style.width(6.5), 4))
    for name, look in style.looks([*curves]).items():
        ax.loglog(*curves[name], label=name, **look)
    ax.loglog(*bound, color=style.INK, ls="--", label="bound of the comb")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    rest = f"log scale; {style.WORDS[False]}"
    ax.set(xlabel="hidden units Q  (log scale)", ylabel=f"largest error  ({rest})")
    falls = all((np.diff(errors) < 0).all() for _, errors in curves.values())
    words = (
        "More hidden units make the largest error smaller, because each adds a corner to a "
        "function that is straight between them."
    )
    return style.finish(figure, provenance, None, words if falls else "", ncols=2)


@style.twice
def lines_figure(
    front: Points,
    lines: Mapping[str, Points],
    marked: Mapping[str, Points],
    provenance: str,
    points: str = "α of the theorem",
) -> Figure:
    """Draw lines of weight space in the plane of two losses, beside the exact front."""
    figure, axes = style.panels(lines, len(lines), 3.6, sharex=True, sharey=True)
    for ax, (name, line) in zip(axes, lines.items(), strict=True):
        ax.plot(*front.T, color=style.COLOURS["front"], lw=6, alpha=0.6, label="exact front")
        ax.plot(*line.T, color=style.INK, lw=1, label="the line in weight space")
        ax.plot(*marked[name].T, "o", color=style.COLOURS["second"], label=points)
        style.label_losses(ax)
    words = (
        "A straight line of networks is a curve of losses. It lies on the exact front where every "
        "network of it is Pareto optimal, and leaves it elsewhere."
    )
    return style.finish(figure, provenance, None, words, ncols=3)


@style.twice
def claim_figure(fronts: Mapping[str, tuple[Front, Front]], provenance: str) -> Figure:
    """Draw each pair of a subspace and a baseline twice: losses on the left, accuracies on the
    right."""
    figure, axes = style.panels([""] * 2 * len(fronts), 2, 2.8)
    shown = product(fronts.items(), ("loss", "accuracy"))
    numbers: dict[str, list[int]] = {"loss": [], "accuracy": []}
    for ax, ((name, (front, baseline)), metric) in zip(axes, shown, strict=True):
        view, other = (one.on(metric, metric == "accuracy") for one in (front, baseline))
        kept = view.non_dominated()
        numbers[metric].append(int(kept.sum()))
        ax.plot(*view.values.T, color=style.COLOURS["other"], lw=1, zorder=1)
        shade: dict[str, Any] = {"cmap": style.MAP, "vmin": 0, "vmax": 1, "zorder": 2}
        x, y = view.values.T
        hollow: dict[str, Any] = {"fc": style.PAPER, "ec": style.INK, "zorder": 2}
        ax.scatter(x[~kept], y[~kept], s=40, label="dominated", **hollow)
        dots = ax.scatter(x[kept], y[kept], s=60, c=view.alphas[kept, 0], ec=style.INK, **shade)
        ax.plot(*other.values.T, "D", color=style.METHODS["LS"][0], mec=style.INK, label="LS")
        name_axes(ax, view, "\n")
        ax.locator_params(nbins=5)
        ax.set_title(f"{name}: {kept.sum()} of {len(kept)} non-dominated")
    place: dict[str, Any] = {"aspect": 60}
    if style.on_phone():
        place = {"location": "bottom", "aspect": 30, "pad": 0.01}
    figure.colorbar(dots, ax=axes, label="α₁ of non-dominated points", **place)
    by_loss, by_accuracy = (np.array(numbers[metric]) for metric in ("loss", "accuracy"))
    words = f"In {(by_accuracy < by_loss).sum()} of {len(fronts)} fronts fewer networks are"
    words += (
        " non-dominated by accuracy (right) than by loss (left), probably because training lowers "
        "the loss and accuracy only follows. Hollow networks are dominated."
    )
    return style.finish(figure, provenance, None, words, ncols=2)
