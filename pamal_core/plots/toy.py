"""The toy problem's figures: Figure 1, the grids of appendix B2, the surfaces of A2."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy import ndarray as Array

from pamal_core.plots import style

MEMBERS = (style.COLOURS["first"], style.COLOURS["second"])
FRONT: dict[str, Any] = {"color": style.COLOURS["front"], "lw": 5, "alpha": 0.6, "zorder": 1}
SHADES = 100
SUBSPACE: dict[str, Any] = {"color": "black", "ls": "--", "lw": 1.4, "zorder": 4}


class Trajectories(NamedTuple):
    """What one panel of Figure 1 shows, all in loss space.

    The analytic front; the members of P runs at S moments; and, by step, images of the subspace of
    one run (none for LS).
    """

    front: Float[Array, "K 2"]
    members: Float[Array, "S P M 2"]
    images: Mapping[int, Float[Array, "I 2"]]


def trajectories_figure(
    panels: Mapping[str, Trajectories], num_steps: int, provenance: str
) -> Figure:
    """Figure 1: how runs move through loss space, a panel for each method, by its name.

    Runs of a single member are coloured by step; the two members of a pair are blue and red, with
    dots at the start and crosses at the end, and dashed lines, darker with time, show the subspace
    between them.
    """
    figure, axes = style.panels(len(panels), 2, (4.5, 4.2), sharex=True, sharey=True)
    for ax, (name, panel) in zip(axes, panels.items(), strict=True):
        ax.set_title(name)
        _draw_panel(ax, panel, num_steps, 8)
        style.label_losses(ax)
    if any(panel.members.shape[2] == 1 for panel in panels.values()):
        _add_steps(figure, num_steps, "step, of the LS trajectories")
    return style.finish(figure, provenance, ncols=3, fontsize=8)


def methods_figure(panels: Mapping[str, Trajectories], num_steps: int, provenance: str) -> Figure:
    """The same for many methods, in small panels, five to a row."""
    figure, axes = style.panels(len(panels), 5, (1.8, 2.1), sharex=True, sharey=True)
    for number, (ax, (name, panel)) in enumerate(zip(axes, panels.items(), strict=True)):
        ax.set_title(name.replace(", ", ",\n"), fontsize=9)
        _draw_panel(ax, panel, num_steps, 5, rasterized=True)  # fifty runs would be 600 kB
        ax.tick_params(labelsize=8, labelbottom=number + 5 >= len(panels))
    style.label_once(figure, fontsize=10)
    bar = _add_steps(figure, num_steps, "step, where a run is one network")
    bar.ax.tick_params(labelsize=8)
    return style.finish(figure, provenance, ncols=3, fontsize=8)


def pairs_figure(
    front: Float[Array, "K 2"],
    runs: Mapping[str, Float[Array, "n *dims"]],
    verdicts: Mapping[str, str],
    title: str,
    provenance: str,
) -> Figure:
    """Appendix B2: a small panel for each pair, rows by the start of member 1, columns by that of
    member 2.

    A run is either the trajectories of its members [S, 2, 2], drawn with dots at the start and
    crosses at the end, or the image of its final subspace [I, 2], drawn dashed.
    """
    # 25 panels are slow to draw: known margins need no layout engine, inner panels no ticks.
    figure, axes = style.panels(len(runs), 5, (1.8, 1.8), layout="none")
    figure.subplots_adjust(0.09, 0.08, 0.99, 0.92, wspace=0.06, hspace=0.2)
    losses = np.concatenate([front, *(run.reshape(-1, 2) for run in runs.values())])
    margin = 0.05 * np.ptp(losses, axis=0)
    limits = np.stack((losses.min(0) - margin, losses.max(0) + margin), -1)
    for number, (ax, (name, run)) in enumerate(zip(axes, runs.items(), strict=True)):
        ax.plot(*front.T, **FRONT)
        if run.ndim == 3:
            _members(ax, run, 5)
        else:
            ax.plot(*run.T, **SUBSPACE)
        ax.set_title(f"{name}: {verdicts[name]}", fontsize=9, pad=3)
        ax.set(xlim=limits[0], ylim=limits[1])
        ax.grid(False)
        if number + 5 < len(runs):
            ax.set_xticks([])
        if number % 5 > 0:
            ax.set_yticks([])
    figure.suptitle(title, y=0.97)
    style.label_once(figure)
    return style.stamp(figure, provenance)


def surfaces_figure(
    axes_values: tuple[Float[Array, " X"], Float[Array, " Y"]],
    losses: Float[Array, "Y X 2"],
    members: Float[Array, "2 2"],
    alphas: Sequence[float],
    provenance: str,
) -> Figure:
    """Appendix A2: the weighted loss over the plane of weights as alpha sweeps, darker is lower.

    The line is the subspace between the members, the cross theta(alpha), the ring the point of the
    grid where the weighted loss is lowest.
    """
    figure, axes = style.panels(len(alphas), len(alphas), (2.4, 3.8), sharey=True)
    levels = np.arange(np.floor(losses.min()), np.ceil(losses.max()) + 1)
    grid = np.stack(np.meshgrid(*axes_values), -1)
    for ax, a in zip(axes, alphas, strict=True):
        weighted = losses @ np.array([a, 1 - a])
        surface = ax.contourf(*axes_values, weighted, levels=levels, cmap="cividis")
        surface.set_rasterized(True)  # its outlines would be megabytes
        best = grid[np.unravel_index(weighted.argmin(), weighted.shape)]
        here = np.array([a, 1 - a]) @ members
        ax.plot(*members.T, color=style.COLOURS["front"], lw=3, label="subspace")
        ax.plot(*best, "o", ms=14, mfc="none", mec="white", mew=1.5, label="lowest loss")
        ax.plot(*here, "X", ms=9, mfc=MEMBERS[1], mec="white", label="$\\theta(\\alpha)$")
        ax.set(title=f"$\\alpha$ = {a:g}", xlabel="$\\theta_1$")
        ax.grid(False)
    axes[0].set_ylabel("$\\theta_2$")
    scale: dict[str, Any] = {"ticks": levels[levels % 5 == 0], "pad": 0.01}
    bar = figure.colorbar(surface, ax=axes, label="weighted loss  (lower is better)", **scale)
    for bands in bar.ax.collections:
        bands.set_rasterized(True)  # browsers leave seams between them
    dark: dict[str, Any] = {"labelcolor": "white", "frameon": True, "facecolor": "0.25"}
    return style.finish(figure, provenance, ncols=3, **dark)


def _draw_panel(
    ax: Axes, panel: Trajectories, num_steps: int, size: int, rasterized: bool = False
) -> None:
    """The front, the runs, and the images of the subspace, darker with time."""
    ax.plot(*panel.front.T, **FRONT, label="analytic front")
    if panel.members.shape[2] == 1:
        _coloured(ax, panel.members[:, :, 0], num_steps, size - 1, rasterized)
    else:
        _members(ax, panel.members[:, 0], size)
    shades = plt.get_cmap("Greys")(np.linspace(0.35, 1, len(panel.images)))
    for shade, (step, image) in zip(shades, panel.images.items(), strict=True):
        ax.plot(*image.T, color=shade, ls="--", lw=1.3, label=f"subspace, step {step:,}")


def _add_steps(figure: Figure, num_steps: int, label: str) -> Colorbar:
    """What the colours of the runs of one member mean."""
    colours = plt.cm.ScalarMappable(Normalize(0, num_steps), "viridis")
    return figure.colorbar(colours, ax=figure.axes, pad=0.01, label=label)


def _members(ax: Axes, run: Float[Array, "S 2 2"], size: int) -> None:
    """The members of one pair: lines, dots at the start, crosses at the end."""
    for k, colour in enumerate(MEMBERS):
        ax.plot(*run[:, k].T, color=colour, lw=1.3, zorder=2, label=f"member {k + 1}")
        _ends(ax, run[:, k], colour, size)


def _coloured(
    ax: Axes, runs: Float[Array, "S P 2"], num_steps: int, size: int, rasterized: bool
) -> None:
    """Runs of one member, coloured by step in `SHADES` shades."""
    smallest = np.ptp(runs, axis=(0, 1)) / 400  # what is shorter cannot be seen
    shades = np.linspace(0, SHADES, len(runs), endpoint=False).astype(int)
    for run in runs.swapaxes(0, 1):
        moments = [0]
        for moment in range(1, len(run)):
            moved = (np.abs(run[moment] - run[moments[-1]]) >= smallest).any()
            if moved or moment == len(run) - 1:
                moments.append(moment)
        shown = np.array(moments)
        starts = [0, *(np.flatnonzero(np.diff(shades[shown[:-1]])) + 1)]
        ends = [*starts[1:], len(shown) - 1]
        pieces = [run[shown[i : j + 1]] for i, j in zip(starts, ends, strict=True)]
        lines = LineCollection(
            pieces, cmap="viridis", norm=Normalize(0, num_steps), lw=2, zorder=2,
            capstyle="round", joinstyle="round", rasterized=rasterized,
        )  # fmt: skip
        lines.set_array(shades[shown[starts]] * num_steps / (SHADES - 1))
        ax.add_collection(lines)
        _ends(ax, run, "black", size)


def _ends(ax: Axes, path: Float[Array, "S 2"], colour: str, size: int) -> None:
    ax.plot(*path[0], "o", color=colour, ms=size, zorder=3)
    ax.plot(*path[-1], "X", color=colour, ms=size + 2, mec="white", mew=0.7, zorder=5)
