"""Say in a sentence what a figure of the toy problem shows, counted from the runs that it draws.

A sentence ends with a space, so that what the marks mean can follow it.
"""

from collections.abc import Mapping

import numpy as np

from pamal_companion.plots.words import listed, out_of
from pamal_companion.toy.outcomes import Outcome, distances

WHERE = {
    "exact": "the members end as the two ends of the front, and their subspace is the front",
    "superset": "the subspace ends on the whole front, and goes on beyond it",
    "subset": "the subspace ends on a part of the front",
    "off": "the subspace ends beside the front",
}
"""Says where the members of a pair end, by the verdict of `Distances`."""
PLAIN = "no balancing"


def panel_by_panel(panels: Mapping[str, Outcome]) -> str:
    """Return a sentence for each panel, by its name: where its runs ended."""
    return "".join(f"{name}: {_found(outcome)}. " for name, outcome in panels.items())


def _found(outcome: Outcome) -> str:
    """Return in words where the runs of one panel ended."""
    if outcome.num_members == 1:
        return f"{outcome.ends()['on the front']} end on the front"
    return WHERE[_verdict(outcome)]


def _verdict(outcome: Outcome) -> str:
    """Return what becomes of the worst pair of members: a key of `WHERE`."""
    segment = outcome.image()[outcome.worst]
    return distances(outcome.front, segment).verdict(outcome.within)


def of_pairs(verdicts: Mapping[str, int]) -> str:
    """Return from how many pairs of starts the members end where, the most frequent end first."""
    number = sum(verdicts.values())
    most, *others = sorted(verdicts, key=lambda verdict: -verdicts[verdict])
    reason = ""
    if most == "subset":
        reason = ", because the gradient of the larger loss decides where the members go"
    words = f"From {out_of(verdicts[most], number)} pairs of starts {WHERE[most]}{reason}. "
    return words + "".join(f"From {verdicts[one]} {WHERE[one]}. " for one in others)


def reached(panels: Mapping[str, Outcome]) -> str:
    """Return how much of the front PaMaL reaches with each balancing, and which of the baselines
    spreads its runs the furthest."""
    shares = {name: _share(outcome) for name, outcome in panels.items()}
    pairs = [name for name, outcome in panels.items() if outcome.num_members > 1]
    alone = [name for name in panels if name not in pairs]
    words = _by_balancing({name: panels[name] for name in pairs}) if pairs else ""
    if alone:
        best = max(alone, key=shares.__getitem__)
        words += (
            f"Of the baselines, whose runs are single networks, {best} spreads them the furthest, "
            f"over {100 * shares[best]:.0f} %. "
        )
    return words


def _by_balancing(panels: Mapping[str, Outcome]) -> str:
    """Return how much of the front PaMaL reaches, by the balancing after the comma of a name."""
    outcomes = {name.partition(", ")[2] or PLAIN: outcome for name, outcome in panels.items()}
    shares = {name: _share(outcome) for name, outcome in outcomes.items()}
    first, *rest = (f"{100 * share:.0f} %" for share in shares.values())
    parts = zip([f"{first} of the front", *rest], shares, strict=True)
    words = f"PaMaL reaches {listed(f'{share} with {name}' for share, name in parts)}"
    balanced = [share for name, share in shares.items() if name != PLAIN]
    is_behind = PLAIN in shares and bool(balanced) and shares[PLAIN] < min(balanced)
    if is_behind and np.ptp(outcomes[PLAIN].problem.factor) > 0:  # the scales of the losses differ
        words += ", because the larger loss decides where the members go unless it is balanced"
    words += ". "
    beyond = [name for name, outcome in outcomes.items() if _verdict(outcome) == "superset"]
    if beyond:
        words += f"With {listed(beyond)} its line goes on beyond the front. "
    return words


def _share(outcome: Outcome) -> float:
    """Return over which share of the front the ends of `outcome` spread, 0 if none is on it."""
    return float(np.nan_to_num(np.array(outcome.ends()["spread"], dtype=float)))
