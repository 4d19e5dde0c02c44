"""The dial of conflict: the fronts at each number of features, and how much each covers."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pamal_companion.plots import captions, style
from pamal_companion.plots.words import listed, out_of
from pamal_core.front import Front

PAMAL, FIVE = "PaMaL, one run", "five LS, as many passes in all"
ONE, SOUP = "one LS, as many passes", "rewarded soup, as many passes"
LONG = "five LS, as many passes each"
LOOKS = style.looks([PAMAL, FIVE, ONE, SOUP, LONG])
IN_PANELS = (FIVE, PAMAL)
BETTER = style.WORDS[True]
PANEL = "Each line is one run, its dots are networks"


def named(methods: Iterable[str]) -> list[Line2D]:
    """Return a line of each method for a legend."""
    return style.key({name: LOOKS[name] | {"ms": 5} for name in methods})


def draw_fronts(ax: Axes, fronts: Mapping[str, Sequence[Front]]) -> None:
    """Draw the fronts of every seed: of PaMaL a line each, of others marks."""
    for name, of_seeds in fronts.items():
        look = LOOKS[name] | {"ms": 3, "lw": 0.8, "alpha": 0.8}
        if name != PAMAL:
            look |= {"ls": ""}
        for front in of_seeds:
            ax.plot(*front.values.T, **look, label="_")
    ticks = (0, 0.5, 1)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=ticks, yticks=ticks, aspect="equal")


@style.twice
def dial_figure(
    fronts: Mapping[int, Mapping[str, Sequence[Front]]],
    volumes: Mapping[str, Sequence[Sequence[float]]],
    provenance: str,
) -> Figure:
    """Draw a panel of the fronts for each number of features, and below the `volumes` of each
    method, by features and seed: a dot for each seed, and a line through the means."""
    columns = 3 if style.on_phone() else len(fronts)
    heights = 1.9 * -(-len(fronts) // columns), 3.4
    figure = plt.figure(figsize=(style.width(), sum(heights)))
    above, below = figure.subfigures(2, 1, height_ratios=heights, squeeze=False).flat
    shape = -(-len(fronts) // columns), columns
    axes = above.subplots(*shape, sharey=True, sharex=True, squeeze=False)
    for ax in axes.flat[len(fronts) :]:
        ax.set_axis_off()
    for ax, (width, found) in zip(axes.flat, fronts.items(), strict=False):
        draw_fronts(ax, {name: found[name] for name in IN_PANELS})
        ax.set_title(f"k = {width}")
    above.supylabel(f"accuracy, bottom-right\n({BETTER})")
    above.supxlabel(f"accuracy, top-left  ({BETTER})")
    draw_volumes(below.subplots(), [*fronts], volumes)
    ahead = _ahead([*fronts], volumes)
    words = f"{ahead}{PANEL}. Below, dots are seeds and lines go through their means."
    return style.finish(figure, provenance, named(volumes), words, ncols=2)


def _ahead(widths: Sequence[int], volumes: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """Return a sentence that says where the mean of PaMaL is the largest, or nothing."""
    means = {name: [float(np.mean(one)) for one in numbers] for name, numbers in volumes.items()}
    others = [numbers for name, numbers in means.items() if name != PAMAL]
    if PAMAL not in means or not others:
        return ""
    best = zip(widths, means[PAMAL], *others, strict=True)
    where = [f"{width}" for width, ours, *rest in best if ours > max(rest)]
    if not where:
        return ""
    return (
        "With fewer features fewer networks read both digits, because the digits compete for them "
        f"or because a network hardly trained. With k = {listed(where)} one run of PaMaL covers "
        "the most in the mean of these seeds. "
    )


def draw_volumes(
    ax: Axes, widths: Sequence[int], volumes: Mapping[str, Sequence[Sequence[float]]]
) -> None:
    """Draw the hypervolumes over the number of features, each step as wide as any other."""
    places = np.arange(len(widths))
    apart = np.linspace(-0.16, 0.16, len(volumes))
    for (name, numbers), shift in zip(volumes.items(), apart, strict=True):
        look = LOOKS[name] | {"lw": 1.5}
        dots = look | {"ls": "", "ms": 3.5, "alpha": 0.6, "mew": 0.6}
        for place, of_seeds in zip(places, numbers, strict=True):
            ax.plot([place + shift] * len(of_seeds), of_seeds, **dots)
        ax.plot(places + shift, [np.mean(one) for one in numbers], **look | {"marker": ""})
    ax.set_xticks(places, [f"{width}" for width in widths])
    ax.set(xlabel="features that the two digits share, k", ylim=(0, 1))
    ax.set_ylabel(f"hypervolume\n({BETTER})")


@style.twice
def width_figure(fronts: Mapping[str, Sequence[Front]], provenance: str) -> Figure:
    """Draw the fronts at one number of features."""
    figure, ax = plt.subplots(figsize=(style.width(4.6), 4.6))
    draw_fronts(ax, fronts)
    ax.set(xlabel=f"accuracy, top-left  ({BETTER})", ylabel=f"accuracy, bottom-right  ({BETTER})")
    return style.finish(figure, provenance, named(fronts), f"{_better(fronts)}{PANEL}.")


def _better(fronts: Mapping[str, Sequence[Front]]) -> str:
    """Return for each other method a sentence that counts its networks than which PaMaL has one
    that is better at both digits; nothing without PaMaL."""
    points = {name: np.concatenate([one.values for one in its]) for name, its in fronts.items()}
    if (ours := points.pop(PAMAL, None)) is None:
        return ""
    sentences = []
    for name, theirs in points.items():
        beaten = captions.beaten(ours, theirs)
        short = name.partition(",")[0]
        if len(theirs) == 1:
            has = "a network" if beaten else "no network"
            sentences.append(f"PaMaL has {has} that is better at both digits than {short}. ")
            continue
        reason = ", probably because each of these trains for a fifth as long"
        sentences.append(
            f"PaMaL has a network that is better at both digits than {out_of(beaten, len(theirs))} "
            f"networks of {short}{reason if name == FIVE and 2 * beaten > len(theirs) else ''}. "
        )
    return "".join(sentences)
