"""What a model sees of its weights in its own forward pass, and how its memory is laid out."""

import copy

import jaxtyping
import pytest
import torch
from small_problems import SharedBottom, slopes_of
from torch import nn
from torch.utils.checkpoint import checkpoint

from pamal_core import (
    Method,
    MultiForward,
    WeightEnsemble,
    classification,
    evaluate,
    regression,
    train,
)
from pamal_core.balancing import Linear, UnitNorm
from pamal_core.errors import InputError


class Curious(nn.Module):
    """Looks at itself: adds a penalty on its weights, and notes names, device and gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed = nn.Linear(4, 4).requires_grad_(False)
        self.scale = nn.Parameter(torch.ones(4))
        self.body = nn.Sequential(nn.Linear(4, 5), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(5, 3), nn.Linear(5, 3)])
        self.seen: dict[str, object] = {}

    def forward(self, x):
        size = sum(p.pow(2).sum() for p in self.parameters() if p.requires_grad)
        self.seen["names"] = [name for name, _ in self.named_parameters()]
        self.seen["shapes"] = [p.shape for p in self.parameters()]
        self.seen["state"] = list(self.state_dict())
        self.seen["device"] = next(self.parameters()).device
        if self.scale.requires_grad:
            self.scale.register_hook(lambda gradient: self.seen.update(gradient=gradient))
        z = self.body(self.fixed(x) * self.scale)
        return [head(z) + size for head in self.heads]


def blend(modules, alpha):
    """A plain module whose weights are interpolated by hand."""
    plain = type(modules[0])()
    plain.load_state_dict(modules[0].state_dict())
    with torch.no_grad():
        for name, p in plain.named_parameters():
            parts = [dict(m.named_parameters())[name] for m in modules]
            p.copy_(sum(a * part for a, part in zip(alpha, parts, strict=True)))
    return plain.train()


def alike(make, count=2):
    members = [make() for _ in range(count)]
    fixed = [p for p in members[0].named_parameters() if not p[1].requires_grad]
    for member in members[1:]:
        for name, value in fixed:
            member.get_parameter(name).data.copy_(value)
    return members


def test_inside_forward_a_model_sees_its_weights_as_a_plain_one_does():
    members, x = alike(Curious), torch.randn(6, 4)
    ensemble, plain = WeightEnsemble(members), blend(members, [0.3, 0.7])
    outputs = ensemble(x, [0.3, 0.7])
    for got, expected in zip(outputs, plain(x), strict=True):
        torch.testing.assert_close(got, expected)
    seen = ensemble.skeleton.model.seen
    assert {k: seen[k] for k in ("names", "shapes", "state", "device")} == plain.seen
    outputs[0].sum().backward()
    plain(x)[0].sum().backward()
    torch.testing.assert_close(seen["gradient"], plain.scale.grad)
    trained = {name for name, p in ensemble.named_parameters() if p.requires_grad}
    assert trained == {f"stacked.{name}" for name in ensemble.skeleton.places}


def test_a_pass_in_inference_mode_leaves_nothing_that_stays_as_it_is():
    ensemble, x = WeightEnsemble([nn.Linear(2, 2)]), torch.ones(1, 2)
    with torch.inference_mode():
        ensemble(x, [1.0])
    ensemble(x, [1.0]).sum().backward()


class Recomputing(SharedBottom):
    """Forgets the activations of its encoder and computes them again for the backward pass."""

    reentrant = False

    def __init__(self) -> None:
        norm = nn.BatchNorm1d(6, track_running_stats=False)
        encoder = nn.Sequential(nn.Linear(4, 6), norm, nn.Tanh(), nn.Linear(6, 5), nn.Tanh())
        super().__init__(encoder, [nn.Linear(5, 3), nn.Linear(5, 3)])

    def forward(self, x):
        z = checkpoint(self.encoder, x.requires_grad_(), use_reentrant=self.reentrant)
        return [head(z) for head in self.heads]


class Reentrant(Recomputing):
    reentrant = True


class Plain(Recomputing):
    def forward(self, x):
        return SharedBottom.forward(self, x)


@pytest.mark.parametrize("kind", [Recomputing, Reentrant])
@pytest.mark.parametrize("balancer", [Linear, UnitNorm])
@pytest.mark.parametrize("lam", [0.0, 2.0])
def test_activation_checkpointing_gives_the_gradients_of_the_plain_module(kind, balancer, lam):
    """With a penalty the graphs of all draws are kept: each recomputes with its own weights."""
    tasks, alphas = [classification("a"), classification("b")], torch.rand(3, 2)
    alphas = alphas / alphas.sum(1, keepdim=True)
    x, labels = torch.randn(16, 4), torch.randint(3, (2, 16))
    members = [Plain(), Plain()]
    gradients = []
    for other in (Plain, kind):
        copies = [other() for _ in members]
        for new, member in zip(copies, members, strict=True):
            new.load_state_dict(member.state_dict())
        ensemble = WeightEnsemble(copies, shared="encoder")
        method = Method(ensemble, tasks, balancer=balancer(), penalty=MultiForward(lam), window=3)
        method.step((x.clone(), *labels), alphas)
        gradients.append(slopes_of(ensemble))
        assert all(name.startswith("stacked.") for name, _ in ensemble.named_parameters())
    assert torch.equal(*gradients)


@pytest.mark.parametrize("kind", [Recomputing, Reentrant])
def test_a_backward_pass_that_recomputes_needs_the_weights_held(kind):
    torch.manual_seed(1)
    ensemble, plain = (WeightEnsemble(made(), num_members=2) for made in (kind, Plain))
    plain.load_state_dict(ensemble.state_dict())
    x, alpha = torch.randn(16, 4), torch.tensor([0.3, 0.7])
    with pytest.raises(InputError, match=r"by `Method.step` .*activation checkpointing"):
        sum(ensemble(x, alpha)).sum().backward()
    if kind is Reentrant:
        return  # it would go back through theta once for each part
    ensemble.zero_grad()
    theta = ensemble.theta(alpha)
    with ensemble.skeleton.holding(theta):
        sum(ensemble.skeleton(theta, x)).sum().backward()
    sum(plain(x, alpha)).sum().backward()
    assert torch.equal(slopes_of(ensemble), slopes_of(plain))


def test_weights_are_out_of_the_model_again_after_an_error():
    class Failing(nn.Linear):
        def forward(self, x):
            raise KeyError("no such thing")

    ensemble = WeightEnsemble([Failing(2, 2)])
    with pytest.raises(KeyError):
        ensemble(torch.ones(1, 2), [1.0])
    names = {"stacked.weight", "stacked.bias"}
    assert {name for name, _ in ensemble.named_parameters()} == names
    assert set(ensemble.state_dict()) == names | {"task_weights", "_extra_state"}


def test_activations_that_a_model_keeps_do_not_stop_its_export():
    class Keeping(nn.Linear):
        def forward(self, x):
            self.kept = [super().forward(x)]
            return self.kept[0]

    ensemble, x = WeightEnsemble([Keeping(2, 2), Keeping(2, 2)]), torch.randn(3, 2)
    expected = ensemble(x, [0.5, 0.5])
    torch.testing.assert_close(ensemble.export([0.5, 0.5])(x), expected)


class Viewing(nn.Module):
    """A convolution whose output is flattened by `view`, the most usual line there is."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.heads = nn.ModuleList([nn.Linear(100, 3), nn.Linear(100, 1)])

    def forward(self, x):
        x = self.conv(x).relu()
        x = x.view(len(x), -1) + self.conv.weight.view(4, -1).sum()
        return [head(x) for head in self.heads]


def test_a_model_that_calls_view_trains_evaluates_predicts_and_exports():
    ensemble, x = WeightEnsemble([Viewing(), Viewing()]), torch.randn(8, 3, 5, 5)
    tasks = [classification("kind"), regression("size")]
    batches = [(x, torch.randint(3, (8,)), torch.randn(8))] * 2
    train(Method(ensemble, tasks, penalty=MultiForward(1.0), window=2), batches, epochs=1,
          progress=False)  # fmt: skip
    front = evaluate(ensemble, tasks, batches, progress=False)
    assert front.is_finite.all()
    exported = ensemble.export([0.3, 0.7])
    for one, other in zip(ensemble.predict(x, [0.3, 0.7]), exported(x), strict=True):
        torch.testing.assert_close(one, other)
    assert all(p.is_contiguous() for p in exported.parameters())


TIED = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
TIED[1].weight = TIED[0].weight


def with_buffer():
    model = nn.Linear(2, 2)
    model.register_buffer("offset", torch.ones(3))
    return model


def compiled_in_place():
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].compile(backend="eager")
    return model


class Hiding(nn.Module):
    """Uses a weight, or changes its gradient, where `parameters()` or a copy does not find it."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.hidden = [self.layer.weight] if where == "list" else []
        if where == "gradient":
            self.layer.weight.register_hook(lambda slope: 0 * slope)

    def forward(self, x):
        out = sum(x @ weight for weight in self.hidden)
        return list((self.layer(x) + out).T)


@pytest.mark.parametrize(
    ("members", "found"),
    [
        (lambda: [torch.jit.script(nn.Linear(2, 2))], "scripted or compiled"),
        (lambda: [torch.compile(nn.Linear(2, 2))], "scripted or compiled"),
        (lambda: [compiled_in_place()], "Found a Linear at '0'"),
        (lambda: [nn.Linear(2, 2), torch.compile(nn.Linear(2, 2))], "scripted or compiled"),
        (lambda: [Hiding("gradient")], "Hooks of weights are lost"),
        (lambda: [nn.Linear(2, 2).to(torch.complex64)], "one real dtype"),
        (lambda: [nn.Linear(2, 2), with_buffer()], r"offset: missing and \[3\]"),
        (lambda: [TIED, nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))], "tied to 0.weight and"),
        (lambda: [nn.Linear(2, 2), nn.Linear(2, 2, device="meta")], "on cpu.* on meta"),
    ],
)
@pytest.mark.filterwarnings("ignore:`torch.jit", "ignore:Complex modules")
def test_modules_that_cannot_be_members_are_refused(members, found, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=found):
        WeightEnsemble(members())


def test_weights_that_do_not_follow_alpha_are_refused_before_a_step():
    ensemble = WeightEnsemble([Hiding("list"), Hiding("list")])
    method = Method(ensemble, [regression("one"), regression("two")])
    before, batch = ensemble.members(), (torch.ones(3, 2), *torch.ones(2, 3))
    with pytest.raises(InputError, match=r"must follow from alpha: .* that is not one of them"):
        train(method, [batch], epochs=1, progress=False)
    assert torch.equal(ensemble.members(), before)


def test_a_module_without_numbers_is_torchs_to_refuse():
    with pytest.raises(ValueError, match="uninitialized parameter"):
        WeightEnsemble([nn.LazyLinear(2), nn.LazyLinear(2)])


class SharingMemory(nn.Module):
    """Two layers whose weights are equal by `.data` alone."""

    def __init__(self, frozen):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)
        self.two.weight.data = self.one.weight.data
        if frozen:
            self.requires_grad_(False)
            self.own = nn.Linear(3, 3)


def test_weights_that_share_memory_are_one_parameter_or_frozen():
    said = r"must be one Parameter.*Found two that share their memory: one.weight and two.weight"
    with pytest.raises(InputError, match=said):
        WeightEnsemble([SharingMemory(frozen=False), SharingMemory(frozen=False)])
    frozen = SharingMemory(frozen=True)
    assert WeightEnsemble([frozen, copy.deepcopy(frozen)]).members().shape == (2, 3 * 3 + 3)
    tied = SharingMemory(frozen=False)
    tied.two.weight = tied.one.weight
    assert WeightEnsemble([tied, copy.deepcopy(tied)]).members().shape == (2, 3 * 3 + 2 * 3)
