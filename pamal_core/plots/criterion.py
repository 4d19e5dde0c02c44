"""What a criterion for choosing hyper-parameters chooses: fronts of the winners. No torch here."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pamal_core.front import Front
from pamal_core.plots import style
from pamal_core.plots.fronts import MARKERS

LOOKS = dict(zip(("PaMaL", "PHN", "COSMOS"), zip(style.SEEDS, MARKERS, strict=False), strict=False))
"""The colour and marker of each method."""


class Winner(NamedTuple):
    """A setting in words, and its fronts, one per seed; none where nothing meets the criterion."""

    setting: str
    fronts: Sequence[Front]


def winners_figure(panels: Mapping[str, Mapping[str, Winner]], provenance: str) -> Figure:
    """A column for each criterion, whose title has the setting of every method: above the fronts by
    their objectives, below by their losses, on equal axes.

    `panels` maps criteria to methods to winners; the methods are of `LOOKS`, the same for each. A
    line joins the points of one seed in the order of alpha; the large hollow marker is where the
    first task has all the weight.
    """
    figure, axes = plt.subplots(
        2, len(panels), figsize=(3.6 * len(panels), 6.6), sharex="row", sharey="row", squeeze=False
    )
    for column, (title, methods) in zip(axes.T, panels.items(), strict=True):
        lines = [f"{name}: {winner.setting}" for name, winner in methods.items()]
        column[0].set_title("\n".join([title, *lines]), fontsize=8)
        for name, winner in methods.items():
            for front in winner.fronts:
                _draw(column[0], front, *LOOKS[name])
                _draw(column[1], front.on("loss"), *LOOKS[name])
    _name_axes(axes, next(w.fronts[0] for w in methods.values() if w.fronts))
    looks = {name: LOOKS[name] for name in methods}
    handles = [Line2D([], [], color=c, marker=m, ms=5, label=n) for n, (c, m) in looks.items()]
    grey, hollow = style.COLOURS["other"], "all weight on the first task"
    handles.append(Line2D([], [], ls="", color=grey, marker="o", ms=9, mfc="none", label=hollow))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    style.stamp(figure, provenance)
    return figure


def _draw(ax: Axes, front: Front, colour: str, marker: str) -> None:
    x, y = front.values.T
    ax.plot(x, y, color=colour, marker=marker, ms=3.5, lw=1)
    first = front.alphas[:, 0].argmax()
    ax.plot(x[first], y[first], color=colour, marker=marker, ms=10, mfc="none")


def _name_axes(axes: np.ndarray, front: Front) -> None:
    """Names at the left and at the bottom of each row only, as its axes are equal."""
    for row, view in zip(axes, (front, front.on("loss")), strict=True):
        x, y = (style.quantity(objective.name) for objective in view.objectives)
        for k, ax in enumerate(row):
            ax.set_xlabel(f"{x}\n({style.WORDS[view.maximise[0]]})", fontsize=9)
            if k == 0:
                ax.set_ylabel(f"{y}\n({style.WORDS[view.maximise[1]]})", fontsize=9)
            ax.tick_params(labelsize=8)
            ax.locator_params(axis="x", nbins=5)
