"""Tell apart what is of a whole set, of a training that goes on, and of a layer of one's own."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pamal_core import Method, Metric, Task, WeightEnsemble, classification, fit, regression, train
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

    def of_own_pairs(output, target):
        return (output.reshape(-1, 1) - target).square().mean()

    def of_columns(output, target):
        return F.mse_loss(output[:, :1], target)

    def of_sorted(output, target):
        return (output.flatten().sort().values - target.sort().values).abs().mean()

    pairs, sets = (of_pairs, of_own_pairs, of_columns), (of_means, of_sorted)
    for loss in (*pairs, *sets):
        assert is_of_pairs(loss, torch.randn(40, 1), target) == (loss in pairs)


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


def test_a_metric_of_sums_is_not_told_of_for_its_rounding():
    """Its value for equal outputs is 0, but for rounding."""

    def sums(output, target):
        kept = [output[target == k].sigmoid() for k in (0, 1)]
        return torch.stack([part for one in kept for part in (one.sum(), one.new_tensor(len(one)))])

    def gap_of_sums(total):
        return (total[0] / total[1] - total[2] / total[3]).abs()

    task = Task("fair", F.mse_loss, [Metric("gap", False, sums, gap_of_sums)])
    target = (torch.arange(700) % 3 == 0).float()
    output = torch.full((700,), -2.7)
    judged = [Judged(task, output[k], target[k]) for k in (slice(400), slice(400, None))]
    assert [*of_batches(judged)] == []


# A rate beside a state


def test_fit_notes_that_a_state_goes_on_with_a_rate_of_its_own():
    states = []
    given = {"epochs": 2, "progress": False, "averaging": None}

    def told(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = fit(Net, TASKS, DATA, DATA, **(given | options))
        return [note for note in done.notes if "goes on with the rate" in note]

    def keep(training):
        states.append(training.state_dict())

    assert not told(lr=0.01, baseline=None, on_epoch=keep)
    (note,) = told(lr=0.5, resume=states[0])
    assert "rate of `resume`, 0.01. 0.5 is that of its start and of baselines." in note
    assert not told(lr=0.01, resume=states[0])


# Statistics of a layer of one's own


class OwnNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_var", torch.ones(size))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, training=self.training)


class Fixed(OwnNorm):
    """Never changes its statistics, as that of a frozen backbone."""

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var)


@pytest.mark.parametrize(("norm", "number"), [(OwnNorm, 1), (Fixed, 0), (nn.BatchNorm1d, 0)])
def test_running_statistics_of_an_own_layer_are_told(norm, number):
    class Normed(Net):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(4, 8), norm(8))

    method = Method(WeightEnsemble([Normed(), Normed()]), TASKS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(method, DATA, epochs=1, progress=False)
    told = [str(one.message) for one in caught if "none of torch's" in str(one.message)]
    assert len(told) == number and all("Found 'trunk.1'" in text for text in told)
