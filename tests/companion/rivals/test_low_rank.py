"""The low-rank ensemble against base + B A by hand, autograd and the weight ensemble."""

import copy

import jaxtyping
import numpy as np
import pytest
import torch
from small_problems import SharedBottom, lenet, through_a_file
from torch import nn

from pamal_core import LowRankEnsemble, Method, WeightEnsemble, evaluate, parameter_groups, train
from pamal_core.balancing import UnitNorm
from pamal_core.classes import classification
from pamal_core.errors import InputError


def convolutional():
    """Images [n, 2, 6, 6]: kernels, grouped ones too, a norm, biases, a matrix and two heads."""
    encoder = nn.Sequential(
        *(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Conv2d(4, 6, 3, groups=2)),
        *(nn.Flatten(), nn.Linear(24, 8), nn.Tanh()),
    )
    return SharedBottom(encoder, [nn.Linear(8, 3), nn.Linear(8, 3)])


TASKS = [classification("first"), classification("second")]
ALPHA = torch.tensor([0.3, 0.7])


def batches(num=4):
    x = torch.randn(num, 16, 2, 6, 6)
    return [(part, torch.randint(3, (16,)), torch.randint(3, (16,))) for part in x]


def adapters_of(network):
    return [*network.A.values(), *network.B.values()]


def moved(network):
    """`network` with every number of its adapters drawn anew."""
    with torch.no_grad():
        for adapter in adapters_of(network):
            adapter.normal_(0, 0.2)
    return network


def by_hand(network, model, alpha):
    """The state of `model` plus scale / rank * sum_k alpha_k B_k A_k, weight by weight."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    for name in network.matrices:
        A, B = (part[name.replace(".", "/")].detach() for part in (network.A, network.B))
        for k, share in enumerate(alpha.tolist()):
            product = (B[k] @ A[k]) * network.scale / network.rank
            if state[name].ndim == 4:  # channels last
                out, channels, height, width = state[name].shape
                product = product.view(out, height, width, channels).permute(0, 3, 1, 2)
            state[name] += share * product
    return state


@pytest.mark.parametrize("rank", [2, 12])  # the heads have fewer outputs than twelve
@pytest.mark.parametrize("make", [convolutional, lenet])
def test_theta_is_the_base_plus_the_mean_of_products_by_hand(make, rank):
    model = make()
    network = moved(LowRankEnsemble(model, 2, rank=rank, scale=3.0, shared="encoder"))
    state = by_hand(network, model, ALPHA)
    found = network.export(ALPHA, calibration="shared").state_dict()
    assert {n for n in found if not torch.equal(found[n], model.state_dict()[n])} == {
        *network.matrices
    }
    for name, value in found.items():
        torch.testing.assert_close(value, state[name], rtol=1e-5, atol=1e-6)


def test_vectors_are_no_matrices_and_all_others_are():
    network = LowRankEnsemble(convolutional(), 2, rank=1)
    assert {*network.matrices} == {
        "encoder.0.weight",
        "encoder.3.weight",
        "encoder.5.weight",
        "heads.0.weight",
        "heads.1.weight",
    }
    head = SharedBottom(nn.Linear(4, 8), [nn.Linear(8, 1)])
    assert {*LowRankEnsemble(head, 1, rank=4).matrices} == {"encoder.weight"}


def test_every_member_starts_as_the_model_and_their_gradients_differ():
    model, (batch, *_) = convolutional(), batches()
    network = LowRankEnsemble(model.eval(), 3, rank=2, task_weights=[[1, 0], [0, 1], [0.5, 0.5]])
    for alpha in ([1, 0, 0], [0.2, 0.3, 0.5]):
        got = network.eval()(batch[0], alpha)
        torch.testing.assert_close(got, model(batch[0]), rtol=1e-5, atol=1e-6)
    Method(network.train(), TASKS).step(batch, [0.2, 0.3, 0.5])
    one, two, _ = network.B["encoder/5/weight"].grad
    assert not torch.allclose(one / 0.2, two / 0.3)


@pytest.mark.parametrize("balancer", [None, UnitNorm()])
def test_the_gradient_is_that_of_autograd_through_the_sum_of_products(balancer):
    """The oracle: torch's functional call with weights that are the sum, one layer at a time."""
    model, batch = convolutional().double(), list(batches()[0])
    batch[0] = batch[0].double()
    network = moved(LowRankEnsemble(model, 2, rank=2, train_base=True, channels_last=False))
    parts = {"balancer": balancer} if balancer else {}
    Method(network, TASKS, **parts).step(batch, ALPHA[None].double())
    leaves = {n: p.detach().clone().requires_grad_() for n, p in network.named_parameters()}
    state = dict(model.named_parameters())
    ends = np.cumsum([0, *(p.numel() for p in state.values())])
    weights = {}
    for (name, value), start, end in zip(state.items(), ends, ends[1:], strict=False):
        weights[name] = leaves["base"][start:end].view(value.shape)
        if name in network.matrices:
            A, B = (leaves[f"{part}.{name.replace('.', '/')}"] for part in "AB")
            total = sum(share * B[k] @ A[k] for k, share in enumerate(ALPHA.double()))
            weights[name] = weights[name] + (2.0 * total).view(value.shape)
    outputs = torch.func.functional_call(copy.deepcopy(model).train(), weights, batch[0])
    losses = [t.loss(o, y) for t, o, y in zip(TASKS, outputs, batch[1:], strict=True)]
    if balancer:
        norms = []
        for loss in losses:
            slopes = torch.autograd.grad(
                loss, [*weights.values()], retain_graph=True, allow_unused=True
            )
            norms.append(sum(s.square().sum() for s in slopes if s is not None).sqrt().detach())
        losses = [loss / norm for loss, norm in zip(losses, norms, strict=True)]
    (0.3 * losses[0] + 0.7 * losses[1]).backward()
    for name, parameter in network.named_parameters():
        expected = leaves[name].grad
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-5, atol=1e-8, msg=name)


def test_of_full_rank_on_zeros_it_has_the_front_of_a_weight_ensemble():
    """Every matrix has four rows, B is the identity and A the matrix; there are no vectors."""

    def bare():
        encoder = nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.ReLU(), nn.Flatten())
        return SharedBottom(encoder, [nn.Linear(64, 4, bias=False) for _ in TASKS])

    data, zero = batches(), bare()
    for weight in zero.parameters():
        nn.init.zeros_(weight)
    network, full = LowRankEnsemble(zero, 2, rank=4, scale=4.0), WeightEnsemble([bare(), bare()])
    with torch.no_grad():
        for k, row in enumerate(full.stacked):
            sizes = [rows * columns for rows, columns in network.matrices.values()]
            for name, piece in zip(network.matrices, row.split(sizes), strict=True):
                key = name.replace(".", "/")
                network.A[key][k], network.B[key][k] = piece.view(4, -1), torch.eye(4)
    ours, theirs = (evaluate(one, TASKS, data) for one in (network, full))
    assert ours.table["first/loss"].nunique() == 11
    np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-5)
    torch.testing.assert_close(network.member_similarity(), full.member_similarity())


@pytest.mark.parametrize("average", [False, True])
def test_a_frozen_base_is_the_same_to_the_last_bit_after_training(average):
    network = LowRankEnsemble(convolutional(), 2, rank=2)
    before = network.base.detach().clone()
    adapters = [p.detach().clone() for p in adapters_of(network)]
    ema = 0.5 if average else None
    train(Method(network, TASKS, window=2), batches(), epochs=2, ema=ema, progress=False)
    assert torch.equal(network.base, before)
    pairs = zip(adapters_of(network), adapters, strict=True)
    assert not any(torch.equal(p, q) for p, q in pairs)


def test_settings_by_name_reach_the_views_of_the_base_and_the_adapters():
    network = LowRankEnsemble(convolutional(), 2, rank=2, train_base=True)
    before, names = network.base.detach().clone(), []

    def settings(name, shape):
        names.append(name)
        return {"lr": 0.0} if not name.startswith(("A.", "B.")) and len(shape) < 2 else {}

    method = Method(network, TASKS)
    optimizer = torch.optim.Adam(parameter_groups(method, settings), lr=0.1)
    train(method, batches(), epochs=1, optimizer=optimizer, progress=False)
    assert {"encoder.0.bias", "A.encoder/0/weight", "B.heads/1/weight"} <= {*names}
    after, first = (network.skeleton.views(base) for base in (network.base, before))
    still = {name for name, view in after.items() if torch.equal(view, first[name])}
    assert still == {name for name, view in after.items() if view.ndim < 2}


def test_a_training_can_be_resumed(tmp_path):
    found = []
    for epochs in ((3,), (1, 3)):
        torch.manual_seed(0)
        network = LowRankEnsemble(convolutional(), 2, rank=2, train_base=True)
        data, states = batches(), [None]
        for last in epochs:
            train(
                Method(network, TASKS),
                data,
                epochs=last,
                resume=states[-1],
                on_epoch=lambda training, kept=states: kept.append(
                    through_a_file(training.state_dict(), tmp_path)
                ),
                progress=False,
            )
        found.append({n: v.clone() for n, v in network.state_dict().items()})
    assert all(torch.equal(value, found[1][name]) for name, value in found[0].items())


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (convolutional(), {"rank": 0}, "`rank` must be a whole number >= 1"),
        (convolutional(), {"num_members": 0}, "`num_members` must be a whole number"),
        (convolutional(), {"scale": 0.0}, "`scale` must be a finite number > 0"),
        (convolutional(), {"rank": 2, "shared": "body"}, "'body'; the model has: encoder, heads"),
        (convolutional(), {"rank": 2, "shared": []}, "must name submodules.* Found 'nothing'"),
        (convolutional(), {"rank": 2, "task_weights": [[1, 0]]}, "a matrix with 2 rows"),
        (nn.Linear(4, 4).requires_grad_(False), {}, "no trainable weight"),
    ],
)
def test_what_has_no_low_rank_form_is_refused(model, given, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        LowRankEnsemble(model, **{"num_members": 2, **given})


def test_adapters_of_another_scale_are_refused():
    """Their product with it is what is added: with another one they are others."""
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    first, second = (LowRankEnsemble(model, 2, rank=2, scale=scale) for scale in (16.0, 4.0))
    before = second.base.clone()
    nn.init.ones_(first.base)
    with pytest.raises(InputError, match="Found another scaling"):
        second.load_state_dict(first.state_dict())
    assert torch.equal(second.base, before)
    same = LowRankEnsemble(model, 2, rank=2, scale=16.0)
    same.load_state_dict(first.state_dict())
    torch.testing.assert_close(same.state_dict(), first.state_dict())
