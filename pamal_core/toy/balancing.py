"""Balancing (section 4.2, Figure 1, appendix B2): the toy problem by every baseline, and by PaMaL
with each balancing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field, model_validator
from scipy.spatial import KDTree

from pamal_core.balancing import Linear, MovingAverage, UnitNorm
from pamal_core.plots import toy as plots
from pamal_core.runs.options import Options
from pamal_core.toy import figures as toy_figures
from pamal_core.toy import rules as toy_rules
from pamal_core.toy.coverage import coverage
from pamal_core.toy.pairs import CHUNK, Pairs, initial_pairs
from pamal_core.toy.problem import ToyProblem
from pamal_core.toy.run import MOMENTS
from pamal_core.toy.variants import Runs

SCALES = (1.0, 0.1)
WITHIN = 0.1
"""How near to the front counts as on it, in loss space, with c in it."""
WORST_PAIR = 10
"""The pair of Figure 1, with the worst initial losses: (9, 9) and (-8.5, 7.5)."""
OWN = {"seed", "epochs", "tanh", "lr", "scales", "sample_epochs"}
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class BalancingOptions(Options):
    """What the notebook takes: of the toy problem, where an epoch is 1,000 steps; and of the Census
    sample the factors of the losses and the number of epochs."""

    epochs: Annotated[int, Field(ge=1)] = 12
    tanh: Literal["printed", "earlier"] = "printed"
    lr: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2e-3
    scales: Annotated[list[Positive], Field(min_length=3, max_length=3)] = Field([0.2, 0.6, 4.0])
    sample_epochs: Annotated[int, Field(ge=1)] = 5

    @model_validator(mode="after")
    def _shows_every_method(self) -> "BalancingOptions":
        if given := self.model_fields_set - OWN:
            raise ValueError(f"Every method and balancing is shown: there is no `{min(given)}`.")
        return self


@dataclass(frozen=True, eq=False)
class Ablation:
    """What became of each method, by name, for each scale; and how long it was trained."""

    options: BalancingOptions
    runs: Mapping[float, Mapping[str, Runs]]

    @property
    def provenance(self) -> str:
        """One sentence that a figure can be stamped with."""
        o = self.options
        return (
            f"No data: the formula of appendix B2. Seed {o.seed}; {o.epochs * CHUNK:,} steps, "
            f"learning rate {o.lr:g}, tanh {o.tanh}."
        )

    def figure(self, scale: float) -> Figure:
        """A panel for each method: the trajectories from the five initial points, or the worst
        pair's members with their subspace over time."""
        steps = self.options.epochs * CHUNK
        panels = {n: toy_figures.trajectories(r, steps) for n, r in self.runs[scale].items()}
        return plots.methods_figure(panels, steps, self.provenance)

    def table(self, scale: float) -> pd.DataFrame:
        """A row for each method: what ended `WITHIN` the front, and from where to where on it.

        Positions on the front count from 0, where task 2 is best, to 1, where task 1 is, evenly in
        theta_1. NaN where nothing ended on the front.
        """
        return pd.DataFrame({n: _row(r) for n, r in self.runs[scale].items()}).T


def run(options: BalancingOptions) -> Ablation:
    """Train every baseline from the five initial points, and PaMaL from the worst pair."""
    num_steps = options.epochs * CHUNK
    scales, every = np.array(SCALES), num_steps // MOMENTS
    rules = toy_rules.rules(options.lr, options.seed)
    problem = ToyProblem(scales[:, None], options.tanh)
    singles = toy_rules.run(problem, rules, num_steps, every, options.lr)[..., None, :]
    balancers = {
        "PaMaL": Linear,
        "PaMaL, gradient balancing": UnitNorm,
        "PaMaL, loss balancing": MovingAverage,
    }
    pairs = Pairs(
        ToyProblem(np.repeat(scales, len(balancers))[:, None, None], options.tanh),
        [make() for _ in SCALES for make in balancers.values()],
        starts=initial_pairs()[[WORST_PAIR]],
        lr=options.lr,
        seed=options.seed,
    ).run(num_steps, every)
    pairs = pairs.reshape(len(pairs), len(SCALES), len(balancers), *pairs.shape[2:])
    runs: dict[float, dict[str, Runs]] = {}
    for v, scale in enumerate(SCALES):
        one = ToyProblem(scale, options.tanh)
        runs[scale] = {name: Runs(one, singles[:, r, v]) for r, name in enumerate(rules)}
        runs[scale] |= {name: Runs(one, pairs[:, v, b]) for b, name in enumerate(balancers)}
    return Ablation(options, runs)


def _row(runs: Runs) -> dict[str, object]:
    """A row of the table of `Ablation`."""
    ends = runs.image()
    distance, nearest = KDTree(runs.front).query(ends.reshape(-1, 2))
    positions = nearest[distance <= WITHIN] / (len(runs.front) - 1)
    if runs.stacked.shape[2] == 1:
        found = f"{len(positions)} of {len(ends)} runs"
    else:
        found = f"subspace: {coverage(runs.front, ends[0]).verdict(WITHIN)}"
    low, high = (positions.min(), positions.max()) if len(positions) else (np.nan, np.nan)
    return {"on the front": found, "from": low, "to": high, "spread": high - low}
