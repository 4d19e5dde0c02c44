"""Balancing (section 4.2, Figure 1, appendix B2): the toy problem by every baseline, and by PaMaL
with each balancing."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from pamal_companion.runs.options import Count, Options, Positive
from pamal_companion.toy import captions, figures
from pamal_companion.toy.outcomes import Outcome
from pamal_companion.toy.pairs import Pairs, initial_pairs
from pamal_companion.toy.problem import ToyProblem
from pamal_companion.toy.rules import EPOCH
from pamal_companion.toy.run import MOMENTS, baselines
from pamal_core.balancing import Linear, MovingAverage, UnitNorm

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
    epochs: Count = 12
    tanh: Literal["printed", "earlier"] = "printed"
    lr: Positive = 2e-3
    scales: Annotated[list[Positive], Field(min_length=3, max_length=3)] = Field([0.2, 0.6, 4.0])
    sample_epochs: Count = 5


class Ablation(NamedTuple):
    """What became of each method, by name, for each scale; and how long it was trained."""

    options: BalancingOptions
    outcomes: Mapping[float, Mapping[str, Outcome]]

    def figure(self, scale: float) -> Figure:
        """Draw a panel for each method: the trajectories from the five initial points, or the worst
        pair's members with their subspace over time."""
        o, steps = self.options, self.options.epochs * EPOCH
        provenance = (
            f"No data: the formula of appendix B2. Seed {o.seed}; {steps:,} steps, "
            f"learning rate {o.lr:g}, tanh {o.tanh}."
        )
        panels = self.outcomes[scale]
        words = f"{captions.reached(panels)}{figures.ENDS}"
        return figures.trajectories_figure(panels, steps, provenance, words, small=True)

    def table(self, scale: float) -> pd.DataFrame:
        """Return a row for each method: what ended on the front, and where (`Outcome.ends`)."""
        return pd.DataFrame({n: one.ends() for n, one in self.outcomes[scale].items()}).T


def run(options: BalancingOptions) -> Ablation:
    """Train every baseline from the five initial points, and PaMaL from the worst pair."""
    num_steps, worst = options.epochs * EPOCH, initial_pairs()[[WORST_PAIR]]
    outcomes = baselines(options, num_steps)
    for scale, of_scale in outcomes.items():
        problem = ToyProblem(scale, options.tanh)
        balancers = [make() for make in BALANCERS.values()]
        pairs = Pairs(problem, balancers, worst, lr=options.lr, seed=options.seed)
        stacked = pairs.run(num_steps, num_steps // MOMENTS)
        for name, weights in zip(BALANCERS, stacked.swapaxes(0, 1), strict=True):
            of_scale[name] = Outcome(problem, weights)
    return Ablation(options, outcomes)
