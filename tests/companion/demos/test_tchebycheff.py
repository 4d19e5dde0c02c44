"""The smooth maximum of the weighted losses, against autograd and its limits."""

import math

import jaxtyping
import pytest
import torch

from pamal_companion.demos.tchebycheff import SmoothTchebycheff
from pamal_core import Method, WeightEnsemble, train
from pamal_core.errors import InputError


def test_the_weights_have_their_known_value():
    found = SmoothTchebycheff(mu=1.0).reweigh(torch.tensor([2.0, 4.0]), torch.tensor([0.25, 0.75]))
    share = 1 / (1 + math.exp(0.75 * 4 - 0.25 * 2))  # of the first task in a softmax of w L
    assert found.tolist() == pytest.approx([0.25 * share, 0.75 * (1 - share)])


def smooth(losses, weights, mu, ideal):
    return mu * torch.logsumexp(weights * (losses - ideal) / mu, -1)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("ideal", [0.0, [0.1, -0.2, 0.3]])
def test_tchebycheff_has_the_gradient_of_the_smooth_maximum(mu, ideal):
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


def test_a_method_trains_with_it(make_mlp, tasks, batch):
    method = Method(
        WeightEnsemble([make_mlp(), make_mlp()]), tasks, balancer=SmoothTchebycheff(0.1)
    )
    rows = train(method, [batch], epochs=30, lr=1e-2, progress=False)
    first, last = (max(row[f"{task.name}/loss"] for task in tasks) for row in (rows[0], rows[-1]))
    assert last < first


def test_a_maximum_without_smoothness_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match="`mu` must be a finite number > 0"):
        SmoothTchebycheff(mu=0.0)
