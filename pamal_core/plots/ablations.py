"""Figures of the ablations: heat maps and fronts over W and lambda, and over p."""

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pamal_core.front import Front
from pamal_core.plots import style
from pamal_core.plots.fronts import draw_line, fit_axes, name_axes, names

LINE = {"marker": ".", "ms": 4, "lw": 1.2}
FIRST = {"marker": "o", "ms": 7, "ls": ""}
DASHES = ("-", "--", ":", "-.")
SHADES = (1.0, 0.6, 0.35)


def heat_maps_figure(
    maps: Mapping[str, Mapping[str, pd.DataFrame]], bounded: Sequence[str], provenance: str
) -> Figure:
    """A row of maps for each name, a map for each quantity, W downwards and lambda to the right.

    Maps of one quantity share their colours. Those in `bounded` are correlations: white at 0,
    purple towards -1 and orange towards 1. NaN is left empty.
    """
    quantities = list(next(iter(maps.values())))
    figure, axes = plt.subplots(
        len(maps), len(quantities), figsize=(3.4 * len(quantities), 3 * len(maps)), squeeze=False
    )
    for column, quantity in zip(axes.T, quantities, strict=True):
        values = [row[quantity] for row in maps.values()]
        low, high, colours = np.nanmin(values), np.nanmax(values), "cividis"
        if quantity in bounded:
            low, high, colours = -1.0, 1.0, "PuOr_r"
        for ax, (name, table) in zip(column, zip(maps, values, strict=True), strict=True):
            image = ax.imshow(table, vmin=low, vmax=high, cmap=colours, aspect="auto")
            for (i, j), value in np.ndenumerate(table.to_numpy(float)):
                if np.isfinite(value):
                    # In black or white, whichever can be read.
                    dark = np.dot(image.cmap(image.norm(value))[:3], (0.299, 0.587, 0.114)) < 0.5
                    look: dict[str, Any] = {"color": "white" if dark else "black", "fontsize": 8}
                    text = f"{value:.4f}" if low >= 0 else f"{value:+.2f}"
                    ax.text(j, i, text, ha="center", va="center", **look)
            ax.set_xticks(range(len(table.columns)), [f"{lam:g}" for lam in table.columns])
            ax.set_yticks(range(len(table.index)), [f"{W}" for W in table.index])
            ax.set(xlabel="λ", ylabel="W")
            ax.set_title(name, fontsize=9)
            ax.grid(False)
        bar = figure.colorbar(image, ax=column, location="bottom", pad=0.02)
        bar.set_label(quantity, fontsize=9)
    return style.stamp(figure, provenance)


def fronts_figure(
    panels: Mapping[tuple[int, float], Mapping[str, Sequence[Front]]], provenance: str
) -> Figure:
    """A panel for each (W, lambda), W downwards and lambda to the right, on equal axes: the fronts
    of each penalty in its colour, a dash pattern per seed.

    The large dot is the first member, which should be the end that is best at the first task. A
    pair that is not there has no panel. The axes leave out the worst twentieth of the networks in
    each objective, which would take most of the room.
    """
    windows, lams = (sorted({*values}) for values in zip(*panels, strict=True))
    penalties = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    palette = style.colours(len(penalties), ("#000000", *style.SEEDS))
    colours = dict(zip(penalties, palette, strict=True))
    size = (9 / len(lams), 2.0)
    figure, axes = style.panels(len(windows) * len(lams), len(lams), size, sharex=True, sharey=True)
    for ax, pair in zip(axes, product(windows, lams), strict=True):
        ax.set_axis_off()
        for name, runs in panels.get(pair, {}).items():
            ax.set_axis_on()
            ax.set_title("W = {}, λ = {:g}".format(*pair), fontsize=9)
            for front, dashes in zip(runs, cycle(DASHES)):
                draw_line(ax, front, FIRST, color=colours[name], ls=dashes, **LINE)
    every = [front for panel in panels.values() for runs in panel.values() for front in runs]
    fit_axes(axes[0], np.concatenate([front.values for front in every]), leave_out=0.05)
    style.label_once(figure, *names(every[0]), fontsize=10)
    key: dict[str, Any] = {name: {"color": c, "marker": "."} for name, c in colours.items()}
    handles = style.key({**key, "first member": {"color": "grey", **FIRST}})
    return style.finish(figure, provenance, handles, ncols=len(handles), fontsize=9)


def sampling_figure(
    fronts: Mapping[float, Sequence[Front]],
    similarities: Mapping[float, Sequence[np.ndarray]],
    provenance: str,
) -> Figure:
    """Fronts for each p, once all of them and once without the space that only p = 0 needs; and
    the cosine of the members [epochs] over the epochs. Seeds are shades of the colour of p."""
    figure, (whole, close, cosine) = plt.subplots(
        1, 3, figsize=(12.5, 4.2), gridspec_kw={"wspace": 0.06}
    )
    for (p, runs), colour in zip(fronts.items(), style.colours(len(fronts)), strict=True):
        shades = SHADES if len(runs) <= len(SHADES) else np.geomspace(1, 0.2, len(runs))
        pairs = zip(runs, similarities[p], shades[: len(runs)], strict=True)
        for k, (front, curve, shade) in enumerate(pairs):
            look = {"color": colour, "alpha": shade, "label": None if k else f"p = {p:g}"}
            for ax in (whole, close):
                draw_line(ax, front, FIRST, **LINE, **look)
            cosine.plot(np.arange(len(curve)) + 1, curve, marker=".", **look)
    shown = [f.values for p, runs in fronts.items() for f in runs if p > 0 or len(fronts) == 1]
    fit_axes(close, np.concatenate(shown))
    for ax, title in ((whole, "all networks"), (close, "closer")):
        name_axes(ax, next(iter(fronts.values()))[0])
        ax.set_title(title)
    cosine.xaxis.set_major_locator(MaxNLocator(integer=True))
    cosine.set(xlabel="epoch", ylabel="cosine of the members", title="how equal the members are")
    cosine.set_ylim(-0.05, 1.05)
    handles, _ = cosine.get_legend_handles_labels()
    return style.finish(figure, provenance, handles, ncols=len(fronts))
