"""The changelog's table of names that are gone: no left side runs any more, and each right one
does."""

import re
import socket
from copy import deepcopy
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
from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_core import Method, WeightEnsemble, classification, evaluate, regression, train
from pamal_core.errors import InputError

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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What the two sides of a row speak of, and the folder with the files that they read."""
    folder = tmp_path_factory.mktemp("files")
    x = torch.randn(64, 4)
    data = TensorDataset(x, (x[:, 0] > 0).long(), x[:, 1])
    loader = DataLoader(data, batch_size=16)
    members, tasks = [Net(), Net()], [classification("group"), regression("age")]
    for name, member in zip("ab", members, strict=True):
        torch.save(member.state_dict(), folder / f"{name}.pt")
        safetensors.torch.save_file(member.state_dict(), folder / f"{name}.safetensors")
    torch.save(nn.DataParallel(members[0]).state_dict(), folder / "wrapped.pt")
    network = WeightEnsemble(members, shared="trunk")
    method, hooked = Method(network, tasks), []
    train(method, loader, epochs=1, on_step=hooked.append, progress=False)
    torch.save(network.state_dict(), folder / "network.pt")
    torch.save(network.calibration, folder / "examples.pt")
    points = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    front = evaluate(network, tasks, loader, points)
    front.to_frame().to_csv(folder / "front.csv", index=False)
    (batch, *_) = loader
    return folder, {
        **{"alpha": [0.3, 0.7], "model": Net(), "members": members, "tasks": tasks, "data": data},
        **{"network": network, "method": method, "loader": loader, "validation": loader},
        **{"front": front, "batch": batch, "training": hooked[-1]},
        "other": evaluate(network, tasks, loader, points, calibration="shared"),
        "optimizer": torch.optim.Adam(method.parameters(), lr=2e-3),
        "low_rank": LowRankEnsemble(Net(), 2, rank=2),
        "rng": np.random.default_rng(0),
    }


@pytest.fixture
def names(made, monkeypatch):
    folder, objects = made
    monkeypatch.chdir(folder)
    objects = deepcopy(objects)
    objects["method"].step(objects["batch"])  # gradients, which no copy has
    return {
        **{name: getattr(pamal_core, name) for name in pamal_core.__all__},
        **{name: getattr(fronts, name) for name in fronts.__all__},
        **{"pamal_core": pamal_core, "pandas": pandas, "safetensors": safetensors, "torch": torch},
        **{"AveragedModel": AveragedModel, "DataLoader": DataLoader, "Net": Net},
        "DistributedSampler": DistributedSampler,
        **objects,
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
@pytest.mark.filterwarnings("ignore:The members do not belong together")
@pytest.mark.filterwarnings("ignore:LS. ")
@pytest.mark.filterwarnings("ignore:At no alpha")
def test_what_is_to_be_written_now_runs(row, names, alone):
    code = written(row[1])
    if "distributed" in row[0] and FIRST not in code:
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
    with pytest.raises((AttributeError, ImportError, InputError, TypeError, RuntimeError)):
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
