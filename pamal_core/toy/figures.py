"""The toy problem's figures of one run, each list empty where the run has nothing to show in it."""

import numpy as np
from matplotlib.figure import Figure

from pamal_core.plots import toy as plots
from pamal_core.toy.outcomes import VARIANTS, Outcome
from pamal_core.toy.run import MOMENTS, ToyRun

SHOWN = (0.0, 0.04, 0.08, 0.16, 0.32, 1.0)
"""When Figure 1 shows the subspace, as shares of the run: most of the way is made early."""


def figure_1(result: ToyRun) -> list[Figure]:
    """Trajectories, a figure for each scale: every run of LS, and PaMaL from its worst pair."""
    steps = result.num_steps
    panels: dict[float, dict[str, plots.Trajectories]] = {}
    for variant in sorted(VARIANTS, key=lambda variant: -variant.scale):
        if one := result.outcomes.get(variant.name):
            of_scale = panels.setdefault(variant.scale, {})
            of_scale[variant.name] = trajectories(one, steps, one.worst)
    return [plots.trajectories_figure(p, steps, result.provenance) for p in panels.values()]


def pairs(result: ToyRun, variant: str) -> list[Figure]:
    """All pairs of one variant, by its name: their trajectories, and their final subspaces."""
    if variant not in result.outcomes:
        return []
    outcome = result.outcomes[variant]
    verdicts = {n: r["verdict"] for n, r in result.record.summary[variant]["runs"].items()}
    shown = {
        "members on their way": outcome.members.swapaxes(0, 1),
        "final subspaces": outcome.image(),
    }
    figures = []
    for what, runs in shown.items():
        named, title = dict(zip(verdicts, runs, strict=True)), f"{variant}: {what}"
        figures.append(plots.pairs_figure(outcome.front, named, verdicts, title, result.provenance))
    return figures


def surfaces(result: ToyRun, variant: str) -> list[Figure]:
    """The weighted loss as alpha sweeps from 0 to 1, with the final subspace of the worst pair."""
    if variant not in result.outcomes:
        return []
    outcome = result.outcomes[variant]
    axes = np.linspace(-11, 11, 221), np.linspace(-12, 10, 221)
    losses = outcome.problem.losses(np.stack(np.meshgrid(*axes), -1))
    members = outcome.stacked[-1, outcome.worst]
    sweep = (0.0, 0.25, 0.5, 0.75, 1.0)
    return [plots.surfaces_figure(axes, losses, members, sweep, result.provenance)]


def trajectories(outcome: Outcome, num_steps: int, pair: int = 0) -> plots.Trajectories:
    """All runs of a single member, or the one `pair` of PaMaL with its subspace over time."""
    if outcome.num_members == 1:
        return plots.Trajectories(outcome.front, outcome.members, {})
    moments = {round(share * num_steps): round(share * MOMENTS) for share in SHOWN}
    images = {step: outcome.image(moment)[pair] for step, moment in moments.items()}
    return plots.Trajectories(outcome.front, outcome.members[:, [pair]], images)
