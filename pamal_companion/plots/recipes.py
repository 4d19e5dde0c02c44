"""Draw what recipes of equal compute reach within a limit that one accepts."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pamal_companion.plots import style
from pamal_companion.plots.words import listed, out_of


@style.twice
def within_figure(
    found: Mapping[str, pd.DataFrame],
    x: str,
    y: str,
    constant: float,
    closer: tuple[float, float],
    provenance: str,
) -> Figure:
    """Draw a line for each recipe, by its name: the mean over seeds of what it reaches within each
    limit, in a band of its 95 % interval, and a dashed line at what a `constant` answer has. The
    second panel has the same between the two values `closer`.

    A frame of `found` has a row for each limit, with "mean", "low" and "high". `x` and `y` name the
    axes.
    """
    figure, axes = style.panels(["all", f"from {closer[0]:g} to {closer[1]:g}"], 2, 3.9)
    looks = style.looks([*found])
    for ax in axes:
        for (name, values), look in zip(found.items(), looks.values(), strict=True):
            band = values["low"], values["high"]
            ax.fill_between(values.index, *band, color=look["color"], alpha=0.2, lw=0)
            ax.plot(values.index, values["mean"], **look, lw=1.8, ms=5, label=name)
        ax.axhline(constant, color=style.INK, ls="--", lw=0.8, label="a constant answer")
        ax.set_xscale("log")
        ticks = [*next(iter(found.values())).index]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    axes[1].set_ylim(closer)
    if style.on_phone():
        x = x.replace("  (", "\n(")
    style.label_once(figure, f"{x}, log scale", y)
    words = f"{_best(found)}Lines are means over seeds, bands their 95 % intervals."
    return style.finish(figure, provenance, None, words, ncols=3)


def _best(found: Mapping[str, pd.DataFrame]) -> str:
    """Return a sentence for each recipe that has the highest mean at some limit: at how many, and
    at which of these its band lies above all other bands."""
    means, low, high = (
        pd.DataFrame({name: values[part] for name, values in found.items()})
        for part in ("mean", "low", "high")
    )
    winners, sentences = means.idxmax(axis=1), []
    for name in winners.value_counts().index:
        limits = winners.index[winners == name]
        others = high.drop(columns=name).loc[limits].max(axis=1)
        clear = limits[np.array(low.loc[limits, name] > others)]
        sentence = f"{name} has the highest mean at {out_of(len(limits), len(means))} limits"
        if len(clear):
            sentence += f"; at {listed(f'{one:g}' for one in clear)} its band is above all others"
        sentences.append(f"{sentence}. ")
    return "".join(sentences)
