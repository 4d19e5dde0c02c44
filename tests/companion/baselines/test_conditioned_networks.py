"""Hypernetworks, networks that are told alpha, and networks with rotations."""

import pytest
import torch
from torch import nn

from pamal_companion.baselines import phn
from pamal_companion.baselines.cosmos import Conditioned
from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_companion.baselines.phn import Hypernetwork
from pamal_companion.baselines.rotograd import Rotated, rotate
from pamal_companion.experiments.models import lenet, mlp
from pamal_companion.runs.build import adam
from pamal_companion.runs.options import Options
from pamal_core.balancing import UncertaintyWeighting
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.weights import flatten

ALPHA = torch.tensor([0.3, 0.7])


def conditioned():
    """A perceptron of 4 features that is told two alphas."""
    return Conditioned(mlp(6), 2, shared="encoder", example=torch.rand(3, 4))


def count(network):
    return sum(p.numel() for p in network.parameters())


def written(network, alpha):
    """Return theta(alpha) as one vector."""
    theta = network.theta(alpha).values()
    return flatten(theta, theta)


def test_a_hypernetwork_for_lenet_has_the_papers_hundredfold_size():
    network = Hypernetwork(lenet(), 2, shared="encoder")
    assert network.skeleton.num_weights == 27_450 and network.skeleton.num_shared == 21_330
    assert count(network) == (2 + 1) * 100 + (100 + 1) * 100 + (100 + 1) * 27_450


def test_a_hypernetwork_is_the_perceptron_of_alpha():
    network = Hypernetwork(mlp(4), 2)
    first, _, second, _, last = network.layers
    hidden = torch.relu(second.weight @ torch.relu(first.weight @ ALPHA + first.bias) + second.bias)
    torch.testing.assert_close(written(network, ALPHA), last.weight @ hidden + last.bias)


def test_chunks_are_written_one_by_one_from_their_embedding():
    network = Hypernetwork(mlp(4), 2, chunk=1000)
    assert network.embeddings.shape == (3, 64)  # 2,308 weights
    chunks = [network.layers(torch.cat([ALPHA, e])) for e in network.embeddings]
    torch.testing.assert_close(written(network, ALPHA), torch.cat(chunks)[:2308])
    assert count(network) < count(Hypernetwork(mlp(4), 2))


def test_a_hypernetwork_too_large_for_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(phn, "main_memory", lambda: 64 * 2**20)
    with pytest.raises(
        InputError, match=r"27,450 weights .* 2,772,450 parameters .*a smaller `chunk`"
    ):
        Hypernetwork(lenet(), 2)
    assert written(Hypernetwork(lenet(), 2, chunk=1000), ALPHA).shape == (27_450,)


@pytest.mark.parametrize("kind", ["features", "images"])
def test_alpha_reaches_the_first_layer_as_more_inputs(kind):
    images = kind == "images"
    x = torch.rand(3, 1, 28, 28) if images else torch.rand(3, 4)
    member = lenet(in_channels=3) if images else mlp(4 + 2)
    network = Conditioned(member, 2, shared="encoder", example=x)
    if images:
        upsample = network.export(ALPHA).encoder.upsample
        joined = upsample(ALPHA[None, :, None, None]).expand(3, 2, 28, 28)
    else:
        joined = ALPHA.expand(3, 2)
    torch.testing.assert_close(network(x, ALPHA), member(torch.cat([x, joined], 1)))


def test_alpha_is_set_and_not_trained():
    network = conditioned()
    thetas = [network.theta(alpha) for alpha in (ALPHA, ALPHA.flip(0))]
    for theta, alpha in zip(thetas, (ALPHA, ALPHA.flip(0)), strict=True):
        torch.testing.assert_close(theta["encoder.alpha"], alpha)
    trained = thetas[0].keys() - {"encoder.alpha"}
    assert all(thetas[0][name] is thetas[1][name] for name in trained)
    assert {name for name, _ in network.trained.named_parameters()} == trained
    assert count(network) == count(mlp(6)) and network.skeleton.num_shared == 2 + 7 * 256


def test_the_member_that_was_given_is_left_as_it_was():
    member = mlp(6)
    Conditioned(member, 2, shared="encoder", example=torch.rand(3, 4))
    assert isinstance(member.encoder, nn.Sequential)


@pytest.mark.parametrize("make", [lambda: Hypernetwork(mlp(4), 2), conditioned])
def test_the_exported_network_gives_the_same_outputs_for_its_alpha(make):
    network, x = make(), torch.rand(3, 4)
    torch.testing.assert_close(network.export(ALPHA)(x), network(x, ALPHA))


def test_rotations_keep_lengths_and_start_at_the_identity():
    x, member = torch.rand(5, 4), mlp(4)
    model = Rotated(member, x)
    torch.testing.assert_close(model(x), member(x))
    with torch.no_grad():
        model.generators[0].normal_(std=10.0)
    model(x)
    features, (rotation, _), (rotated, _) = model.cut
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(256), atol=1e-4, rtol=0)
    assert torch.linalg.det(rotation.double()).item() == pytest.approx(1, abs=1e-2)
    torch.testing.assert_close(rotated.norm(dim=1), features.norm(dim=1), rtol=1e-4, atol=0)
    assert not torch.allclose(rotated, features)


def test_feature_maps_are_rotated_at_every_place():
    rotation, maps = torch.linalg.qr(torch.randn(6, 6))[0], torch.randn(2, 6, 3, 4)
    got = rotate(rotation, maps)
    torch.testing.assert_close(got[1, :, 2, 3], rotation @ maps[1, :, 2, 3])


def test_only_what_alpha_mixes_has_m_times_the_rate(make_mlp, tasks):
    """The paper's two groups; a balancer's own parameters and a base have the plain rate."""

    def rates(network, **given):
        method = Method(network, tasks, balancer=UncertaintyWeighting(2))
        groups = adam(method, Options.create(**given)).param_groups
        return [(group["lr"], sum(p.numel() for p in group["params"])) for group in groups]

    rows = [[1, 0], [0, 1], [0.5, 0.5]]
    ensemble = WeightEnsemble(make_mlp(), num_members=3, task_weights=rows)
    size = ensemble.members().numel()
    assert rates(ensemble) == [(3e-3, size), (1e-3, 2)]
    assert rates(ensemble, lr_scaling="plain") == [(1e-3, size), (1e-3, 2)]
    for train_base in (True, False):
        low_rank = LowRankEnsemble(
            make_mlp(), 2, rank=1, train_base=train_base, task_weights=rows[:2]
        )
        adapters, base = (
            sum(p.numel() for p in part.parameters()) for part in (low_rank.adapters, low_rank.base)
        )
        others = 2 + (base if train_base else 0)
        assert rates(low_rank) == [(2e-3, adapters), (1e-3, others)]
    written = Hypernetwork(make_mlp(), 2, shared="encoder")
    assert rates(written) == [(1e-3, 2 + sum(p.numel() for p in written.parameters()))]
