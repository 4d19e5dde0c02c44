import moocore
import numpy as np
import pytest
import torch
from toy_oracle import plain_losses

from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem, pareto_set

SIGNS = {"printed": -1.0, "earlier": 1.0}


def by_autograd(theta: np.ndarray, scale: float, sign: float) -> tuple[np.ndarray, np.ndarray]:
    leaf = torch.tensor(theta, requires_grad=True)
    losses = plain_losses(leaf, scale, sign)
    rows = [torch.autograd.grad(losses[..., t].sum(), leaf, retain_graph=True)[0] for t in (0, 1)]
    return losses.detach().numpy(), torch.stack(rows, -2).numpy()


@pytest.mark.parametrize("tanh", SIGNS)
def test_losses_and_jacobian_are_those_of_the_printed_formula(tanh):
    theta = np.random.default_rng(0).uniform(-12, 12, size=(2000, 2))
    theta = np.concatenate((theta, INITIAL_POINTS))
    found = ToyProblem(0.1, tanh).losses_and_jacobian(theta)
    for ours, expected in zip(found, by_autograd(theta, 0.1, SIGNS[tanh]), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-12)
    assert (np.abs(found[1][-len(INITIAL_POINTS) :]).sum((1, 2)) > 0).all()


def test_at_the_floor_of_the_logarithm_the_slope_is_flat():
    on_groove = np.array([-5.0, 30.0])  # where tanh is exactly 1, and so z_1 exactly 0
    losses, jacobian = ToyProblem().losses_and_jacobian(on_groove)
    assert losses[0] == pytest.approx(np.log(5e-6) + 6)
    np.testing.assert_allclose(jacobian[0], 0, atol=1e-11)


def test_scales_broadcast_over_runs_and_touch_the_first_loss_alone():
    theta = np.random.default_rng(0).normal(scale=6, size=(2, 7, 2))
    losses, jacobian = ToyProblem(np.array([[1.0], [0.1]])).losses_and_jacobian(theta)
    plain, plain_jacobian = ToyProblem().losses_and_jacobian(theta)
    factor = np.array([[1, 1], [0.1, 1]])[:, None]
    np.testing.assert_allclose(losses, factor * plain)
    np.testing.assert_allclose(jacobian, factor[..., None] * plain_jacobian)


def test_points_of_the_front_do_not_dominate_each_other():
    front = ToyProblem().front(1001)
    assert moocore.is_nondominated(front).all()
    assert (np.diff(front[:, 0]) < 0).all() and (np.diff(front[:, 1]) > 0).all()


@pytest.mark.parametrize("tanh", SIGNS)
def test_no_point_of_the_plane_is_better_than_the_front(tanh):
    """Brute force: a grid of the plane and a finer one around the front."""
    problem = ToyProblem(1.0, tanh)
    planes = [
        np.stack(np.meshgrid(np.linspace(-20, 20, 1001), np.linspace(low, high, 501)), -1)
        for low, high in ((-20, 20), (-8.6, -8.2))
    ]
    plane = np.concatenate([problem.losses(p).reshape(-1, 2) for p in planes])
    front = problem.front(100_001)
    # The best task 2 of the front among the points no worse on task 1: task 1 falls along it.
    first = np.searchsorted(-front[:, 0], -plane[:, 0])
    on_range = first < len(front)
    best = front[first[on_range], 1]
    assert (plane[on_range, 1] >= best - 1e-3).all()
    # Left of the front's end there is nothing: that end is the lowest loss of task 1 anywhere.
    assert (plane[~on_range, 0] >= front[-1, 0] - 1e-9).all()


@pytest.mark.parametrize("w", [0.0, 0.05, 0.3, 0.5, 0.8, 1.0])
def test_the_pareto_set_minimises_every_weighted_sum(w):
    problem, weights = ToyProblem(), np.array([w, 1 - w])
    optimal = pareto_set(101)[round(100 * w)]
    _, jacobian = problem.losses_and_jacobian(optimal)
    np.testing.assert_allclose(weights @ jacobian, 0, atol=1e-7)
    plane = np.stack(np.meshgrid(np.linspace(-12, 12, 97), np.linspace(-14, 12, 105)), -1)
    assert problem.losses(optimal) @ weights <= (problem.losses(plane) @ weights).min()


def test_the_front_of_a_scaled_problem_is_the_scaled_front():
    np.testing.assert_allclose(ToyProblem(0.1).front(11), ToyProblem().front(11) * [0.1, 1])


def test_the_sign_of_tanh_does_not_touch_the_front():
    assert (ToyProblem(1.0, "printed").front() == ToyProblem(1.0, "earlier").front()).all()
