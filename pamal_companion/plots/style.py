"""One look for every figure: sizes, colours, names of axes, captions.

A figure is `WIDTH` inches wide or less, 720 pixels in a page, so that its letters have the size
that they are given here. Its caption says what its marks mean, and what data it shows. A function
that is `twice` draws its figure again for a phone, `PHONE` inches wide, with its panels stacked.
"""

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from io import StringIO
from pathlib import Path
from typing import Any, ParamSpec
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, hsv_to_rgb, to_hex
from matplotlib.figure import Figure, FigureBase
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

WIDTH = 7.5
PHONE = 3.7
"""Inches, 355 pixels: what a page has on a phone of 390."""
LARGEST = 260_000
"""Bytes of a figure for phones. One that is larger is left out, and phones show the wide one."""
SMALL, NORMAL = 8.25, 9  # points: 11 and 12 pixels
INK, PAPER = "#1b1f24", "#fdfdfe"
"""Letters, axes and ground: a page gives both other values in the dark (`--figure-ink`)."""
PALETTE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "palette.json").read_text("utf-8")
)
"""The one palette of figures, widgets and pages: of each hue its colour on a light ground and on a
dark one, and the hue of each task and method. Hues differ for colour-blind readers, too."""
HUES = {name: light for name, (light, _) in PALETTE["hues"].items()}
TASKS = tuple(HUES[name] for name in PALETTE["tasks"])
"""The colours of tasks, and of the members trained for them."""
COLOURS = {"front": HUES[PALETTE["front"]], "second": TASKS[1], "other": HUES["grey"]}
CYCLE = ("blue", "orange", "green", "red", "pink", "cyan")
SEEDS = (*TASKS, HUES["pink"], HUES["orange"])
MARKERS = "osD^v<>PXhdp"
DASHES = ("-", "--", ":", "-.")
METHODS: dict[str, tuple[str, Any]] = {
    row["name"]: (HUES.get(row["hue"], INK), row["marker"]) for row in PALETTE["methods"].values()
} | {
    name: (COLOURS["other"], marker)
    for name, marker in {
        "UW": (4, 1, 0), "DWA": "X", "RLW": (6, 1, 0), "MGDA": "<", "PCGrad": ">", "IMTL": "h",
        "Graddrop": "p", "CAGrad": "*", "Nash-MTL": "d", "Auto-lambda": "H", "RotoGrad": "8",
        "Low rank": "3",
    }.items()
}  # fmt: skip
"""The colour and marker of a method, by its printed name, in every figure."""
MAP = PALETTE["map"]["name"]
"""The colours of alpha and of all other numbers: dark is low, yellow is high."""
SEQUENTIAL = LinearSegmentedColormap.from_list(
    "sequential", plt.get_cmap(MAP)(np.linspace(0.3, 0.85, 64))
)
"""Lines from first to last: the ends of the map would vanish on a dark or on a light ground."""
# How a figure is written as SVG: without a date, so that equal figures are equal files, and what is
# rasterised in it at 150 dots an inch.
VECTOR: dict[str, Any] = {"metadata": {"Date": None}, "dpi": 150}
WORDS = {True: "higher is better →", False: "← lower is better"}
"""The direction that is better, by whether that is up."""
LOSSES = tuple(f"task {t} loss  ({WORDS[False]})" for t in (1, 2))


def use() -> None:
    """Set matplotlib's defaults, and how a notebook shows figures; call once per notebook."""
    ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    values: dict[Any, Any] = {
        "figure.dpi": 96,
        "figure.figsize": (WIDTH, 4.6),
        "figure.constrained_layout.use": True,
        "font.size": NORMAL,
        **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), SMALL),
        **dict.fromkeys(("axes.titlesize", "figure.titlesize", "figure.labelsize"), NORMAL),
        "axes.titlelocation": "left",
        **dict.fromkeys((*ink, "grid.color"), INK),
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), PAPER),
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.7,
        "axes.grid": True,
        # `Front.plot` draws a front in the first colour, and LS beside it in the second.
        "axes.prop_cycle": cycler(color=[HUES[name] for name in CYCLE]),
        "grid.alpha": 0.12,
        "legend.frameon": False,
        "svg.hashsalt": "pamal",  # equal figures are equal files
        # Letters are text, in the font of the page. DejaVu Sans, which comes with matplotlib
        # and by which they are placed, is wider than what pages have.
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans"],
    }
    plt.rcParams.update(values)
    ipython = sys.modules.get("IPython")
    if ipython and (shell := ipython.get_ipython()):
        shell.display_formatter.ipython_display_formatter.for_type(Figure, show)


def show(figure: Figure) -> None:
    """Display `figure` in a notebook as SVG, and its caption below."""
    from IPython.display import display

    display({"image/svg+xml": both(figure), "text/plain": repr(figure)}, raw=True)  # type: ignore[no-untyped-call]
    if caption := str(figure.get_label()):
        display({"text/markdown": f"*{caption}*", "text/plain": caption}, raw=True)  # type: ignore[no-untyped-call]


def svg(figure: Figure) -> str:
    """Return `figure` as SVG, whose ink and paper a page may choose."""
    file = StringIO()
    figure.savefig(file, format="svg", **VECTOR)
    text = file.getvalue()
    for name, colour in (("ink", INK), ("paper", PAPER)):
        text = text.replace(colour, f"var(--figure-{name}, {colour})")
    return text


_for_phone: ContextVar[bool] = ContextVar("for_phone", default=False)
_again: WeakKeyDictionary[Figure, Callable[[], Figure]] = WeakKeyDictionary()
P = ParamSpec("P")


def twice(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Return `draw`, whose figures `both` draws again for a phone. While it does, `panels` stacks
    what it makes, `width()` is that of a phone, and `on_phone()` is true."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        figure = draw(*args, **kwargs)
        if not on_phone():
            _again[figure] = partial(draw, *args, **kwargs)
        return figure

    return drawn


def on_phone() -> bool:
    """Return whether a figure is drawn for a phone."""
    return _for_phone.get()


def width(most: float = WIDTH) -> float:
    """Return the width of a figure in inches: `most`, or on a phone what a phone has."""
    return min(most, PHONE) if on_phone() else most


def phone_figure(figure: Figure) -> Figure | None:
    """Return `figure` as a phone has it, or None if its function is not `twice`."""
    if figure not in _again:
        return None
    token = _for_phone.set(True)
    try:
        narrow = _again[figure]()
    finally:
        _for_phone.reset(token)
    plt.close(narrow)  # a notebook shows all that are open
    narrow.draw_without_rendering()  # axes of equal units find their places at the second drawing
    return narrow


PHONE_BEGINS, PHONE_ENDS = '<defs class="phone">', "</defs><!-- phone -->"


def both(figure: Figure) -> str:
    """Return `figure` as SVG, and in it, among what is not drawn, the figure for phones. The book
    takes it from there (`figures.py`)."""
    wide = svg(figure)
    if (narrow := phone_figure(figure)) is None:
        return wide
    inner = svg(narrow)
    inner = inner[inner.index("<svg") :].strip()
    for name in ('id="', "url(#", 'href="#'):
        inner = inner.replace(name, f"{name}phone-")
    if len(inner.encode()) > LARGEST:
        return wide
    head, end, rest = wide.rpartition("</svg>")
    return f"{head}{PHONE_BEGINS}{inner}{PHONE_ENDS}{end}{rest}"


def colours(count: int, first: Sequence[str] = SEEDS) -> list[str]:
    """Return `count` colours, no two alike: those of `first`, then hues spread by the golden
    ratio."""
    hues = [(0.55 + 0.618034 * k) % 1 for k in range(count - len(first))]
    rest = [to_hex(tuple(hsv_to_rgb((h, 0.8, 0.9 - 0.3 * (k % 2))))) for k, h in enumerate(hues)]
    return [*first, *rest][:count]


def markers(count: int) -> list[Any]:
    """Return `count` markers, no two alike: `MARKERS`, then numbers."""
    return [*MARKERS, *(f"${k}$" for k in range(len(MARKERS) + 1, count + 1))][:count]


def method_of(name: str) -> str | None:
    """Return the printed name of the method that `name` is of, such as "LS" of "one LS, as many
    passes", or None for a name that no method has."""
    for row in PALETTE["methods"].values():
        if re.search(row["pattern"], name):
            return str(row["name"])
    head = name.partition(",")[0]
    return head if head in METHODS else None


def looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return a colour, a marker and dashes for each name, no two alike. A name of a method, as
    `method_of` finds it, has the colour of the method."""
    found: dict[str, dict[str, Any]] = {}
    methods, seen = [method_of(name) for name in names], Counter[str]()
    taken = {METHODS[method][0] for method in methods if method}
    free = [colour for colour in colours(len(names) + len(taken)) if colour not in taken]
    others = zip(free, markers(len(free)), strict=True)
    for name, method in zip(names, methods, strict=True):
        if method is None:
            colour, marker = next(others)
            found[name] = {"color": colour, "marker": marker, "ls": "-"}
            continue
        (colour, marker), k = METHODS[method], seen[method]
        if k:
            marker = [other for other in markers(k + 2) if other != marker][k]
        found[name] = {"color": colour, "marker": marker, "ls": DASHES[k % len(DASHES)]}
        seen[method] += 1
    return found


def panels(
    titles: Iterable[str],
    columns: int,
    height: float,
    most: float = WIDTH,
    phone: int = 1,
    **how: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel of `height` for each title, row by row, as wide as fits; what
    is left of the last row is empty. On a phone there are at most `phone` columns. `how` is what
    `plt.subplots` takes besides."""
    named = [*titles]
    columns = min(columns, phone) if on_phone() else columns
    rows = -(-len(named) // columns)
    how = {"figsize": (width(most), height * rows), "squeeze": False, **how}
    figure, axes = plt.subplots(rows, columns, **how)
    for k, (ax, title) in enumerate(zip(axes.flat, named, strict=False)):
        ax.set_title(textwrap.fill(title, 46) if on_phone() else title)
        if k + columns >= len(named):  # of a shared axis, which only the last row would show
            ax.tick_params(labelbottom=True)
    for ax in axes.flat[len(named) :]:
        ax.set_axis_off()
    return figure, [*axes.flat[: len(named)]]


def fit_axes(ax: Axes, values: Float[np.ndarray, "P 2"], leave_out: float = 0) -> None:
    """Set the limits of both axes so that they hold `values`, but for a share of the lowest, and
    little more."""
    low, high = np.quantile(values, leave_out, axis=0), values.max(0)
    margin = 0.05 * (high - low)
    x, y = np.stack([low - margin, high + margin], axis=1)
    ax.set(xlim=x, ylim=y)


def count_outside(ax: Axes, values: Float[np.ndarray, "P 2"]) -> None:
    """Write where there is most room how many of `values` lie outside the limits of `ax`."""
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    if outside := ((values < low) | (values > high)).any(1).sum():
        note = Legend(ax, [], [], title=f"{outside} outside", title_fontsize=SMALL, borderpad=0)
        ax.add_artist(note)


def literal(text: str) -> str:
    """Return `text` as matplotlib writes it without mathematics: a dollar of a name is a dollar."""
    return text.replace("$", r"\$")


def label_losses(ax: Axes) -> None:
    """Name the axes by the losses of two tasks, at the rim of the figure only."""
    ax.set(xlabel=LOSSES[0], ylabel=LOSSES[1])
    ax.label_outer()


def label_once(figure: FigureBase, x: str = LOSSES[0], y: str = LOSSES[1]) -> None:
    """Name the axes of all panels together, by default by the losses of two tasks."""
    figure.supxlabel(x)
    figure.supylabel(y)


def beside(ax: Axes, text: str, at: Float[np.ndarray, "2"], away: Float[np.ndarray, "2"]) -> None:
    """Write `text` above or below the point `at`, on the side that is not towards `away`."""
    up = at[1] > away[1]
    place: dict[str, Any] = {"ha": "center", "va": "bottom" if up else "top", "fontsize": SMALL}
    ax.annotate(text, (at[0], at[1]), (0, 5 if up else -5), textcoords="offset points", **place)


def key(looks: Mapping[str, Mapping[str, Any]]) -> list[Line2D]:
    """Return a line of each look for a legend, by its label."""
    return [Line2D([], [], label=label, **look) for label, look in looks.items()]


def finish(
    figure: Figure,
    provenance: str,
    handles: Sequence[Any] | None = None,
    words: str = "",
    **legend: Any,
) -> Figure:
    """Draw the figure with a legend outside its panels, of `handles` (artists or containers) or of
    what the panels name, each name once, and with its caption."""
    if handles is None:
        named: dict[str, Any] = {}
        for ax in figure.axes:
            for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
                named.setdefault(text, handle)
        handles = [*named.values()]
    look: dict[str, Any] = {"loc": "outside upper left"} | legend
    if on_phone():
        longest = max((len(str(handle.get_label())) for handle in handles), default=0)
        fits = int(PHONE / (0.6 + 0.075 * longest))
        look |= {"loc": "outside upper left", "ncols": max(1, min(look.get("ncols", 1), fits))}
    figure.legend(handles, [str(handle.get_label()) for handle in handles], **look)
    return stamp(figure, provenance, words)


def stamp(figure: Figure, provenance: str, words: str = "") -> Figure:
    """Draw the figure with its caption: what its marks mean, and what data it shows."""
    figure.set_label(" ".join(filter(None, (words, provenance))))
    return figure
