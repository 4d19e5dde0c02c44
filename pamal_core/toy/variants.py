"""The settings of the illustrative example that the paper shows, and what becomes of each."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import moocore
import numpy as np
import pandas as pd
from jaxtyping import Float

from pamal_core.front import Front, Objective
from pamal_core.simplex import lattice
from pamal_core.toy.coverage import coverage
from pamal_core.toy.problem import INITIAL_POINTS, ToyProblem

OBJECTIVES = (Objective("1/loss", False), Objective("2/loss", False))


class Variant(NamedTuple):
    """One setting of the paper: PaMaL or LS, the scale c of loss 1, a balancing.

    A run counts as covering the front when it does so `within` that distance in loss space;
    `paper` is what the paper says of it.
    """

    method: Literal["pamal", "ls"]
    scale: float
    balancing: Literal["none", "loss", "gradient"]
    within: float
    paper: str

    @property
    def name(self) -> str:
        """For records and figures."""
        balanced = "" if self.balancing == "none" else f", {self.balancing} balancing"
        return f"{ {'pamal': 'PaMaL', 'ls': 'LS'}[self.method] }, c = {self.scale:g}{balanced}"


VARIANTS = (
    Variant("ls", 1.0, "none", 0.1, "one point a run, or none"),
    Variant("ls", 0.1, "none", 1.0, "favours the task with the larger loss"),
    Variant("pamal", 1.0, "none", 0.1, "all of the front in 22 (text) or 21 (caption) of 25"),
    Variant("pamal", 0.1, "none", 1.0, "a part of the front in the vast majority"),
    Variant("pamal", 0.1, "gradient", 0.5, "a superset of the front in 25 of 25"),
    Variant("pamal", 0.1, "loss", 1.0, "exactly the front in 20 of 25"),
)


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs on one problem: `stacked` has the weights of all members of P runs at S evenly spaced
    moments, the start and the end among them."""

    problem: ToyProblem
    stacked: Float[np.ndarray, "S P M 2"]

    @cached_property
    def members(self) -> np.ndarray:
        """The losses of the members: [S, P, M, 2]."""
        return self.problem.losses(self.stacked)

    @cached_property
    def front(self) -> np.ndarray:
        """The analytic front: [K, 2]."""
        return self.problem.front(1001)

    def image(self, moment: int = -1, num_points: int = 1001) -> np.ndarray:
        """The losses along the subspace, from the first member to the last: [P, num_points, 2]."""
        return self.problem.losses(self._alphas(num_points) @ self.stacked[moment])

    def _alphas(self, num_points: int) -> np.ndarray:
        return lattice(self.stacked.shape[-2], num_points)


@dataclass(frozen=True, eq=False)
class Outcome(Runs):
    """What became of one variant."""

    variant: Variant

    @property
    def run_names(self) -> list[str]:
        """The initial points of each run, counted from 1: "2" for LS, "2-5" for a pair."""
        num_members = self.stacked.shape[-2]
        points = [str(i + 1) for i in range(len(INITIAL_POINTS))]
        return ["-".join(pair) for pair in product(points, repeat=num_members)]

    @property
    def worst_run(self) -> int:
        """The run of Figure 1: the members' initial losses on their own tasks have the largest
        sum."""
        own = np.arange(self.stacked.shape[-2])
        return int(self.members[0][:, own, own].sum(-1).argmax())

    def fronts(self) -> list[Front]:
        """The final subspace of each run at 11 alphas."""
        names, alphas = [o.name for o in OBJECTIVES], self._alphas(11)
        tables = (pd.DataFrame(image, columns=names) for image in self.image(num_points=11))
        return [Front(alphas, table, OBJECTIVES) for table in tables]

    def measures(self) -> dict[str, dict[str, Any]]:
        """For each run by name: `Coverage` and its verdict, the hypervolume (higher is better), and
        the rank correlation of alpha and loss per task (-1 is best; None for a single point)."""
        curves = zip(self.run_names, self.image(num_points=10_001), self.fronts(), strict=True)
        found = {}
        for name, curve, front in curves:
            spearman = front.spearman() if len(front.alphas) > 1 else [np.nan, np.nan]
            covered = coverage(self.front, curve)
            found[name] = covered._asdict() | {
                "verdict": covered.verdict(self.variant.within),
                "hypervolume": hypervolume(curve),
                "spearman": [None if np.isnan(r) else float(r) for r in spearman],
            }
        return found


def hypervolume(losses: np.ndarray) -> float:
    """The area between losses [n, 2] and (0, 0), where both tasks are untrained; higher is
    better."""
    return float(moocore.hypervolume(losses, ref=(0.0, 0.0)))
