"""The toy problem's figures of one run, each list empty where the run has nothing to show in it."""

import numpy as np
from matplotlib.figure import Figure

from pamal_core.plots import toy as plots
from pamal_core.toy.run import MOMENTS, ToyRun
from pamal_core.toy.variants import Runs

SHOWN = (0.0, 0.04, 0.08, 0.16, 0.32, 1.0)
"""When Figure 1 shows the subspace, as shares of the run: most of the way is made early."""


def figure_1(result: ToyRun) -> list[Figure]:
    """Trajectories, a figure for each scale: every run of LS, and PaMaL from its worst pair."""
    outcomes = list(result.outcomes.values())
    return [
        plots.trajectories_figure(
            {
                o.variant.name: trajectories(o, result.num_steps, o.worst_run)
                for o in outcomes
                if o.variant.scale == scale
            },
            result.num_steps,
            result.provenance,
        )
        for scale in sorted({o.variant.scale for o in outcomes}, reverse=True)
    ]


def pairs(result: ToyRun, variant: str) -> list[Figure]:
    """All pairs of one variant, by its name: their trajectories, and their final subspaces."""
    if variant not in result.outcomes:
        return []
    outcome = result.outcomes[variant]
    names, title = outcome.run_names, f"{variant}: %s"
    found = {n: run["verdict"] for n, run in result.record.summary[variant]["runs"].items()}
    return [
        plots.pairs_figure(outcome.front, dict(zip(names, runs, strict=True)), found, *texts)
        for runs, *texts in (
            (outcome.members.swapaxes(0, 1), title % "members on their way", result.provenance),
            (outcome.image(), title % "final subspaces", result.provenance),
        )
    ]


def surfaces(result: ToyRun, variant: str) -> list[Figure]:
    """The weighted loss as alpha sweeps from 0 to 1, with the final subspace of the worst pair."""
    if variant not in result.outcomes:
        return []
    outcome = result.outcomes[variant]
    axes = np.linspace(-11, 11, 221), np.linspace(-12, 10, 221)
    losses = outcome.problem.losses(np.stack(np.meshgrid(*axes), -1))
    members = outcome.stacked[-1, outcome.worst_run]
    sweep = (0.0, 0.25, 0.5, 0.75, 1.0)
    return [plots.surfaces_figure(axes, losses, members, sweep, result.provenance)]


def trajectories(runs: Runs, num_steps: int, pair: int = 0) -> plots.Trajectories:
    """All runs of a single member, or the one `pair` of PaMaL with its subspace over time."""
    if runs.stacked.shape[2] == 1:
        return plots.Trajectories(runs.front, runs.members, {})
    moments = {round(share * num_steps): round(share * MOMENTS) for share in SHOWN}
    images = {step: runs.image(moment)[pair] for step, moment in moments.items()}
    return plots.Trajectories(runs.front, runs.members[:, [pair]], images)
