"""The hypervolume that methods reach with each learning rate. No torch here."""

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from pamal_core.experiments.rates import weights
from pamal_core.plots import style

COLOURS = ["#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"]
MARKERS = "sDv^P"


def rates_figure(found: pd.DataFrame, provenance: str) -> Figure:
    """Of `experiments.rates.runs`: for the last weights and for each mean of them a panel, with a
    line for each setting over the rate of Adam; whiskers are one deviation over seeds. PaMaL is
    drawn in black and blue, one network in other colours."""
    measured = found.dropna()
    decays = sorted(measured.decay.unique())
    size = (4.2 * len(decays) + 2.2, 4.2)
    figure, panels = plt.subplots(1, len(decays), figsize=size, sharey=True, squeeze=False)
    for ax, decay in zip(panels[0], decays, strict=True):
        _lines(ax, measured[measured.decay == decay], [*found.setting.cat.categories])
        ax.set_title(weights(decay))
    panels[0][0].set_ylabel(f"hypervolume, validation  ({style.WORDS[True]})")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper")
    style.stamp(figure, provenance)
    return figure


def _lines(ax: Axes, measured: pd.DataFrame, settings: list[str]) -> None:
    ours = [name for name in settings if name.startswith("PaMaL")]
    others = [name for name in settings if name not in ours]
    looks = dict(
        zip(ours, [(style.COLOURS["pamal"], "o"), (style.COLOURS["stl"], "X")], strict=False)
    )
    looks |= dict(zip(others, zip(COLOURS, MARKERS, strict=True), strict=False))
    for name, runs in measured.groupby("setting", observed=True):
        volumes = runs.groupby("rate").validation
        colour, marker = looks[str(name)]
        ax.errorbar(
            [*volumes.groups],
            volumes.mean(),
            volumes.std().fillna(0),
            label=str(name),
            color=colour,
            marker=marker,
            lw=2 if name in ours else 1.3,
            capsize=3,
        )
    ax.set_xscale("log")
    ticks = sorted(measured.rate.unique())
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("learning rate of Adam")
