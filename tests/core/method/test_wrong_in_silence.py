"""Compare what was wrong without an error with the plain model, or with the rule itself."""

import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import dropout
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    OneCycleLR,
    SequentialLR,
)
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal

RNG = torch.Generator().manual_seed(0)
X = torch.randn(128, 4, generator=RNG)
A, B = 2 * X[:, 0], (X[:, 2] > 0).long()
LOADER = DataLoader(TensorDataset(X, A, B), 32)
TASKS = [pamal.regression("a"), pamal.classification("b")]


class Net(nn.Module):
    def __init__(self, norm=False):
        super().__init__()
        norms = [nn.BatchNorm1d(8)] if norm else []
        self.trunk = nn.Sequential(nn.Linear(4, 8), *norms, nn.ReLU())
        self.a, self.b = nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x):
        features = self.trunk(x)
        return self.a(features), self.b(features)


def fit(model=Net, loader=LOADER, **options):
    options = {"epochs": 2, "baseline": None, "progress": False} | options
    with warnings.catch_warnings():  # a note is a warning, too, and some say that it is too short
        warnings.simplefilter("ignore")
        return pamal.fit(model, TASKS, loader, LOADER, **options)


def stopped_notes(**options):
    return [note for note in fit(on_epoch=stop, **options).notes if "A hook stopped" in note]


# Weights


class Doubled(Net):
    """Calls a part of it with other weights, as MAML and weight noise do."""

    def forward(self, x):
        twice = {name: 2 * weight for name, weight in self.trunk.named_parameters()}
        features = functional_call(self.trunk, twice, (x,))
        return self.a(features), self.b(features)


def test_a_model_may_call_a_part_with_weights_of_its_own():
    members = [Doubled(), Doubled()]
    network = pamal.WeightEnsemble(members)
    for corner, member in zip(np.eye(2), members, strict=True):
        for output, expected in zip(network.predict(X, corner), member(X), strict=True):
            torch.testing.assert_close(output, expected.detach())
        torch.testing.assert_close(network.export(corner)(X)[0], member(X)[0])


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # at which the compiler looks
def test_a_compiled_model_may_call_a_part_with_weights_of_its_own():
    members = [Doubled(), Doubled()]
    network = pamal.WeightEnsemble(members)
    network.compile(backend="eager")
    for alpha in ([1.0, 0.0], [0.25, 0.75], [0.0, 1.0]):
        output, expected = network(X, alpha), network.export(alpha)(X)
        torch.testing.assert_close(output[0], expected[0])


class Masked(Net):
    """Keeps a causal mask and packed integers as frozen parameters."""

    def __init__(self):
        super().__init__()
        mask = torch.full((2, 2), float("-inf")).triu(1)
        self.mask = nn.Parameter(mask, requires_grad=False)
        packed = torch.arange(2**30, 2**30 + 5, dtype=torch.int32)
        self.packed = nn.Parameter(packed, requires_grad=False)


@pytest.mark.parametrize("averaging", [0.5, None])
def test_frozen_parameters_are_not_averaged(averaging):
    found = fit(Masked, averaging=averaging).export([0.5, 0.5])
    expected = Masked()
    assert torch.equal(found.mask, expected.mask) and torch.equal(found.packed, expected.packed)


@pytest.mark.parametrize("begins_frozen", [True, False])
def test_a_part_may_be_frozen_or_set_free_within_a_training(begins_frozen):
    """The network ends as its average was, and what was trained has moved."""
    method = pamal.Method(pamal.WeightEnsemble([Net(), Net()]), TASKS)
    part = method.network.stacked.trunk.requires_grad_(not begins_frozen)
    start = [weight.detach().clone() for weight in part.parameters()]
    ends = []

    def switch(training):
        if training.epoch == 1:
            part.requires_grad_(begins_frozen)
        ends[:] = [weight.detach().clone() for weight in training.network.parameters()]

    adam = torch.optim.Adam(method.parameters(), 1e-2)
    given = {"optimizer": adam, "on_epoch": switch, "progress": False}
    pamal.train(method, LOADER, epochs=3, ema=0.9, **given)
    for weight, end in zip(method.network.parameters(), ends, strict=True):
        assert torch.equal(weight, end)
    for weight, before in zip(part.parameters(), start, strict=True):
        assert not torch.equal(weight, before)


def test_an_average_of_trained_weights_is_still_that_of_torch():
    """Against the recursion itself, in double precision."""
    method = pamal.Method(pamal.WeightEnsemble([Net().double(), Net().double()]), TASKS)
    kept = []

    def keep(training):
        kept.append([weight.detach().clone() for weight in method.network.parameters()])

    batches = [(X.double(), A.double(), B)] * 5
    pamal.train(method, batches, epochs=1, ema=0.7, on_step=keep, progress=False)
    expected = kept[0]
    for later in kept[1:]:
        pairs = zip(expected, later, strict=True)
        expected = [0.7 * mean + 0.3 * weight for mean, weight in pairs]
    for weight, mean in zip(method.network.parameters(), expected, strict=True):
        torch.testing.assert_close(weight, mean)


def test_a_hook_that_runs_after_a_gradient_is_there_is_refused():
    def make():
        model = Net()
        model.a.weight.register_post_accumulate_grad_hook(lambda weight: None)
        return model

    with pytest.raises(pamal.InputError, match=r"Hooks of weights are lost.*Found some of a\.wei"):
        pamal.WeightEnsemble([make(), make()])


class Scaled(Net):
    def __init__(self, scale):
        super().__init__()
        self.scale = np.array([scale], np.float32)


def test_arrays_that_members_keep_are_compared():
    with pytest.warns(UserWarning, match="Members 0 and 1 have different scale"):
        pamal.WeightEnsemble([Scaled(1.0), Scaled(10.0)])
    pamal.WeightEnsemble([Scaled(1.0), Scaled(1.0)])


def test_weights_cannot_be_initialised_in_a_network():
    def initialise(part):
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)

    with pytest.raises(AttributeError, match="initialise the members before"):
        pamal.WeightEnsemble([Net(), Net()]).apply(initialise)


# A training that is stopped


def stop(training):
    training.stop = training.epoch == 2


def stop_at_once(training):
    training.stop = True


def test_baselines_make_the_passes_that_were_made(monkeypatch):
    """Count passes over a batch: of 24 a soup makes 10 + 2 * 7, as of 90 it makes 44 + 2 * 23."""
    steps = {}
    step = pamal.Method.step

    def counted(method, batch, alphas):
        steps[id(method)] = steps.get(id(method), 0) + len(alphas)
        return step(method, batch, alphas)

    monkeypatch.setattr(pamal.Method, "step", counted)
    found = fit(epochs=30, window=3, baseline="both", on_epoch=stop, averaging=None)
    assert len(found.history) == 2
    assert [*steps.values()] == [24, 24, 10, 14]


def test_a_soup_that_has_too_few_passes_is_told_and_not_trained():
    found = fit(epochs=30, baseline="soup", on_step=stop_at_once, averaging=None)
    assert not found.baselines
    assert "soup: A soup has more steps than the hook let pass. Found 1." in found.notes


def test_an_average_that_was_stopped_early_is_told():
    (note,) = stopped_notes(epochs=40)  # (1 - 1 / 16)^7
    assert "after 8 of 160 steps, so that the averaged weights are to 64 % those of the" in note
    assert not stopped_notes(epochs=4)  # (1 - 1 / 1.6)^7
    assert not stopped_notes(epochs=40, averaging=None)


# Schedules


def test_a_function_of_two_gets_how_often_the_schedule_is_stepped(monkeypatch):
    """OneCycleLR is refused unless it is stepped as often as it says."""
    steps = []

    def schedule(optimizer, number):
        steps.append(number)
        return OneCycleLR(optimizer, 2e-3, total_steps=number)

    found = fit(epochs=4, baseline="both", scheduler=schedule, scheduler_interval="step")
    assert {*found.baselines} == {"LS", "soup"}
    assert {*steps} == {4 * 4, 2 * 4, 1 * 4}  # both, the start of the soup, and its members


def cosine(adam):
    return CosineAnnealingLR(adam, 2)


def test_a_cosine_that_fits_the_network_and_not_a_baseline_is_told():
    """PaMaL makes two epochs of two passes, and LS four."""
    (note,) = (n for n in fit(window=2, baseline="ls", scheduler=cosine).notes if "Cosine" in n)
    assert note.startswith("LS: its training is longer than that of the network")
    warm = partial(SequentialLR, milestones=[1])  # of another function that makes two parts

    def both(adam):
        parts = [LinearLR(adam, 0.1, total_iters=1), CosineAnnealingLR(adam, 1)]
        return warm(adam, parts)

    assert any("LS: its training" in n for n in fit(window=2, baseline="ls", scheduler=both).notes)
    for alike in ({"baseline": "ls"}, {"baseline": None, "epochs": 4}):
        assert not any("Cosine" in note for note in fit(scheduler=cosine, **alike).notes)


def test_a_function_of_two_needs_a_loader_with_a_length():
    class NoLength:
        def __iter__(self):
            return iter(LOADER)

    given = {"scheduler": lambda adam, n: CosineAnnealingLR(adam, n), "scheduler_interval": "step"}
    with pytest.raises(pamal.InputError, match="needs a loader with a length"):
        fit(loader=NoLength(), averaging=None, **given)


def test_a_class_of_torch_is_no_function_of_two_arguments():
    """Its second argument is another one: here it would be a factor of the rate."""
    for scheduler in (ExponentialLR, partial(ExponentialLR, last_epoch=-1)):
        with pytest.raises(TypeError, match="gamma"):
            fit(scheduler=scheduler)


# Losses and tasks


def pairs(output, target):
    return (output - target).square().mean()


def total(output, target):
    return (output.flatten() - target).square().sum()


@pytest.mark.parametrize(
    ("loss", "message"), [(pairs, "compare each output with its own"), (total, "must be a mean")]
)
@pytest.mark.parametrize("trains", [False, True])
def test_a_loss_is_checked_at_its_first_target(loss, message, trains):
    right = pamal.Metric.mean("mse", lambda o, t: (o.flatten() - t).square().mean(), maximise=False)
    tasks = [pamal.Task("a", loss, [right]), TASKS[1]]
    batches = [(X, {"b": B}), (X, A, B)]
    with pytest.raises(pamal.InputError, match=message):
        if trains:
            method = pamal.Method(pamal.WeightEnsemble([Net(), Net()]), tasks)
            pamal.train(method, batches, epochs=1, progress=False)
        else:
            pamal.fit(Net, tasks, batches, LOADER, epochs=1, progress=False)


@pytest.mark.parametrize("members", [1, 3])
def test_a_front_needs_a_task_for_each_column_of_the_task_weights(members):
    network = pamal.WeightEnsemble([Net() for _ in range(members)])
    with pytest.raises(pamal.InputError, match=f"Expected {members}, found 2"):
        pamal.evaluate(network, TASKS, LOADER)


def test_an_output_of_two_tensors_is_refused():
    class Two(Net):
        def forward(self, x):
            a, b = super().forward(x)
            return (a, a.exp()), b

    with pytest.raises(pamal.InputError, match="output of task a must be a tensor; of two things"):
        fit(Two)


def test_too_few_targets_in_a_later_batch_are_told_in_a_sentence():
    method = pamal.Method(pamal.WeightEnsemble([Net(), Net()]), TASKS)
    with pytest.raises(pamal.InputError, match="Found 2 outputs and 1 targets"):
        pamal.train(method, [(X, A, B), (X, A)], epochs=1, progress=False)


# Memory and statistics


class Unrolled(nn.Module):
    """Uses one weight of four megabytes ten times."""

    def __init__(self):
        super().__init__()
        self.cell, self.a, self.b = nn.Linear(1000, 1000), nn.Linear(1000, 1), nn.Linear(1000, 2)

    def forward(self, x):
        for _ in range(10):
            x = self.cell(x)
        return self.a(x), self.b(x)


def memory():
    """Return the memory of this process, in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_autocast_casts_a_weight_once_in_a_pass_and_then_forgets_it():
    """The cache of the caller's autocast would hold two megabytes of casts of each step."""
    method = pamal.Method(pamal.WeightEnsemble([Unrolled(), Unrolled()]), TASKS)
    batch, places, sizes = (torch.randn(8, 1000), A[:8], B[:8]), set(), []

    def pack(tensor):
        if tensor.shape == (1000, 1000):
            places.add(tensor.data_ptr())
        return tensor

    with torch.autocast("cpu", torch.bfloat16):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            method.step(batch)
        assert len(places) == 1  # of ten uses
        for _ in range(40):
            method.step(batch)
            sizes.append(memory())
    assert sizes[-1] - sizes[9] < 20  # and not 60


class Scaler(nn.Module):
    """A normalisation of one's own: it keeps the largest value that training has seen."""

    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.ones(1))

    def forward(self, x):
        if self.training:
            self.largest = torch.maximum(self.largest, x.detach().abs().max())
        return x / self.largest


class Noisy(Net):
    """Has a buffer of its own, a part with one, and a dropout by function."""

    def __init__(self):
        super().__init__(norm=True)
        self.register_buffer("scale", torch.ones(4))
        self.scaler = Scaler()

    def forward(self, x):
        return super().forward(self.scaler(dropout(x * self.scale, 0.5, self.training)))


def test_a_model_with_a_buffer_draws_no_dropout_when_it_is_asked():
    network = pamal.WeightEnsemble([Noisy(), Noisy()])
    network.calibration = [(X,)]
    first, *others = (network.predict(X, [0.5, 0.5])[0] for _ in range(3))
    assert all(torch.equal(first, other) for other in others)
    exported = network.export([0.5, 0.5])
    torch.testing.assert_close(exported(X)[0], first)
    assert exported.scaler.largest == X.abs().max()  # which is estimated, as statistics are


def test_statistics_weigh_a_batch_by_its_examples():
    """Compare with the means of batches of 64, 32 and 2, weighed by their sizes."""
    network = pamal.WeightEnsemble([Net(norm=True), Net(norm=True)])
    parts = [X[:64], X[64:96], X[:2]]
    network.calibration = [(part,) for part in parts]
    found = network.export([1.0, 0.0]).trunk[1]
    features = [network.export([1.0, 0.0]).trunk[0](part) for part in parts]
    sizes = torch.tensor([len(part) for part in parts]) / sum(map(len, parts))
    means = torch.stack([one.mean(0) for one in features])
    variances = torch.stack([one.var(0) for one in features])
    torch.testing.assert_close(found.running_mean, sizes @ means)
    torch.testing.assert_close(found.running_var, sizes @ variances)


def test_the_inputs_of_every_task_are_kept_whatever_its_batches():
    loaders = {
        "a": DataLoader(TensorDataset(X, A), 64),
        "b": DataLoader(TensorDataset(X + 5, B), 8),
    }

    class Named(Net):
        def forward(self, x):
            return dict(zip("ab", super().forward(x), strict=True))

    network = pamal.WeightEnsemble([Named(norm=True), Named(norm=True)])
    pamal.train(pamal.Method(network, TASKS), loaders, epochs=1, progress=False)
    means = [float(inputs.mean()) for (inputs,) in network.calibration]
    assert min(means) < 1 and max(means) > 4
