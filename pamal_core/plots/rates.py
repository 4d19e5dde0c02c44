"""The hypervolume that methods reach with each learning rate."""

from itertools import chain, cycle
from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
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
    ours = [name for name in settings if name.startswith("PaMaL")]
    others = [name for name in settings if name not in ours]
    more = iter(style.colours(len(settings), first=()))
    looks: dict[str, dict[str, Any]] = {}
    for names, colours, marks, lw in ((ours, OURS, "oX", 2.2), (others, OTHERS, "sDv^P", 1.3)):
        for name, colour, marker in zip(names, chain(colours, more), cycle(marks)):
            looks[name] = {"color": colour, "marker": marker, "lw": lw}
    size = (4.2 * len(weights) + 2.2, 4.2)
    figure, panels = plt.subplots(1, len(weights), figsize=size, sharey=True, squeeze=False)
    drawn: dict[str, Any] = {}
    for ax, which in zip(panels[0], weights, strict=True):
        measured = found[found.weights == which].dropna()
        for k, (name, runs) in enumerate(measured.groupby("setting", observed=True)):
            volumes = runs.groupby("rate").validation
            beside = [rate * 1.02 ** (k - 2) for rate in volumes.groups]  # not one on another
            look = looks[name] | {"capsize": 3, "label": name}
            drawn[name] = ax.errorbar(beside, volumes.mean(), volumes.std(), **look)
        ax.set_xscale("log")
        ticks = sorted(measured.rate.unique())
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlabel="learning rate of Adam", title=f"weights: {which}")
    panels[0][0].set_ylabel(style.directed("hypervolume, validation", True))
    handles = [drawn[name] for name in settings if name in drawn]
    return style.finish(figure, provenance, handles, loc="outside right upper")
