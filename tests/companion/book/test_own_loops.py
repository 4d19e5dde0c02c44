"""Loops of one's own that the book shows, against the same steps in plain PyTorch."""

import importlib
import re
import warnings
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import pamal_core as pamal
from pamal_companion.experiments.models import SharedBottom
from pamal_core import Method, WeightEnsemble, classification, regression

PAGE = (Path(__file__).parents[3] / "book" / "running.md").read_text("utf-8")
CODE = {
    section.partition("\n")[0]: re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for section in PAGE.split("\n## ")
}
X = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
LOADER = DataLoader(TensorDataset(X, (X[:, 0] > 0).long(), X[:, 1]), batch_size=32)
BF16 = torch.autocast("cpu", torch.bfloat16)


class Model(SharedBottom):
    def __init__(self):
        heads = [nn.Linear(8, 2), nn.Linear(8, 1)]
        super().__init__(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), heads)

    def forward(self, x):
        return super().forward(x)


class Rows(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return {"x": X[i], "group": int(X[i, 0] > 0), "age": float(X[i, 1])}


def make_method():
    """One whose draws are always the same, in the same order."""
    torch.manual_seed(0)
    tasks = [classification("group"), regression("age")]
    method = Method(WeightEnsemble([Model(), Model()]), tasks, window=2)
    draws = cycle(np.random.default_rng(0).dirichlet([1, 1], size=(7, 2)))
    method.draw = lambda rng, progress=1.0: next(draws)
    return method


def run(section, name, tmp_path, monkeypatch):
    """The method after the code of a section, with that of the framework `name`."""
    (code,) = CODE[section]
    method = make_method()
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies; and it asks for more workers
        if name:
            try:
                importlib.import_module(name)
            except ImportError:
                pytest.skip(f"{name} is not installed: needs the `test` extra")
        names = {"torch": torch, "pamal": pamal, "method": method, "loader": LOADER, "rows": Rows()}
        exec(code, names)
    return method


def plain(context, batches, *, clip=None, schedule=None):
    method = make_method()
    optimizer = torch.optim.Adam(method.parameters(), lr=2e-3)
    for number, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * (schedule(number) if schedule else 1)
        optimizer.zero_grad()
        with context:
            method.step(batch)
        if clip:
            torch.nn.utils.clip_grad_norm_(method.parameters(), clip)
        optimizer.step()
    return method.network.members()


@pytest.mark.parametrize(
    ("section", "name", "context"),
    [
        ("A loop of your own", "", nullcontext()),
        ("In Lightning", "lightning", BF16),
        ("In Accelerate", "accelerate", BF16),
    ],
)
def test_the_example_takes_the_steps_of_a_plain_loop(section, name, context, tmp_path, monkeypatch):
    method = run(section, name, tmp_path, monkeypatch)
    assert torch.equal(method.network.members(), plain(context, [*LOADER] * 5))
    (code,) = CODE[section]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20


def test_bfloat16_is_not_the_same_as_float32(tmp_path, monkeypatch):
    method = run("bfloat16", "", tmp_path, monkeypatch)
    assert method.network.members().isfinite().all() and len(method.epoch_losses) == 5
    full, half = (plain(context, [*LOADER] * 5) for context in (nullcontext(), BF16))
    assert not torch.equal(full, half)
    torch.testing.assert_close(full, half, atol=0.02, rtol=0)


@pytest.mark.parametrize("half", [True, False])
def test_the_trainer_of_hugging_face_takes_the_steps_of_a_plain_loop(half, tmp_path, monkeypatch):
    """As it is written, and in float32: its fused optimiser rounds otherwise, which bfloat16 makes
    larger."""
    section = "In the Trainer of Hugging Face"
    (code,) = CODE[section]
    assert code.count('"bf16": True') == 1
    monkeypatch.setitem(CODE, section, [code.replace('"bf16": True', f'"bf16": {half}')])
    batches, step = [], Method.step
    monkeypatch.setattr(Method, "step", lambda self, b: batches.append(b) or step(self, b))
    method = run(section, "transformers", tmp_path, monkeypatch)
    monkeypatch.undo()
    assert len(batches) == 60 and {*batches[0]} == {"x", "group", "age"}
    context = BF16 if half else nullcontext()
    expected = plain(context, batches, clip=1.0, schedule=lambda number: 1 - number / 60)
    atol = 5e-3 if half else 1e-5
    torch.testing.assert_close(method.network.members(), expected, atol=atol, rtol=0)


def test_the_step_of_several_batches_is_that_of_the_whole_one(tmp_path, monkeypatch):
    """On batches of 32 examples, which have as many labels in each part."""
    draws = iter(np.random.default_rng(0).dirichlet([1, 1], size=(3, 2)))
    whole, parts = make_method(), make_method()
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.1)
    for batch in LOADER:
        optimizer.zero_grad()
        whole.step(batch, next(draws))
        optimizer.step()
    draws = iter(np.random.default_rng(0).dirichlet([1, 1], size=(3, 2)))
    parts.draw = lambda rng, progress=1.0: next(draws)
    (code,) = CODE["Several batches in a step"]
    optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
    exec(code, {"np": np, "loader": LOADER, "method": parts, "optimizer": optimizer})
    found, expected = parts.network.members(), whole.network.members()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert not torch.equal(found, make_method().network.members())
