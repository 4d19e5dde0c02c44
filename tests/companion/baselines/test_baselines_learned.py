"""Auto-lambda, RotoGrad, EPO and COSMOS's penalty beside independent computations."""

import jaxtyping
import numpy as np
import pytest
import torch
from small_problems import slopes_of
from torch import nn
from torch.func import functional_call
from waiting import fused_adam, fused_sgd, waits

from pamal_companion.baselines.auto_lambda import AutoLambda
from pamal_companion.baselines.cosmos import Cosine
from pamal_companion.baselines.epo import EPO, solve
from pamal_companion.baselines.rotograd import Rotated, RotoGrad
from pamal_companion.experiments.models import SharedBottom
from pamal_core.balancing import Draw
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.training import train
from pamal_core.weights import unflatten

UNIFORM = torch.full((2,), 0.5)


def ensemble(model):
    return WeightEnsemble([model], task_weights=[[0.5, 0.5]], shared="encoder")


def direction_of(method, batch):
    method.network.zero_grad()
    method.step(batch, torch.ones(1, 1))
    return slopes_of(method.network)[0].clone()


# Auto-lambda: the oracle differentiates through the step with torch.


def test_auto_lambdas_slope_is_that_through_the_step(make_mlp, tasks, batch):
    network = ensemble(make_mlp())
    other = tuple(part.flip(0)[:20] for part in batch)
    rule = AutoLambda(network, tasks, [other], lr=0.1)
    rule.start_epoch([])
    weights = rule.task_weights.clone().requires_grad_()
    direction_of(Method(network, tasks, balancer=rule), batch)

    model = network.export([1.0])
    names, values = zip(*model.named_parameters(), strict=True)

    def losses(parameters, data):
        outputs = functional_call(model, dict(zip(names, parameters, strict=True)), data[0])
        triples = zip(tasks, outputs, data[1:], strict=True)
        return torch.stack([task.loss(o, y) for task, o, y in triples])

    total = weights @ losses(values, batch)
    slopes = torch.autograd.grad(total, values, create_graph=True)
    ahead = [v - 0.1 * s for v, s in zip(values, slopes, strict=True)]
    losses(ahead, other).sum().backward()
    torch.testing.assert_close(rule.task_weights.grad, weights.grad)
    # Adam's first step has the length of its rate.
    torch.testing.assert_close(rule.task_weights, 0.1 - 1e-4 * weights.grad.sign())


def test_auto_lambda_weighs_the_gradients_with_the_weights_just_learned(make_mlp, tasks, batch):
    network = ensemble(make_mlp())
    rule = AutoLambda(network, tasks, [batch], lr=0.1, meta_lr=0.05)
    rule.start_epoch([])
    got = direction_of(Method(network, tasks, balancer=rule), batch)
    rows = torch.eye(2)
    gradients = []
    for row in rows:
        single = WeightEnsemble([network.export([1.0])], task_weights=row[None], shared="encoder")
        gradients.append(direction_of(Method(single, tasks), batch))
    torch.testing.assert_close(got, rule.task_weights @ torch.stack(gradients))


def test_auto_lambda_leaves_the_running_statistics_to_the_training_batch(tasks, batch):
    def make():
        encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
        return SharedBottom(encoder, [nn.Linear(8, 1), nn.Linear(8, 3)])

    network = ensemble(make())
    other = (batch[0] + 100, *batch[1:])
    rule = AutoLambda(network, tasks, [other], lr=0.1)
    rule.start_epoch([])
    direction_of(Method(network, tasks, balancer=rule), batch)
    assert network.skeleton.model.encoder[1].running_mean.abs().max() < 1
    assert network.skeleton.model.encoder[1].num_batches_tracked == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lr": 0}, "a finite number > 0. Found lr=0"),
        ({"meta_lr": -1}, "a finite number > 0. Found meta_lr=-1"),
        ({"network": nn.Linear(4, 3)}, "must be of type Network, such as"),
    ],
)
def test_auto_lambda_refuses_what_cannot_look_ahead(make_mlp, tasks, given, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    given = {"network": ensemble(make_mlp()), "tasks": tasks, "loader": [], "lr": 0.1, **given}
    with pytest.raises(InputError, match=message):
        AutoLambda(**given)


def test_auto_lambda_refuses_a_loader_without_batches(make_mlp, tasks, batch):
    network = ensemble(make_mlp())
    before = network.members()
    method = Method(network, tasks, balancer=AutoLambda(network, tasks, [], lr=0.1))
    with pytest.raises(InputError, match=r"must yield batches anew in each epoch\. Found none"):
        train(method, [batch], epochs=1, progress=False)
    assert torch.equal(network.members(), before)


# RotoGrad: the oracle follows its equations task by task with a plain module.


def oracle(model, tasks, batch, first=None):
    """The gradients of encoder, heads and generators, and the norms."""
    features = model.encoder(batch[0])
    rotations = [torch.linalg.matrix_exp(model.rate * (a - a.T)) for a in model.generators]
    pulled, heads, norms, own = [], [], [], []
    for t, (task, head) in enumerate(zip(tasks, model.heads, strict=True)):
        z = (features @ rotations[t].T).detach().requires_grad_()
        loss = 0.5 * task.loss(head(z), batch[1 + t])
        g, *rest = torch.autograd.grad(loss, [z, *head.parameters()])
        heads.append(rest)
        norms.append(g.norm())
        own.append(g / g.norm())
        pulled.append((g / g.norm()) @ rotations[t].detach())
    first = norms if first is None else first
    ratios = [n / f for n, f in zip(norms, first, strict=True)]
    length = sum(r / sum(ratios) * n for r, n in zip(ratios, norms, strict=True))
    features.backward(length * sum(pulled), retain_graph=True)
    target = sum(pulled) / len(pulled)
    loss = -sum((u @ r * target).sum() for u, r in zip(own, rotations, strict=True))
    return heads, torch.autograd.grad(loss, list(model.generators)), norms


@pytest.fixture
def rotated(make_mlp, batch):
    model = Rotated(make_mlp(), batch[0][:2])
    with torch.no_grad():
        for generator in model.generators:
            generator.normal_(std=3.0)
    return model


def test_rotograd_is_its_equations(rotated, tasks, batch):
    network = ensemble(rotated)
    rule = RotoGrad(network.skeleton.model)
    method = Method(network, tasks, balancer=rule)
    first = None
    for shift in (0.0, 0.5):  # the second step measures progress against the first
        moved = (batch[0] + shift, *batch[1:])
        like = network.skeleton.like
        pieces = unflatten(direction_of(method, moved), [*like.values()])
        got = dict(zip(like, pieces, strict=True))
        rotated.zero_grad()
        heads, generators, norms = oracle(rotated, tasks, moved, first)
        first = first or norms
        for name, parameter in rotated.encoder.named_parameters():
            torch.testing.assert_close(got[f"encoder.{name}"], parameter.grad)
        for t in range(2):
            torch.testing.assert_close(got[f"generators.{t}"], generators[t])
            torch.testing.assert_close(got[f"heads.{t}.weight"], heads[t][0])


def test_rotograd_takes_no_penalty_and_losses_of_training_alone(rotated):
    theta = torch.zeros(3, requires_grad=True)
    with pytest.raises(InputError, match="takes no penalty"):
        RotoGrad(rotated).direction(Draw(UNIFORM, UNIFORM, {"theta": theta}, theta[:2], 3, UNIFORM))
    with pytest.raises(InputError, match="in training mode"):
        RotoGrad(rotated).direction(Draw(UNIFORM, UNIFORM, {"theta": theta}, theta[:2], 3))


# EPO on f_t = |x - c_t|^2, whose front is the segment between c_1 and c_2.


@pytest.mark.parametrize(
    ("share", "start"), [(0.2, (0.5, 1.0)), (0.5, (0.1, -2.0)), (0.9, (0.5, 1.0))]
)
def test_epo_reaches_the_point_of_the_front_on_the_ray(share, start):
    x = run_epo(share, start)
    root = (1 - share) ** 0.5 / ((1 - share) ** 0.5 + share**0.5)  # share x^2 = (1-share)(1-x)^2
    torch.testing.assert_close(x, torch.tensor([root, 0.0]), atol=0.02, rtol=0)


def run_epo(share, start):
    centres, weights = torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.tensor([share, 1 - share])
    x, rule = torch.tensor(start), EPO()
    for _ in range(300):
        leaf = x.detach().requires_grad_()
        losses = ((leaf - centres) ** 2).sum(1)
        x = x - 0.03 * rule.direction(Draw(weights, weights, {"leaf": leaf}, losses, 2))
    return x


def test_epo_can_run_into_an_end_of_the_front_from_behind():
    torch.testing.assert_close(run_epo(0.9, (2.0, 1.0)), torch.tensor([1.0, 0.0]))


def test_epo_weighs_on_the_simplex_and_worsens_no_task_that_is_on_the_ray():
    rng = np.random.default_rng(0)
    for _ in range(100):
        jacobian, r = rng.normal(size=(3, 10)), rng.dirichlet(np.ones(3))
        gram = jacobian @ jacobian.T
        found = solve(1 / r, gram, r)
        assert found.min() >= -1e-9 and found.sum() == pytest.approx(1)
        assert (gram @ found).min() >= -1e-9
        descends = solve(rng.random(3), gram, r)
        assert descends.min() >= -1e-9 and descends.sum() == pytest.approx(1)


def test_epo_beats_the_simplex_at_its_own_linear_program():
    rng = np.random.default_rng(1)
    for _ in range(30):
        jacobian, r = rng.normal(size=(2, 5)), rng.dirichlet(np.ones(2))
        gram = jacobian @ jacobian.T
        found = solve(1 / r, gram, r)  # on the ray: the largest sum of gains, none negative
        shares = np.linspace(0, 1, 2001)
        grid = np.stack([shares, 1 - shares], 1)
        gains = grid @ gram
        allowed = gains[(gains >= 0).all(1)].sum(1)
        assert (gram @ found).sum() >= allowed.max() - 1e-3 * gram.max()


def test_epo_falls_back_on_the_preference_and_passes_nan_on():
    r = np.array([0.3, 0.7])
    assert solve(np.ones(2), np.zeros((2, 2)), r) is r
    assert solve(np.zeros(2), np.eye(2), r) is r
    theta = torch.ones(2, requires_grad=True)
    losses = torch.stack([theta.sum(), (theta * torch.tensor(float("inf"))).sum() * 0 + theta[0]])
    assert EPO().direction(Draw(UNIFORM, UNIFORM, {"theta": theta}, losses, 2)).isnan().all()


def test_a_corner_of_the_simplex_is_a_preference_too():
    found = solve(np.array([1.0, 2.0]), np.eye(2), np.array([1.0, 0.0]))
    assert found[0] == pytest.approx(1)


def test_the_cosine_penalty_is_the_slope_of_minus_the_cosine():
    losses = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(4, 3, dtype=torch.float64)
    cosine = torch.cosine_similarity(losses, weights, dim=-1)
    (expected,) = torch.autograd.grad(-2.5 * cosine.sum(), losses)
    torch.testing.assert_close(Cosine(2.5).slopes(losses.detach(), weights), expected)


def test_the_cosine_penalty_is_0_where_losses_are_in_proportion_or_0():
    weights = torch.tensor([[0.2, 0.8]])
    torch.testing.assert_close(Cosine(1.0).slopes(3 * weights, weights), torch.zeros(1, 2))
    assert Cosine(1.0).slopes(torch.zeros(1, 2), weights).isfinite().all()


def test_a_step_with_the_cosine_penalty_asks_for_no_number(make_plain_method, batch, monkeypatch):
    monkeypatch.setattr("pamal_core.training.CHECKED_EVERY_STEP", set())  # as on a GPU
    for make_optimizer in (fused_sgd, fused_adam):
        method = make_plain_method(penalty=Cosine(1.0), window=3)
        assert waits(method, batch, make_optimizer(method.parameters())) == 0


def test_progress_is_relative_to_the_first_batch_with_labels(rotated):
    late, early = RotoGrad(rotated), RotoGrad(rotated)
    late._length(torch.tensor([3.0, 0.0]))
    early._length(torch.tensor([3.0, 5.0]))
    late._length(torch.tensor([1.0, 5.0]))
    norms = torch.tensor([2.0, 4.0])
    assert late._length(norms) == early._length(norms)


def test_rotograd_goes_on_on_the_device_of_its_network(rotated):
    rule = RotoGrad(rotated)
    rule.load_state_dict({"first": torch.ones(2)})  # as read from a file: on the CPU
    assert rule._length(torch.ones(2, device="meta")).device.type == "meta"
