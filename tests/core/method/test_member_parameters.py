"""The weights of each member, for optimisers that treat a weight as a whole; and groups by name."""

import copy

import pytest
import torch
from small_problems import SharedBottom
from torch import nn

from pamal_core import WeightEnsemble, member_parameters
from pamal_core.balancing import UncertaintyWeighting
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.training import train


def convolutional():
    """Images [n, 1, 6, 6]; a norm, biases, weights of four, two and one axes."""
    encoder = nn.Sequential(
        *(nn.Conv2d(1, 4, 3, bias=False), nn.GroupNorm(2, 4), nn.Tanh(), nn.Conv2d(4, 3, 3)),
        *(nn.Flatten(), nn.Linear(12, 8), nn.Tanh()),
    )
    return SharedBottom(encoder, [nn.Linear(8, 1), nn.Linear(8, 3)])


BATCHES = [(torch.randn(16, 1, 6, 6), torch.randn(16), torch.randint(3, (16,))) for _ in range(5)]


def plain_matrices(named):
    """Return the weights of two axes, for Muon, and those of any other number."""
    return [w for _, w in named if w.ndim == 2], [w for _, w in named if w.ndim != 2]


def muon_and_adam(named):
    matrices, others = plain_matrices(named)
    kind = torch.optim.Muon
    return [kind(matrices, lr=0.05), torch.optim.Adam(others, lr=0.05)]


OPTIMIZERS = {
    "SGD": lambda named: [torch.optim.SGD([w for _, w in named], lr=0.05, momentum=0.9)],
    "AdamW": lambda named: [torch.optim.AdamW([w for _, w in named], lr=0.05, weight_decay=0.1)],
    "Adafactor": lambda named: [torch.optim.Adafactor([w for _, w in named], lr=0.05)],
    "Muon": muon_and_adam,
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_member_is_trained_as_a_plain_module(name, tasks):
    """Two members, each by a draw at its own corner, are two plain modules on one task each."""
    if name == "Muon" and not hasattr(torch.optim, "Muon"):
        pytest.skip("torch has Muon since 2.9")
    torch.manual_seed(0)
    plain = [convolutional().double() for _ in range(2)]
    network = WeightEnsemble(plain, shared="encoder")
    method, make = Method(network, tasks, window=2), OPTIMIZERS[name]
    ours = make(member_parameters(network))
    theirs = [make([*member.named_parameters()]) for member in plain]
    for x, *targets in BATCHES:
        method.step((x.double(), targets[0].double(), targets[1]), torch.eye(2).double())
        for optimizer in ours:
            optimizer.step()
            optimizer.zero_grad()
        network.zero_grad()
        for k, (member, task) in enumerate(zip(plain, tasks, strict=True)):
            target = targets[k].double() if k == 0 else targets[k]
            task.loss(member(x.double())[k], target).backward()
            for (
                weight
            ) in member.parameters():  # PaMaL's step has a gradient of 0 for the other head
                weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
            for optimizer in theirs[k]:
                optimizer.step()
                optimizer.zero_grad()
    for corner, member in zip(torch.eye(2), plain, strict=True):
        found = dict(network.export(corner).named_parameters())
        for weight, expected in member.named_parameters():
            torch.testing.assert_close(found[weight], expected, rtol=1e-6, atol=1e-9, msg=weight)


def two_members():
    torch.manual_seed(0)
    return WeightEnsemble([convolutional(), convolutional()], shared="encoder")


def test_names_and_shapes_are_those_of_a_list_of_the_members():
    network = two_members()
    members = nn.ModuleList([convolutional(), convolutional()])
    found = {name: tuple(weight.shape) for name, weight in member_parameters(network)}
    assert found == {name: tuple(p.shape) for name, p in members.named_parameters()}


def test_settings_by_name_are_torchs_groups_of_the_networks_own_parameters(tasks):
    """Adam's step is the same for the numbers of a weight however they are stacked."""
    found = []
    for stacked in (True, False):
        network = two_members()
        named = [*network.named_parameters()] if stacked else member_parameters(network)
        heads = [p for name, p in named if "heads" in name]
        encoder = [p for name, p in named if "heads" not in name]
        optimizer = torch.optim.Adam([{"params": heads, "lr": 0.0}, {"params": encoder}], lr=0.05)
        method = Method(network, tasks, window=2)
        train(method, BATCHES, epochs=2, optimizer=optimizer, progress=False)
        found.append(network.members())
    same, shared = found[0] == two_members().members(), network.skeleton.num_shared
    assert torch.equal(*found) and same[:, shared:].all() and not same[:, :shared].any()


def test_gradients_are_those_of_the_last_pass_however_they_were_cleared(tasks):
    network = two_members()
    method, views = Method(network, tasks), [view for _, view in member_parameters(network)]
    for clear in (network.zero_grad, lambda: None):
        clear()  # the views keep the memory that the gradient had
        method.step(BATCHES[0], torch.tensor([[0.3, 0.7]]))
        total = sum(view.grad.square().sum() for view in views)
        expected = sum(p.grad.square().sum() for p in network.stacked.parameters())
        torch.testing.assert_close(total, expected)


def test_a_tied_weight_is_there_once_a_member():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(self.one(x).tanh()).split([1, 3], -1)

    found = member_parameters(WeightEnsemble([Tied(), Tied()]))
    names = [name for name, _ in Tied().named_parameters()]
    assert [name for name, _ in found] == [f"{k}.{n}" for n in names for k in (0, 1)]


def test_weights_that_the_user_froze_since_are_left_out():
    network = two_members()
    for name, weight in network.stacked.named_parameters():
        weight.requires_grad_("heads" in name)
    assert all("heads" in name for name, _ in member_parameters(network))


def test_a_training_with_views_can_be_resumed(tasks):
    found, states = [], []
    for start, epochs in ((None, 3), (None, 2), (1, 3)):
        network = two_members()
        optimizer = torch.optim.AdamW([view for _, view in member_parameters(network)], lr=0.1)
        keep = lambda training: states.append(copy.deepcopy(training.state_dict()))  # noqa: E731
        resume = states[-1] if start else None
        given = {"optimizer": optimizer, "resume": resume, "progress": False}
        train(Method(network, tasks), BATCHES, epochs=epochs, on_epoch=keep, **given)
        found.append(network.members())
    assert torch.equal(found[0], found[2])


def test_views_of_weights_that_have_moved_since_are_refused(tasks):
    network = two_members()
    optimizer = torch.optim.Adam([view for _, view in member_parameters(network)])
    network.double()
    with pytest.raises(InputError, match=r"stacked\.encoder\.0\.weight.* missing"):
        train(Method(network, tasks), BATCHES, epochs=1, optimizer=optimizer, progress=False)


def test_views_that_lack_a_weight_are_refused(tasks):
    network = two_members()
    optimizer = torch.optim.Adam([view for _, view in member_parameters(network)][:-1])
    with pytest.raises(InputError, match=r"Found stacked.heads.1.bias missing and 0"):
        train(Method(network, tasks), BATCHES, epochs=1, optimizer=optimizer, progress=False)


def test_the_weights_of_a_balancer_are_given_beside(tasks):
    network = two_members()
    method = Method(network, tasks, balancer=UncertaintyWeighting(2))
    views = [view for _, view in member_parameters(network)]
    with pytest.raises(InputError, match="entry 0 of the balancer missing"):
        optimizer = torch.optim.Adam(views)
        train(method, BATCHES, epochs=1, optimizer=optimizer, progress=False)
    optimizer = torch.optim.Adam([*views, *method.balancer.parameters()])
    train(method, BATCHES, epochs=1, optimizer=optimizer, progress=False)
    assert method.balancer.log_variances.any()
