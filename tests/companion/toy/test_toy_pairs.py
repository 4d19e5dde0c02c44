from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from toy_oracle import Objective, plain_run

from pamal_companion.toy.pairs import Pairs, initial_pairs
from pamal_companion.toy.problem import ToyProblem
from pamal_companion.toy.rules import Adam
from pamal_core.balancing import Linear, MovingAverage, UnitNorm
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet

STEPS = 100
# Not from (9, 9): beside a groove of log|z| the last bit of an input decides where a run goes.
SOME = [1, 19]


def weighted(thetas: list[Tensor], losses: list[Tensor], alphas: list[Tensor]) -> Tensor:
    return sum(alpha @ loss for alpha, loss in zip(alphas, losses, strict=True))


def unit_norm(thetas: list[Tensor], losses: list[Tensor], alphas: list[Tensor]) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for theta, loss, alpha in zip(thetas, losses, alphas, strict=True):
        for weight, one in zip(alpha, loss, strict=True):
            (gradient,) = torch.autograd.grad(one, theta, retain_graph=True)
            total = total + weight * one / gradient.norm()
    return total


def moving_average() -> Objective:
    past: list[Tensor] = []

    def objective(thetas: list[Tensor], losses: list[Tensor], alphas: list[Tensor]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for loss, alpha in zip(losses, alphas, strict=True):
            past.append(loss.detach())
            total = total + (alpha * loss / (sum(past[-25:]) / len(past[-25:])).abs()).sum()
        return total

    return objective


def penalised(thetas: list[Tensor], losses: list[Tensor], alphas: list[Tensor]) -> Tensor:
    total = weighted(thetas, losses, alphas)
    (i, j) = (0, 1) if alphas[0][0] < alphas[1][0] else (1, 0)
    # Two draws: one edge per task, from less to more weight on it.
    worse = losses[j][0] - losses[i][0], losses[i][1] - losses[j][1]
    return total + 2.0 * sum(torch.log(torch.exp(rise.clamp(min=0))) for rise in worse)


BALANCED = {
    "none": (Linear, lambda: weighted),
    "gradient": (UnitNorm, lambda: unit_norm),
    "loss": (MovingAverage, moving_average),
}


def check(pairs: Pairs, objective: Callable[[], Objective], scale: float) -> None:
    """The batch goes, step by step, where a plain loop over single ensembles goes."""
    path = pairs.run(STEPS, every=1)[:, 0]
    draws = np.stack(list(pairs._draws(STEPS)))
    for k, start in enumerate(pairs.starts):
        expected = plain_run(start, draws[:, k], scale, objective())
        np.testing.assert_allclose(path[:, k], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("balancing", BALANCED)
def test_a_batch_of_pairs_equals_plain_loops_over_single_pairs(balancing, window):
    balancer, objective = BALANCED[balancing]
    starts = initial_pairs()[SOME]
    pairs = Pairs(ToyProblem(0.1), [balancer()], starts, window=window)
    check(pairs, objective, 0.1)


def test_with_the_penalty_too_it_equals_plain_loops():
    pairs = Pairs(
        ToyProblem(), [Linear()], initial_pairs()[SOME], penalty=MultiForward(2.0), window=2
    )
    check(pairs, lambda: penalised, 1.0)


def test_one_member_with_uniform_task_weights_is_linear_scalarisation():
    starts = initial_pairs()[SOME, :1]
    pairs = Pairs(ToyProblem(), [Linear()], starts, task_weights=np.full((1, 2), 0.5))
    check(pairs, lambda: lambda thetas, losses, alphas: losses[0].mean(), 1.0)


def test_a_pair_goes_its_way_whatever_runs_beside_it():
    scales = np.array([1.0, 0.1, 0.1]).reshape(-1, 1, 1)
    together = Pairs(ToyProblem(scales), [Linear(), UnitNorm(), MovingAverage()]).run(200, 50)
    alone = [
        Pairs(ToyProblem(scale), [balancer], initial_pairs()[:7]).run(200, 50)
        for scale, balancer in ((1.0, Linear()), (0.1, UnitNorm()), (0.1, MovingAverage()))
    ]
    np.testing.assert_allclose(together[:, :, :7], np.concatenate(alone, 1), rtol=1e-9)


def test_snapshots_hold_the_start_and_every_so_many_steps():
    pairs = Pairs(ToyProblem(), [Linear()])
    path = pairs.run(10, every=5)
    assert path.shape == (3, 1, 25, 2, 2)
    assert (path[0, 0] == initial_pairs()).all()
    assert (path[-1] == pairs.run(10, every=1)[-1]).all()


def test_pairs_draw_independently_from_the_preference():
    pairs = Pairs(ToyProblem(), [Linear()], preference=Dirichlet(3.0), window=2)
    draws = np.stack(list(pairs._draws(2000)))
    assert draws.shape == (2000, 25, 2, 2)
    np.testing.assert_allclose(draws.sum(-1), 1)
    np.testing.assert_allclose(draws[..., 0].var((0, 2)), 1 / 28, rtol=0.1)  # of Beta(3, 3)
    correlations = np.corrcoef(draws[:, :, 0, 0].T) - np.eye(25)
    assert np.abs(correlations).max() < 0.1


def test_adam_steps_as_torchs_does():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 3))
    leaf = torch.tensor(weights, requires_grad=True)
    ours, theirs = Adam(lr=0.01), torch.optim.Adam([leaf], lr=0.01)
    for _ in range(50):
        gradient = rng.normal(size=(4, 3)) * rng.choice([1e-8, 1.0, 1e5], size=(4, 3))
        leaf.grad = torch.tensor(gradient)
        weights = weights + ours.step(gradient)
        theirs.step()
        np.testing.assert_allclose(weights, leaf.detach().numpy(), rtol=1e-9)
