"""The dial of conflict: what the records have at each number of features between encoder and
heads."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from pamal_companion.experiments.options import SWEEP
from pamal_companion.plots.dial import FIVE, LONG, ONE, PAMAL, SOUP
from pamal_companion.study.claims import AHEAD
from pamal_companion.study.frame import united, volume
from pamal_companion.study.fronts import span
from pamal_companion.study.hypotheses import WIDTHS, sweep
from pamal_companion.study.registered import Question, read, verdicts
from pamal_companion.study.statistics import summary
from pamal_core.front import Front

CHANCE = 0.2
"""An accuracy that is hardly above that of guessing, of ten digits."""


def settings(width: int) -> dict[str, list[str]]:
    """Return by method the names of its settings at so many features."""
    return {
        PAMAL: [f"{width}-pamal"],
        FIVE: sweep(width, 10),
        ONE: [f"{width}-ls-0.5"],
        SOUP: [f"{width}-soup"],
        LONG: sweep(width, 50),
    }


@cache
def question() -> Question:
    """Return the registration of the dial."""
    return read("dial-of-conflict")


@cache
def fronts(width: int) -> dict[str, list[Front]]:
    """Return by method the validation fronts at so many features, one for each seed."""
    found = settings(width).items()
    return {method: [*united(question().records, names).values()] for method, names in found}


@cache
def volumes() -> dict[str, list[list[float]]]:
    """Return by method, at each of `WIDTHS`, the hypervolume of each seed's front."""
    found = {width: fronts(width) for width in WIDTHS}
    return {
        method: [[volume(front) for front in found[width][method]] for width in WIDTHS]
        for method in found[WIDTHS[0]]
    }


def table() -> pd.DataFrame:
    """Return the hypervolumes for a page: mean ± standard deviation over seeds (n - 1), a row for
    each number of features."""
    columns = {name: [summary(pd.Series(one)) for one in of] for name, of in volumes().items()}
    return pd.DataFrame(columns, index=pd.Index(WIDTHS, name="k"))


@cache
def judged() -> pd.DataFrame:
    """Return the registered verdicts of the dial, by hypothesis."""
    return verdicts(question())


@cache
def again() -> pd.DataFrame:
    """Return the registered verdicts at fresh seeds, by hypothesis."""
    return verdicts(read("dial-at-fresh-seeds"))


def word(width: int, part: str = "the front") -> str:
    """Return the registered verdict at so many features, on the front or on the middle."""
    return str(judged().filter(like=f"k = {width}: {part}", axis=0)["verdict"].item())


def answer() -> str:
    """Return what the dial says, in the words of its registered verdicts."""
    few, paper = 6, WIDTHS[-1]
    spans = {width: np.mean([span(one) for one in fronts(width)[PAMAL]]) for width in (few, paper)}
    means = {name: np.mean(of[WIDTHS.index(few)]) for name, of in volumes().items()}
    undecided = [width for width in WIDTHS if word(width) == "open"]
    text = (
        "**The fewer features two tasks share, the more there is to choose.** With the paper's "
        f"{paper} a front spans {spans[paper]:.2f}. One run {AHEAD[word(paper)]} five LS of as "
        f"many passes in all, and its middle network {AHEAD[word(paper, 'the middle')]} one LS. "
        f"With {few} features a front spans {spans[few]:.2f}, and covers {means[PAMAL]:.2f} where "
        f"the five LS cover {means[FIVE]:.2f}."
    )
    text += f" Five seeds leave k = {listed(undecided)} open."
    for verdict, rows in again().groupby("verdict"):
        widths = [name.split()[2].rstrip(":") for name in rows.index]
        where = f"for k = {listed(widths)}"
        text += f" At fifteen fresh seeds one run {AHEAD[str(verdict)]} five LS {where}."
    return text


def neglected() -> str:
    """Return how many networks of LS give up a digit, and whether runs of PaMaL do."""

    def given_up(front: Front) -> np.ndarray:
        return np.asarray((front.values < CHANCE).any(axis=1))

    few, even = 6, SWEEP.index(0.5)
    at_few = np.array([given_up(front) for front in fronts(few)[LONG]])
    equal, uneven = at_few[:, even], np.delete(at_few, even, axis=1)
    both = [
        width
        for width in WIDTHS
        if all((front.values.max(axis=0) > CHANCE).all() for front in fronts(width)[PAMAL])
    ]
    return (
        f"With {few} features {uneven.sum()} of {uneven.size} networks of LS at uneven weights, "
        f"ten passes each, read one digit no better than {CHANCE:g}, and {equal.sum()} of "
        f"{equal.size} at equal weights. Every front of PaMaL has a network for either digit "
        f"where k = {listed(both)}."
    )


def listed(numbers: Sequence[object]) -> str:
    """Return numbers for a sentence."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last
