"""The hypervolume that methods reach with each learning rate."""

from itertools import chain, cycle
from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from pamal_core.plots import style

OURS = style.COLOURS["pamal"], style.COLOURS["stl"]
_, _RED, _GREEN, _PINK, _ = style.SEEDS
OTHERS = style.COLOURS["ls"], _GREEN, _PINK, _RED, style.COLOURS["front"]


def rates_figure(found: pd.DataFrame, weights: list[str], provenance: str) -> Figure:
    """For each of `weights` a panel, with a line for each setting over the rate of Adam; whiskers
    are one deviation over seeds. PaMaL is blue and black.

    `found` has a row per run: `setting`, a categorical in the order of the legend, `weights`,
    `rate` and `validation`, a hypervolume.
    """
    settings = [*found.setting.cat.categories]
    size = (4.2 * len(weights) + 2.2, 4.2)
    figure, panels = plt.subplots(1, len(weights), figsize=size, sharey=True, squeeze=False)
    drawn: dict[str, Any] = {}
    for ax, which in zip(panels[0], weights, strict=True):
        _draw_lines(ax, found[found.weights == which].dropna(), settings)
        ax.set_title(f"weights: {which}")
        drawn |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    panels[0][0].set_ylabel(style.directed("hypervolume, validation", True))
    handles = [drawn[name] for name in settings if name in drawn]
    return style.finish(figure, provenance, handles, loc="outside right upper")


def _draw_lines(ax: Axes, measured: pd.DataFrame, settings: list[str]) -> None:
    ours = [name for name in settings if name.startswith("PaMaL")]
    others = [name for name in settings if name not in ours]
    more = iter(style.colours(len(settings), first=()))
    looks: dict[str, tuple[str, str]] = {}
    for names, colours, marks in ((ours, OURS, "oX"), (others, OTHERS, "sDv^P")):
        palette = zip(chain(colours, more), cycle(marks))
        looks |= {name: next(palette) for name in names}
    for k, (name, runs) in enumerate(measured.groupby("setting", observed=True)):
        volumes = runs.groupby("rate").validation
        colour, marker = looks[str(name)]
        ax.errorbar(
            [rate * 1.02 ** (k - 2) for rate in volumes.groups],  # side by side, not one on another
            volumes.mean(),
            volumes.std(),
            label=str(name),
            color=colour,
            marker=marker,
            lw=2.2 if name in ours else 1.3,
            capsize=3,
        )
    ax.set_xscale("log")
    ticks = sorted(measured.rate.unique())
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("learning rate of Adam")
