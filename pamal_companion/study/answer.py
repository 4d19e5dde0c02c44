"""The companion's answer in three sentences, in the words of the verdicts."""

from pamal_companion.study import claims, dial, registered, tables, told
from pamal_companion.study.claim import judge
from pamal_companion.study.claims import AHEAD, FINDINGS
from pamal_companion.study.frame import Runs

OF_THE_PAPER = 50
"""Features of the dial, as the paper's network has."""


def said(runs: Runs, finding: str) -> str:
    """Return the verdict on a finding, as a sentence says it."""
    return AHEAD[judge(FINDINGS[finding], runs).word]


def in_three_sentences(runs: Runs) -> str:
    """Return whether the paper holds, what it buys, and who should use it."""
    multimnist = said(runs, "MultiMNIST, the paper's rates: PaMaL's front against LS")
    census = said(runs, "Census, the paper's rates: PaMaL's front against LS")
    middle = AHEAD[dial.word(OF_THE_PAPER, "the middle")]
    sweep, tuned = (
        registered.verdicts(registered.read(name))["verdict"]
        for name in ("one-run-against-a-sweep", "census-at-equal-cost")
    )
    ours = "four points of one run - four LS"
    sweeps = [AHEAD[sweep[f"{data}: {ours}"]] for data in ("MultiMNIST", "Census")]
    fairness = registered.read("fairness-front")
    soup = told.word(fairness, told.OURS, told.STRONGEST)
    chosen = AHEAD[tuned["pamal-W=1 - ls: chosen hypervolume, test"]]
    if census == multimnist:
        both = f"{multimnist} linear scalarisation (LS) on MultiMNIST and Census"
    else:
        both = f"{multimnist} linear scalarisation (LS) on MultiMNIST, and {census} it on Census"
    return (
        f"**Does the paper hold?** At equal epochs PaMaL's front {both}.\n\n"
        "**What does it buy?** A choice, and one long training for several. One run "
        f"{sweeps[0]} four LS of as many passes on MultiMNIST, and {sweeps[1]} them on Census.\n\n"
        "**Who should use it?** You, if tasks compete and your trade-off is open. Train a rewarded "
        f"soup beside it: on fairness PaMaL {AHEAD[soup]} it. For one "
        f"network train LS: a front's middle {middle} it on MultiMNIST, its chosen one {chosen} it "
        "on Census."
    )


NUMBERS = ("Table 2", "Table 3", "Table 9")
"""The tables whose numbers are hypervolumes and accuracies between 0 and 1."""
NEAR = 0.005


def in_sum(runs: Runs) -> str:
    """Return how many numbers of `NUMBERS` lie within `NEAR` of the paper's, with the median of the
    differences, and how many of its claims have each word."""
    away = tables.compare(runs)["difference"].dropna().abs()
    away = away[away.index.get_level_values("table").str.startswith(NUMBERS)]
    words = claims.table(runs)["verdict"].value_counts()
    return (
        f"**In sum.** Of {len(away)} numbers in Tables 2, 3 and 9, {(away <= NEAR).sum()} of ours "
        f"lie within {NEAR} of the paper's, half of them within {away.median():.4f}. Of the "
        f"paper's {words.sum()} claims {words['holds']} hold and {words['fails']} fail. Of the "
        f"others {words['open']} are open, and {words['not run']} are not run."
    )
