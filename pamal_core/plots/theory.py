"""Figures of Theorem 1 and Claim 1."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy import ndarray as Array

from pamal_core.front import Front
from pamal_core.plots import style

Curve = tuple[Float[Array, " K"], Float[Array, " K"]]


def functions_figure(
    x: Float[Array, " X"],
    a: Float[Array, " N"],
    wanted: Float[Array, "N X"],
    found: Mapping[str, Float[Array, "N X"]],
    provenance: str,
) -> Figure:
    """The functions of a family, one thick line for each a, and the networks' on them, dashed."""
    figure, axes = style.panels(len(found), len(found), (4.6, 3.8), sharey=True)
    shades = plt.get_cmap("cividis")(np.linspace(0, 0.9, len(a)))
    for ax, (name, outputs) in zip(axes, found.items(), strict=True):
        for n, shade in enumerate(shades):
            ax.plot(x, wanted[n], color=shade, lw=5, alpha=0.35)
            label = f"$\\alpha$ = {a[n]:.2f}" if len(a) <= 12 else None
            ax.plot(x, outputs[n], color=shade, ls="--", lw=1.3, label=label)
        ax.set(title=name, xlabel="$x$")
    axes[0].set_ylabel("$f(x; \\alpha\\theta + (1 - \\alpha)\\theta')$")
    return style.finish(figure, provenance, loc="outside right center", fontsize=9)


def errors_figure(
    x: Float[Array, " X"],
    a: Float[Array, " A"],
    errors: Mapping[str, Float[Array, "A X"]],
    provenance: str,
) -> Figure:
    """Absolute errors over x and alpha, each evenly spaced, a map for each network; darker is
    better."""
    figure, axes = style.panels(len(errors), len(errors), (4.6, 3.8), sharey=True)
    norm = LogNorm(1e-5, max(error.max() for error in errors.values()), clip=True)
    # A value is a pixel, and a few hundred in a row are as many as can be seen: noise takes room.
    thin = -(-len(x) // 500)
    x = x[::thin]
    dx, da = (x[1] - x[0]) / 2, (a[1] - a[0]) / 2
    pixels: dict[str, Any] = {"origin": "lower", "aspect": "auto", "interpolation": "none"}
    extent = (x[0] - dx, x[-1] + dx, a[0] - da, a[-1] + da)
    for ax, (name, error) in zip(axes, errors.items(), strict=True):
        image = ax.imshow(error[:, ::thin], norm=norm, cmap="cividis", extent=extent, **pixels)
        ax.set(title=name, xlabel="$x$")
        ax.grid(False)
    axes[0].set_ylabel("$\\alpha$")
    figure.colorbar(image, ax=axes, label="absolute error  (lower is better)", extend="min")
    return style.stamp(figure, provenance)


def sizes_figure(curves: Mapping[str, Curve], bound: Curve, provenance: str) -> Figure:
    """Largest errors over the number Q of hidden units, a line for each network, and the bound of
    the comb."""
    figure, ax = plt.subplots(figsize=(6.5, 4.2))
    for name, look in style.looks([*curves]).items():
        ax.loglog(*curves[name], label=name, **look)
    ax.loglog(*bound, color="black", ls="--", label="bound of the comb")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="hidden units $Q$", ylabel=style.directed("largest error", False))
    return style.finish(figure, provenance, ncols=2, fontsize=9)


def lines_figure(
    front: Float[Array, "K 2"],
    lines: Mapping[str, Float[Array, "A 2"]],
    marked: Mapping[str, Float[Array, "N 2"]],
    provenance: str,
) -> Figure:
    """Lines of weight space in the plane of two losses, beside the exact front."""
    figure, axes = style.panels(len(lines), len(lines), (4.6, 4.2), sharex=True, sharey=True)
    for ax, (name, line) in zip(axes, lines.items(), strict=True):
        ax.plot(*front.T, color=style.COLOURS["front"], lw=6, alpha=0.6, label="exact front")
        ax.plot(*line.T, color="black", lw=1, label="the line in weight space")
        colour = style.COLOURS["second"]
        ax.plot(*marked[name].T, "o", color=colour, label="$\\alpha$ of the theorem")
        ax.set_title(name)
        style.label_losses(ax)
    return style.finish(figure, provenance, ncols=3, fontsize=9)


def claim_figure(fronts: Mapping[str, tuple[Front, Front]], provenance: str) -> Figure:
    """Each pair of a subspace and a rival twice: losses on the left, accuracies on the right.

    Points of the subspace are filled where no other dominates them and coloured by alpha_1.
    """
    figure, axes = style.panels(2 * len(fronts), 2, (4.0, 3.2))
    shown = product(fronts.items(), ("loss", "accuracy"))
    for ax, ((name, (front, rival)), metric) in zip(axes, shown, strict=True):
        view, other = front.on(metric), rival.on(metric)
        kept = view.non_dominated()
        ax.plot(*view.values.T, color=style.COLOURS["other"], lw=1, zorder=1)
        shade: dict[str, Any] = {"cmap": "cividis", "vmin": 0, "vmax": 1, "zorder": 2}
        x, y = view.values.T
        ax.scatter(x[~kept], y[~kept], s=40, fc="white", ec="black", zorder=2, label="dominated")
        dots = ax.scatter(x[kept], y[kept], s=60, c=view.alphas[kept, 0], ec="black", **shade)
        ax.plot(*other.values.T, "D", color=style.COLOURS["ls"], mec="black", label="LS")
        names = [style.directed(o.name.replace("/", " "), o.maximise) for o in view.objectives]
        ax.set_xlabel(names[0], fontsize=8)
        ax.set_ylabel(names[1], fontsize=8)
        ax.locator_params(nbins=5)
        ax.set_title(f"{name}: {kept.sum()} of {len(kept)} non-dominated", fontsize=9)
    figure.colorbar(dots, ax=axes, label="$\\alpha_1$ of non-dominated points", aspect=60)
    return style.finish(figure, provenance, ncols=2, fontsize=9)
