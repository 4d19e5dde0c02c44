"""Drawings of the subspace, the hypervolume and the preference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from numpy import ndarray as Array

from pamal_core.front import Front
from pamal_core.plots import style


def parameter_space_figure(
    corners: Float[Array, "3 2"],
    sets: Mapping[str, Float[Array, "_ 3"]],
    shown: Float[Array, " 3"],
    num_weights: int,
    provenance: str,
) -> Figure:
    """Three members in the plane through them, a panel for each set of alphas inside.

    `corners` are the members; a point alpha lies at alpha^T corners. `shown` is one alpha whose
    network is marked, with a line to each member whose width is the member's share.
    """
    figure, axes = style.panels(len(sets), len(sets), (4.4, 4.2), sharey=True)
    for ax, (name, alphas) in zip(axes, sets.items(), strict=True):
        ax.add_patch(Polygon(corners, fc=style.COLOURS["front"], alpha=0.2, ec="none"))
        ax.add_patch(Polygon(corners, fill=False, ec=style.COLOURS["other"]))
        ax.plot(*(alphas @ corners).T, ".", color=style.COLOURS["other"], ms=5)
        here = shown @ corners
        for k, corner in enumerate(corners):
            ax.plot(*np.stack((here, corner)).T, color=style.SEEDS[k], lw=10 * shown[k])
            ax.plot(*corner, "o", color=style.SEEDS[k], ms=13, mec="white")
            name_at = {"xy": 1.13 * corner, "ha": "center", "va": "center", "fontsize": 13}
            ax.annotate(f"$\\theta_{k + 1}$", **name_at)
        ax.plot(*here, "X", color="black", ms=11, mec="white")
        ax.set_title(name, fontsize=10)
        ax.set(aspect="equal", xlabel="distance in weight space")
        ax.margins(0.14)
    axes[0].set_ylabel("distance in weight space")
    words = " + ".join(f"{a:g} $\\theta_{k + 1}$" for k, a in enumerate(shown))
    figure.suptitle(f"$\\theta(\\alpha)$ = {words}, each $\\theta$ with {num_weights:,} weights")
    return style.stamp(figure, provenance)


def hypervolume_figure(
    fronts: Sequence[Front], reference: tuple[float, float], provenance: str
) -> Figure:
    """Two losses: the boxes between the points of each front and `reference`, and their union.

    Points that add no box, being worse than the reference in a loss, are drawn without one;
    dominated points hollow.
    """
    figure, axes = style.panels(len(fronts), len(fronts), (4.4, 4.4), sharey=True)
    fill: dict[str, Any] = {"fc": style.COLOURS["front"], "zorder": 0}
    # Outlines above every filling, so that the boxes of the union can be told apart.
    outline: dict[str, Any] = {"fill": False, "ec": "white", "lw": 1, "zorder": 1}
    for ax, front in zip(axes, fronts, strict=True):
        for point in front.values[(front.values < reference).all(1)]:
            for look in (fill, outline):
                ax.add_patch(Rectangle(tuple(point), *np.subtract(reference, point), **look))
        kept = front.non_dominated()
        ax.plot(*front.values[kept].T, "o", color=style.COLOURS["second"], label="non-dominated")
        ax.plot(*front.values[~kept].T, "o", color="black", mfc="white", label="dominated")
        ax.plot(*reference, "*", ms=16, color="black", label="reference", clip_on=False)
        value = front.hypervolume(reference)
        ax.set_title(f"{len(kept)} networks: hypervolume {value:.4f}", fontsize=10)
        style.label_losses(ax)
        ax.set_aspect("equal")
    return style.finish(figure, provenance, ncols=3, fontsize=9)


def densities_figure(
    draws: Mapping[float, Float[Array, " _"]],
    densities: Mapping[float, tuple[Float[Array, " x"], Float[Array, " x"]]],
    provenance: str,
) -> Figure:
    """For each p a histogram of alpha_1 and the density, as pairs (alpha_1, density).

    The values of alpha_1 are the middles of equal cells, which together are what a panel shows.
    """
    figure, axes = plt.subplots(2, -(-len(draws) // 2), figsize=(8, 5.5), squeeze=False)
    for ax, (p, sample) in zip(axes.T.flat[: len(draws)], draws.items(), strict=True):
        x, density = densities[p]
        half = (x[1] - x[0]) / 2
        bins = np.linspace(x[0] - half, x[-1] + half, 41)
        # Shares of all draws, so that those outside the panel count, too.
        heights = np.histogram(sample, bins)[0] / (len(sample) * np.diff(bins))
        colour, top = style.COLOURS["front"], 1.15 * heights.max()
        ax.stairs(heights, bins, fill=True, color=colour, label="histogram of draws")
        ax.plot(x, density, color="black", lw=1.5, label="density of Beta(p, p)")
        ax.set(title=f"p = {p:g}", xlabel="$\\alpha_1$", ylabel="density", ylim=(0, top))
    for ax in axes.T.flat[len(draws) :]:
        ax.set_axis_off()
    return style.finish(figure, provenance, ncols=2, fontsize=9)
