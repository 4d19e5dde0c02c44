"""Each gradient rule against something that knows nothing of its solver, on 100 random Jacobians
for each number of tasks: half of them well conditioned, half with rows that differ by up to 10^4 in
length and are nearly parallel."""

import math

import numpy as np
import pytest
import torch
from jacobians import badly_conditioned, combine, longest, solve, well_conditioned
from scipy.optimize import minimize

from pamal_core.balancing import IMTL, MGDA, CAGrad, GradDrop, NashMTL, PCGrad, UnitNorm


@pytest.fixture
def torchjd():
    return pytest.importorskip("torchjd.aggregation", reason="is an oracle of the `test` extra")


@pytest.fixture(params=[2, 3, 5], ids="T={}".format)
def jacobians(request):
    return well_conditioned(request.param) + badly_conditioned(request.param)


def on_the_simplex(objective, num_tasks):
    """The least value that SLSQP finds, from two starting points."""
    starts = np.full(num_tasks, 1 / num_tasks), np.arange(1.0, num_tasks + 1) ** 2
    sum_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    options = {"ftol": 1e-14, "maxiter": 500}
    runs = [
        minimize(
            objective,
            s / s.sum(),
            bounds=[(0, 1)] * num_tasks,
            constraints=sum_to_one,
            options=options,
        )
        for s in starts
    ]
    return min(run.fun for run in runs)


@pytest.mark.parametrize("form", ["paper", "released"])
def test_unit_norm_is_nan_where_a_norm_overflows_and_else_of_any_scale(form):
    """A task whose gradient has an infinite norm would be dropped in silence."""
    jacobian = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    expected = combine(UnitNorm(), jacobian)
    torch.testing.assert_close(expected, torch.tensor([0.3, 0.9]))
    for scale in (1e-15, 1e15):
        scaled = jacobian * torch.tensor([[scale], [1.0]])
        torch.testing.assert_close(combine(UnitNorm(), scaled), expected)
    huge = jacobian * torch.tensor([[1e25], [1.0]])
    assert combine(UnitNorm(form), huge).isnan().all()


def test_mgda_satisfies_the_kkt_conditions_of_the_shortest_vector(jacobians):
    """a on the simplex, and no gradient reaches less far along d than d itself does."""
    for jacobian in jacobians:
        a, d = solve(MGDA(), jacobian), combine(MGDA(), jacobian)
        assert (a >= 0).all() and a.sum().item() == pytest.approx(1, abs=1e-12)
        torch.testing.assert_close(d, a @ jacobian)
        assert (jacobian @ d >= d @ d - 1e-9 * longest(jacobian) ** 2).all()


def test_mgda_is_not_longer_than_what_a_general_solver_finds(jacobians):
    for jacobian in jacobians:
        scaled = (jacobian / longest(jacobian)).numpy()
        found = on_the_simplex(lambda w, rows=scaled: ((w @ rows) ** 2).sum(), len(jacobian))
        ours = combine(MGDA(), jacobian).norm().item() / longest(jacobian).item()
        assert ours**2 <= found + 1e-12
        assert ours**2 == pytest.approx(found, abs=1e-6)


def test_mgda_of_two_tasks_has_its_closed_form():
    for g, h in well_conditioned(2) + badly_conditioned(2):
        share = ((h - g) @ h / (g - h).square().sum()).clamp(0, 1)
        expected, scale = share * g + (1 - share) * h, max(g.norm(), h.norm())
        got = combine(MGDA(), torch.stack([g, h]))
        torch.testing.assert_close(got / scale, expected / scale, rtol=0, atol=1e-7)


def test_pcgrad_is_its_double_loop_over_vectors(jacobians):
    for seed, jacobian in enumerate(jacobians):
        torch.manual_seed(seed)
        projected = []
        for t, row in enumerate(jacobian):
            g = row.clone()
            for s in torch.randperm(len(jacobian)).tolist():
                if s != t and g @ jacobian[s] < 0:
                    g -= (g @ jacobian[s]) / (jacobian[s] @ jacobian[s]) * jacobian[s]
            projected.append(g)
        expected = torch.stack(projected).mean(0) / longest(jacobian)
        torch.manual_seed(seed)
        got = combine(PCGrad(), jacobian) / longest(jacobian)
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-9)


def test_pcgrad_projects_in_every_order():
    """Three tasks that conflict pairwise: two orders each, so eight results, all of which occur."""
    jacobian = torch.eye(3).double() - 0.6 + 0.05 * torch.randn(3, 3)
    results = {tuple(combine(PCGrad(), jacobian).mul(1e6).round().tolist()) for _ in range(200)}
    assert len(results) == 8


def test_imtl_has_equal_projections_on_all_gradients(jacobians):
    for jacobian in jacobians:
        d = combine(IMTL(), jacobian)
        projections = (jacobian / jacobian.norm(dim=1, keepdim=True)) @ d
        spread = (projections.max() - projections.min()) / longest(jacobian)
        assert spread < 1e-6
        assert solve(IMTL(), jacobian).sum().abs().item() == pytest.approx(1, abs=1e-6)


def test_imtl_descends_where_the_published_sum_would_ascend(torchjd):
    """It agrees with an inverse of the Gram matrix up to the sign, which there is free."""
    signs = []
    for jacobian in well_conditioned(5) + [torch.randn(5, 6).double() for _ in range(50)]:
        ours, theirs = combine(IMTL(), jacobian), torchjd.IMTLG()(jacobian)
        signs.append(math.copysign(1, ours @ theirs))
        torch.testing.assert_close(ours, signs[-1] * theirs, rtol=1e-6, atol=1e-6)
        assert (jacobian @ ours > 0).all()
    assert set(signs) == {1, -1}


def test_imtl_of_two_tasks_weighs_by_the_norm_of_the_other():
    for g, h in well_conditioned(2):
        expected = (h.norm() * g + g.norm() * h) / (g.norm() + h.norm())
        torch.testing.assert_close(combine(IMTL(), torch.stack([g, h])), expected)


def test_graddrop_is_its_double_loop_over_entries(jacobians):
    for seed, jacobian in enumerate(jacobians):
        torch.manual_seed(seed)
        got = combine(GradDrop(), jacobian)
        torch.manual_seed(seed)
        draws, expected = torch.rand_like(got), torch.zeros_like(got)
        for s, column in enumerate(jacobian.T.tolist()):
            purity = 0.5 * (1 + sum(column) / sum(map(abs, column)))
            for entry in column:
                if (purity > draws[s] and entry > 0) or (purity < draws[s] and entry < 0):
                    expected[s] += entry / len(column)
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("name", ["PCGrad", "GradDrop"])
def test_a_random_rule_is_that_of_torchjd_over_the_tasks(name, torchjd, jacobians):
    rule = {"PCGrad": PCGrad(), "GradDrop": GradDrop()}[name]
    for seed, jacobian in enumerate(jacobians):
        torch.manual_seed(seed)
        got = combine(rule, jacobian) / longest(jacobian)
        torch.manual_seed(seed)
        theirs = getattr(torchjd, name)()(jacobian) / len(jacobian) / longest(jacobian)
        torch.testing.assert_close(got, theirs, rtol=1e-6, atol=1e-9)


def test_graddrop_keeps_a_sign_as_often_as_it_is_pure():
    jacobian = torch.tensor([[3.0, -1.0], [-1.0, -2.0]])
    many = GradDrop().combine(jacobian.expand(20000, 2, 2), torch.full((20000, 2), 0.5))
    assert (many[:, 0] == 1.5).float().mean().item() == pytest.approx(0.75, abs=0.02)
    assert ((many[:, 0] == 1.5) | (many[:, 0] == -0.5)).all()
    assert (many[:, 1] == -1.5).all()


@pytest.mark.parametrize("c", [0.4, 0.9])
def test_cagrad_closes_the_gap_to_its_dual(jacobians, c):
    """No direction in the ball is better than any point of the dual, so two that meet are both
    best; the dual point is SLSQP's."""
    for jacobian in jacobians:
        rows = (jacobian / longest(jacobian)).numpy()
        mean = rows.mean(0)
        radius = c * np.linalg.norm(mean)

        def dual(w, rows=rows, mean=mean, radius=radius):
            return w @ rows @ mean + radius * np.linalg.norm(w @ rows)

        d = combine(CAGrad(c), jacobian).numpy() / longest(jacobian).item()
        assert np.linalg.norm(d - mean) <= radius * (1 + 1e-9)
        bound = on_the_simplex(dual, len(rows))
        assert bound - 1e-6 <= (rows @ d).min() <= bound + 1e-9


def test_cagrad_without_a_common_descent_is_the_nearest_direction():
    """Two opposite gradients along the first axis allow only the second one, and the mean's part
    along it is in the ball; where it is not, a conflict is accepted."""
    rule, kept = CAGrad(0.9), []
    for left, right, across, up in torch.rand(50, 4).double() + 0.1:
        jacobian = torch.stack([left, 0 * up, -right, 0 * up, across, up]).view(3, 2)
        mean = jacobian.mean(0)
        nearest = mean * torch.tensor([0.0, 1.0])
        kept.append(bool((mean - nearest).norm() < 0.89 * mean.norm()))
        if kept[-1]:
            got = combine(rule, jacobian)
            torch.testing.assert_close(got, nearest, rtol=0, atol=1e-6)
    assert 10 < sum(kept) < 50


def test_cagrad_without_a_ball_is_the_mean_gradient():
    for jacobian in well_conditioned(3):
        torch.testing.assert_close(combine(CAGrad(0.0), jacobian), jacobian.mean(0))


def test_nash_mtl_solves_g_a_equal_to_one_over_a(jacobians):
    for jacobian in jacobians:
        a = solve(NashMTL(), jacobian)
        assert (a > 0).all()
        torch.testing.assert_close(
            a * (jacobian @ (jacobian.T @ a)), torch.ones_like(a), rtol=1e-6, atol=0
        )
        assert combine(NashMTL(), jacobian).norm().item() == pytest.approx(len(a) ** 0.5, rel=1e-6)


def test_nash_mtl_has_the_largest_product_of_gains():
    for jacobian in well_conditioned(3):
        d = combine(NashMTL(), jacobian)
        others = d + 0.1 * torch.randn(1000, 20).double()
        others *= d.norm() / others.norm(dim=1, keepdim=True)
        gains = (others @ jacobian.T).clamp(min=1e-300).log().sum(1)
        assert (gains <= (jacobian @ d).log().sum()).all()
