"""Smooth Tchebycheff against autograd of the smooth maximum."""

import jaxtyping
import pytest
import torch

from pamal_core import Method, SmoothTchebycheff
from pamal_core.errors import InputError


def smooth(losses, weights, mu, ideal):
    return mu * torch.logsumexp(weights * (losses - ideal) / mu, -1)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("ideal", [0.0, [0.1, -0.2, 0.3]])
def test_the_weights_are_the_gradient_of_the_smooth_maximum(mu, ideal):
    losses = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(5, 3, dtype=torch.float64)
    smooth(losses, weights, mu, torch.tensor(ideal, dtype=torch.float64)).sum().backward()
    found = SmoothTchebycheff(mu, ideal).reweigh(losses.detach(), weights)
    torch.testing.assert_close(found, losses.grad)


def test_a_small_mu_leaves_the_worst_task_alone_and_a_large_one_is_linear():
    losses, weights = torch.tensor([0.5, 0.4]), torch.tensor([0.3, 0.7])
    worst = SmoothTchebycheff(1e-4).reweigh(losses, weights)
    assert worst.tolist() == pytest.approx([0.0, 0.7])
    even = SmoothTchebycheff(1e4).reweigh(losses, weights)
    torch.testing.assert_close(even, weights / 2, rtol=1e-4, atol=0)


def test_a_step_with_it_has_the_gradient_of_the_smooth_maximum(make_plain_method, batch):
    method = make_plain_method(balancer=SmoothTchebycheff(0.2))
    alpha = torch.tensor([0.3, 0.7])
    method.accumulate(batch, alpha[None])
    other = make_plain_method()
    theta = other.network.weights(alpha)
    outputs = other.network(theta, batch[0])
    pairs = zip(other.tasks, outputs, batch[1:], strict=True)
    losses = torch.stack([task.loss(output, target) for task, output, target in pairs])
    smooth(losses, alpha, 0.2, 0.0).backward()
    torch.testing.assert_close(method.network.stacked.grad, other.network.stacked.grad)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mu": 0.0}, "`mu` must be a finite number > 0"),
        ({"ideal": [[0.0]]}, "`ideal` must be one number, or one per task"),
        ({"ideal": float("nan")}, "`ideal` must be one number"),
    ],
)
def test_a_smooth_maximum_that_is_none_is_refused(given, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        SmoothTchebycheff(**given)


def test_as_many_ideal_losses_as_tasks_are_expected(make_plain_method, batch):
    method: Method = make_plain_method(balancer=SmoothTchebycheff(ideal=[0.0, 0.0, 0.0]))
    with pytest.raises(InputError, match="`ideal` must be one number, or 2"):
        method.accumulate(batch, torch.tensor([[0.5, 0.5]]))
