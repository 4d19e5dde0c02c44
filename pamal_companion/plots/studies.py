"""Draw what many runs found, over seeds: heat maps and fronts of settings, what methods attain,
winners by a criterion, and volumes over learning rates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, cycle, product
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from pamal_companion.fronts import attained
from pamal_companion.plots import captions, style
from pamal_companion.plots.fronts import draw_line, name_axes, named
from pamal_companion.plots.words import listed
from pamal_core.errors import InputError
from pamal_core.front import Front

LINE = {"marker": ".", "ms": 4, "lw": 1.2}
FIRST = {"marker": "o", "ms": 7, "ls": ""}
"""The look of the first member's network on such a line."""
SHADES = (1.0, 0.6, 0.35)
SMALL = {"ms": 3.5, "lw": 1}
HATCHES = ("", "///", "\\\\\\", "...")


@style.twice
def heat_maps_figure(
    maps: Mapping[str, Mapping[str, pd.DataFrame]], bounded: Sequence[str], provenance: str
) -> Figure:
    """Draw a row of maps for each name, a map for each quantity, W downwards and lambda to the
    right.

    Maps of one quantity share their colours. Those in `bounded` are correlations: white at 0,
    purple towards -1 and orange towards 1. NaN is left empty. The caption says what the largest
    lambda changes, and where the first quantity is largest.
    """
    quantities = list(next(iter(maps.values())))
    titles = [captions.penalty(name) for name in maps for _ in quantities]
    cells: dict[str, Any] = {"figsize": (style.WIDTH, 0.8 + 2.1 * len(maps))}
    if style.on_phone():  # the maps of a quantity follow one another, above their bar
        titles = [
            f"{captions.penalty(name)}: {quantity.partition('  ')[0]}"
            for quantity in quantities
            for name in maps
        ]
        cells = {"figsize": (style.width(), 2.5 * len(titles))}
    figure, axes = style.panels(titles, len(quantities), 2.1, sharex=True, sharey=True, **cells)
    for k, quantity in enumerate(quantities):
        tables, column = [row[quantity] for row in maps.values()], axes[k :: len(quantities)]
        if style.on_phone():
            column = axes[k * len(maps) : (k + 1) * len(maps)]
        low, high, colours = np.nanmin(tables), np.nanmax(tables), style.MAP
        if quantity in bounded:
            low, high, colours = -1.0, 1.0, "PuOr_r"
        for ax, table in zip(column, tables, strict=True):
            image = ax.imshow(table, vmin=low, vmax=high, cmap=colours, aspect="auto")
            for (i, j), value in np.ndenumerate(table.to_numpy(float)):
                if np.isfinite(value):
                    # In black or white, whichever can be read.
                    dark = np.dot(image.cmap(image.norm(value))[:3], (0.299, 0.587, 0.114)) < 0.5
                    look: dict[str, Any] = {"c": "w" if dark else "k", "fontsize": style.SMALL}
                    text = f"{value:.4f}" if low >= 0 else f"{value:+.2f}"
                    ax.text(j, i, text, ha="center", va="center", **look)
            ax.set_xticks(range(len(table.columns)), [f"{lam:g}" for lam in table.columns])
            ax.set_yticks(range(len(table.index)), [f"{W}" for W in table.index])
            ax.set(xlabel="λ", ylabel="W")
            ax.label_outer()
            ax.grid(False)
        bar = figure.colorbar(image, ax=column, location="bottom", pad=0.02)
        bar.locator = MaxNLocator(4)
        bar.set_label(quantity.replace("  (", "\n("))
    first, orders = quantities[0], [quantity for quantity in quantities if quantity in bounded]
    words = "".join(
        captions.in_order(name, [row[order] for order in orders])
        + captions.largest(first.partition("  ")[0], row[first])
        for name, row in maps.items()
    )
    return style.stamp(figure, provenance, f"{words}Means over seeds.")


@style.twice
def fronts_figure(
    panels: Mapping[tuple[int, float], Mapping[str, Sequence[Front]]], provenance: str
) -> Figure:
    """Draw a panel for each (W, lambda), W downwards and lambda to the right, on equal axes: for
    each penalty a line through the means over seeds of the networks of each alpha. The axes leave
    out the worst twentieth of the networks in each objective, which would take most of the room."""
    windows, lams = (sorted({*values}) for values in zip(*panels, strict=True))
    penalties = dict.fromkeys(name for panel in panels.values() for name in panel)
    palette = style.colours(len(penalties), (style.INK, *style.SEEDS))
    colours = dict(zip(penalties, palette, strict=True))
    ways: dict[str, list[int]] = {name: [] for name in penalties}
    pairs = [pair for pair in product(windows, lams) if pair in panels or not style.on_phone()]
    titles = ["W = {}, λ = {:g}".format(*pair) if pair in panels else "" for pair in pairs]
    figure, axes = style.panels(titles, len(lams), 1.5, phone=2, sharex=True, sharey=True)
    values: dict[Axes, list[np.ndarray]] = {}
    for ax, pair in zip(axes, pairs, strict=True):
        if pair not in panels:
            ax.set_axis_off()
        for name, runs in panels.get(pair, {}).items():
            tables = pd.concat(front.table for front in runs)
            mean = replace(runs[0], table=tables.groupby(level=0).mean())
            draw_line(ax, mean, FIRST, color=colours[name], **LINE)
            ways[name].append(captions.direction(mean))
            values.setdefault(ax, []).append(mean.values)
        ax.locator_params(nbins=4)
    style.fit_axes(axes[0], np.concatenate([*chain(*values.values())]), leave_out=0.05)
    for ax, of_panel in values.items():
        style.count_outside(ax, np.concatenate(of_panel))
    style.label_once(figure, *map(named, mean.objectives))
    key: dict[str, Any] = {
        captions.penalty(name): {"color": c, "marker": "."} for name, c in colours.items()
    }
    handles = style.key({**key, "first member": {"color": style.COLOURS["other"], **FIRST}})
    words = f"{captions.directions(ways)}Means over seeds of the networks of each α."
    return style.finish(figure, provenance, handles, words, ncols=len(handles))


@style.twice
def sampling_figure(
    fronts: Mapping[float, Sequence[Front]],
    similarities: Mapping[float, Sequence[np.ndarray]],
    provenance: str,
) -> Figure:
    """Draw fronts for each p, once all of them and once without the space that only p = 0 needs;
    and the cosine of the members [epochs] over the epochs. Seeds are shades of the colour of p."""
    titles = "all networks", "closer", "how equal the members are"
    figure, (whole, close, cosine) = style.panels(titles, 3, 3.2)
    for (p, runs), colour in zip(fronts.items(), style.colours(len(fronts)), strict=True):
        shades = SHADES if len(runs) <= len(SHADES) else np.geomspace(1, 0.2, len(runs))
        pairs = zip(runs, similarities[p], shades[: len(runs)], strict=True)
        for k, (front, curve, shade) in enumerate(pairs):
            look = {"color": colour, "alpha": shade, "label": None if k else f"p = {p:g}"}
            for ax in (whole, close):
                draw_line(ax, front, FIRST, **LINE, **look)
            cosine.plot(np.arange(len(curve)) + 1, curve, marker=".", **look)
    shown = [f.values for p, runs in fronts.items() for f in runs if p > 0 or len(fronts) == 1]
    style.fit_axes(close, np.concatenate(shown))
    for ax in (whole, close):
        name_axes(ax, next(iter(fronts.values()))[0], "\n")
        ax.locator_params(nbins=5)
    cosine.xaxis.set_major_locator(MaxNLocator(integer=True))
    cosine.set(xlabel="epoch", ylabel="cosine of the members", ylim=(-0.05, 1.05))
    handles, _ = cosine.get_legend_handles_labels()
    ends = [np.mean([np.asarray(curve)[-1] for curve in similarities[p]]) for p in sorted(fronts)]
    words = ""
    if len(ends) > 1 and (np.diff(ends) > 0).all():
        words = (
            "The larger p, the more alike the members become, because more draws lie in the middle "
            "and train both alike: so the front becomes shorter (left). "
        )
    words += "A line for each seed; large dots are first members."
    return style.finish(figure, provenance, handles, words, ncols=len(fronts))


@style.twice
def attainment_figure(methods: Mapping[str, Sequence[Front]], provenance: str) -> Figure:
    """Draw for each method, by name, the empirical attainment surfaces of its fronts, one per seed.

    What lies below and left of the line at least half of the seeds attain; the band runs from what
    all attain to what one does. Both objectives are better when higher. InputError where there is
    no method, or one without a front.
    """
    methods = {name: [one.finite() for one in every] for name, every in methods.items()}
    if not methods or not all(methods.values()):
        found = ", ".join(f"{len(every)} of {name}" for name, every in methods.items()) or "none"
        raise InputError(f"Attainment needs fronts of each method ({provenance}). Found {found}.")
    figure, ax = plt.subplots(figsize=(style.width(), 4.6))
    fronts = [front for of_method in methods.values() for front in of_method]
    style.fit_axes(ax, np.concatenate([front.values[front.non_dominated()] for front in fronts]))
    looks = zip(style.looks([*methods]).items(), methods.values(), cycle(HATCHES))
    left, below = ax.get_xlim()[0], ax.get_ylim()[0] - 1.0  # out of sight
    for (name, look), of_method, hatch in looks:
        surfaces = [attained(of_method, share) for share in (1 / len(of_method), 0.5, 1.0)]
        grid = np.unique([left, *(x for surface in surfaces for x in surface[:, 0])])
        # The best second objective that goes with at least each value of the first.
        one, half, every = (
            np.where(s[:, 0] >= grid[:, None], s[:, 1], below).max(1) for s in surfaces
        )
        # At x itself the height is that of the first corner at or right of x: hence "pre".
        band: dict[str, Any] = {"x": grid, "y1": every, "y2": one, "step": "pre", "lw": 0}
        colour = look["color"]
        ax.fill_between(**band, color=colour, alpha=0.25)
        # The hatch is a layer of its own: in SVG one on a fill of its colour is not seen.
        ax.fill_between(**band, facecolor="none", edgecolor=colour, hatch=hatch, alpha=0.6)
        ax.step(grid, half, where="pre", color=colour, ls=look["ls"], lw=2, label=name)
        if all(len(front.values) == 1 for front in of_method):
            single = np.concatenate([front.values for front in of_method])
            ax.plot(*single.T, marker=look["marker"], ls="", color=colour, ms=6, mec="w")
    name_axes(ax, fronts[0])
    words = captions.beyond_the_median(methods) + (
        "A line is what the median seed reaches; its band runs from what every seed reaches to "
        "what the best one does. Markers are single networks, one for each seed."
    )
    return style.finish(figure, provenance, None, words, ncols=2)


@style.twice
def methods_figure(methods: Mapping[str, Sequence[Front]], provenance: str) -> Figure:
    """Draw for every two objectives, six pairs at most, a panel with the networks of each method,
    by its name: a line along alpha for each front of two members, a marker for each other network.
    `methods` maps names to fronts with the same objectives, one per seed."""
    objectives = next(iter(methods.values()))[0].objectives
    pairs = [*combinations(objectives, 2)][:6]
    columns = min(len(pairs), 3)
    figure, axes = style.panels([""] * len(pairs), columns, 4.2 if columns == 1 else 2.8)
    for ax, pair in zip(axes, pairs, strict=True):
        for (name, fronts), look in zip(
            methods.items(), style.looks([*methods]).values(), strict=True
        ):
            for k, front in enumerate(fronts):
                view = replace(front, objectives=pair)
                line = look if front.alphas.shape[1] == 2 else look | {"ls": ""}
                draw_line(ax, view, {}, **line, **SMALL, label=None if k else name)
        name_axes(ax, view, "  " if columns == 1 else "\n")
        ax.locator_params(nbins=5)
    words = "A line for each front of two members, one per seed; a marker for each network."
    return style.finish(figure, provenance, None, words, ncols=4)


@style.twice
def winners_figure(panels: Mapping[str, Mapping[str, captions.Winner]], provenance: str) -> Figure:
    """Draw a column for each criterion, whose title has the setting of every method: above the
    fronts by their objectives, below by their losses, on equal axes. `panels` maps criteria to
    methods to winners, the same methods for each."""
    how: dict[str, Any] = {"sharex": "row", "sharey": "row", "squeeze": False}
    columns = [*panels.items()]
    if style.on_phone():  # the criteria follow one another, each with both its panels
        size = (style.width(), 5.8 * len(columns))
        figure, stacked = plt.subplots(2 * len(columns), 1, figsize=size, squeeze=False)
        axes = stacked.reshape(len(columns), 2).T
    else:
        figure, axes = plt.subplots(2, len(columns), figsize=(style.WIDTH, 6.6), **how)
    looks = style.looks([*next(iter(panels.values()))])
    hollow: dict[str, Any] = {"ms": 10, "mfc": "none", "ls": ""}
    for (above, below), (title, winners) in zip(axes.T, columns, strict=True):
        texts = [title]
        for name, (setting, fronts) in winners.items():
            texts.append(fill(f"{name}: {setting}", 48 if style.on_phone() else 96 // len(columns)))
            for front in fronts:
                some = front
                for ax, view in ((above, front), (below, front.on("loss", maximise=False))):
                    draw_line(ax, view, hollow, **looks[name], **SMALL)
        above.set_title("\n".join(texts), fontsize=style.SMALL)
    for row, view in zip(axes, (some, some.on("loss", maximise=False)), strict=True):
        for ax in row:
            name_axes(ax, view, "\n")
            ax.locator_params(axis="x", nbins=4)
        for ax in row[1:]:
            ax.set_ylabel(ax.get_ylabel() if style.on_phone() else "")
    grey = {"color": style.COLOURS["other"], "marker": "o", **hollow, "ms": 9}
    key = {name: look | {"ms": 5} for name, look in looks.items()}
    handles = style.key(key | {"all weight on the first task": grey})
    words = captions.backwards(panels)
    words += "A line for each seed. Above accuracies, below losses of the same networks."
    return style.finish(figure, provenance, handles, words, ncols=len(handles))


@style.twice
def rates_figure(found: pd.DataFrame, weights: list[str], provenance: str) -> Figure:
    """Draw for each of `weights` a panel, with a line for each setting over the rate of Adam.

    `found` has a row per run: `setting`, a categorical in the order of the legend, `weights`,
    `rate` and `validation`, a hypervolume.
    """
    looks = style.looks([*found.setting.cat.categories])
    titles = (f"weights: {which}" for which in weights)
    figure, panels = style.panels(titles, len(weights), 4.4, sharey=True)
    drawn: dict[str, Any] = {}
    for ax, which in zip(panels, weights, strict=True):
        measured = found[found.weights == which].dropna()
        for k, (name, runs) in enumerate(measured.groupby("setting", observed=True)):
            volumes = runs.groupby("rate").validation
            beside = [rate * 1.02 ** (k - 2) for rate in volumes.groups]  # not one on another
            look = looks[name] | {"capsize": 3, "ms": 5, "label": name}
            drawn[name] = ax.errorbar(beside, volumes.mean(), volumes.std(), **look)
        ax.set(xscale="log", xlabel="learning rate of Adam  (log scale)")
        ticks = sorted(measured.rate.unique())
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45)
        ax.xaxis.set_minor_locator(NullLocator())
    for ax in panels if style.on_phone() else panels[:1]:
        ax.set_ylabel(f"hypervolume, validation  ({style.WORDS[True]})")
    handles = [drawn[name] for name in looks if name in drawn]
    best = (
        found[found.weights == which].groupby(["setting", "rate"], observed=True).validation.mean()
        for which in weights
    )
    winners = (f"{means.idxmax()[0]} at {means.idxmax()[1]:g}" for means in best)
    texts = [f"with {which} weights by {one}" for which, one in zip(weights, winners, strict=True)]
    words = f"The largest hypervolume is reached {listed(texts)}."
    words += " Means over seeds, with one standard deviation."
    return style.finish(figure, provenance, handles, words, ncols=2, handlelength=4)
