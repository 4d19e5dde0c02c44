"""What is of a whole set, of a training that goes on, or of a layer of one's own, is told apart."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pamal_core import (
    InputError,
    Metric,
    Task,
    WeightEnsemble,
    classification,
    fit,
    regression,
)
from pamal_core.checks import is_of_pairs
from pamal_core.diagnosis import of_batches
from pamal_core.judged import Judged

X = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
DATA = [(X, X[:, 0], (X[:, 1] > 0).long())]
TASKS = [regression("a"), classification("b")]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x):
        features = self.trunk(x).relu()
        return self.a(features), self.b(features)


class One(Net):
    """Has one output for both tasks."""

    def forward(self, x):
        return super().forward(x)[0]


def test_a_loss_of_two_sets_is_not_taken_for_one_of_pairs():
    """Outputs [n, 1] and targets [n]: their means are compared, not each with each."""
    target = torch.rand(40)

    def of_means(output, target):
        return (output.sigmoid().mean() - target.mean()).square()

    def of_pairs(output, target):
        return (output - target).square().mean()

    for loss, wrong in ((of_means, False), (of_pairs, True)):
        assert is_of_pairs(loss, torch.randn(40, 1), target) == wrong


def test_a_metric_that_depends_on_the_size_of_a_batch_is_told():
    output, target = torch.randn(64), (torch.rand(64) > 0.5).float()
    parts = slice(32), slice(32, None)

    def gap(output, target):
        return (output[target == 1].mean() - output[target == 0].mean()).abs()

    def sums(output, target):
        return torch.stack([part for k in (0, 1) for part in
                            (output[target == k].sum(), (target == k).sum())])  # fmt: skip

    def of_sums(total):
        return (total[2] / total[3] - total[0] / total[1]).abs()

    halves = Metric.mean("gap", gap, maximise=False)
    whole = Metric("gap", False, sums, of_sums)
    right = Metric.mean("error", lambda o, t: (o - t).square().mean(), maximise=False)
    notes = []
    for metric in (halves, whole, right):
        task = Task("fair", F.mse_loss, [metric])
        notes.append([*of_batches([Judged(task, output[k], target[k]) for k in parts])])
    assert [len(found) for found in notes] == [1, 0, 0]
    assert "Metric gap of task fair depends on the size of a batch" in notes[0][0]


def test_a_metric_of_the_one_batch_of_the_validation_is_not_told_of():
    """It is that of all examples."""

    def spread(output, target):
        return (output[target > 0].mean() - output[target <= 0].mean()).abs()

    tasks = [TASKS[0], Task("b", spread, [Metric.mean("gap", spread, maximise=False)], output="a")]

    def told(size):
        validation = [tuple(part[i : i + size] for part in DATA[0]) for i in range(0, 64, size)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = fit(One, tasks, DATA, validation, epochs=1, averaging=None, baseline=None,
                       progress=False)  # fmt: skip
        return [note for note in done.notes if note.startswith("Metric gap")]

    assert not told(64) and len(told(8)) == 1


# A rate beside a state


def test_the_rate_of_a_fit_that_goes_on_is_that_of_its_state():
    states = []
    given = {"epochs": 2, "progress": False, "averaging": None}
    fit(Net, TASKS, DATA, DATA, lr=0.01, baseline=None, **given,
        on_epoch=lambda training: states.append(training.state_dict()))  # fmt: skip
    with pytest.raises(InputError, match=r"must be that of `resume`, 0\.01.*Found 0\.5"):
        fit(Net, TASKS, DATA, DATA, lr=0.5, resume=states[0], **given)
    assert fit(Net, TASKS, DATA, DATA, resume=states[0], **given).lr == 0.01


# Statistics of a layer of one's own


class OwnNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_var", torch.ones(size))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, training=self.training)


def test_running_statistics_of_an_own_layer_are_told():
    network = WeightEnsemble([nn.Sequential(nn.Linear(4, 4), OwnNorm(4)) for _ in range(2)])
    for calibration in (None, [(X,)]):
        with pytest.warns(UserWarning, match="none of torch's.*Found '1', a OwnNorm"):
            network.export([0.5, 0.5], calibration=calibration)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network.export([0.5, 0.5], calibration="shared")
