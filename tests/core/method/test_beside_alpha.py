"""Weights and buffers that alpha would not reach: a model that has such is refused, or its state is
put back."""

import weakref

import numpy as np
import pytest
import torch
from torch import nn

from pamal_core import (
    InputError,
    Method,
    UnitNorm,
    WeightEnsemble,
    classification,
    evaluate,
    regression,
    train,
)

X, KINDS, SIZES = torch.randn(8, 4), torch.arange(8) % 3, torch.randn(8)
TASKS, BATCH = [classification("kind"), regression("size")], (X, KINDS, SIZES)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.kind, self.size = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 1)
        self.build()

    def build(self):
        self.layers = []

    def features(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def forward(self, x):
        features = self.features(x)
        return self.kind(features), self.size(features)


class Parent(nn.Module):
    def __init__(self, parent) -> None:
        super().__init__()
        self.parent = weakref.ref(parent)

    def forward(self, x):
        return self.parent().body(x)


class Weak(Net):
    def build(self):
        self.child = Parent(self)

    def features(self, x):
        return self.child(x)


class Box:
    def __init__(self) -> None:
        self.scale = nn.Parameter(torch.ones(6))


class Boxed(Net):
    def build(self):
        self.box = Box()

    def features(self, x):
        return self.body(x) * self.box.scale


def refused(network, message, **parts):
    before = network.members()
    buffers = {name: buffer.clone() for name, buffer in network.named_buffers()}
    with pytest.raises(InputError, match=message):
        train(Method(network, TASKS, **parts), [BATCH], epochs=1, progress=False)
    assert torch.equal(network.members(), before)
    assert all(torch.equal(buffers[name], buffer) for name, buffer in network.named_buffers())


@pytest.mark.parametrize("make", [Weak, Boxed])
def test_weights_that_the_model_reaches_beside_its_own_are_refused(make):
    message = r"must follow from alpha: .* Found a parameter \[6(, 4)?\] that is not one of them"
    members = [make(), make()]  # which live on, with the weights that are found
    refused(WeightEnsemble(members), message)


class Frozen(Net):
    def features(self, x):
        return self.body(x)


@pytest.mark.parametrize("parts", [{}, {"balancer": UnitNorm()}], ids=["linear", "balanced"])
def test_a_part_that_is_trained_after_all_must_be_so_from_the_start(parts):
    members = [Frozen() for _ in range(2)]
    for member in members:
        member.body.requires_grad_(False)
        member.load_state_dict(members[0].state_dict())
    network = WeightEnsemble(members)
    train(Method(network, TASKS, **parts), [BATCH], epochs=1, progress=False)
    network.skeleton.model.body.requires_grad_(True)
    refused(network, "Found body.weight, frozen before|Found body.bias, frozen before", **parts)


class ActNorm(nn.Module):
    """Takes its weights from the first batch, past autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))
        self.register_buffer("is_set", torch.tensor(False))

    def forward(self, x):
        if self.training and not self.is_set:
            self.scale.data.copy_(1 / x.detach().std(0))
            self.is_set.fill_(True)
        return x * self.scale


class Initialised(Net):
    def build(self):
        self.norm = ActNorm()

    def features(self, x):
        return self.norm(self.body(x))


class Taught(Net):
    """Its teacher, which is not trained, follows its body."""

    def build(self):
        self.teacher = nn.Linear(4, 6).requires_grad_(False)

    def features(self, x):
        with torch.no_grad():
            self.follow()
        return self.body(x) - self.teacher(x)

    def follow(self):
        self.teacher.weight.mul_(0.9).add_(0.1 * self.body.weight)


class TaughtByData(Taught):
    def follow(self):
        self.teacher.weight.data = 0.9 * self.teacher.weight + 0.1 * self.body.weight


@pytest.mark.parametrize("make", [Initialised, Taught, TaughtByData])
def test_a_model_that_writes_its_weights_in_training_is_refused(make):
    torch.manual_seed(0)
    refused(WeightEnsemble(make(), num_members=2), "must not write into its weights")


class Assigned(Net):
    """Keeps a moving mean, which it assigns anew each time."""

    def build(self):
        self.register_buffer("mean", torch.zeros(6))

    def features(self, x):
        x = self.body(x)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return x - self.mean


class Written(Assigned):
    def features(self, x):
        x = self.body(x)
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return x - self.mean


def test_a_buffer_that_is_assigned_is_kept_as_one_that_is_written_into():
    tables, calibration = [], [(X + 3,)]
    for make in (Assigned, Written):
        torch.manual_seed(0)
        network = WeightEnsemble([make(), make()])
        train(Method(network, TASKS), [BATCH], epochs=3, progress=False)
        mean = network.skeleton.model.mean.clone()
        found = [
            evaluate(network, TASKS, [BATCH], [[0.3, 0.7]], calibration=calibration).table
            for _ in range(2)
        ]
        assert found[0].equals(found[1])
        assert torch.equal(network.skeleton.model.mean, mean)
        model = network.export([0.3, 0.7], calibration=calibration)
        assert not torch.equal(model.mean, mean)
        tables.append(found[0])
    np.testing.assert_allclose(*[table.to_numpy() for table in tables], rtol=1e-6)


def test_each_alpha_begins_with_the_assigned_buffers_of_the_training():
    network, calibration = WeightEnsemble([Assigned(), Assigned()]), [(X + 3,)]
    alphas = [[0.9, 0.1], [0.3, 0.7]]
    both = evaluate(network, TASKS, [BATCH], alphas, calibration=calibration).table
    alone = [evaluate(network, TASKS, [BATCH], a, calibration=calibration).table for a in alphas]
    np.testing.assert_array_equal(both.to_numpy(), np.vstack(alone))


class Expanded(Net):
    def build(self):
        self.register_buffer("shift", torch.tensor([1.0]).expand(6))

    def features(self, x):
        return self.body(x) + self.shift


class Graph(Net):
    def build(self):
        self.register_buffer("adjacency", torch.eye(8).to_sparse())

    def features(self, x):
        return self.adjacency @ self.body(x)


@pytest.mark.parametrize("make", [Expanded, Graph])
def test_buffers_may_be_expanded_or_sparse(make):
    network = WeightEnsemble([make(), make()])
    train(Method(network, TASKS), [BATCH], epochs=1, progress=False)
    kind, _ = network.export([0.5, 0.5])(X)
    torch.testing.assert_close(network.predict(X, [0.5, 0.5])[0], kind)
