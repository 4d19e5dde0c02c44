"""Compute what registered questions ask, in numbers by seed.

A registration names simple comparisons itself; here is what others say in words: the union of a
sweep, the four best points, the better of two rates, a share, a trend. Each function takes the
records by the name of their setting and by seed, and returns the family that Holm's correction is
over.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import page_trend_test

from pamal_companion.experiments.options import SWEEP
from pamal_companion.study.frame import united, volume
from pamal_companion.study.fronts import middle, span
from pamal_companion.study.measures import value
from pamal_companion.study.per_pass import Measure, Pair, Records, check_known, pairs, settings_of
from pamal_companion.study.statistics import WITHIN, Estimate, minus, verdict
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective

WIDTHS = (2, 3, 4, 6, 10, 50)
"""Of the dial of conflict: features between encoder and heads."""
NUMBERS_OF_TASKS = (2, 4, 8)
ONE, FOUR = "one draw", "four stratified draws"
SETTINGS = {ONE: "pamal-one-draw", FOUR: "pamal-four-stratified"}
"""The settings of PaMaL that make forty passes over MultiMNIST, by their draws in a step."""


class Hypothesis(NamedTuple):
    """One of a family.

    - `away`: what is estimated, larger is better.
    - `p`: of the hypothesis that the difference is 0.
    - `margin`: within which two are level; 0 where nothing is.
    - `words`: the verdicts for a positive and for a negative difference.
    - `family`: that Holm's correction is over.
    - `beyond`: whether a difference counts only if it is beyond the margin, too.
    """

    text: str
    away: Estimate
    p: float
    margin: float = WITHIN
    words: tuple[str, str] = ("ahead", "behind")
    family: str = ""
    beyond: bool = False

    @property
    def p_level(self) -> float:
        """Return the p of not being level."""
        return self.away.p_level(self.margin)

    def word(self, p: float, p_level: float) -> str:
        """Return the verdict by both p as they are among the family."""
        within = self.margin if self.beyond else 0.0
        return verdict(self.away.value, p, p_level, self.words, within)


def difference(
    text: str, ours: "pd.Series[float]", theirs: "pd.Series[float]", margin: float = WITHIN
) -> Hypothesis:
    """Return ours - theirs, seed by seed."""
    return of_estimate(text, minus(ours, theirs, paired=True), margin)


def of_estimate(text: str, away: Estimate, margin: float = WITHIN) -> Hypothesis:
    """Return what an estimated difference says."""
    return Hypothesis(text, away, away.p, margin)


def numbers(
    records: Records, names: Iterable[str], split: str, measure: Callable[[Front], float] = volume
) -> "pd.Series[float]":
    """Return by seed a measure of the points of all settings `names` together."""
    fronts = united(records, check_known(names, records), split)
    return pd.Series({seed: measure(front) for seed, front in fronts.items()})


def middle_volume(front: Front) -> float:
    """Return the hypervolume from 0 of the network in the middle: the product of its accuracies."""
    return float(np.prod([*middle(front).values()]))


def sweep(width: int, passes: int) -> list[str]:
    """Return the five settings of LS that have so many passes together, at a width of the dial."""
    return [f"{width}-ls-{weight}{'-short' if passes == 10 else ''}" for weight in SWEEP]


def fronts_along_the_dial(records: Records, widths: Iterable[int]) -> list[Hypothesis]:
    """Return whether one run is ahead of five LS of as many passes, at each number of features."""
    return [
        difference(
            f"k = {width}: the front of PaMaL - five LS of two epochs",
            numbers(records, [f"{width}-pamal"], "validation"),
            numbers(records, sweep(width, 10), "validation"),
        )
        for width in widths
    ]


def dial_of_conflict(records: Records) -> list[Hypothesis]:
    """Return the hypotheses of the dial: one run against five LS of as many passes, its middle
    against one LS, and the span, at each number of features."""
    middles = [
        difference(
            f"k = {width}: the middle of PaMaL's front - one LS of ten epochs",
            numbers(records, [f"{width}-pamal"], "validation", middle_volume),
            numbers(records, [f"{width}-ls-0.5"], "validation"),
        )
        for width in WIDTHS
    ]
    spans = [numbers(records, [f"{width}-pamal"], "validation", span) for width in WIDTHS]
    rising = np.column_stack(spans[::-1])  # as Page's test has it: from k = 50 to k = 2
    falls = Hypothesis(
        "the spread of the front falls from k = 2 to k = 50",
        Estimate.of(rising[:, -1] - rising[:, 0]),
        float(page_trend_test(rising).pvalue),
        margin=0.0,
        words=("holds", "fails"),
    )
    return [*fronts_along_the_dial(records, WIDTHS), *middles, falls]


def four_ls(data: str) -> list[str]:
    """Return the four settings of LS that are a sweep on `data`."""
    return [f"{data}-ls-{weight}" for weight in (0.2, 0.4, 0.6, 0.8)]


def one_run_against_a_sweep(records: Records) -> list[Hypothesis]:
    """Return the hypotheses on one run against a sweep: its front, and four of its points,
    against four LS of as many passes in all."""
    family = []
    for data, name in (("multimnist", "MultiMNIST"), ("census", "Census")):
        theirs = numbers(records, four_ls(data), "test")
        ours = pairs(records, [f"{data}-pamal"])
        eleven = numbers(records, [f"{data}-pamal"], "test")
        four = pd.Series({seed: Measure().of_four(pair) for seed, pair in ours.items()})
        family += [
            difference(f"{name}: eleven points of PaMaL - four LS", eleven, theirs),
            difference(f"{name}: four points of PaMaL - four LS", four, theirs),
        ]
    return family


def better(records: Records, method: str) -> str:
    """Return the setting of `method` whose rate has the larger mean hypervolume on validation."""
    names = [f"{method}-{rate}" for rate in (0.001, 0.002)]
    return max(names, key=lambda name: numbers(records, [name], "validation").mean())


def forty_passes(records: Records) -> list[Hypothesis]:
    """Return the hypotheses on forty passes: two settings of PaMaL against the better soup, and
    their chosen network against the better LS."""
    soup = numbers(records, [better(records, "soup")], "test")
    single = numbers(records, [better(records, "ls")], "test")
    fronts, networks = [], []
    for text, name in SETTINGS.items():
        front = numbers(records, [name], "test")
        fronts.append(difference(f"front of PaMaL, {text} - front of the better soup", front, soup))
        runs = records[name].items()
        chosen = pd.Series({seed: value(run, "chosen hypervolume", "test") for seed, run in runs})
        text = f"chosen network of PaMaL, {text} - the better LS"
        networks.append(difference(text, chosen, single))
    return fronts + networks


def claim_1(records: Records) -> list[Hypothesis]:
    """Return whether more than half of the points are undominated in loss, with long averages."""
    family = []
    for data, name in (("multimnist", "MultiMNIST"), ("census", "Census")):
        share = numbers(
            records,
            [f"{data}-ema"],
            "validation",
            lambda front: front.on("loss").non_dominated().mean(),
        )
        text = f"{name}: the share of undominated points, in loss, is above one half"
        above = of_estimate(text, Estimate.of((share - 0.5).to_numpy()), margin=0.0)
        family.append(above._replace(words=("holds", "fails")))
    return family


def of_tasks(records: Records, count: int, side: str) -> list[str]:
    """Return the settings with so many tasks of a side: "pamal", "ls" or "stl"."""
    found = [name for name in records if name.startswith(f"{count}-{side}")]
    networks = 1 if side == "pamal" else count
    if len(found) != networks:
        raise InputError(f"{count}-{side} must be {networks} settings. Found {len(found)}.")
    return found


def tasks(records: Records) -> list[Hypothesis]:
    """Return the hypotheses on more tasks: the front of one run against the sweep of one LS for
    each task, with two, four and eight."""
    return [
        difference(
            f"{count} tasks: the front of PaMaL - {count} LS",
            *(numbers(records, of_tasks(records, count, side), "test") for side in ("pamal", "ls")),
        )
        for count in NUMBERS_OF_TASKS
    ]


BY_PICKS = Objective("income/right picks", True), Objective("parity/gap in picks", False)
WITHIN_PICKS = Measure(reference=(0.062, 0.08), limit=0.03, base_rate=0.062)
"""Nobody who is better than chance at picking, and a gap that no network should have."""


def by_picks(records: Records, recipe: str) -> "pd.Series[float]":
    """Return by seed, of four points of a recipe that validation chooses by their picks, the share
    of right picks on test of the best one whose gap in picks on validation is at most 0.03."""
    values = {}
    for seed, pair in pairs(records, settings_of(recipe, records)).items():
        judged = Pair(*(replace(front, objectives=BY_PICKS) for front in pair))
        values[seed] = WITHIN_PICKS.of_four(judged)
    return pd.Series(values)


def fairness_by_picks(records: Records) -> list[Hypothesis]:
    """Return the hypotheses on picks: the best variant of PaMaL against the soup, one LS and a
    sweep, by whom they pick."""
    ours = by_picks(records, "pamal")
    others = {"a rewarded soup": "soup", "one LS": "ls", "a sweep of four LS": "sweep"}
    family = []
    for words, recipe in others.items():
        text = f"the best variant of PaMaL - {words}: right picks"
        one = difference(text, ours, by_picks(records, recipe), margin=0.005)
        family.append(one._replace(beyond=True))
    return family


IN_WORDS: dict[str, Callable[[Records], list[Hypothesis]]] = {
    "dial-of-conflict": dial_of_conflict,
    # At the widths at which five seeds left the fronts open.
    "dial-at-fresh-seeds": partial(fronts_along_the_dial, widths=(3, 4, 6, 10)),
    "one-run-against-a-sweep": one_run_against_a_sweep,
    "forty-passes": forty_passes,
    "claim-1": claim_1,
    "tasks": tasks,
    "fairness-by-picks": fairness_by_picks,
}
"""By the name of the registration."""
