"""One look for every figure: Okabe and Ito's colours, which colour-blind readers can tell apart."""

import sys
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = {
    "pamal": "#0072B2",
    "ls": "#E69F00",
    "stl": "#000000",
    "front": "#56B4E9",
    "first": "#0072B2",
    "second": "#D55E00",
    "other": "#7F7F7F",
}
SEEDS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#F0E442"]
# How a figure is written as SVG: without a date, so that equal figures are equal files, and what is
# rasterised in it at 150 dots an inch.
VECTOR: dict[str, Any] = {"metadata": {"Date": None}, "dpi": 150}
WORDS = {True: "higher is better →", False: "← lower is better"}


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


def label(ax: Axes, x: str, y: str, *, maximise: tuple[bool, bool]) -> None:
    """Name the axes, each with the direction that is better."""
    ax.set_xlabel(f"{x}  ({WORDS[maximise[0]]})")
    ax.set_ylabel(f"{y}  ({WORDS[maximise[1]]})")


def quantity(name: str) -> str:
    """The column "task/metric" of a front in words."""
    task, _, metric = name.rpartition("/")
    return f"{metric} on {task}"


def stamp(figure: Figure, text: str) -> None:
    """Say under the figure which data it shows."""
    figure.text(0.01, -0.01, text, fontsize=7, color="#555555", va="top")
