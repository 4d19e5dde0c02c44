"""The companion's answer in three sentences, in the words of the verdicts."""

from pamal_companion.study import dial, registered
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
    chosen = AHEAD[tuned["pamal-W=1 - ls: chosen hypervolume, test"]]
    if census == multimnist:
        both = f"{multimnist} linear scalarisation (LS) on MultiMNIST and Census"
    else:
        both = f"{multimnist} linear scalarisation (LS) on MultiMNIST, and {census} it on Census"
    return (
        f"**Does the paper hold?** At equal epochs PaMaL's front {both}.\n\n"
        "**What does it buy?** A choice, and one long training for several. One run "
        f"{sweeps[0]} four LS of as many passes on MultiMNIST, and {sweeps[1]} them on Census.\n\n"
        "**Who should use it?** You, if tasks compete and your trade-off is open. For one "
        f"network train LS: a front's middle {middle} it on MultiMNIST, its chosen one {chosen} it "
        "on Census."
    )
