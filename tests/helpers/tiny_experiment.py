"""An experiment that trains in no time: two tasks, 200 examples, BatchNorm and dropout."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from pamal_companion.data.splits import Splits
from pamal_companion.experiments.models import SharedBottom
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.options import Options
from pamal_core.classes import classification


def load(options):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 4, generator=generator)
    tensors = x, (x[:, 0] > 0).long(), (x[:, 0] + x[:, 1] > 0).long()
    parts = (
        TensorDataset(*(t[s] for t in tensors))
        for s in (slice(200), slice(200, 250), slice(250, 300))
    )
    return Splits(*parts, id="tiny/sample/1", is_sample=True, description="Tiny.")


def make_network(_options, _splits, extra):
    encoder = nn.Sequential(nn.Linear(4 + extra, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.ReLU())
    return SharedBottom(encoder, [nn.Linear(8, 2), nn.Linear(8, 2)])


def tiny():
    return Experiment(
        name="tiny",
        options=Options,
        tasks=(classification("first"), classification("second")),
        load=load,
        make_network=make_network,
        reference=(0.0, 0.0),
        defaults={"full": {"epochs": 1}, "sample": {"epochs": 2}},
    )
