"""The LightningModule that the book shows, against the same steps in plain PyTorch."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pamal_companion.experiments.models import SharedBottom
from pamal_core import Method, WeightEnsemble, classification, regression

PAGE = Path(__file__).parents[3] / "book" / "running.md"


def make_method():
    torch.manual_seed(0)
    members = [
        SharedBottom(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), [nn.Linear(8, 2), nn.Linear(8, 1)])
        for _ in range(2)
    ]
    return Method(WeightEnsemble(members), [classification("group"), regression("age")], window=2)


def test_the_example_takes_the_steps_of_a_plain_loop(tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        pytest.importorskip("lightning", reason="needs the `test` extra")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    method, plain = make_method(), make_method()
    x = torch.randn(96, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long(), x[:, 1]), batch_size=32)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks for more workers
        exec(code, {"method": method, "loader": loader})
    optimizer = torch.optim.Adam(plain.parameters(), lr=2e-3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        for batch in loader:
            optimizer.zero_grad()
            plain.step(batch, plain.draw(rng))
            optimizer.step()
    assert torch.equal(method.network.stacked, plain.network.stacked)
