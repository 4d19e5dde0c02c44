"""Two methods at equal cost: each the best that somebody could train for a budget of passes.

The budget is the passes of ours. Of each side the winner is the setting of the declared grid that
has the largest hypervolume on validation at the seeds `CHOSEN_AT`, of those with at most as many
passes; the verdict rests on other seeds. What is not in the records is not run.
"""

import numpy as np

from pamal_companion.study import frame
from pamal_companion.study.claim import Claim, Judged, Pair, judge
from pamal_companion.study.frame import Runs, Setting

EPOCHS = (10, 20, 40)
RATES = {"multimnist": (0.001, 0.002, 0.004), "census": (0.0003, 0.001, 0.002)}
"""Of Adam; other data have no grid."""
AVERAGES = (0.0, 0.99, 0.999)
FREE = dict.fromkeys(("epochs", "lr", "lr_scaling", "average"))
"""The options that the grid varies."""
CHOSEN_AT = (0, 1, 2)


def candidates(setting: Setting, passes: float, runs: Runs) -> list[Setting]:
    """Return the settings of the grid with records that differ from `setting` in what the grid
    varies, and have at most so many passes."""
    rates = RATES.get(setting.experiment, ())
    alike = (s for s in runs if s[:2] == setting[:2] and s.having(**FREE) == setting.having(**FREE))
    return [
        one
        for one in alike
        if one.passes <= passes
        and one.values["epochs"] in EPOCHS
        and one.values["average"] in AVERAGES
        and np.isclose(one.rate, rates).any()
    ]


def winner(setting: Setting, passes: float, runs: Runs) -> Setting | None:
    """Return the best candidate on validation at all of `CHOSEN_AT`. None where the records lack a
    rate of the grid, averaged weights or the last ones, or a training as long as the passes allow:
    what has not been tried could have been better."""
    means: dict[Setting, float] = {}
    for one in candidates(setting, passes, runs):
        volumes = frame.measured(runs, one, "hypervolume", "validation")
        if {*CHOSEN_AT} <= {*volumes.index}:
            means[one] = volumes[[*CHOSEN_AT]].mean()
    longest = max(n for n in EPOCHS if setting.having(epochs=n).passes <= passes or n == EPOCHS[0])
    tried = {one.values["epochs"] for one in means}, {bool(one.values["average"]) for one in means}
    rates = {round(one.rate, 6) for one in means}
    is_whole = rates == {*RATES.get(setting.experiment, ())} and longest in tried[0]
    if not means or not is_whole or len(tried[1]) < 2:
        return None
    return max(means, key=means.__getitem__)


def at_equal_cost(claim: Claim, runs: Runs) -> Judged | None:
    """Return the verdict on the winners of both sides. None where nothing is compared, where both
    have as many passes anyway, and where they differ in nothing but what the grid varies."""
    pairs = [(one, two) for one, two in claim.pairs() if two]
    if all(one.passes == two.passes for one, two in pairs):
        return None
    if any(one.having(**FREE) == two.having(**FREE) for one, two in pairs):
        return None
    won: set[Setting] = set()
    best: list[Pair] = []
    for one, two in pairs:
        sides = [winner(side, one.passes, runs) for side in (one, two)]
        won |= {*filter(None, sides)}
        best.append((sides[0] or one, sides[1] or two))
    fresh = {one: {n: run for n, run in runs[one].items() if n not in CHOSEN_AT} for one in won}
    return judge(claim, fresh, best)
