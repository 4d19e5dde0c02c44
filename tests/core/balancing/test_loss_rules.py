"""Rules that reweigh the losses, each against its equation or a plain loop."""

import numpy as np
import pytest
import torch

from pamal_core.balancing import (
    Draw,
    DynamicWeightAverage,
    LossBalancer,
    MovingAverage,
    RandomWeighting,
    UncertaintyWeighting,
)
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.tasks import Task

WEIGHTS = torch.tensor([0.5, 0.5])


def test_loss_balancing_divides_by_the_mean_of_the_past_losses():
    rule = MovingAverage(history=2)
    for losses, mean in (([2, 4], [2, 4]), ([4, 8], [3, 6]), ([6, 2], [5, 5])):
        got = rule.reweigh(torch.tensor(losses).float(), WEIGHTS)
        torch.testing.assert_close(got, WEIGHTS / torch.tensor(mean))
    assert (MovingAverage().reweigh(torch.tensor([-3.0, 2.0]), WEIGHTS) > 0).all()


def test_released_loss_balancing_favours_the_smaller_loss():
    rule = MovingAverage(history=2, form="released")
    got = [rule.reweigh(torch.tensor([1.0, loss]), WEIGHTS) for loss in (9.0, 9.0, 3.0, 3.0)]
    assert all(weights is WEIGHTS for weights in got[:3])  # the first history + 1 draws
    torch.testing.assert_close(got[3], WEIGHTS * torch.tensor([0.75, 0.25]))


def test_uncertainty_weighting_has_the_gradient_of_its_objective():
    """sum_t w_t (exp(-s_t) L_t + s_t) / 2 in one graph, against the two halves of our step."""
    rule, theta = UncertaintyWeighting(2), torch.randn(3, requires_grad=True)
    with torch.no_grad():
        rule.log_variances.copy_(torch.tensor([0.3, -1.2]))
    matrix = torch.randn(2, 3)
    losses = (matrix @ theta) ** 2
    direction = rule.direction(Draw(WEIGHTS, WEIGHTS, {"theta": theta}, losses, num_shared=2))
    s = rule.log_variances.detach().clone().requires_grad_()
    objective = (WEIGHTS * (torch.exp(-s) * (matrix @ theta) ** 2 + s) / 2).sum()
    expected = torch.autograd.grad(objective, (theta, s))
    torch.testing.assert_close((direction, rule.log_variances.grad), expected)


def test_uncertainty_weighting_is_a_plain_loop_step_by_step(make_mlp, tasks, batch):
    plain, s = make_mlp(), torch.zeros(2, requires_grad=True)
    method = Method(
        WeightEnsemble([plain], task_weights=[[0.5, 0.5]], shared="encoder"),
        tasks,
        balancer=UncertaintyWeighting(2),
    )
    optimizers = [
        torch.optim.Adam([*plain.parameters(), s], lr=1e-2),
        torch.optim.Adam(method.parameters(), lr=1e-2),
    ]
    for _ in range(20):
        for optimizer in optimizers:
            optimizer.zero_grad()
        outputs = plain(batch[0])
        losses = [t.loss(o, y) for t, o, y in zip(tasks, outputs, batch[1:], strict=True)]
        sum(0.25 * (torch.exp(-s[t]) * losses[t] + s[t]) for t in range(2)).backward()
        method.step(batch, [1.0])
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(method.balancer.log_variances, s)
    for a, b in zip(plain.parameters(), method.network.export([1.0]).parameters(), strict=True):
        torch.testing.assert_close(a, b)


# Ratios 1/2 and 1 at temperature 2: exp(1/4) and exp(1/2), made to sum to one.
HALF_AND_ONE = (np.exp([0.25, 0.5]) / np.exp([0.25, 0.5]).sum()).tolist()


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], [0.5, 0.5]),
        ([[1.0, 9.0]], [0.5, 0.5]),
        ([[7.0, 7.0], [2.0, 3.0], [1.0, 3.0]], HALF_AND_ONE),
        ([[2.0, 3000.0], [1.0, 3000.0]], HALF_AND_ONE),  # whatever the scale of a loss
        ([[0.0, 2.0], [0.0, 2.0]], [0.5, 0.5]),  # a loss of 0 counts as unchanged
        ([[3.0, 2.0], [0.0, 1.0]], HALF_AND_ONE[::-1]),  # as where there are no labels
        ([[0.0, 2.0], [5.0, 1.0], [5.0, 1.0]], [0.5, 0.5]),  # what is older is forgotten
    ],
)
def test_dwa_has_the_weights_of_its_equation(history, expected):
    rule = DynamicWeightAverage()
    rule.start_epoch(history)
    torch.testing.assert_close(rule.reweigh(torch.rand(2), WEIGHTS), torch.tensor(expected))


def test_dwa_of_steps_is_a_loop_and_goes_on_from_its_state():
    losses, width = np.random.default_rng(0).uniform(0.1, 2, (12, 2)), 3
    rule = DynamicWeightAverage(steps_per_window=width)
    for step in range(len(losses)):
        rule.start_epoch([[9.0, 1.0]] * (1 + step // 4))  # what epochs had does not count
        if step == 8:
            state, rule = rule.state_dict(), DynamicWeightAverage(steps_per_window=width)
            rule.load_state_dict(state)
        found = rule.reweigh(torch.tensor(losses[step]).float(), WEIGHTS)
        seen = losses[: step + 1]
        if len(seen) < 2 * width:
            assert torch.equal(found, WEIGHTS)
            continue
        ratios = seen[-width:].mean(0) / seen[-2 * width : -width].mean(0)
        expected = np.exp(ratios / 2) / np.exp(ratios / 2).sum()
        torch.testing.assert_close(found, torch.tensor(expected).float())


def test_dwa_of_steps_leaves_out_what_has_no_labels():
    rule = DynamicWeightAverage(steps_per_window=5)
    for step in range(20):  # a loader that has the labels of one task after those of the other
        found = rule.reweigh(torch.tensor([1.0, 0.0] if step % 2 else [0.0, 1.0]), WEIGHTS)
    torch.testing.assert_close(found, WEIGHTS)


def test_dwa_of_steps_has_a_memory_and_dwa_of_epochs_has_none():
    assert DynamicWeightAverage(steps_per_window=2).state_dict()
    assert not DynamicWeightAverage().state_dict()


def test_rlw_draws_a_softmax_of_normal_numbers_at_every_step():
    torch.manual_seed(4)
    z = torch.randn(2)
    torch.manual_seed(4)
    rule = RandomWeighting()
    first, second = (rule.reweigh(torch.ones(2), WEIGHTS) for _ in range(2))
    torch.testing.assert_close(first, z.exp() / z.exp().sum())
    assert not torch.equal(first, second)


def test_rlw_is_uniform_on_average():
    rule, third = RandomWeighting(), torch.full((3,), 1 / 3)
    draws = rule.reweigh(torch.rand(20000, 3), third.expand(20000, 3))
    torch.testing.assert_close(draws.sum(1), torch.ones(20000))
    torch.testing.assert_close(draws.mean(0), third, atol=0.01, rtol=0)


class Twice(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x), super().forward(x)


class Learned(LossBalancer):
    """Weights that are made of a parameter; `given` is what `parameters` returns."""

    def __init__(self, is_given):
        self.scale = torch.nn.Parameter(torch.zeros(2))
        self.given = [self.scale] if is_given else []

    def parameters(self):
        return self.given

    def reweigh(self, losses, weights):
        return weights * torch.exp(-self.scale)


def test_weights_that_no_optimiser_would_train_are_refused():
    def stepped(is_given):
        network = WeightEnsemble([Twice(3, 2)], task_weights=[[0.5, 0.5]])
        tasks = [Task(name, lambda o, t: (o - t).square().mean(), ()) for name in "ab"]
        method = Method(network, tasks, balancer=Learned(is_given))
        method.step((torch.ones(4, 3), torch.zeros(4, 2), torch.zeros(4, 2)), [1.0])
        return method.balancer.scale.grad

    with pytest.raises(InputError, match="must return from `parameters"):
        stepped(False)
    assert (stepped(True) < 0).all()  # of weights times losses by the logarithm of 1 / weight
