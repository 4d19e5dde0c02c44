"""One look for every figure: Okabe and Ito's colours, which colour-blind readers can tell apart."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import hsv_to_rgb, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

COLOURS = {
    "pamal": "#0072B2",
    "ls": "#E69F00",
    "stl": "#000000",
    "front": "#56B4E9",
    "first": "#0072B2",
    "second": "#D55E00",
    "other": "#7F7F7F",
}
SEEDS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#F0E442")
MARKERS = "osD^v<>PXhdp"
# How a figure is written as SVG: without a date, so that equal figures are equal files, and what is
# rasterised in it at 150 dots an inch.
VECTOR: dict[str, Any] = {"metadata": {"Date": None}, "dpi": 150}
WORDS = {True: "higher is better →", False: "← lower is better"}
LOSSES = tuple(f"task {t} loss  ({WORDS[False]})" for t in (1, 2))


def use() -> None:
    """Set matplotlib's defaults, and SVG for the figures of a notebook; call once per notebook."""
    plt.rcParams.update(
        {
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.frameon": False,
            "svg.hashsalt": "pamal",  # equal figures are equal files
            # Letters are outlines: the same everywhere, whichever fonts there are. As text they
            # could not be searched either, since a page shows a figure as an image.
            "svg.fonttype": "path",
        }
    )
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats  # comes with IPython

        set_matplotlib_formats("svg", **VECTOR)  # type: ignore[no-untyped-call]


def colours(count: int, first: Sequence[str] = SEEDS) -> list[str]:
    """That many colours, no two alike: those of `first`, then hues spread by the golden ratio."""
    hues = [(0.55 + 0.618034 * k) % 1 for k in range(count - len(first))]
    rest = [to_hex(tuple(hsv_to_rgb((h, 0.8, 0.9 - 0.3 * (k % 2))))) for k, h in enumerate(hues)]
    return [*first, *rest][:count]


def markers(count: int, first: str = MARKERS) -> list[str]:
    """That many markers, no two alike: those of `first`, then numbers."""
    return [*first, *(f"${k}$" for k in range(len(first) + 1, count + 1))][:count]


def looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour and a marker for each name, no two alike."""
    found = zip(names, colours(len(names)), markers(len(names)), strict=True)
    return {name: {"color": colour, "marker": marker} for name, colour, marker in found}


def panels(
    titles: Iterable[str], columns: int, size: tuple[float, float], font: Any = "large", **how: Any
) -> tuple[Figure, list[Axes]]:
    """A panel of that size for each title, which has the size `font`, row by row; what is left of
    the last row is empty. `how` is what `plt.subplots` takes besides."""
    named = [*titles]
    rows = -(-len(named) // columns)
    figsize = (size[0] * columns, size[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=figsize, squeeze=False, **how)
    for ax, title in zip(axes.flat, named, strict=False):
        ax.set_title(title, fontsize=font)
    for ax in axes.flat[len(named) :]:
        ax.set_axis_off()
    return figure, [*axes.flat[: len(named)]]


def fit_axes(ax: Axes, values: Float[np.ndarray, "P 2"], leave_out: float = 0) -> None:
    """Set the limits of both axes so that they hold `values`, but for a share of the lowest, and
    little more."""
    low, high = np.quantile(values, leave_out, axis=0), values.max(0)
    margin = 0.05 * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    ax.set(xlim=(left, right), ylim=(bottom, top))


def label_losses(ax: Axes) -> None:
    """Name the axes by the losses of two tasks, at the rim of the figure only."""
    ax.set(xlabel=LOSSES[0], ylabel=LOSSES[1])
    ax.label_outer()


def label_once(figure: Figure, x: str = LOSSES[0], y: str = LOSSES[1], **look: Any) -> None:
    """Name the axes of all panels together, by default by the losses of two tasks."""
    figure.supxlabel(x, **look)
    figure.supylabel(y, **look)


def directed(text: str, maximise: bool, gap: str = "  ") -> str:
    """`text` with the direction that is better."""
    return f"{text}{gap}({WORDS[maximise]})"


def quantity(name: str) -> str:
    """The column "task/metric" of a front in words."""
    task, _, metric = name.rpartition("/")
    return f"{metric} on {task}"


def key(looks: Mapping[str, Mapping[str, Any]]) -> list[Line2D]:
    """A line of each look for a legend, by its label."""
    return [Line2D([], [], label=label, **look) for label, look in looks.items()]


def finish(
    figure: Figure, provenance: str, handles: Sequence[Any] | None = None, **legend: Any
) -> Figure:
    """The figure with a legend outside its panels, of `handles` (artists or containers) or of what
    the panels name, each name once, and stamped."""
    if handles is None:
        named: dict[str, Any] = {}
        for ax in figure.axes:
            for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
                named.setdefault(text, handle)
        handles = [*named.values()]
    look: dict[str, Any] = {"loc": "outside upper center"} | legend
    figure.legend(handles, [str(handle.get_label()) for handle in handles], **look)
    return stamp(figure, provenance)


def stamp(figure: Figure, text: str) -> Figure:
    """The figure, which says below it what data it shows."""
    figure.text(0.01, -0.01, text, fontsize=7, color="#555555", va="top")
    return figure
