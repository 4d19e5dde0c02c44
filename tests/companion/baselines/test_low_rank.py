"""The low-rank ensemble against base + B A by hand, autograd and the weight ensemble."""

import copy

import jaxtyping
import numpy as np
import pytest
import torch
from small_problems import SharedBottom, lenet, through_a_file
from torch import nn

from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_core import Method, WeightEnsemble, evaluate, train
from pamal_core.balancing import UnitNorm
from pamal_core.classes import classification
from pamal_core.ensemble import member_parameters
from pamal_core.errors import InputError


def convolutional(groups=1):
    """Images [n, 2, 6, 6]: kernels, a norm, biases, a matrix and two heads."""
    encoder = nn.Sequential(
        *(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Conv2d(4, 6, 3, groups=groups)),
        *(nn.Flatten(), nn.Linear(24, 8), nn.Tanh()),
    )
    return SharedBottom(encoder, [nn.Linear(8, 3), nn.Linear(8, 3)])


def channels_last(groups=1):
    return convolutional(groups).to(memory_format=torch.channels_last)


def lenet_channels_last():
    return lenet().to(memory_format=torch.channels_last)


TASKS = [classification("first"), classification("second")]
ALPHA = torch.tensor([0.3, 0.7])


def batches(num=4):
    x = torch.randn(num, 16, 2, 6, 6)
    return [(part, torch.randint(3, (16,)), torch.randint(3, (16,))) for part in x]


def redrawn(network):
    """Return `network` with every number of its adapters drawn anew."""
    with torch.no_grad():
        for adapter in network.adapters.parameters():
            adapter.normal_(0, 0.2)
    return network


def by_hand(network, model, alpha, scale):
    """The state of `model` plus scale / rank * sum_k alpha_k B_k A_k, weight by weight."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    for name in network.matrices:
        A, B = (part.detach() for part in network.adapter(name))
        for k, share in enumerate(alpha.tolist()):
            change = torch.einsum("or,r...->o...", B[k], A[k])
            state[name] += share * scale / network.rank * change
    return state


@pytest.mark.parametrize("rank", [2, 12])  # the heads have fewer outputs than twelve
@pytest.mark.parametrize(
    "make", [convolutional, channels_last, lambda: channels_last(2), lenet, lenet_channels_last]
)
def test_theta_is_the_base_plus_the_mean_of_products_by_hand(make, rank):
    model = make()
    network = redrawn(LowRankEnsemble(model, 2, rank=rank, scale=3.0, peft=False, shared="encoder"))
    state = by_hand(network, model, ALPHA, 3.0)
    found = network.export(ALPHA, calibration="shared").state_dict()
    assert {n for n in found if not torch.equal(found[n], model.state_dict()[n])} == {
        *network.matrices
    }
    for name, value in found.items():
        torch.testing.assert_close(value, state[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [convolutional, channels_last, lenet, lenet_channels_last])
def test_theta_lies_in_memory_as_the_model_does(make):
    """LeNet's first kernel has one channel: torch's sum of two such kernels is in its usual format,
    and a convolution with it has other bits."""
    model = make()
    theta = redrawn(LowRankEnsemble(model, 2, rank=2)).theta(ALPHA)
    strides = {name: weight.stride() for name, weight in theta.items()}
    assert strides == {name: weight.stride() for name, weight in model.named_parameters()}


def test_a_state_is_the_same_network_in_another_memory_format():
    model, (inputs, *_) = convolutional(), batches(1)[0]
    usual, last = (LowRankEnsemble(make(), 2, rank=2) for make in (lambda: model, channels_last))
    last.load_state_dict(redrawn(usual).state_dict())
    got, expected = (network.eval()(inputs, ALPHA) for network in (last, usual))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(expected[0], model.eval()(inputs)[0], atol=0.01)


def test_vectors_are_no_matrices_and_all_others_are():
    network = LowRankEnsemble(convolutional(groups=2), 2, rank=1, peft=False)
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
    one, two, _ = network.adapter("encoder.5.weight")[1].grad
    assert not torch.allclose(one / 0.2, two / 0.3)


@pytest.mark.parametrize("make", [convolutional, channels_last])
@pytest.mark.parametrize("balancer", [None, UnitNorm()])
def test_the_gradient_is_that_of_autograd_through_the_sum_of_products(make, balancer):
    """The oracle: torch's functional call with weights that are the sum, one layer at a time."""
    model, batch = make(2).double(), list(batches()[0])
    batch[0] = batch[0].double()
    network = redrawn(LowRankEnsemble(model, 2, rank=2, train_base=True, peft=False))
    parts = {"balancer": balancer} if balancer else {}
    Method(network, TASKS, **parts).step(batch, ALPHA[None].double())
    leaves = {n: p.detach().clone().requires_grad_() for n, p in network.named_parameters()}
    weights = {}
    for name, _ in model.named_parameters():
        weights[name] = leaves[f"base.{name}"]
        if name in network.matrices:
            A, B = (leaves[f"adapters.{name}.{part}"] for part in "AB")
            total = torch.einsum("k,kor,kr...->o...", ALPHA.double(), B, A)
            weights[name] = weights[name] + 2.0 * total
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


def test_torchs_functional_call_runs_it_with_other_weights():
    network = LowRankEnsemble(convolutional(), 2, rank=2, train_base=True, peft=False).eval()
    other = redrawn(copy.deepcopy(network))
    x = batches(1)[0][0]
    outputs = torch.func.functional_call(network, dict(other.named_parameters()), (x, ALPHA))
    for found, expected in zip(outputs, other(x, ALPHA), strict=True):
        assert torch.equal(found, expected)
    for found, before in zip(outputs, network(x, ALPHA), strict=True):
        assert not torch.equal(found, before)


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
        for name in network.matrices:
            A, B = network.adapter(name)
            A.copy_(full.stacked.get_parameter(name))
            B.copy_(torch.eye(4))
    ours, theirs = (evaluate(one, TASKS, data) for one in (network, full))
    assert ours.table["first/loss"].nunique() == 11
    np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-5)
    torch.testing.assert_close(network.member_similarity(), full.member_similarity())


@pytest.mark.parametrize("average", [False, True])
def test_a_frozen_base_is_the_same_to_the_last_bit_after_training(average):
    network = LowRankEnsemble(convolutional(), 2, rank=2)
    before = copy.deepcopy(network.base.state_dict())
    adapters = [p.detach().clone() for p in network.adapters.parameters()]
    ema = 0.5 if average else None
    train(Method(network, TASKS, window=2), batches(), epochs=2, ema=ema, progress=False)
    after = network.base.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    pairs = zip(network.adapters.parameters(), adapters, strict=True)
    assert not any(torch.equal(p, q) for p, q in pairs)


@pytest.mark.parametrize("train_base", [False, True])
def test_an_optimiser_of_whole_weights_has_the_adapters_as_they_are(train_base):
    network = LowRankEnsemble(convolutional(), 2, rank=2, train_base=train_base)
    pairs = dict(member_parameters(network))
    assert {*pairs} == {n for n, p in network.named_parameters() if p.requires_grad}
    assert all(pairs[name] is network.get_parameter(name) for name in pairs)
    parts = {"adapters", "base"} if train_base else {"adapters"}
    assert {name.split(".")[0] for name in pairs} == parts
    before = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    optimizer = torch.optim.Adafactor(pairs.values(), lr=0.1)
    train(Method(network, TASKS), batches(), epochs=1, optimizer=optimizer, progress=False)
    still = {n for n, p in network.named_parameters() if torch.equal(p, before[n])}
    assert still == {*before} - {*pairs}


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
        (convolutional(), {"peft": "no"}, "`peft` must be of type bool"),
        (nn.LayerNorm(4), {}, "must have a matrix"),
        (nn.Linear(4, 4).requires_grad_(False), {}, "no trainable weight"),
    ],
)
def test_what_has_no_low_rank_form_is_refused(model, given, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        LowRankEnsemble(model, **{"num_members": 2, **given})


def test_a_state_brings_its_scale():
    """Adapters are others with another scale, so the one that they were trained with counts."""
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    saved = redrawn(LowRankEnsemble(model, 2, rank=2, scale=16.0))
    loaded = LowRankEnsemble(copy.deepcopy(model), 2, rank=2, scale=4.0)
    loaded.load_state_dict(saved.state_dict())
    assert loaded.scaling.item() == 16.0
    theta, expected = loaded.theta(ALPHA), by_hand(saved, model, ALPHA, 16.0)
    for name, weight in theta.items():
        torch.testing.assert_close(weight, expected[name], rtol=1e-5, atol=1e-6)


def test_saved_and_loaded_by_torch_it_predicts_the_same(tmp_path):
    network = redrawn(LowRankEnsemble(channels_last(), 2, rank=2, scale=3.0))
    data = batches()
    train(Method(network, TASKS), data, epochs=1, progress=False)
    torch.save(network.state_dict(), tmp_path / "network.pt")
    torch.save(network.calibration, tmp_path / "examples.pt")
    loaded = LowRankEnsemble(channels_last(), 2, rank=2)
    loaded.load_state_dict(torch.load(tmp_path / "network.pt"))
    loaded.calibration = torch.load(tmp_path / "examples.pt")
    alpha = {"first": 0.3, "second": 0.7}
    got, expected = (one.predict(data[0][0], alpha) for one in (loaded, network))
    assert all(torch.equal(*pair) for pair in zip(got, expected, strict=True))
