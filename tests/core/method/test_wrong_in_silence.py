"""What users do that was wrong without an error, against the plain model or the rule itself."""

import inspect
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import dropout
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_core.statistics import CalibrationCache

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


def test_baselines_make_the_passes_that_were_made(monkeypatch):
    epochs = []
    train = inspect.unwrap(pamal.train)

    def counted(method, loader, **options):
        rows = train(method, loader, **options)
        epochs.append((method.network.num_members, len(rows)))
        return rows

    monkeypatch.setattr("pamal_core.stages.train", counted)
    found = fit(epochs=30, window=3, baseline="both", on_epoch=stop, averaging=None)
    assert len(found.history) == 2
    assert epochs == [(2, 2), (1, 6), (1, 4), (2, 1)]  # PaMaL, LS, and a soup of 4 + 2 * 1 passes


def test_a_soup_that_has_too_few_passes_is_told_and_not_trained():
    found = fit(epochs=30, baseline="soup", on_epoch=stop, averaging=None)
    assert not found.baselines
    assert any("more passes than tasks. Found 2 tasks and 2 passes" in note for note in found.notes)


def test_an_average_that_was_stopped_early_is_told():
    (note,) = stopped_notes(epochs=40)  # exp(-2 / (0.1 * 40))
    assert "after 2 of 40 epochs, so that the averaged weights are to 61 % those of the" in note
    assert not stopped_notes(epochs=4)  # exp(-5)
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


def test_a_cosine_that_is_too_short_for_a_baseline_is_told():
    given = {"epochs": 2, "window": 2, "scheduler": lambda adam: CosineAnnealingLR(adam, 2)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pamal.fit(Net, TASKS, LOADER, LOADER, **given, progress=False)
    found = [str(one.message) for one in caught if "CosineAnnealingLR" in str(one.message)]
    assert len(found) == 1 and "4 times, and after 2 its rate rises again" in found[0]


def test_a_class_of_torch_is_no_function_of_two_arguments():
    """Its second argument is another one: here it would be a factor of the rate."""
    with pytest.raises(TypeError, match="gamma"):
        fit(scheduler=ExponentialLR)


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


# Memory and statistics


def test_autocast_keeps_no_casts_of_a_step():
    """The cache of the caller's autocast would hold a copy of the weights of every step."""
    method = pamal.Method(pamal.WeightEnsemble([Net(), Net()]), TASKS)
    seen = []
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.is_autocast_cache_enabled()
        hook = method.network.skeleton.model.trunk.register_forward_hook(
            lambda *_: seen.append(torch.is_autocast_cache_enabled())
        )
        method.step((X, A, B))
        hook.remove()
        assert torch.is_autocast_cache_enabled()
    assert seen == [False]


class Noisy(Net):
    """Has a buffer of its own, and a dropout by function."""

    def __init__(self):
        super().__init__(norm=True)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x):
        return super().forward(dropout(x * self.scale, 0.5, self.training))


def test_statistics_are_the_same_at_every_call_whatever_a_model_draws():
    network = pamal.WeightEnsemble([Noisy(), Noisy()])
    network.calibration = [(X,)]
    first, *others = (network.predict(X, [0.5, 0.5])[0] for _ in range(3))
    assert all(torch.equal(first, other) for other in others)
    exported = network.export([0.5, 0.5])
    torch.testing.assert_close(exported(X)[0], first)
    state = torch.random.get_rng_state()
    network.predict(X, [0.5, 0.5])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_small_last_batch_is_not_kept_for_statistics():
    cache = CalibrationCache()
    for size in (64, 64, 33, 31, 1, 32):
        cache.add(torch.ones(size, 4))
    assert [len(inputs) for (inputs,) in cache.batches] == [64, 64, 33, 32]
