"""Balancing (section 4.2, Figure 1, appendix B2): the toy problem by every baseline, and by PaMaL
with each balancing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from pamal_core.balancing import Linear, MovingAverage, UnitNorm
from pamal_core.plots import toy as plots
from pamal_core.runs.options import Options
from pamal_core.toy import rules as toy_rules
from pamal_core.toy import tables
from pamal_core.toy.descent import EPOCH
from pamal_core.toy.figures import trajectories
from pamal_core.toy.outcomes import Outcome
from pamal_core.toy.pairs import Pairs, initial_pairs
from pamal_core.toy.problem import ToyProblem
from pamal_core.toy.run import MOMENTS, Positive

SCALES = (1.0, 0.1)
WORST_PAIR = 10
"""The pair of Figure 1, with the worst initial losses: (9, 9) and (-8.5, 7.5)."""
BALANCERS = {
    "PaMaL": Linear,
    "PaMaL, gradient balancing": UnitNorm,
    "PaMaL, loss balancing": MovingAverage,
}


class BalancingOptions(Options):
    """What the notebook takes, which shows every method: of the toy problem, where an epoch is
    1,000 steps; and for the three tasks on sample data the factors of the losses and the epochs."""

    known: ClassVar = ("seed", "epochs", "tanh", "lr", "scales", "sample_epochs")
    epochs: Annotated[int, Field(ge=1)] = 12
    tanh: Literal["printed", "earlier"] = "printed"
    lr: Positive = 2e-3
    scales: Annotated[list[Positive], Field(min_length=3, max_length=3)] = Field([0.2, 0.6, 4.0])
    sample_epochs: Annotated[int, Field(ge=1)] = 5


@dataclass(frozen=True, eq=False)
class Ablation:
    """What became of each method, by name, for each scale; and how long it was trained."""

    options: BalancingOptions
    outcomes: Mapping[float, Mapping[str, Outcome]]

    def figure(self, scale: float) -> Figure:
        """A panel for each method: the trajectories from the five initial points, or the worst
        pair's members with their subspace over time."""
        o, steps = self.options, self.options.epochs * EPOCH
        provenance = (
            f"No data: the formula of appendix B2. Seed {o.seed}; {steps:,} steps, "
            f"learning rate {o.lr:g}, tanh {o.tanh}."
        )
        panels = {name: trajectories(one, steps) for name, one in self.outcomes[scale].items()}
        return plots.methods_figure(panels, steps, provenance)

    def table(self, scale: float) -> pd.DataFrame:
        """A row for each method: what ended on the front, and where (`tables.ends`)."""
        return pd.DataFrame({n: tables.ends(one) for n, one in self.outcomes[scale].items()}).T


def run(options: BalancingOptions) -> Ablation:
    """Train every baseline from the five initial points, and PaMaL from the worst pair."""
    num_steps = options.epochs * EPOCH
    scales, every = np.array(SCALES), num_steps // MOMENTS
    rules = toy_rules.rules(options.lr, options.seed)
    problem = ToyProblem(scales[:, None], options.tanh)
    singles = toy_rules.run(problem, rules, num_steps, every, options.lr)[..., None, :]
    pairs = Pairs(
        ToyProblem(np.repeat(scales, len(BALANCERS))[:, None, None], options.tanh),
        [make() for _ in SCALES for make in BALANCERS.values()],
        starts=initial_pairs()[[WORST_PAIR]],
        lr=options.lr,
        seed=options.seed,
    ).run(num_steps, every)
    pairs = pairs.reshape(len(pairs), len(SCALES), len(BALANCERS), *pairs.shape[2:])
    outcomes: dict[float, dict[str, Outcome]] = {}
    for v, scale in enumerate(SCALES):
        one = ToyProblem(scale, options.tanh)
        outcomes[scale] = {name: Outcome(one, singles[:, r, v]) for r, name in enumerate(rules)}
        outcomes[scale] |= {n: Outcome(one, pairs[:, v, b]) for b, n in enumerate(BALANCERS)}
    return Ablation(options, outcomes)
