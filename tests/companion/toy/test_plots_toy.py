from itertools import pairwise

import numpy as np
from matplotlib.collections import LineCollection

from pamal_companion.runs.records import Record
from pamal_companion.toy import figures as toy
from pamal_companion.toy.outcomes import Outcome
from pamal_companion.toy.problem import ToyProblem
from pamal_companion.toy.run import ToyRun

RNG = np.random.default_rng(0)


def outcome(stacked):
    return Outcome(ToyProblem(), stacked)


def named(figure):
    return {text.get_text() for legend in figure.legends for text in legend.get_texts()}


def test_figure_1_has_a_panel_per_method_with_named_directions():
    ls = outcome(RNG.normal(size=(11, 5, 1, 2)))
    pamal = outcome(RNG.normal(size=(501, 1, 2, 2)))
    figure = toy.trajectories_figure({"LS": ls, "PaMaL": pamal}, 5000, "made up")
    left, right, _ = figure.axes
    assert [left.get_title(), right.get_title()] == ["LS", "PaMaL"]
    assert left.get_xlabel() == right.get_xlabel() == "task 1 loss  (← lower is better)"
    assert sum(isinstance(c, LineCollection) for c in left.collections) == 5
    subspaces = {f"subspace, step {step:,}" for step in (0, 200, 400, 800, 1600, 5000)}
    assert named(figure) == {"analytic front", "member 1", "member 2"} | subspaces
    assert figure.get_label().endswith("made up")
    figure.canvas.draw()


def test_a_run_of_one_network_is_drawn_from_end_to_end():
    stacked = np.cumsum(RNG.normal(size=(501, 2, 1, 2)) / 50, 0)
    stacked[200:, 1] = stacked[200, 1]  # one that stands still
    runs = outcome(stacked).members
    figure = toy.trajectories_figure({"LS": outcome(stacked)}, 5000, "made up")
    drawn = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    smallest = np.ptp(runs, axis=(0, 1, 2)) / 400
    for run, lines in zip(runs[:, :, 0].swapaxes(0, 1), drawn, strict=True):
        pieces = lines.get_segments()
        assert all((a[-1] == b[0]).all() for a, b in pairwise(pieces))
        points = np.concatenate([pieces[0][:1], *(piece[1:] for piece in pieces)])
        moments = [np.flatnonzero((run == point).all(1))[0] for point in points]
        assert moments[0] == 0 and (points[-1] == run[-1]).all()
        assert moments == sorted(moments)
        for moment, point in enumerate(run):
            before = points[np.searchsorted(moments, moment, "right") - 1]
            assert (np.abs(point - before) < smallest + 1e-12).all()
        begun = [np.flatnonzero((run == piece[0]).all(1))[0] * 10 for piece in pieces]  # in steps
        assert np.abs(lines.get_array() - begun).max() <= 5000 / toy.SHADES + 10
    assert len(drawn[1].get_segments()) < len(drawn[0].get_segments())


def run_of(made, titles=()):
    """A finished run of one variant, "v", with these verdicts of its pairs."""
    summary = {"v": {"runs": {name: {"verdict": verdict} for name, verdict in titles}}}
    record = Record(experiment="toy", method="all", data="toy", options={"epochs": 1}, seed=0,
        objectives={"f1": "min"}, points=[], summary=summary, cost={}, versions={})  # fmt: skip
    return ToyRun(record, {"v": made})


def test_a_grid_has_a_panel_per_pair_with_verdict_and_subspace():
    made = outcome(RNG.normal(size=(11, 25, 2, 2)))
    verdicts = [(name, "exact") for name in made.names]
    (figure,) = toy.pairs(run_of(made, verdicts), "v")
    titles = [f"{i}-{j}: exact" for i in range(1, 6) for j in range(1, 6)]
    assert [ax.get_title(loc="left") + ax.get_title() for ax in figure.axes] == titles
    assert figure.get_supxlabel() == "task 1 loss  (← lower is better)"
    for ax, members, image in zip(
        figure.axes, made.members.swapaxes(0, 1), made.image(), strict=True
    ):
        for drawn in (made.front, members[:, 0], members[:, 1], image):
            assert sum(np.array_equal(line.get_xydata(), drawn) for line in ax.lines) == 1
    figure.canvas.draw()


def test_surfaces_mark_the_network_at_each_alpha():
    class Bowls(ToyProblem):
        def losses(self, theta):
            return ((theta[..., None, :] - [[1, 0], [-1, 0]]) ** 2).sum(-1)

    members = np.array([[1.0, 0.0], [-1.0, 0.0]])
    (figure,) = toy.surfaces(run_of(Outcome(Bowls(), members[None, None])), "v")
    for ax, expected in zip(figure.axes, (-1, -0.5, 0, 0.5, 1), strict=False):
        _, lowest, network = ax.lines
        assert network.get_xydata().tolist() == [[expected, 0]]
        np.testing.assert_allclose(lowest.get_xydata(), [[expected, 0]], atol=1e-12)
