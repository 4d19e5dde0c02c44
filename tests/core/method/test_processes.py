"""Two processes that average their gradients, by the lines of the page, against one process."""

import copy
import re
from pathlib import Path

import forked
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_core.balancing import MGDA, UncertaintyWeighting

PAGE = (Path(__file__).parents[3] / "book" / "recipes.md").read_text("utf-8")
SECTION = PAGE.partition("\n## Several processes\n")[2].partition("\n## ")[0]
(CODE,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
X = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
LABELS = [(X[:, 0] > 0).long(), (X[:, 1] + X[:, 2] > 0).long()]
MASKED = LABELS[0].where(X[:, 3] > 0.3, -100)
SETTINGS = {
    "linear": {},
    "several draws": {"window": 3},
    "uncertainty weighting": {"balancer": UncertaintyWeighting(2)},
    "other weights": {"seeds": (0, 1)},
    "a penalty": {"penalty": pamal.MultiForward(5.0), "window": 3},
    "unit norm": {"balancer": pamal.UnitNorm()},
    "a gradient rule": {"balancer": MGDA()},
    "BatchNorm": {"layer": nn.BatchNorm1d},
    "dropout": {"layer": lambda _: nn.Dropout(0.5)},
    "missing labels": {"labels": [MASKED, LABELS[1]]},
    "gradients that are not averaged": {"averages": False},
}
SAME = {"linear", "several draws", "uncertainty weighting"}
"""Settings in which two processes are one, by the page."""
PROCESS = """
import os
import sys
import torch
sys.path.insert(0, {tests!r})
from test_processes import run_the_page
torch.set_num_threads(1)
rank = os.environ["RANK"]
torch.save(run_the_page({setting!r}, int(rank)), rank + ".pt")
"""


def make_method(layer=None, seed=0, labels=LABELS, **parts):
    torch.manual_seed(seed)
    layer = layer or (lambda _: nn.Identity())

    def net():
        encoder = nn.Sequential(nn.Linear(4, 8), layer(8), nn.Tanh())
        return SharedBottom(encoder, [nn.Linear(8, 2), nn.Linear(8, 2)])

    network = pamal.WeightEnsemble([net(), net()], shared="encoder")
    tasks = [pamal.classification("first"), pamal.classification("second")]
    return pamal.Method(network, tasks, **copy.deepcopy(parts))


def weights(method):
    return torch.cat([p.detach().flatten() for p in method.parameters()])


def run_the_page(setting, rank):
    """The weights after the code of the page, in one of the processes that `torchrun` starts."""
    given, code = dict(SETTINGS[setting]), CODE
    given["seed"] = given.pop("seeds", (0, 0))[rank]
    if not given.pop("averages", True):
        code = code.replace("optimizer.register_step_pre_hook(average_gradients)\n", "")
        assert code != CODE
    method = make_method(**given)
    data = TensorDataset(X, *given.get("labels", LABELS))
    names = {"torch": torch, "pamal": pamal, "DataLoader": DataLoader}
    exec(code, names | {"method": method, "data": data})
    torch.distributed.destroy_process_group()
    return weights(method)


class Shuffled:
    """Whole batches of 32, in the order of a `DistributedSampler`: a permutation by the epoch."""

    def __init__(self, labels):
        self.data, self.epoch = (X, *labels), 0

    def __len__(self):
        return 3

    def __iter__(self):
        order = torch.randperm(96, generator=torch.Generator().manual_seed(self.epoch))
        self.epoch += 1
        for rows in order.split(32):
            yield tuple(part[rows] for part in self.data)


def in_one_process(setting):
    given = dict(SETTINGS[setting])
    for name in ("averages", "seeds"):
        given.pop(name, None)
    method = make_method(**given)
    before, optimizer = weights(method), torch.optim.Adam(method.parameters(), lr=2e-3)
    loader = Shuffled(given.get("labels", LABELS))
    pamal.train(method, loader, epochs=5, optimizer=optimizer, progress=False)
    assert (weights(method) - before).abs().max() > 0.01
    return weights(method)


@pytest.mark.parametrize("setting", SETTINGS)
def test_two_processes_by_the_page_are_one_in_the_settings_that_it_names(setting, tmp_path):
    code = PROCESS.format(setting=setting, tests=str(Path(__file__).parent))
    codes, errors = forked.run(code, tmp_path, forked.ranks())
    assert codes == [0, 0], errors
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    expected = in_one_process(setting)
    if setting in SAME:
        torch.testing.assert_close(first, expected, rtol=0, atol=1e-6)
        assert torch.equal(first, second)
    else:
        assert (first - expected).abs().max() > 1e-4


def test_the_page_shows_what_is_run():
    lines = [line for line in CODE.splitlines() if line.strip()]
    assert len(lines) <= 20 and "\ndef average_gradients" in CODE
