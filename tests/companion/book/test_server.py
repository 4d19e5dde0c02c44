"""The server that the page shows, asked over loopback."""

import json
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from pamal_companion.experiments.models import SharedBottom
from pamal_core import LowRankEnsemble, Method, classification

PAGE = Path(__file__).parents[3] / "notebooks" / "from_what_you_have.ipynb"


class Net(SharedBottom):
    def __init__(self):
        super().__init__(
            nn.Sequential(nn.Linear(4, 8), nn.ReLU()), [nn.Linear(8, 3), nn.Linear(8, 2)]
        )


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The names of the server, from a module and a file as the page has them, and the address."""
    pytest.importorskip("fastapi", reason="needs the `test` extra")
    uvicorn = pytest.importorskip("uvicorn", reason="needs the `test` extra")
    cells = ["".join(cell["source"]) for cell in json.loads(PAGE.read_text("utf-8"))["cells"]]
    (code,) = re.findall(r"```python\n(.*?)```", "\n".join(cells), re.DOTALL)
    network = LowRankEnsemble(Net(), 2, rank=2, train_base=True)
    with torch.no_grad():
        for adapter in (*network.A.values(), *network.B.values()):
            adapter.normal_()
    Method(network, [classification("digit"), classification("even")])  # which names the members
    network.save(tmp_path / "network")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "model", SimpleNamespace(Net=Net))
    names = {}
    exec(code, names)
    one = uvicorn.Server(uvicorn.Config(names["app"], port=0, log_level="critical"))
    thread = threading.Thread(target=one.run)
    thread.start()
    while not one.started:
        time.sleep(0.01)
    port = one.servers[0].sockets[0].getsockname()[1]
    yield names, f"http://127.0.0.1:{port}/predict"
    one.should_exit = True
    thread.join()


def ask(address, rows, **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}?{text}", json.dumps(rows).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_each_request_is_answered_by_the_network_at_its_trade_off(server):
    names, address = server
    rows = torch.randn(50, 4)
    shares = [0.0, 0.2, 0.5, 0.9, 1.0] * 4
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda share: ask(address, rows.tolist(), digit=share), shares)]
    for share, answer in zip(shares, answers, strict=True):
        model = names["network"].export([share, 1 - share])
        expected = [output.argmax(1).tolist() for output in model(rows)]
        assert [answer["digit"], answer["even"]] == expected
    assert answers[0] != answers[4]


def test_a_trade_off_that_is_none_is_refused(server):
    with pytest.raises(urllib.error.HTTPError, match="422"):
        ask(server[1], [[0.0] * 4], digit=1.5)
