"""The companion's answer in three paragraphs, around the numbers of the records.

A sentence is written for the verdicts that its question has, and raises ValueError if the records
say otherwise.
"""

import numpy as np
import pandas as pd

from pamal_companion.study import (
    claims,
    comparisons,
    dial,
    equal_compute,
    frame,
    paper,
    registered,
    tables,
    told,
)
from pamal_companion.study.claim import judge
from pamal_companion.study.claims import FINDINGS
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.hypotheses import FOUR, ONE
from pamal_companion.study.layout import OF_AUTHORS, TABLES
from pamal_companion.study.measures import points_apart

OF_THE_PAPER = 50
"""Features of the dial, as the paper's network has."""
AT_EQUAL_EPOCHS = "{}, the paper's rates: PaMaL's front against LS"
AT_ONE_RATE = "MultiMNIST, rate 0.002: PaMaL's front against LS"
AT_THAT_OF_LS = "MultiMNIST, rate 0.001: PaMaL's front against LS"
ON_THREE = "MultiMNIST3, rate 0.001: PaMaL's front against LS"
DATA = ("multimnist", "census")


def in_three_paragraphs(runs: Runs) -> str:
    """Return whether the paper holds, what PaMaL buys, and who should use it."""
    return "\n\n".join([whether_it_holds(runs), what_it_buys(), who_should_use_it()])


def whether_it_holds(runs: Runs) -> str:
    """Return whether PaMaL's front is ahead of LS at equal epochs, as the paper says."""
    judged = [judge(FINDINGS[AT_EQUAL_EPOCHS.format(paper.DATA[data])], runs) for data in DATA]
    words = {one.word for one in judged}
    if "not run" in words:
        return "**Does the paper hold?** These records lack runs that would answer this."
    if words != {"ahead"}:
        raise ValueError(f"A sentence is written for fronts that are ahead. Found {words}.")
    digits, people = (on_each_task(runs, data) for data in DATA)
    at_one_rate, at_that_of_ls, three = (
        judge(FINDINGS[name], runs) for name in (AT_ONE_RATE, AT_THAT_OF_LS, ON_THREE)
    )
    found = [one.word for one in (at_one_rate, at_that_of_ls, three)]
    if found != ["ahead", "open", "open"]:
        raise ValueError(
            "A sentence is written for a front that is ahead at PaMaL's rate, and open at that of "
            f"LS and on three digits. Found {found}."
        )
    return (
        "**Does the paper hold?** In its main point on two of three data sets. If PaMaL and linear "
        "scalarisation (LS) train for equally many epochs, PaMaL's front is ahead of LS, eleven "
        "networks against one, on validation. On MultiMNIST it is ahead "
        f"by about {digits:.1f} points of accuracy on each digit (hypervolume "
        f"{judged[0].estimate}), on Census by about {people:.1f} points on each task "
        f"({judged[1].estimate}). On MultiMNIST3 it is open. But on the first two "
        "PaMaL has twice the learning rate of LS, as in the paper. With LS at that rate, the lead "
        f"on MultiMNIST is smaller ({at_one_rate.estimate}), and if both have the rate of LS, it "
        f"is open ({at_that_of_ls.estimate}). And in these epochs PaMaL computes "
        "more: four times as much as LS on MultiMNIST, where it draws four networks in each step, "
        "and twice as much on Census, where it draws two."
    )


def on_each_task(runs: Runs, data: str) -> float:
    """Return how far PaMaL is ahead of LS on validation, in points of accuracy on each task."""
    ours, theirs = (
        frame.measured(runs, Setting(data, method), "hypervolume", "validation").mean()
        for method in ("pamal", "ls")
    )
    return points_apart(ours, theirs, len(paper.TASKS[data]))


def what_it_buys() -> str:
    """Return what one run of PaMaL is worth beside a sweep of LS."""
    question = equal_compute.sweeps()
    for data, word in (("MultiMNIST", "ahead"), ("Census", "behind")):
        registered.estimate(question, f"{data}: four points of PaMaL - four LS", word)
    registered.estimate(equal_compute.census(), equal_compute.SWEEP_OF_FOUR, "level")
    registered.estimate(equal_compute.digits(), f"{told.OURS} - a sweep of four LS", "open")
    return (
        "**What does it buy?** A choice of networks from one training. At equal compute you could "
        "train four LS with different weights instead. We asked with averaged weights, one draw a "
        "step, one rate for both, and twenty seeds. On MultiMNIST one run of PaMaL is ahead of the "
        "four, probably because the rate is too low for runs as short as these: if every recipe "
        "has its best rate, it is open whether the best of five variants of PaMaL is better, and "
        "the one of this comparison is worse. On Census it is behind them at that rate, "
        "and level if every recipe has its best one ([the comparisons](beyond.html))."
    )


def who_should_use_it() -> str:
    """Return for whom PaMaL is, and for whom LS or a soup."""
    fairness = registered.known("fairness-front")
    registered.estimate(fairness, f"{told.OURS} - {told.STRONGEST}", "behind")
    census = registered.known("census-at-equal-cost")
    question = equal_compute.forty()
    registered.estimate(question, f"chosen network of PaMaL, {FOUR} - the better LS", "level")
    one_draw = f"chosen network of PaMaL, {ONE} - the better LS"
    registered.estimate(question, one_draw, "open")
    equal_compute.leads_of_tuned_ls(census)
    if (middle := dial.word(OF_THE_PAPER, "the middle")) != "behind":
        raise ValueError(f"A sentence is written for a middle that is behind LS. Found {middle}.")
    return (
        "**Who should use it?** You, if your tasks compete and you do not know yet which "
        "compromise you want. Train a rewarded soup as well, because on "
        f"{equal_compute.FAIRNESS} the soup is ahead of PaMaL. If you need a single network, train "
        "LS. On MultiMNIST, after ten passes, LS is ahead of the middle of PaMaL's front. After 40 "
        "passes at the paper's rates LS is ahead of the network that you would choose from a front "
        "of four draws. With averaged weights and better rates these two are level, and with one "
        "draw it is open. On Census, if both are tuned, LS is ahead of the network that "
        "you would choose from the front, by less than the margin within which two are level."
    )


NUMBERS = (2, 3, 9)
"""The tables of the paper whose numbers are hypervolumes and accuracies between 0 and 1."""
NEAR = 0.005


def in_sum(runs: Runs) -> str:
    """Return how many numbers of the tables `NUMBERS` lie within `NEAR` of the paper's, with the
    median of the differences, and how many of its claims have each word. Each number of the paper
    counts once, as the page of tables shows it; what its authors published later is left out."""
    every = [tables.report(name, runs) for name, one in TABLES.items() if one.number in NUMBERS]
    found = pd.concat(every)
    later = {column.text for column in OF_AUTHORS.values()}
    away = found[~found.index.isin(later, level=1)]["difference"].dropna().abs()
    words = claims.table(runs)["verdict"].value_counts()
    return (
        f"**In sum.** Of {len(away)} numbers in Tables 2, 3 and 9, {(away <= NEAR).sum()} of ours "
        f"lie within {NEAR} of the paper's; for an accuracy that is half a point. The median "
        f"distance is {away.median():.4f}. We also tested {words.sum()} claims of the paper's "
        f"text: {words['holds']} hold and {words['fails']} fail. Another {words['open']} are open, "
        "because our seeds are too few to decide them or some of their runs are not made, and "
        f"{words['not run']} are not run."
    )


def of_the_lead(runs: Runs) -> str:
    """Return how PaMaL's lead over LS on MultiMNIST compares with that in the authors' own seeds;
    nothing without our runs."""
    leads = {
        split: [pamal.minus(ls) for pamal, ls in comparisons.of_the_lead(runs, split).values()]
        for split in ("test", "validation")
    }
    if np.isnan(leads["test"][1].value):
        return ""
    (authors, test), (on_validation, validation) = leads["test"], leads["validation"]
    low, high = authors.interval()
    if not (
        authors.value < test.value < high and abs(validation.value - on_validation.value) < 0.002
    ):
        raise ValueError("A sentence is written for a lead that is larger on test. Found others.")
    return (
        "**The lead over LS.** The paper's authors kept the results of their own seeds, so that we "
        "can compare PaMaL's lead over LS on MultiMNIST with ours, in hypervolume. On validation "
        f"the two are alike: {on_validation.value:.4f} in their seeds, {validation.value:.4f} in "
        f"ours. On test our lead is larger, {test.value:.4f} beside {authors.value:.4f}. But three "
        f"seeds do not fix the authors' lead well: its interval, {low:.4f} to {high:.4f}, contains "
        "ours, so the difference may be chance."
    )
