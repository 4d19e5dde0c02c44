"""The code of the API pages that balances and trains runs as it stands there."""

import re
from pathlib import Path

import pytest
import torch
from torch.utils.data import TensorDataset

import pamal_core
from pamal_companion.data.batches import batches
from pamal_companion.experiments.models import SharedBottom

BOOK = Path(__file__).parents[3] / "book"
PAGES = "\n".join(path.read_text("utf-8") for path in sorted(BOOK.glob("api*.md")))


def code(section):
    """The Python of a section of the pages, one text."""
    text = PAGES.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


class Writer:
    def __init__(self):
        self.scalars = []

    def add_scalar(self, *scalar):
        self.scalars.append(scalar)


@pytest.fixture
def names(make_mlp, tasks, batch):
    network = pamal_core.WeightEnsemble([make_mlp(), make_mlp()], shared="encoder")
    return {
        **{"pamal": pamal_core, "torch": torch, "writer": Writer(), "network": network},
        **{"tasks": tasks, "method": pamal_core.Method(network, tasks)},
        "loader": batches(TensorDataset(*batch), 2, shuffle=True),
    }


def test_a_frozen_backbone_is_kept_once_and_exported_as_it_was(names, make_mlp, batch):
    given = names["tasks"]
    norm = torch.nn.BatchNorm1d(8)

    def make_backbone():
        return torch.nn.Sequential(make_mlp().encoder, norm)

    def make_heads():
        return SharedBottom(torch.nn.BatchNorm1d(8), [torch.nn.Linear(8, 1), torch.nn.Linear(8, 3)])

    names |= {"make_backbone": make_backbone, "make_heads": make_heads, "batch": batch}
    exec(code("The ensemble"), names)
    assert names["frozen"].num_members == len(given)
    inside = names["frozen"].skeleton.model
    assert not inside[0].train(False).training and torch.equal(norm.running_mean, torch.zeros(8))
    model, features = names["model"], names["backbone"](batch[0])
    torch.testing.assert_close(model[1].encoder.running_mean, features.mean(0))
    assert torch.equal(model[0][1].running_mean, norm.running_mean)


def test_an_aggregator_of_torchjd_is_a_balancer(names):
    exec(code("A balancer of your own"), names)
    before = names["network"].stacked.detach().clone()
    pamal_core.train(names["method"], names["loader"], epochs=1, progress=False)
    assert type(names["method"].balancer).__name__ == "Aggregated"
    assert not torch.equal(names["network"].stacked, before)


def test_groups_schedules_clipping_logs_and_early_stops(names):
    exec(code("Training"), names)
    groups, history = names["optimizer"].param_groups, names["history"]
    assert {group["weight_decay"] for group in groups} == {0.0, 0.01}
    assert all((p.ndim < 2) == (g["weight_decay"] == 0) for g in groups for p in g["params"])
    assert 4 <= len(history) < 100
    written = names["writer"].scalars
    assert [step for _, _, step in written] == [
        step for step in range(50, 16 * len(history) + 1, 50) for _ in names["tasks"]
    ]
    assert {name for name, *_ in written} == {"height/loss", "kind/loss"}
    assert all(isinstance(value, float) for _, value, _ in written)
