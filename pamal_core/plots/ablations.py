"""Figures of the ablations: heat maps and fronts over W and lambda, and over p. No torch here."""

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pamal_core.front import Front
from pamal_core.plots import style
from pamal_core.plots.fronts import name_axes

Array = np.ndarray
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
        for ax, (name, row) in zip(column, maps.items(), strict=True):
            image = _heat_map(ax, row[quantity], low, high, colours)
            ax.set_title(name, fontsize=9)
        bar = figure.colorbar(image, ax=column, location="bottom", pad=0.02)
        bar.set_label(quantity, fontsize=9)
    style.stamp(figure, provenance)
    return figure


def fronts_figure(
    panels: Mapping[tuple[int, float], Mapping[str, Sequence[Front]]], provenance: str
) -> Figure:
    """A panel for each (W, lambda), W downwards and lambda to the right, on equal axes: the fronts
    of each penalty in its colour, a dash pattern per seed.

    The large dot is the first member, which should be the end that is best at the first task. A
    pair that is not there has no panel. The axes leave out the worst twentieth of the networks in
    each objective, which would take most of the room.
    """
    windows = sorted({W for W, _ in panels})
    lams = sorted({lam for _, lam in panels})
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    colours = dict(zip(names, ["#000000", *style.SEEDS], strict=False))
    figure, axes = plt.subplots(
        len(windows), len(lams), figsize=(9, 2 * len(windows)), sharex=True, sharey=True,
        squeeze=False,
    )  # fmt: skip
    for ax, pair in zip(axes.flat, product(windows, lams), strict=True):
        ax.set_axis_off()
        for name, runs in panels.get(pair, {}).items():
            ax.set_axis_on()
            ax.set_title("W = {}, λ = {:g}".format(*pair), fontsize=9)
            for front, dashes in zip(runs, cycle(DASHES), strict=False):
                _draw(ax, front, color=colours[name], ls=dashes)
    values = [f.values for panel in panels.values() for runs in panel.values() for f in runs]
    _fit(axes[0, 0], np.concatenate(values), leave_out=0.05)
    _name_axes(figure, runs[0])
    handles = [Line2D([], [], color=colours[name], marker=".", label=name) for name in names]
    handles.append(Line2D([], [], color="grey", marker="o", ls="", ms=7, label="first member"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=9)
    style.stamp(figure, provenance)
    return figure


def sampling_figure(
    fronts: Mapping[float, Sequence[Front]],
    similarities: Mapping[float, Sequence[Array]],
    provenance: str,
) -> Figure:
    """Fronts for each p, once all of them and once without the space that only p = 0 needs; and
    the cosine of the members [epochs] over the epochs. Seeds are shades of the colour of p."""
    figure, (whole, close, cosine) = plt.subplots(
        1, 3, figsize=(12.5, 4.2), gridspec_kw={"wspace": 0.06}
    )
    for (p, runs), colour in zip(fronts.items(), style.SEEDS, strict=False):
        pairs = zip(runs, similarities[p], cycle(SHADES), strict=False)
        for k, (front, curve, shade) in enumerate(pairs):
            look = {"color": colour, "alpha": shade, "label": None if k else f"p = {p:g}"}
            _draw(whole, front, **look)
            _draw(close, front, **look)
            cosine.plot(np.arange(len(curve)) + 1, curve, marker=".", **look)
    shown = [f.values for p, runs in fronts.items() for f in runs if p > 0 or len(fronts) == 1]
    _fit(close, np.concatenate(shown))
    front = next(iter(fronts.values()))[0]
    for ax, title in ((whole, "all networks"), (close, "closer")):
        name_axes(ax, front)
        ax.set_title(title)
    cosine.xaxis.set_major_locator(MaxNLocator(integer=True))
    cosine.set(xlabel="epoch", ylabel="cosine of the members", title="how equal the members are")
    cosine.set_ylim(-0.05, 1.05)
    handles = cosine.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(fronts))
    style.stamp(figure, provenance)
    return figure


def _draw(ax: Axes, front: Front, **look: Any) -> None:
    """The front as a line with a dot per network; a large one is the first member."""
    x, y = front.values.T
    ax.plot(x, y, marker=".", ms=4, lw=1.2, **look)
    first = front.alphas[:, 0].argmax()
    ax.plot(x[first], y[first], "o", ms=7, **{**look, "label": None})


def _heat_map(ax: Axes, values: pd.DataFrame, low: float, high: float, cmap: str) -> AxesImage:
    """`values` as a map with each number in its cell, in black or white, whichever can be read."""
    image = ax.imshow(values, vmin=low, vmax=high, cmap=cmap, aspect="auto")
    for (row, column), value in np.ndenumerate(values.to_numpy(float)):
        if np.isfinite(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            text = f"{value:.4f}" if low >= 0 else f"{value:+.2f}"
            colour = "white" if dark else "black"
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(range(len(values.columns)), [f"{lam:g}" for lam in values.columns])
    ax.set_yticks(range(len(values.index)), [f"{W}" for W in values.index])
    ax.set(xlabel="λ", ylabel="W")
    ax.grid(False)
    return image


def _name_axes(figure: Figure, front: Front) -> None:
    x, y = (style.quantity(objective.name) for objective in front.objectives)
    figure.supxlabel(f"{x}  ({style.WORDS[front.maximise[0]]})", fontsize=10)
    figure.supylabel(f"{y}  ({style.WORDS[front.maximise[1]]})", fontsize=10)


def _fit(ax: Axes, values: Array, leave_out: float = 0) -> None:
    """Limits that hold `values` [P, 2], where higher is better, but for a share of the worst."""
    (left, bottom), (right, top) = np.quantile(values, leave_out, axis=0), values.max(0)
    ax.set_xlim(left - 0.05 * (right - left), right + 0.05 * (right - left))
    ax.set_ylim(bottom - 0.05 * (top - bottom), top + 0.05 * (top - bottom))
