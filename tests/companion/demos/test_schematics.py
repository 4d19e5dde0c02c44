import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from pamal_companion.demos import schematics
from pamal_companion.plots import demos as drawings
from pamal_companion.plots.edges import edges
from pamal_core.simplex import Dirichlet, lattice


def rng():
    return np.random.default_rng(0)


def dominated(losses):
    return [any((q <= p).all() and (q < p).any() for q in losses) for p in losses]


def test_members_at_the_centres_have_the_exact_front_as_their_subspace():
    alphas = lattice(2, 5)
    found = schematics.bowls(alphas @ schematics.CENTRES)
    np.testing.assert_allclose(found, alphas[:, ::-1] ** 2)


@given(st.tuples(st.floats(-3, 3), st.floats(-3, 3)))
def test_no_weights_are_below_the_front_of_the_bowls(theta):
    first, second = np.sqrt(schematics.bowls(np.array(theta)))
    assert first + second >= 1 - 1e-12


@pytest.mark.parametrize("window", [4, 5, 8])
def test_each_situation_is_what_its_name_says(window):
    _, situations = schematics.four_situations(window)
    on, one_off, reversed_, off = situations.values()
    assert not any(dominated(on)) and not any(dominated(reversed_))
    assert dominated(one_off) == [w == window // 2 for w in range(window)]
    assert not any(dominated(off))  # by each other; the front is better than all of them
    assert all(any((p < q).all() for p in schematics.bowls(lattice(2, 101))) for q in off)
    np.testing.assert_array_equal(reversed_, on[::-1])


def test_the_penalties_of_the_situations_are_those_of_the_formula():
    alphas, situations = schematics.four_situations(5)
    values = schematics.penalties(alphas, situations)
    rises = np.array([1, 3, 5, 7]) / 16  # of alpha^2 in steps of 1/4
    full = 2 * np.log(np.exp(rises).mean())
    for name, ordered, printed in (
        ("in order, on the front", 0, full),
        ("on the front, reversed", full, 0),
        ("in order, all off the front", 0, full),
    ):
        assert values.loc[name].tolist() == pytest.approx([ordered, printed])
    # One edge of each task leads from 9/16 up to 1/4 + 0.75^2; the three others cost nothing.
    one = 2 * math.log((math.exp(0.25 + 0.75**2 - 9 / 16) + 3) / 4)
    assert values.loc["one draw off the front", "ordered"] == pytest.approx(one)


@pytest.mark.parametrize("window", [4, 5, 9])
def test_a_penalty_is_zero_exactly_where_no_edge_is_violated(window):
    alphas, situations = schematics.four_situations(window)
    values = schematics.penalties(alphas, situations)
    for name, losses in situations.items():
        rises = [losses[j, t] - losses[i, t] for t, g in enumerate(edges(alphas)) for i, j in g]
        assert (values.loc[name, "ordered"] > 0) == (max(rises) > 0)
        assert (values.loc[name, "printed"] > 0) == (min(rises) < 0)


def test_the_plane_keeps_every_distance():
    stacked = rng().normal(size=(3, 50))
    alphas = Dirichlet(1.0).sample(20, 3, rng())
    flat = alphas @ schematics.in_plane(stacked)
    np.testing.assert_allclose(pdist(flat), pdist(alphas @ stacked), atol=1e-9)


def test_the_three_members_are_independent_networks_of_the_papers_size():
    num_weights, corners = schematics.three_members(0)
    assert num_weights == 468 * 256 + 256 + 3 * 514
    sides = [np.linalg.norm(corners[i] - corners[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert max(sides) / min(sides) < 1.01
    np.testing.assert_allclose(corners.sum(0), 0, atol=1e-9)
    assert corners[0, 0] == pytest.approx(0, abs=1e-9) and corners[0, 1] > 0


def test_the_hypervolume_of_more_points_of_the_front_tends_to_five_sixths():
    short = []
    for num_points in (11, 101, 1001):
        alphas = lattice(2, num_points)
        front = schematics.bowls_front(alphas, schematics.bowls(alphas @ schematics.CENTRES))
        steps = np.linspace(0, 1, num_points)
        staircase = (np.diff(steps[1:] ** 2) * (1 - (1 - steps[1:-1]) ** 2)).sum()
        assert front.hypervolume((1.0, 1.0)) == pytest.approx(staircase)
        short.append(5 / 6 - staircase)
    assert short[0] > 8 * short[1] > 64 * short[2] > 0


def test_the_penalty_figure_has_an_arrow_per_violated_edge_and_values():
    alphas, situations = schematics.four_situations(5)
    values = schematics.penalties(alphas, situations)
    front = schematics.bowls(lattice(2, 11) @ schematics.CENTRES)
    figure = drawings.penalty_figure(situations, edges(alphas), values, front, "made up")
    arrows = [sum(hasattr(t, "arrow_patch") for t in ax.texts) for ax in figure.axes]
    assert arrows == [0, 2, 8, 0]
    assert figure.axes[1].get_title().endswith("penalty: ordered 0.137, printed 0.719")
    figure.canvas.draw()


def test_graphs_of_three_tasks_have_an_arrow_for_each_kept_edge():
    alphas = Dirichlet(1.0).sample(4, 3, rng())
    figure = drawings.three_tasks_figure(alphas, edges(alphas, "full"), edges(alphas), "made up")
    for ax in figure.axes:
        assert sum(type(c).__name__ == "Quiver" for c in ax.collections) == 3
        assert len(ax.lines) == 3  # the other edges of six
    assert figure.axes[1].get_title() == "task 2: 6 edges, 3 kept"


def test_the_hypervolume_figure_has_a_box_per_point_that_counts():
    alphas, situations = schematics.four_situations(5)
    front = schematics.bowls_front(alphas, situations["one draw off the front"])
    figure = drawings.hypervolume_figure([front], (1.0, 1.0), "made up")
    (ax,) = figure.axes
    assert len(ax.patches) == 2 * 3  # a filling and an outline; the two ends have no area
    assert ax.get_title() == f"5 networks: hypervolume {front.hypervolume((1.0, 1.0)):.4f}"


def test_the_histogram_counts_draws_that_lie_outside_its_panel():
    x = 0.45 + 0.1 * (np.arange(100) + 0.5) / 100
    draws = {2.0: np.array([0.5, 0.5, 0.9, 0.1])}
    figure = drawings.densities_figure(draws, {2.0: (x, np.ones(100))}, "made up")
    (patch,) = figure.axes[0].patches
    values, bins, _ = patch.get_data()
    assert (values * np.diff(bins)).sum() == pytest.approx(0.5)
    assert (bins[0], bins[-1]) == pytest.approx((0.45, 0.55))
