import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, kstest

from pamal_core.errors import InputError
from pamal_core.simplex import Dirichlet, lattice, on_simplex, sampled


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@given(
    p=st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.just(np.inf)),
    num_draws=st.integers(1, 8),
    num_members=st.integers(1, 6),
    stratified=st.booleans(),
)
def test_every_draw_lies_on_the_simplex(p, num_draws, num_members, stratified):
    alphas = Dirichlet(p, stratified).sample(num_draws, num_members, rng())
    assert alphas.shape == (num_draws, num_members)
    on_simplex(alphas, num_members)


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("p", [0.3, 1.0, 7.0, (2.0, 1.0, 0.5)])
def test_draws_have_the_mean_and_variance_of_the_dirichlet_distribution(p, stratified):
    alphas = Dirichlet(p, stratified).sample(200_000, 3, rng())
    a = np.broadcast_to(p, 3)
    mean = a / a.sum()
    np.testing.assert_allclose(alphas.mean(0), mean, atol=3e-3)
    np.testing.assert_allclose(alphas.var(0), mean * (1 - mean) / (a.sum() + 1), atol=3e-3)


def test_stratified_draws_fall_one_into_each_part_of_the_distribution():
    for p in (0.3, 1.0, (2.0, 5.0)):
        first = Dirichlet(p, stratified=True).sample(5, 2, rng())[:, 0]
        quantiles = beta(*np.broadcast_to(p, 2)).cdf(first)
        assert sorted((quantiles * 5).astype(int)) == [0, 1, 2, 3, 4]
    corners = Dirichlet(0.0, stratified=True).sample(6, 3, rng())
    assert corners.sum(0).tolist() == [2, 2, 2]


def test_each_stratified_draw_has_the_distribution_of_an_independent_one():
    generator, dirichlet = rng(), Dirichlet((0.5, 1.0, 2.0), stratified=True)
    draws = np.array([dirichlet.sample(4, 3, generator) for _ in range(4000)])
    for member, (a, b) in enumerate([(0.5, 3.0), (1.0, 2.5), (2.0, 1.5)]):
        for w in range(4):
            assert kstest(draws[:, w, member], beta(a, b).cdf).pvalue > 1e-3


def test_p_zero_draws_corners_and_p_infinite_the_centre():
    corners = Dirichlet(0.0).sample(1000, 3, rng())
    assert set(np.unique(corners)) == {0, 1}
    assert (np.abs(corners.mean(0) - 1 / 3) < 0.06).all()
    assert (Dirichlet(np.inf).sample(4, 5, rng()) == 0.2).all()


@pytest.mark.parametrize("p", [-1.0, np.nan, (1.0, -1.0), (0.0, 1.0), (1.0, np.inf)])
def test_a_wrong_concentration_is_refused(p):
    with pytest.raises(InputError, match=r"`p` must be one positive finite number, .* Found"):
        Dirichlet(p)


def test_a_concentration_per_member_must_match_the_members():
    with pytest.raises(ValueError, match="broadcast"):
        Dirichlet((1.0, 2.0)).sample(1, 3, rng())


@pytest.mark.parametrize(("members", "count"), [(1, 1), (2, 11), (3, 66), (4, 286)])
def test_the_lattice_has_the_paper_s_number_of_points(members, count):
    points = lattice(members)
    assert points.shape == (count, members)
    assert len(np.unique(points, axis=0)) == count
    np.testing.assert_allclose(points.sum(1), 1)
    np.testing.assert_allclose(points * 10, np.round(points * 10), atol=1e-12)


def test_the_lattice_runs_from_the_first_corner_to_the_last():
    np.testing.assert_allclose(lattice(2), np.c_[np.linspace(1, 0, 11), np.linspace(0, 1, 11)])
    assert lattice(3)[0].tolist() == [1, 0, 0]
    assert lattice(3)[-1].tolist() == [0, 0, 1]


@pytest.mark.parametrize(("members", "points"), [(0, 11), (2, 1)])
def test_a_lattice_without_points_is_refused(members, points):
    with pytest.raises(InputError, match=r"whole number >= [12]\. Found num_"):
        lattice(members, points)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([0.5, 0.5, 0.0], "2 finite numbers"),
        (np.array(0.5), "2 finite numbers"),
        ([1.5, -0.5], ">= 0"),
        ([np.nan, 1.0], "finite"),
        ([0.5, 0.6], "sum to 1"),
    ],
)
def test_an_alpha_off_the_simplex_or_of_wrong_length_is_refused(alpha, message):
    with pytest.raises(InputError, match=message):
        on_simplex(alpha, 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_alpha_may_be_a_tensor_of_any_kind(dtype):
    alpha = torch.tensor([0.25, 0.75], dtype=dtype, requires_grad=True)
    assert on_simplex(alpha, 2).tolist() == [0.25, 0.75]


def test_alpha_may_be_a_row_of_a_table():
    alpha = pd.DataFrame({"a": [0.25], "b": [0.75]}).iloc[0]
    assert torch.as_tensor(on_simplex(alpha, 2)).tolist() == [0.25, 0.75]  # which may write


def test_sampled_points_are_the_corners_the_centre_and_even_draws():
    points = sampled(6, 200, seed=3)
    assert points.shape == (207, 6)
    np.testing.assert_array_equal(points[:6], np.eye(6))
    np.testing.assert_allclose(points[6], np.full(6, 1 / 6))
    np.testing.assert_allclose(points.sum(1), 1)
    assert (points >= 0).all() and not (points[7:] == sampled(6, 200)[7:]).any()
    np.testing.assert_array_equal(points, sampled(6, 200, seed=3))
    # One entry of a uniform point is ~ Beta(1, 5), whose mean square is 2 / (6 * 7).
    np.testing.assert_allclose((points[7:] ** 2).mean(0), 2 / 42, rtol=0.25)
