"""Every baseline by its name: training, resuming, records."""

import numpy as np
import pytest
import torch
from kept import train_resumably
from torch import nn
from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_companion.experiments.models import SharedBottom
from pamal_companion.runs.build import build
from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.options import Options
from pamal_core.classes import classification
from pamal_core.numbers import regression
from pamal_core.training import seed_everything, train

TASKS = [regression("height"), classification("kind"), regression("width")]
NAMES = [name for name in METHODS if name not in ("pamal", "ls", "stl", "soup", "low_rank")]


def make_method(name, data, num_tasks=2, norm=False, **options):
    def make_network(extra):
        layers = [nn.Linear(4 + extra, 8), nn.BatchNorm1d(8) if norm else nn.Identity(), nn.Tanh()]
        return SharedBottom(nn.Sequential(*layers), heads())

    def heads():
        return [nn.Linear(8, size) for size in (1, 3, 1)[:num_tasks]]

    seed_everything(0)
    options = Options.create(method=name, batch_size=8, **options)
    return build(options, TASKS[:num_tasks], make_network, "encoder", data_of(data, num_tasks))


@pytest.fixture
def data(batch):
    x, height, kind = batch
    return TensorDataset(x, height, kind, 0.1 * x[:, 1] + x[:, 3])


def data_of(data, num_tasks):
    return TensorDataset(*data.tensors[: 1 + num_tasks])


def loader_of(data, num_tasks):
    return batches(data_of(data, num_tasks), 8, shuffle=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_baseline_is_bit_identical(name, data, tmp_path):
    whole, resumed = make_method(name, data, 3), make_method(name, data, 3)
    loader, checkpoint = loader_of(data, 3), tmp_path / "c.safetensors"
    expected = train(whole, loader, epochs=5, progress=False)
    train_resumably(make_method(name, data, 3), loader, checkpoint, epochs=3, progress=False)
    assert train_resumably(resumed, loader, checkpoint, epochs=5, progress=False) == expected
    pairs = zip(whole.parameters(), resumed.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert whole.balancer.state_dict().keys() == resumed.balancer.state_dict().keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_a_baseline_receives_a_gradient(name, data):
    method = make_method(name, data, 3)
    method.balancer.start_epoch([])
    rng = np.random.default_rng(0)
    for _ in range(30):  # units of a hypernetwork are dead for many alphas
        method.step(next(iter(loader_of(data, 3))), method.draw(rng))
    assert all((p.grad != 0).float().mean() > 0.4 for p in method.parameters() if p.numel())
    assert (name == "uw") == (len([*method.balancer.parameters()]) == 1)
