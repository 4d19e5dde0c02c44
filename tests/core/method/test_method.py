import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_problems import slopes_of

from pamal_core.balancing import Linear, MovingAverage, UnitNorm
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError, NonFiniteError
from pamal_core.method import Method
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet
from pamal_core.training import train

BALANCERS = [Linear, UnitNorm, lambda: UnitNorm("released"), MovingAverage]


def ensemble(make, num_members=2, **options):
    return WeightEnsemble([make() for _ in range(num_members)], shared="encoder", **options)


def total_loss(method, batch, alphas):
    """Line 12 of Algorithm 1 as one differentiable number: the oracle for linear balancing."""
    x, *targets = batch
    losses = []
    for alpha in alphas:
        outputs = method.network(x, alpha)
        pairs = zip(method.tasks, outputs, targets, strict=True)
        losses.append(torch.stack([task.loss(o, y) for task, o, y in pairs]))
    stacked, weights = torch.stack(losses), alphas @ method.network.task_weights
    total = (weights * stacked).sum()
    if method.penalty is None:
        return total
    return total + method.penalty.lam * method.penalty(stacked, weights)


@pytest.mark.parametrize("rows", [None, [[0.9, 0.1], [0.3, 0.7]]], ids=["alpha", "task weights"])
@pytest.mark.parametrize("lam", [0.0, 5.0])
@pytest.mark.parametrize("sign", ["ordered", "printed"])
def test_a_step_has_the_gradient_of_the_total_loss(make_mlp, tasks, batch, lam, sign, rows):
    penalty = MultiForward(lam, sign)
    method = Method(ensemble(make_mlp, task_weights=rows), tasks, penalty=penalty, window=4)
    alphas = torch.rand(4, 1) * torch.tensor([1.0, -1.0]) + torch.tensor([0.0, 1.0])
    expected = slopes_of(method.network, total_loss(method, batch, alphas))
    method.step(batch, alphas)
    torch.testing.assert_close(slopes_of(method.network), expected)


@pytest.mark.parametrize("make_balancer", BALANCERS)
def test_draws_add_up_whether_or_not_their_graphs_are_kept(make_mlp, tasks, batch, make_balancer):
    """A penalty too small to matter keeps all graphs; without one the draws go one by one."""
    network, alphas = ensemble(make_mlp), torch.tensor([[0.1, 0.9], [0.7, 0.3], [0.4, 0.6]])
    gradients = []
    for lam in (0.0, 1e-12):
        network.zero_grad()
        Method(network, tasks, balancer=make_balancer(), penalty=MultiForward(lam), window=3).step(
            batch, alphas
        )
        gradients.append(slopes_of(network))
    torch.testing.assert_close(*gradients)


def test_gradient_balancing_leaves_the_heads_alone(make_mlp, tasks, batch):
    """alpha_k * sum_t alpha_t g_t, the shared part of g_t divided by its norm, from two separate
    backward passes."""
    network, alpha = ensemble(make_mlp), torch.tensor([0.1, 0.9])
    Method(network, tasks, balancer=UnitNorm()).step(batch, alpha)
    theta, split = network.theta(alpha), network.skeleton.num_shared
    leaves = {name: weight.detach().requires_grad_() for name, weight in theta.items()}
    outputs = network.skeleton(leaves, batch[0])
    total = torch.zeros(network.skeleton.num_weights)
    for t, task in enumerate(tasks):
        loss = task.loss(outputs[t], batch[1 + t])
        slopes = torch.autograd.grad(
            loss, [*leaves.values()], retain_graph=True, materialize_grads=True
        )
        g = torch.cat([slope.flatten() for slope in slopes])
        g[:split] /= g[:split].norm()
        total += alpha[t] * g
    torch.testing.assert_close(slopes_of(network), torch.outer(alpha, total))


def test_released_gradient_balancing_takes_its_norms_through_the_members(make_mlp, tasks, batch):
    """Three members for two tasks: the norm is that of the shared columns of dL_t/dTheta, so it
    has alpha and not alpha^T W, and no heads."""
    rows = [[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]
    network, alpha = ensemble(make_mlp, 3, task_weights=rows), torch.tensor([0.2, 0.5, 0.3])
    Method(network, tasks, balancer=UnitNorm("released")).step(batch, alpha[None])
    outputs = network(batch[0], alpha)
    expected = torch.zeros_like(network.members())
    for t, task in enumerate(tasks):
        loss = task.loss(outputs[t], batch[1 + t])
        g = slopes_of(network, loss)
        norm = g[:, : network.skeleton.num_shared].norm()
        expected += (alpha @ network.task_weights)[t] * g / (norm + 1e-3)
    torch.testing.assert_close(slopes_of(network), expected)


def test_one_member_is_a_plain_pytorch_loop_step_by_step(make_mlp, tasks, batch):
    plain = make_mlp()
    method = Method(WeightEnsemble([plain], task_weights=[[0.5, 0.5]]), tasks)
    optimizers = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in (plain, method.network)]
    for _ in range(25):
        for optimizer in optimizers:
            optimizer.zero_grad()
        outputs = plain(batch[0])
        losses = [t.loss(o, y) for t, o, y in zip(tasks, outputs, batch[1:], strict=True)]
        (0.5 * losses[0] + 0.5 * losses[1]).backward()
        got = method.step(batch, [1.0])
        torch.testing.assert_close(got, torch.stack(losses)[None])
        for optimizer in optimizers:
            optimizer.step()
    for a, b in zip(plain.parameters(), method.network.export([1.0]).parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_two_members_are_algorithm_1_written_out_by_hand(make_mlp, tasks, batch):
    """Interpolates two plain networks parameter by parameter, without any of our code."""
    a, b = make_mlp(), make_mlp()
    method = Method(WeightEnsemble([a, b]), tasks, window=2)
    optimizers = [
        torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1),
        torch.optim.SGD(method.network.parameters(), lr=0.1),
    ]
    alphas = torch.distributions.Dirichlet(torch.ones(2)).sample((10, 2))
    for draws in alphas:
        for optimizer in optimizers:
            optimizer.zero_grad()
        for alpha in draws:
            pairs = zip(a.named_parameters(), b.parameters(), strict=True)
            theta = {n: alpha[0] * p + alpha[1] * q for (n, p), q in pairs}
            outputs = torch.func.functional_call(a, theta, batch[0])
            losses = [t.loss(o, y) for t, o, y in zip(tasks, outputs, batch[1:], strict=True)]
            (alpha[0] * losses[0] + alpha[1] * losses[1]).backward()
        method.step(batch, draws)
        for optimizer in optimizers:
            optimizer.step()
    first = zip(a.parameters(), method.network.export([1, 0]).parameters(), strict=True)
    second = zip(b.parameters(), method.network.export([0, 1]).parameters(), strict=True)
    for expected, got in [*first, *second]:
        torch.testing.assert_close(got, expected)


def test_only_one_graph_is_alive_at_a_time_without_a_penalty(make_mlp, tasks, batch):
    """Counts the activations that autograd has saved and not yet let go."""
    method = Method(ensemble(make_mlp), tasks, window=8)
    alive, peaks = [0], []

    class Counted:
        def __init__(self, tensor):
            self.tensor = tensor
            alive[0] += 1
            peaks.append(alive[0])

        def __del__(self):
            alive[0] -= 1

    with torch.autograd.graph.saved_tensors_hooks(Counted, lambda c: c.tensor):
        method.step(batch, torch.full((1, 2), 0.5))
        one = max(peaks)
        peaks.clear()
        method.step(batch, torch.full((8, 2), 0.5))
    assert one > 0
    assert max(peaks) == one


def test_without_alphas_a_step_draws_them_by_torch(make_mlp, tasks, batch, monkeypatch):
    drawn, sample = [], Dirichlet.sample

    def watched(self, *args):
        drawn.append(sample(self, *args))
        return drawn[-1]

    monkeypatch.setattr(Dirichlet, "sample", watched)
    method = Method(ensemble(make_mlp), tasks, preference=Dirichlet(0.5), window=3)
    twins = [copy.deepcopy(method) for _ in range(3)]
    for seed, one in zip((1, 1, 2), twins, strict=True):
        torch.manual_seed(seed)
        np.random.seed(len(drawn))
        one.step(batch)
        one.step(batch)
    first, again, other = drawn[:2], drawn[2:4], drawn[4:]
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert not np.array_equal(*first) and first[0].shape == (3, 2)
    for alphas in first:
        method.step(batch, alphas)
    for one in twins[:2]:
        assert torch.equal(slopes_of(one.network), slopes_of(method.network))


def test_an_alpha_may_have_the_names_of_the_tasks(make_mlp, tasks, batch):
    method = Method(ensemble(make_mlp), tasks)
    network, x = method.network, batch[0]
    for named, alpha in (({"kind": 0.3, "height": 0.7}, [0.7, 0.3]), ({"kind": 1.0}, [0, 1])):
        losses = method.step(batch, named)
        assert torch.equal(losses, method.step(batch, [alpha]))
        torch.testing.assert_close(network(x, named), network(x, alpha))
        torch.testing.assert_close(network.predict(x, named), network.predict(x, alpha))
        states = (network.export(one).state_dict() for one in (named, alpha))
        torch.testing.assert_close(*states, rtol=0, atol=0)


def test_a_penalty_is_none_by_default_and_a_multi_forward_of_lam_1(make_mlp, tasks):
    assert Method(ensemble(make_mlp), tasks).penalty is None and MultiForward().lam == 1.0


def test_a_penalty_of_lam_0_is_none_so_that_one_draw_is_enough(make_mlp, tasks):
    method = Method(ensemble(make_mlp), tasks, penalty=MultiForward(0.0), window=1)
    assert "penalty     none" in repr(method)


def test_a_loss_that_is_not_finite_names_task_and_alpha(make_mlp, tasks, batch):
    bad = [tasks[0], replace(tasks[1], name="broken", loss=lambda o, y: o.sum() * torch.nan)]
    method = Method(ensemble(make_mlp), bad, preference=Dirichlet(math.inf))
    with pytest.raises(NonFiniteError, match=r"task 2 \(broken\) is nan at alpha=\[0.5, 0.5\]"):
        train(method, [batch], epochs=1, progress=False)


def test_tasks_of_another_batch_size_are_refused_by_name(make_mlp, tasks, batch):
    method = Method(WeightEnsemble([make_mlp(), make_mlp()]), tasks)
    for height in (batch[1][:6], batch[1][:1]):  # one target would be broadcast to all
        with pytest.raises(InputError, match=f"Task height .* Found 32 .* and {len(height)} targ"):
            method.step((batch[0], height, batch[2]), [0.5, 0.5])
