"""The settings of the illustrative example that the paper shows, what becomes of each (how far its
subspaces are from the exact front), and tables of it."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import moocore
import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray as Array
from scipy.spatial import KDTree

from pamal_companion.runs.records import Record
from pamal_companion.toy.problem import ToyProblem
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

OBJECTIVES = (Objective("1/loss", False), Objective("2/loss", False))
SCALES = (1.0, 0.1)
"""The values of c that the paper shows."""


class Variant(NamedTuple):
    """One setting of the paper: PaMaL or LS, the scale c of loss 1, a balancing; from how far a run
    counts as covering the front, and what the paper says of it."""

    method: Literal["pamal", "ls"]
    scale: float
    balancing: Literal["none", "loss", "gradient"]
    within: float
    paper: str

    @property
    def name(self) -> str:
        """Return the name for records and figures."""
        balanced = "" if self.balancing == "none" else f", {self.balancing} balancing"
        return f"{'LS' if self.method == 'ls' else 'PaMaL'}, c = {self.scale:g}{balanced}"


VARIANTS = (
    Variant("ls", 1.0, "none", 0.1, "one point a run, or none"),
    Variant("ls", 0.1, "none", 1.0, "favours the task with the larger loss"),
    Variant("pamal", 1.0, "none", 0.1, "all of the front in 22 (text) or 21 (caption) of 25"),
    Variant("pamal", 0.1, "none", 1.0, "a part of the front in the vast majority"),
    Variant("pamal", 0.1, "gradient", 0.5, "a superset of the front in 25 of 25"),
    Variant("pamal", 0.1, "loss", 1.0, "exactly the front in 20 of 25"),
)


class Distances(NamedTuple):
    """The largest distance from a point of a front to a curve (`gap`), and from a point of the
    curve to the front (`excess`), in the units of the losses; infinite for a curve that is not."""

    gap: float
    excess: float

    def verdict(self, within: float) -> Literal["exact", "superset", "subset", "off"]:
        """Return whether the curve covers the front within `within` and ends with it ("exact") or
        goes on ("superset"), covers a part alone ("subset"), or leaves the front ("off")."""
        if self.gap <= within:
            return "exact" if self.excess <= within else "superset"
        return "subset" if self.excess <= within else "off"


def distances(front: Float[Array, "K T"], curve: Float[Array, "I T"]) -> Distances:
    """Return the distances between dense samples of both. They exceed those to the lines between
    the samples by at most half the distance of two neighbours."""
    if not np.isfinite(curve).all():
        return Distances(np.inf, np.inf)
    gap, excess = (KDTree(a).query(b)[0].max() for a, b in ((curve, front), (front, curve)))
    return Distances(float(gap), float(excess))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Runs on one problem: the weights of all members of P runs at S evenly spaced moments, the
    start and the end among them. What ends `within` a distance of the front, in loss space with c
    in it, counts as on it."""

    problem: ToyProblem
    stacked: Float[Array, "S P M 2"]
    within: float = 0.1

    @property
    def num_members(self) -> int:
        """Return 2 of a pair, 1 of a method that trains single networks."""
        return self.stacked.shape[-2]

    @cached_property
    def members(self) -> Float[Array, "S P M 2"]:
        """Return the losses of the members."""
        return self.problem.losses(self.stacked)

    @cached_property
    def front(self) -> Float[Array, "K 2"]:
        """Return the analytic front."""
        return self.problem.front(1001)

    def image(self, moment: int = -1, num_points: int = 1001) -> Float[Array, "P num_points 2"]:
        """Return the losses along the subspace, from the first member to the last."""
        return self.problem.losses(lattice(self.num_members, num_points) @ self.stacked[moment])

    @property
    def names(self) -> list[str]:
        """Return the initial points of each run, counted from 1: "2" for a single network, "2-5"
        for a pair."""
        return ["-".join(pair) for pair in product("12345", repeat=self.num_members)]

    @property
    def worst(self) -> int:
        """Return the run of Figure 1: the members' initial losses on their own tasks have the
        largest sum."""
        return int(np.trace(self.members[0], axis1=1, axis2=2).argmax())

    def fronts(self) -> list[Front]:
        """Return the final subspace of each run at 11 alphas."""
        names, alphas = [o.name for o in OBJECTIVES], lattice(self.num_members, 11)
        losses = self.image(num_points=11)
        return [Front(alphas, pd.DataFrame(one, columns=names), OBJECTIVES) for one in losses]

    def summary(self) -> dict[str, Any]:
        """Return counts over the runs, the mean hypervolume of their losses from (0, 0), where both
        tasks are untrained, and each run by name; the rank correlation of alpha and loss is by task
        (-1 is best; None for a single point)."""
        hypervolume = moocore.Hypervolume(ref=(0.0, 0.0))
        runs: dict[str, dict[str, Any]] = {}
        curves = zip(self.names, self.image(num_points=10_001), self.fronts(), strict=True)
        for name, curve, front in curves:
            spearman = front.spearman() if self.num_members > 1 else [np.nan, np.nan]
            found = distances(self.front, curve)
            runs[name] = found._asdict() | {
                "verdict": found.verdict(self.within),
                "hypervolume": float(hypervolume(curve)),
                "spearman": [None if np.isnan(r) else float(r) for r in spearman],
            }
        return {
            "within": self.within,
            "covering": sum(run["gap"] <= self.within for run in runs.values()),
            "verdicts": dict(Counter(run["verdict"] for run in runs.values())),
            "hypervolume": float(np.mean([run["hypervolume"] for run in runs.values()])),
            "hypervolume_of_the_front": float(hypervolume(self.front)),
            "runs": runs,
        }

    def ends(self) -> dict[str, object]:
        """Return what ended on the front, and from where to where on it.

        Positions on the front count from 0, where task 2 is best, to 1, where task 1 is, evenly in
        theta_1. NaN where nothing ended on the front.
        """
        final = self.image()
        distance, nearest = KDTree(self.front).query(final.reshape(-1, 2))
        positions = nearest[distance <= self.within] / (len(self.front) - 1)
        found = f"{len(positions)} of {len(final)} runs"
        if self.num_members > 1:
            found = f"subspace: {distances(self.front, final[0]).verdict(self.within)}"
        low, high = (positions.min(), positions.max()) if len(positions) else (np.nan, np.nan)
        return {"on the front": found, "from": low, "to": high, "spread": high - low}


def counts(record: Record) -> pd.DataFrame:
    """Return a row for each variant: how many runs cover the analytic front (`Distances.verdict`),
    and what the paper says. The last columns are means over all runs: hypervolume as a share of
    that of the front, 1 at best, and rank correlation of alpha and loss, -1 at best."""
    rows = {}
    for variant in VARIANTS:
        if found := record.summary.get(variant.name):
            runs = pd.DataFrame(found["runs"]).T
            rows[variant.name] = {
                "within": found["within"],
                "covers": f"{found['covering']} of {len(runs)}",
                "exactly": found["verdicts"].get("exact", 0),
                "hypervolume ↑": found["hypervolume"] / found["hypervolume_of_the_front"],
                "Spearman ↓": runs["spearman"].explode().astype(float).mean(),
                "paper": variant.paper,
            }
    return pd.DataFrame(rows).T


COVERED = {
    "PaMaL, c = 1": "With both losses as they are (c = 1) it does so from {} pairs.",
    "PaMaL, c = 0.1": "If loss 1 counts a tenth (c = 0.1), it does so from {}.",
    "PaMaL, c = 0.1, gradient balancing": (
        "If you then scale the gradients of the two tasks to one length (gradient balancing), it "
        "does so from {}."
    ),
    "PaMaL, c = 0.1, loss balancing": (
        "If you divide each loss by its recent mean instead (loss balancing), it does so from {}."
    ),
}
"""The words on each variant, around how many pairs of all cover the front."""


def answer(record: Record) -> str:
    """Return from how many pairs of starts each variant of PaMaL covers the front, in Markdown.
    Empty where PaMaL was not run."""
    found = {name: record.summary[name] for name in COVERED if name in record.summary}
    if not found:
        return ""
    pairs = {len(one["runs"]) for one in found.values()}
    counts = {name: f"**{one['covering']} of {len(one['runs'])}**" for name, one in found.items()}
    told = [
        f"We train PaMaL from {max(pairs)} pairs of starts, and ask from how many pairs the "
        "segment between the two members comes to cover the whole front.",
        *(COVERED[name].format(count) for name, count in counts.items()),
    ]
    plain = found.get("PaMaL, c = 0.1")
    if plain and plain["verdicts"].get("subset", 0) > len(plain["runs"]) / 2:
        told.append(
            "Balancing helps because without it the gradient of the larger loss decides where the "
            "members go: most segments then end on a part of the front, where task 2 is good."
        )
    return " ".join(told)


def pair_by_pair(record: Record) -> pd.DataFrame:
    """Return a row for each pair, a column for each variant of PaMaL: whether the pair covers the
    front, what it found, and the largest distance from a point of the front to its subspace."""
    columns = {}
    for variant in VARIANTS:
        if variant.method == "pamal" and (found := record.summary.get(variant.name)):
            runs = pd.DataFrame(found["runs"]).T
            marks = np.where(runs.gap <= found["within"], "✓ ", "✗ ")
            columns[variant.name] = marks + runs.verdict + runs.gap.map(", {:.2f}".format)
    return pd.DataFrame(columns).rename_axis("pair")
