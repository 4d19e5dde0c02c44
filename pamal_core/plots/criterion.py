"""What a criterion for choosing hyper-parameters chooses: fronts of the winners."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pamal_core.front import Front
from pamal_core.plots import style
from pamal_core.plots.fronts import draw_line, names

FIRST: dict[str, Any] = {"ms": 10, "mfc": "none", "ls": ""}


class Winner(NamedTuple):
    """A setting in words, and its fronts, one per seed; none where nothing meets the criterion."""

    setting: str
    fronts: Sequence[Front]


def winners_figure(panels: Mapping[str, Mapping[str, Winner]], provenance: str) -> Figure:
    """A column for each criterion, whose title has the setting of every method: above the fronts by
    their objectives, below by their losses, on equal axes.

    `panels` maps criteria to methods to winners, the same methods for each. A line joins the points
    of one seed in the order of alpha; the large hollow marker is where the first task has all the
    weight.
    """
    figure, axes = plt.subplots(
        2, len(panels), figsize=(3.6 * len(panels), 6.6), sharex="row", sharey="row", squeeze=False
    )
    looks = style.looks([*next(iter(panels.values()))])
    for (above, below), (title, winners) in zip(axes.T, panels.items(), strict=True):
        lines = [f"{name}: {winner.setting}" for name, winner in winners.items()]
        above.set_title("\n".join([title, *lines]), fontsize=8)
        for name, winner in winners.items():
            for front in winner.fronts:
                for ax, view in ((above, front), (below, front.on("loss"))):
                    draw_line(ax, view, FIRST, ms=3.5, lw=1, **looks[name])
    some = next(w.fronts[0] for winners in panels.values() for w in winners.values() if w.fronts)
    for row, view in zip(axes, (some, some.on("loss")), strict=True):
        x, y = names(view, gap="\n")
        row[0].set_ylabel(y, fontsize=9)
        for ax in row:
            ax.set_xlabel(x, fontsize=9)
            ax.tick_params(labelsize=8)
            ax.locator_params(axis="x", nbins=5)
    grey = {"color": style.COLOURS["other"], "marker": "o", **FIRST, "ms": 9}
    key = {name: look | {"ms": 5} for name, look in looks.items()}
    handles = style.key(key | {"all weight on the first task": grey})
    return style.finish(figure, provenance, handles, ncols=len(handles))
