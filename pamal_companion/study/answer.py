"""The companion's answer in three sentences, in the words of the verdicts."""

import numpy as np

from pamal_companion.plots.dial import PAMAL
from pamal_companion.study import dial
from pamal_companion.study.claim import judge
from pamal_companion.study.claims import AHEAD, FINDINGS
from pamal_companion.study.frame import Runs
from pamal_companion.study.fronts import span

FEW, OF_THE_PAPER = 6, 50
"""Features of the dial that the second sentence names."""


def said(runs: Runs, finding: str) -> str:
    """Return the verdict on a finding, as a sentence says it."""
    return AHEAD[judge(FINDINGS[finding], runs).word]


def in_three_sentences(runs: Runs) -> str:
    """Return whether the paper holds, what it buys, and who should use it."""
    multimnist = said(runs, "MultiMNIST, the paper's rates: PaMaL's front against LS")
    census = said(runs, "Census, the paper's rates: PaMaL's front against LS")
    dear = said(runs, "MultiMNIST, equal passes: one network of LS against PaMaL's front")
    sweep, middle = (AHEAD[dial.word(OF_THE_PAPER, part)] for part in ("the front", "the middle"))
    spans = {
        width: f"{np.mean([span(front) for front in dial.fronts(width)[PAMAL]]):.2f}"
        for width in (FEW, OF_THE_PAPER)
    }
    return (
        f"**Does the paper hold?** After as many epochs PaMaL's front {multimnist} linear "
        f"scalarisation (LS) on MultiMNIST, and {census} it on Census.\n\n"
        f"**What does it buy?** A choice: one run {sweep} five LS of as many passes in all, though "
        f"a front spans only {spans[OF_THE_PAPER]}, and {spans[FEW]} where the two digits share "
        f"{FEW} features in place of {OF_THE_PAPER}.\n\n"
        "**Who should use it?** You, if your tasks compete and you do not know your trade-off; for "
        f"one network train LS, which the middle of a front {middle}, and which after as many "
        f"passes {dear} the whole front on MultiMNIST."
    )
