"""The changelog's table of names that are gone: no left side runs any more, and each right one
does."""

import re
import socket
from pathlib import Path

import numpy as np
import pandas
import pytest
import safetensors.torch
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import pamal_core
import pamal_core.choose
from pamal_companion import fronts
from pamal_companion.rivals.low_rank import LowRankEnsemble

TEXT = (Path(__file__).parents[3] / "CHANGELOG.md").read_text("utf-8")
TABLE = TEXT.split("| you wrote | now write |\n| --- | --- |\n")[1].split("\n\n")[0]
ROWS = [row.strip("| ").split(" | ") for row in TABLE.splitlines()]
MEANS_SOMETHING_ELSE = {"train(method, loader, epochs=5, ema=0.1)"}  # a share became a decay
FIRST = "torch.distributed.init_process_group"


class Net(nn.Module):
    """Two tasks on a trunk with statistics."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.group, self.age = nn.Linear(8, 2), nn.Linear(8, 1)

    def forward(self, x):
        features = self.trunk(x)
        return self.group(features), self.age(features)


def written(cell):
    """The code of a cell of the table: a line for each span."""
    return "\n".join(re.findall(r"`([^`]+)`", cell))


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the two sides of a row speak of, in a folder with the files that they read."""
    monkeypatch.chdir(tmp_path)
    x = torch.randn(64, 4)
    data = TensorDataset(x, (x[:, 0] > 0).long(), x[:, 1])
    loader = DataLoader(data, batch_size=16)
    members = [Net(), Net()]
    for name, member in zip("ab", members, strict=True):
        torch.save(member.state_dict(), f"{name}.pt")
        safetensors.torch.save_file(member.state_dict(), f"{name}.safetensors")
    torch.save(nn.DataParallel(members[0]).state_dict(), "wrapped.pt")
    tasks = [pamal_core.classification("group"), pamal_core.regression("age")]
    network = pamal_core.WeightEnsemble(members, shared="trunk")
    method, hooked = pamal_core.Method(network, tasks), []
    pamal_core.train(method, loader, epochs=1, on_step=hooked.append, progress=False)
    torch.save(network.state_dict(), "network.pt")
    torch.save(network.calibration, "examples.pt")
    front = pamal_core.evaluate(network, tasks, loader, progress=False)
    front.to_frame().to_csv("front.csv", index=False)
    (batch, *_) = loader
    method.step(batch)
    return {
        **{name: getattr(pamal_core, name) for name in pamal_core.__all__},
        **{name: getattr(fronts, name) for name in fronts.__all__},
        **{"pamal_core": pamal_core, "pandas": pandas, "safetensors": safetensors, "torch": torch},
        **{"AveragedModel": AveragedModel, "DataLoader": DataLoader, "Net": Net, "data": data},
        **{"DistributedSampler": DistributedSampler, "alpha": [0.3, 0.7], "members": members},
        **{"network": network, "method": method, "tasks": tasks, "loader": loader, "front": front},
        **{"validation": loader, "batch": batch, "other": front[:5], "training": hooked[-1]},
        "model": Net(),
        "rng": np.random.default_rng(0),
        "low_rank": LowRankEnsemble(Net(), 2, rank=2),
        "optimizer": torch.optim.Adam(method.parameters(), lr=2e-3),
    }


@pytest.fixture
def alone(monkeypatch):
    """The environment of the only process of a group, which is left in the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": 0, "WORLD_SIZE": 1}
    for name, value in place.items():
        monkeypatch.setenv(name, str(value))
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`")[:60])
@pytest.mark.filterwarnings("ignore:All alphas share")
@pytest.mark.filterwarnings("ignore:LS. ")
def test_what_is_to_be_written_now_runs(row, names, alone):
    code = written(row[1])
    if "torch.distributed" in code and FIRST not in code:
        torch.distributed.init_process_group("gloo")
    exec(code, names)
    if "pre_hook" in code:
        names["optimizer"].step()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`")[:60])
def test_what_was_written_does_not_run(row, names):
    code = written(row[0])
    if code in MEANS_SOMETHING_ELSE:
        exec(code, names)
        return
    with pytest.raises((AttributeError, ImportError, TypeError, RuntimeError)):
        exec(code, names)


def test_saved_and_loaded_by_the_rows_of_the_table_it_predicts_the_same(names):
    cells = dict(ROWS)
    (save,) = [right for left, right in cells.items() if left == '`network.save("folder")`']
    (load,) = [right for left, right in cells.items() if ".load(" in left and "Ensemble" in left]
    exec(written(save), names)
    ours, inputs = names["network"], names["batch"][0]
    exec(written(load), names)
    assert names["network"] is not ours
    alpha = {"group": 0.3, "age": 0.7}
    for one, again in zip(
        ours.predict(inputs, alpha), names["network"].predict(inputs, alpha), strict=True
    ):
        assert torch.equal(one, again)


def test_an_adapted_average_is_the_one_that_a_share_of_the_steps_gave(names):
    """The decay of the row is that of a tenth of all steps."""
    (code,) = [written(right) for left, right in ROWS if written(left) in MEANS_SOMETHING_ELSE]
    (decay,) = re.findall(r"ema=(.*)\)$", code)
    assert eval(decay, names) == 1 - 1 / (0.1 * 5 * 4)
