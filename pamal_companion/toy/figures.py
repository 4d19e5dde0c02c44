"""The toy problem's figures: Figure 1, the grids of appendix B2, the surfaces of A2. Those of a
`ToyRun` are lists, empty where the run has nothing to show in them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy import ndarray as Array

from pamal_companion.plots import style
from pamal_companion.toy import captions
from pamal_companion.toy.outcomes import SCALES, VARIANTS, Outcome
from pamal_companion.toy.rules import EPOCH
from pamal_companion.toy.run import ToyRun

MEMBERS = style.TASKS[:2]
FRONT: dict[str, Any] = {"color": style.COLOURS["front"], "lw": 5, "alpha": 0.6, "zorder": 1}
ENDS = "Dots are starts, crosses are ends."
SHADES = 100
NEAR = 1.0
"""A network this close to the lowest loss, in the plane of the weights, is drawn on it."""
SHOWN = (0.0, 0.04, 0.08, 0.16, 0.32, 1.0)
"""When Figure 1 shows the subspace, as shares of the run: most of the way is made early."""


def figure_1(result: ToyRun) -> list[Figure]:
    """Draw trajectories, a figure for each scale: every run of LS, and PaMaL from its worst
    pair."""
    num_steps, outcomes = EPOCH * result.record.options["epochs"], result.outcomes
    figures = []
    for scale in SCALES:
        names = [v.name for v in VARIANTS if v.scale == scale and v.name in outcomes]
        if names:
            panels = {name: outcomes[name] for name in names}
            words = f"{captions.panel_by_panel(panels)}{ENDS}"
            figures.append(trajectories_figure(panels, num_steps, result.provenance, words))
    return figures


@style.twice
def trajectories_figure(
    panels: Mapping[str, Outcome],
    num_steps: int,
    provenance: str,
    words: str = ENDS,
    small: bool = False,
) -> Figure:
    """Draw Figure 1: how runs move through loss space, a panel for each method, by its name; many
    are `small`, four to a row. Runs of a single member are coloured by step; of the worst pair of
    members dashed lines, stronger with time, show the subspace."""
    columns, height, size = (4, 1.9, 5) if small else (2, 3.3, 8)
    phone = 2 if small else 1
    figure, axes = style.panels(panels, columns, height, phone=phone, sharex=True, sharey=True)
    for ax, (name, outcome) in zip(axes, panels.items(), strict=True):
        ax.plot(*outcome.front.T, **FRONT, label="analytic front")
        if outcome.num_members == 1:
            # Small, for many methods: fifty runs would be 600 kB.
            _draw_runs(ax, outcome.members[:, :, 0], num_steps, size - 1, rasterized=small)
        else:
            _draw_members(ax, outcome.members[:, outcome.worst], size)
            for share, shade in zip(SHOWN, np.linspace(0.35, 1, len(SHOWN)), strict=True):
                image = outcome.image(round(share * (len(outcome.stacked) - 1)))[outcome.worst]
                look = {"color": style.INK, "alpha": shade, "ls": "--", "lw": 1.3}
                ax.plot(*image.T, label=f"subspace, step {round(share * num_steps):,}", **look)
        if small:
            ax.set_title(name.replace(", ", ",\n"))
        else:
            style.label_losses(ax)
    if small:
        style.label_once(figure)
    if any(outcome.num_members == 1 for outcome in panels.values()):
        label = "step, where a run is one network" if small else "step, of the LS trajectories"
        colours = plt.cm.ScalarMappable(Normalize(0, num_steps), style.SEQUENTIAL)
        side: dict[str, Any] = {"location": "bottom" if style.on_phone() else "right"}
        figure.colorbar(colours, ax=figure.axes, pad=0.01, label=label, **side)
    return style.finish(figure, provenance, None, words, ncols=3)


def pairs(result: ToyRun, variant: str) -> list[Figure]:
    """Draw Appendix B2: all pairs of one variant, by its name."""
    return [pairs_figure(result, variant)] if variant in result.outcomes else []


@style.twice
def pairs_figure(result: ToyRun, variant: str) -> Figure:
    """Draw Appendix B2 for one variant that ran: the trajectories of the members and the final
    subspace, rows by the start of member 1, columns by that of member 2."""
    outcome, runs = result.outcomes[variant], result.record.summary[variant]["runs"]
    titles = [f"{name}: {run['verdict']}" for name, run in runs.items()]
    # 25 panels are slow to draw: known margins need no layout engine.
    how: dict[str, Any] = {"phone": 5, "layout": "none", "sharex": True, "sharey": True}
    figure, axes = style.panels(titles, 5, 1.3 if style.on_phone() else 1.55, **how)
    margins = (0.16, 0.08, 0.98, 0.86) if style.on_phone() else (0.1, 0.08, 0.99, 0.91)
    figure.subplots_adjust(*margins, wspace=0.08, hspace=0.6 if style.on_phone() else 0.25)
    members, subspaces = outcome.members.swapaxes(0, 1), outcome.image()
    for ax, run, subspace in zip(axes, members, subspaces, strict=True):
        ax.plot(*outcome.front.T, **FRONT, label="analytic front")
        _draw_members(ax, run, 4)
        ax.plot(*subspace.T, color=style.INK, ls="--", lw=1.4, zorder=4, label="final subspace")
        ax.grid(False)
        ax.locator_params(nbins=2 if style.on_phone() else 4)
        if style.on_phone():
            ax.set_title(ax.get_title(loc="left").replace(" ", "\n"), fontsize=style.SMALL)
    parts = [part.reshape(-1, 2) for part in (outcome.front, members, subspaces)]
    style.fit_axes(axes[0], np.concatenate(parts))
    if style.on_phone():  # a number at the right end would lie on the next panel's first one
        axes[0].set_xticks([np.rint(outcome.front[:, 0].min()), 0])
    style.label_once(figure)
    verdicts = Counter(run["verdict"] for run in runs.values())
    words, said = f"{captions.of_pairs(verdicts)}{ENDS}", f"{variant}. {result.provenance}"
    return style.finish(figure, said, None, words, loc="upper center", ncols=4)


def surfaces(result: ToyRun, variant: str) -> list[Figure]:
    """Draw Appendix A2: the weighted loss over the plane of weights as alpha sweeps, darker is
    lower, with the final subspace of the worst pair."""
    return [surface_figure(result, variant)] if variant in result.outcomes else []


@style.twice
def surface_figure(result: ToyRun, variant: str) -> Figure:
    """Draw Appendix A2 for one variant that ran."""
    outcome = result.outcomes[variant]
    members = outcome.stacked[-1, outcome.worst]
    sides = np.linspace(-11, 11, 221), np.linspace(-12, 10, 221)
    grid = np.stack(np.meshgrid(*sides), -1)
    losses, alphas = outcome.problem.losses(grid), (0.0, 0.25, 0.5, 0.75, 1.0)
    titles = [f"α = {a:g}" for a in alphas]
    figure, axes = style.panels(titles, len(alphas), 3.2, phone=2, sharey=True)
    levels = np.arange(np.floor(losses.min()), np.ceil(losses.max()) + 1)
    gaps = []
    for ax, a in zip(axes, alphas, strict=True):
        weighted = losses @ np.array([a, 1 - a])
        surface = ax.contourf(*sides, weighted, levels=levels, cmap=style.MAP)
        surface.set_rasterized(True)  # its outlines would be megabytes
        best = grid[np.unravel_index(weighted.argmin(), weighted.shape)]
        here = np.array([a, 1 - a]) @ members
        gaps.append(np.linalg.norm(best - here))
        ax.plot(*members.T, color="white", lw=3, label="subspace")
        ax.plot(*best, "o", ms=11, mfc="none", mec="white", mew=1.5, label="lowest loss")
        ax.plot(*here, "X", ms=8, mfc=MEMBERS[1], mec="white", label="θ(α)")
        ax.set_xlabel("θ₁")
        ax.grid(False)
    for ax in axes[:: 2 if style.on_phone() else len(axes)]:
        ax.set_ylabel("θ₂")
    side: dict[str, Any] = {"location": "bottom" if style.on_phone() else "right"}
    label = "weighted loss  (lower is better)"
    bar = figure.colorbar(surface, ax=axes, label=label, pad=0.01, **side)
    bar.set_ticks(levels[levels % 5 == 0])
    for bands in bar.ax.collections:
        bands.set_rasterized(True)  # browsers leave seams between them
    dark = {"labelcolor": "white", "frameon": True, "facecolor": "0.25"}
    follows = (
        "The lowest loss moves along the subspace as α does, so θ(α) is the best network for α. "
    )
    words = follows if max(gaps) < NEAR else ""
    words += (
        "Colours are α times the loss of task 1 plus 1 - α times that of task 2, over the two "
        "weights; a step of colour is a contour, one for each unit of loss."
    )
    return style.finish(figure, result.provenance, None, words, ncols=3, **dark)


def _draw_members(ax: Axes, run: Float[Array, "S 2 2"], size: int) -> None:
    for k, colour in enumerate(MEMBERS):
        ax.plot(*run[:, k].T, color=colour, lw=1.3, zorder=2, label=f"member {k + 1}")
        _draw_ends(ax, run[:, k], colour, size)


def _draw_runs(
    ax: Axes, runs: Float[Array, "S P 2"], num_steps: int, size: int, rasterized: bool
) -> None:
    """Runs of one member, coloured by step in `SHADES` shades."""
    # Of the moments within a cell of that size the first is drawn: no more can be seen.
    smallest = np.maximum(np.ptp(runs, axis=(0, 1)) / 400, 1e-9)
    shades = np.linspace(0, SHADES, len(runs), endpoint=False).astype(int)
    last = np.arange(len(runs)) == len(runs) - 1
    for run in runs.swapaxes(0, 1):
        cells = np.floor(run / smallest)
        shown = np.flatnonzero(np.r_[True, (cells[1:] != cells[:-1]).any(1)] | last)
        starts = [0, *(np.flatnonzero(np.diff(shades[shown[:-1]])) + 1)]
        ends = [*starts[1:], len(shown) - 1]
        pieces = [run[shown[i : j + 1]] for i, j in zip(starts, ends, strict=True)]
        lines = LineCollection(
            pieces, cmap=style.SEQUENTIAL, norm=Normalize(0, num_steps), lw=2, zorder=2,
            capstyle="round", joinstyle="round", rasterized=rasterized,
        )  # fmt: skip
        lines.set_array(shades[shown[starts]] * num_steps / (SHADES - 1))
        ax.add_collection(lines)
        _draw_ends(ax, run, style.INK, size)


def _draw_ends(ax: Axes, path: Float[Array, "S 2"], colour: str, size: int) -> None:
    ax.plot(*path[0], "o", color=colour, ms=size, zorder=3)
    ax.plot(*path[-1], "X", color=colour, ms=size + 2, mec=style.PAPER, mew=0.7, zorder=5)
