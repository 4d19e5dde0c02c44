"""Learning rates and weight decay by name, for an ensemble that is one matrix."""

import copy

import pytest
import torch
from small_problems import SharedBottom
from torch import nn

from pamal_core.balancing import UncertaintyWeighting
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.ensemble import WeightEnsemble
from pamal_core.optimizers import parameter_groups
from pamal_core.training import train


def convolutional():
    """Images [n, 1, 6, 6]; a norm, biases, weights of four, two and one axes."""
    encoder = nn.Sequential(
        *(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Tanh(), nn.Conv2d(4, 3, 3)),
        *(nn.Flatten(), nn.Linear(12, 8), nn.Tanh()),
    )
    return SharedBottom(encoder, [nn.Linear(8, 1), nn.Linear(8, 3)])


def settings(name, shape):
    own = {"weight_decay": 0.0} if len(shape) < 2 else {}
    return own | ({"lr": 0.01} if name.startswith("heads") else {})


BATCHES = [(torch.randn(16, 1, 6, 6), torch.randn(16), torch.randint(3, (16,))) for _ in range(5)]
OPTIMIZERS = {
    "SGD": (torch.optim.SGD, {"momentum": 0.9}),
    "Nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "Adam": (torch.optim.Adam, {}),
    "AdamW": (torch.optim.AdamW, {}),
    "fused AdamW": (torch.optim.AdamW, {"fused": True}),
    "Adafactor": (torch.optim.Adafactor, {}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_member_is_trained_as_a_plain_module_with_torchs_groups(name, tasks):
    kind, own = OPTIMIZERS[name]
    plain = convolutional().double()
    network = WeightEnsemble([plain], task_weights=[[0.5, 0.5]], shared="encoder")
    method = Method(network, tasks)
    groups = [{"params": [p], **settings(n, p.shape)} for n, p in plain.named_parameters()]
    theirs = kind(groups, lr=0.05, weight_decay=0.1, **own)
    loader = [(x.double(), y.double(), z) for x, y, z in BATCHES]
    for x, *targets in loader:
        theirs.zero_grad()
        losses = [t.loss(o, y) for t, o, y in zip(tasks, plain(x), targets, strict=True)]
        (0.5 * losses[0] + 0.5 * losses[1]).backward()
        theirs.step()
    ours = kind(parameter_groups(method, settings), lr=0.05, weight_decay=0.1, **own)
    assert len(ours.param_groups) == 4
    train(method, loader, epochs=1, optimizer=ours, progress=False)
    exported = network.export([1.0])
    for (weight, value), expected in zip(
        exported.named_parameters(), plain.parameters(), strict=True
    ):
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-9, msg=weight)


def two_members():
    torch.manual_seed(0)
    return WeightEnsemble([convolutional(), convolutional()], shared="encoder")


def test_without_settings_it_is_the_training_of_the_matrix(tasks):
    found = []
    for grouped in (True, False):
        network = two_members()
        method = Method(network, tasks, window=2)
        trained = parameter_groups(method, lambda *_: {}) if grouped else method.parameters()
        optimizer = torch.optim.Adam(trained, lr=0.01, weight_decay=0.1)
        train(method, BATCHES, epochs=2, optimizer=optimizer, clip_norm=0.5, progress=False)
        found.append(network.stacked.detach().clone())
    torch.testing.assert_close(*found, rtol=1e-6, atol=1e-7)


def test_what_has_a_rate_of_its_own_has_it_in_every_member(tasks):
    network = two_members()
    before = network.stacked.detach().clone()
    method = Method(network, tasks)
    groups = parameter_groups(method, lambda name, _: {"lr": 0.0} if "encoder" in name else {})
    train(method, BATCHES, epochs=1, optimizer=torch.optim.Adam(groups, lr=0.1), progress=False)
    same, shared = network.stacked == before, network.skeleton.num_shared
    assert same[:, :shared].all() and not same[:, shared:].any()


def test_gradients_are_those_of_the_last_pass_however_they_were_cleared(tasks):
    method = Method(two_members(), tasks)
    views = [p for group in parameter_groups(method, settings) for p in group["params"]]
    for clear in (method.network.zero_grad, lambda: None):
        clear()  # the views keep the memory that the gradient had
        method.step(BATCHES[0], torch.tensor([[0.3, 0.7]]))
        total = sum(view.grad.square().sum() for view in views)
        torch.testing.assert_close(total, method.network.stacked.grad.square().sum())


def test_a_tied_weight_is_in_one_group_once(tasks):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(self.one(x).tanh()).split([1, 3], -1)

    method, seen = Method(WeightEnsemble([Tied(), Tied()]), tasks), []
    groups = parameter_groups(method, lambda name, shape: seen.append((name, tuple(shape))) or {})
    assert sorted(seen) == sorted(
        [(name, tuple(p.shape)) for name, p in Tied().named_parameters()] * 2
    )
    assert sum(p.numel() for p in groups[0]["params"]) == method.network.stacked.numel()


def test_the_weights_of_a_balancer_are_a_group_without_settings(tasks):
    method = Method(two_members(), tasks, balancer=UncertaintyWeighting(2))
    groups = parameter_groups(method, lambda name, _: {"lr": 0.5})
    assert groups[-1] == {"params": [method.balancer.log_variances]}


def test_a_training_with_groups_can_be_resumed(tasks):
    found, states = [], []
    for start, epochs in ((None, 3), (None, 2), (1, 3)):
        network = two_members()
        method = Method(network, tasks)
        optimizer = torch.optim.AdamW(parameter_groups(method, settings), lr=0.1)
        keep = lambda training: states.append(copy.deepcopy(training.state_dict()))  # noqa: E731
        resume = states[-1] if start else None
        given = {"optimizer": optimizer, "resume": resume, "progress": False}
        train(method, BATCHES, epochs=epochs, on_epoch=keep, **given)
        found.append(network.stacked.detach().clone())
    assert torch.equal(found[0], found[2])


def test_groups_of_weights_that_have_moved_since_are_refused(tasks):
    network = two_members()
    method = Method(network, tasks)
    optimizer = torch.optim.Adam(parameter_groups(method, settings))
    network.double()
    with pytest.raises(InputError, match="Found stacked missing"):
        train(method, BATCHES, epochs=1, optimizer=optimizer, progress=False)


def test_groups_that_lack_a_weight_are_refused(tasks):
    network = two_members()
    method = Method(network, tasks)
    groups = parameter_groups(method, settings)
    with pytest.raises(InputError, match="Found stacked missing and 0"):
        optimizer = torch.optim.Adam(groups[:-1])
        train(method, BATCHES, epochs=1, optimizer=optimizer, progress=False)
