"""The 38 mistakes that were tried with `fit`, and what it says of each."""

import re
import warnings

import jaxtyping
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_core import InputError

X = torch.randn(240, 6, generator=torch.Generator().manual_seed(0))
PRICE, SOLD = X[:, 0] + X[:, 1], (X[:, 2] + X[:, 0] > 0).long()
WITH_NAN = X.clone()
WITH_NAN[3, 2] = float("nan")
TASKS = [pamal.regression("price"), pamal.classification("sold")]


class Heads(nn.Module):
    def __init__(self, outputs=(1, 2), norm=False):
        super().__init__()
        middle = [nn.BatchNorm1d(16)] if norm else []
        self.trunk = nn.Sequential(nn.Linear(6, 16), *middle, nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(16, size) for size in outputs])

    def forward(self, x):
        features = self.trunk(x)
        return tuple(head(features) for head in self.heads)


class First(Heads):
    def forward(self, x):
        return super().forward(x)[0]


class Named(Heads):
    def forward(self, x):
        return dict(zip(["cost", "sold"], super().forward(x), strict=True))


class Detached(Heads):
    def forward(self, x):
        return [output.detach() for output in super().forward(x)]


class Sigmoid(Heads):
    def __init__(self):
        super().__init__((1, 1))

    def forward(self, x):
        price, sold = super().forward(x)
        return price, sold.sigmoid()


class Softmax(Heads):
    def forward(self, x):
        price, sold = super().forward(x)
        return price, sold.softmax(1)


def houses(x=X, price=PRICE, sold=SOLD, size=60):
    return DataLoader(TensorDataset(x, price, sold), batch_size=size)


def fit(model=Heads, tasks=TASKS, loader=None, validation=None, **options):
    loader = houses() if loader is None else loader
    validation = houses() if validation is None else validation
    return pamal.fit(model, tasks, loader, validation, **{"epochs": 1, "progress": False} | options)


def sum_of_squares(output, target):
    return (output.squeeze(1) - target).square().sum()


SUM = pamal.Task(
    "price", sum_of_squares, (pamal.Metric.mean("error", sum_of_squares, maximise=False),)
)
ADAM = torch.optim.Adam([nn.Parameter(torch.zeros(1))])
MISTAKES = {
    "a name for a model": ({"model": "Heads"}, "must make a new model at each call"),
    "a list of models": ({"model": [Heads(), Heads()]}, "or be a model or a network"),
    "a class that makes a class": ({"model": lambda: Heads}, "must be of type Module"),
    "one output for two tasks": ({"model": First}, "one tensor per task"),
    "outputs by other names": ({"model": Named}, "keys price, sold. Found a dict with keys cost"),
    "outputs that are detached": ({"model": Detached}, "must have a gradient"),
    "one output for two classes": ({"model": lambda: Heads((1, 1))}, "is for a `binary`"),
    "two tasks of a name": ({"tasks": [TASKS[0], TASKS[0]]}, "a name of its own"),
    "labels that are text": ({"loader": [(X, PRICE, ["yes"] * 240)]}, "one tensor per task"),
    "a target too few": (
        {"loader": DataLoader(TensorDataset(X, PRICE), 60)},
        "Found 2 outputs and 1 targets",
    ),
    "a target too many": (
        {"loader": DataLoader(TensorDataset(X, PRICE, SOLD, SOLD), 60)},
        "Found 2 outputs and 3 targets",
    ),
    "NaN in inputs": ({"loader": houses(WITH_NAN)}, "Found 1 that are NaN.*batch 1 of `loader`"),
    "NaN in validation": ({"validation": houses(WITH_NAN)}, "batch 1 of `validation`"),
    "a loader to be read once": ({"loader": iter(houses())}, "each time that it is read"),
    "no batches": ({"loader": []}, "`loader` must yield at least one batch"),
    "no batches to judge by": ({"validation": []}, "`validation` must yield at least one batch"),
    "outputs in another order": (
        {"model": lambda: Heads((2, 1))},
        r"(?s)with the axes in its order.*A list has outputs .* in the order of the tasks",
    ),
    "classes from 1": (
        {"loader": houses(sold=SOLD + 1), "validation": houses(sold=SOLD + 1)},
        "Labels must be 0 to 1, the classes of the logits, .* Found 2",
    ),
    "a data set": ({"loader": TensorDataset(X, PRICE, SOLD)}, "Found TensorDataset"),
    "no labels of a task": (
        {"validation": houses(price=PRICE * float("nan"))},
        "labels of each task. Found none of price",
    ),
    "a loader for one task": ({"loader": {"price": houses()}}, "one for each of price, sold"),
    "no epoch": ({"epochs": 0}, "`epochs` must be a whole number >= 1"),
    "half an epoch": ({"epochs": 1.5}, "`epochs` must be a whole number >= 1"),
    "a negative rate": ({"lr": -0.1}, "`lr` must be a finite number > 0"),
    "a start without an end": ({"epochs": 2, "start": 2}, "`start` must be below `epochs`"),
    "a decay": ({"ema": 0.9}, "`averaging` is the argument of `fit`"),
    "an argument of others": ({"max_epochs": 3}, "Found `max_epochs`"),
    "an optimiser that is made": ({"optimizer": ADAM}, "must be a function that makes one"),
    "a rate beside an optimiser": ({"lr": 0.1, "optimizer": torch.optim.Adam}, "Found both"),
    "no such baseline": ({"baseline": "stl"}, "must be one of ls, soup, both"),
    "a soup without a start": ({"soup": True}, "`start` must be at least 1"),
    "a batch of one": (
        {"model": lambda: Heads(norm=True), "loader": houses(size=239)},
        "drop_last=True",
    ),
    "a sum over the batch": ({"tasks": [SUM, TASKS[1]]}, "must be a mean over the batch"),
    "no such trunk": (
        {"shared": "backbone", "balancer": pamal.UnitNorm()},
        "the model has: trunk, heads",
    ),
}
MEANT_OTHERWISE = {
    "a sigmoid": (
        {"model": Sigmoid, "tasks": [TASKS[0], pamal.binary("sold")]},
        "task sold look like probabilities.*leave out the sigmoid",
    ),
    "a softmax": ({"model": Softmax}, "task sold look like probabilities.*leave out the softmax"),
    "large numbers": (
        {"loader": houses(price=300 * PRICE), "validation": houses(price=300 * PRICE)},
        "price have a standard deviation of 4.*divide them by 4",
    ),
    "losses of unlike scale": (
        {
            "tasks": [pamal.regression("price", nn.MSELoss()), TASKS[1]],
            "loader": houses(price=6 * PRICE),
            "validation": houses(price=6 * PRICE),
        },
        "the loss of task price.*times that of sold.*UnitNorm",
    ),
}


@pytest.mark.filterwarnings("ignore:The loss of task price depends on the size")
@pytest.mark.parametrize(("given", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_before_anything_is_trained(given, said, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    steps, step = [], pamal.Method.step
    monkeypatch.setattr(pamal.Method, "step", lambda *args: steps.append(1) or step(*args))
    with pytest.raises(InputError, match=said):
        fit(**given)
    assert not steps


@pytest.mark.parametrize(("given", "said"), MEANT_OTHERWISE.values(), ids=MEANT_OTHERWISE)
def test_what_may_be_meant_otherwise_is_a_note(given, said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit(**given)
    assert any(re.search(said, note) for note in fitted.notes)


def test_they_are_thirty_eight():
    assert len(MISTAKES) + len(MEANT_OTHERWISE) == 38
