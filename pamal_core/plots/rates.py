"""The hypervolume that methods reach with each learning rate. No torch here."""

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from pamal_core.plots import style

OURS = [(style.COLOURS["pamal"], "o"), (style.COLOURS["stl"], "X")]
_, _RED, _GREEN, _PINK, _ = style.SEEDS
_COLOURS = style.COLOURS["ls"], _GREEN, _PINK, _RED, style.COLOURS["front"]
OTHERS = [*zip(_COLOURS, "sDv^P", strict=True)]


def rates_figure(found: pd.DataFrame, weights: list[str], provenance: str) -> Figure:
    """Of `experiments.rates.runs`: for each of `weights` a panel, with a line for each setting
    over the rate of Adam; whiskers are one deviation over seeds. PaMaL is blue and black."""
    size = (4.2 * len(weights) + 2.2, 4.2)
    figure, panels = plt.subplots(1, len(weights), figsize=size, sharey=True, squeeze=False)
    for ax, which in zip(panels[0], weights, strict=True):
        _lines(ax, found[found.weights == which].dropna(), [*found.setting.cat.categories])
        ax.set_title(f"weights: {which}")
    panels[0][0].set_ylabel(f"hypervolume, validation  ({style.WORDS[True]})")
    drawn = {
        name: line
        for ax in panels[0]
        for line, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    names = [name for name in found.setting.cat.categories if name in drawn]
    figure.legend([drawn[name] for name in names], names, loc="outside right upper")
    style.stamp(figure, provenance)
    return figure


def _lines(ax: Axes, measured: pd.DataFrame, settings: list[str]) -> None:
    ours = [name for name in settings if name.startswith("PaMaL")]
    others = [name for name in settings if name not in ours]
    looks = dict(zip([*ours, *others], [*OURS[: len(ours)], *OTHERS], strict=False))
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
