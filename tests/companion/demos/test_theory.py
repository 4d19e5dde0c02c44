import numpy as np
import pytest
import torch

from pamal_companion.demos import theory
from pamal_companion.toy.outcomes import distances

X = np.linspace(-1, 1, 601)
FAMILIES = sorted(theory.FAMILIES)


def largest_error(g, family, a):
    found = theory.along_the_line(theory.two_settings(g), X, a)
    return abs(found - family.function(X, a[:, None])).max()


def random_perceptron(inputs, outputs):
    rng = np.random.default_rng(0)
    return theory.Perceptron(
        rng.normal(size=(20, inputs)), rng.normal(size=20), rng.normal(size=(outputs, 20))
    )


@pytest.mark.parametrize("D", [1, 2, 5])
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_line_computes_the_perceptron_with_alpha_as_its_last_input(D, outputs):
    g = random_perceptron(D + 1, outputs)
    ensemble = theory.two_settings(g)
    x = np.random.default_rng(1).normal(size=(50, D))
    for a in (0.0, 0.3, 1.0):
        z = np.c_[x, np.full(50, a)]
        expected = np.maximum(z @ g.M.T + g.B, 0) @ g.M_out.T
        found = ensemble(torch.as_tensor(x), [a, 1 - a]).detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 if a == 0.3 else 1e-10)


def test_the_two_settings_differ_in_a_single_weight_by_one():
    stacked = theory.two_settings(random_perceptron(4, 2)).members()
    difference = stacked[0] - stacked[1]
    assert difference[difference != 0].tolist() == [1.0]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_states_its_slope_and_curvature_right(name):
    family = theory.FAMILIES[name]
    x, a = np.linspace(-1, 1, 4001), np.linspace(0, 1, 101)[:, None]
    slope = np.diff(family.function(x, a)) / np.diff(x)
    curvature = np.diff(slope) / np.diff(x)[0]
    assert 0.99 * family.slope < abs(slope).max() <= family.slope * (1 + 1e-9)
    assert np.isinf(family.curvature) or (
        0.99 * family.curvature < abs(curvature).max() <= family.curvature * (1 + 1e-6)
    )


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("num_functions", [2, 5, 9])
@pytest.mark.parametrize("pieces", [3, 10, 40])
def test_the_comb_is_within_its_bound_at_the_n_values(name, num_functions, pieces):
    family = theory.FAMILIES[name]
    g = theory.comb(family, num_functions, pieces)
    assert len(g.B) == num_functions * (pieces + 1)
    error = largest_error(g, family, np.linspace(0, 1, num_functions))
    assert 0 < error <= family.bound(pieces) + 1e-12


def test_the_comb_is_exact_where_it_has_a_value_and_a_line_in_between():
    family = theory.FAMILIES["blend"]
    ensemble = theory.two_settings(theory.comb(family, 3, 4))
    knots, a = np.linspace(-1, 1, 5), np.array([0.0, 0.5, 1.0])
    values = family.function(knots, a[:, None])
    np.testing.assert_allclose(theory.along_the_line(ensemble, knots, a), values, atol=1e-12)
    middles = theory.along_the_line(ensemble, (knots[1:] + knots[:-1]) / 2, a)
    np.testing.assert_allclose(middles, (values[:, 1:] + values[:, :-1]) / 2, atol=1e-12)


@pytest.mark.parametrize("name", ["blend", "frequency"])
def test_twice_the_pieces_make_a_quarter_of_the_error_for_a_smooth_family(name):
    family, a = theory.FAMILIES[name], np.linspace(0, 1, 5)
    errors = [largest_error(theory.comb(family, 5, pieces), family, a) for pieces in (20, 40)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_fitted_network_is_right_everywhere_the_comb_where_it_must(name):
    family, a = theory.FAMILIES[name], np.linspace(0, 1, 41)
    assert largest_error(theory.comb(family, 5, 16), family, a) > 1
    coarse, fine = (largest_error(theory.fitted(family, n), family, a) for n in (8, 16))
    assert fine < 0.2 and fine < (coarse if name == "tent" else coarse / 2)  # a kink is hard to fit


def test_the_losses_of_a_blend_of_the_targets_are_the_front_in_closed_form():
    first, second = np.sin(X), X**3
    a = np.linspace(0, 1, 11)
    found = theory.losses(np.outer(1 - a, first) + np.outer(a, second), first, second)
    distance = ((first - second) ** 2).mean()
    np.testing.assert_allclose(found, np.stack((a**2, (1 - a) ** 2), -1) * distance, atol=1e-15)


def test_no_function_is_below_that_front():
    rng = np.random.default_rng(0)
    first, second = np.sin(3 * X), np.cos(3 * X)
    outputs = first * rng.random((50, 1)) + second * rng.random((50, 1)) + rng.normal(size=(50, 1))
    roots = np.sqrt(theory.losses(outputs, first, second)).sum(-1)
    assert (roots >= np.sqrt(((first - second) ** 2).mean()) - 1e-12).all()


def test_only_the_fitted_line_is_the_front_though_both_touch_it():
    family, a = theory.FAMILIES["blend"], np.linspace(0, 1, 101)
    targets = family.function(X, np.array([[0.0], [1.0]]))
    front = theory.losses(family.function(X, a[:, None]), *targets)
    nets = [theory.comb(family, 5, 16), theory.fitted(family, 16)]
    comb, fitted = (
        theory.losses(theory.along_the_line(theory.two_settings(g), X, a), *targets) for g in nets
    )
    assert distances(front, fitted).verdict(0.02) == "exact"
    assert distances(front, comb).excess > 1
    assert distances(front, comb[::25]).excess < 0.02
