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

from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_companion.experiments.models import SharedBottom
from pamal_core import Method, classification

PAGE = Path(__file__).parents[3] / "notebooks" / "from_what_you_have.ipynb"


class Net(SharedBottom):
    def __init__(self):
        super().__init__(
            nn.Sequential(nn.Linear(64, 8), nn.ReLU()), [nn.Linear(8, 3), nn.Linear(8, 2)]
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The names of the server, from a module and a file as the page has them, and the address. One
    for all tests: to end it takes a fifth of a second."""
    pytest.importorskip("fastapi", reason="needs the `test` extra")
    uvicorn = pytest.importorskip("uvicorn", reason="needs the `test` extra")
    cells = ["".join(cell["source"]) for cell in json.loads(PAGE.read_text("utf-8"))["cells"]]
    blocks = re.findall(r"```python\n(.*?)```", "\n".join(cells), re.DOTALL)
    (code,) = (block for block in blocks if "FastAPI" in block)
    (cache,) = (block for block in blocks if "lru_cache" in block)
    assert len(cache.splitlines()) == 6
    folder = tmp_path_factory.mktemp("server")
    torch.manual_seed(0)
    network = LowRankEnsemble(Net(), 2, rank=2, train_base=True)
    with torch.no_grad():
        for adapter in network.adapters.parameters():
            adapter.normal_()
    Method(network, [classification("digit"), classification("even")])  # which names the members
    torch.save(network.state_dict(), folder / "network.pt")
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(sys.modules, "model", SimpleNamespace(Net=Net))
        exec(code + cache, names)
    one = uvicorn.Server(uvicorn.Config(names["app"], port=0, log_level="critical"))
    thread = threading.Thread(target=one.run)
    thread.start()
    while not one.started:
        time.sleep(0.01)
    port = one.servers[0].sockets[0].getsockname()[1]
    yield names, f"http://127.0.0.1:{port}/predict"
    one.should_exit = True
    thread.join()


def ask(address, body, **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}?{text}", body, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_each_request_is_answered_by_the_network_at_its_trade_off(server):
    names, address = server
    rows = torch.randn(50, 64)
    body = json.dumps(rows.tolist()).encode()
    shares = [0.0, 0.2, 0.5, 0.9, 1.0] * 4
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda share: ask(address, body, digit=share), shares)]
    for share, answer in zip(shares, answers, strict=True):
        model = names["network"].export([share, 1 - share])
        expected = [output.argmax(1).tolist() for output in model(rows)]
        assert [answer["digit"], answer["even"]] == expected
    assert answers[0] != answers[4]


@pytest.mark.parametrize("shares", [[0.0, 0.25, 1.0], [0.5], [0.1, 0.2, 0.1, 0.2, 0.1]])
def test_a_module_that_is_kept_answers_as_predict_does_and_is_made_once(server, shares):
    names, _ = server
    rows, model_at = torch.randn(20, 64), names["model_at"]
    model_at.cache_clear()
    for share in shares:
        with torch.inference_mode():
            kept = model_at(share)(rows)
        for ours, theirs in zip(
            kept, names["network"].predict(rows, [share, 1 - share]), strict=True
        ):
            torch.testing.assert_close(ours, theirs)
    assert model_at.cache_info().misses == len({*shares})
    assert model_at.cache_info().hits == len(shares) - len({*shares})


def median_time(call):
    times = []
    for _ in range(30):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[15]


def test_a_module_that_is_kept_answers_faster_than_predict(server):
    names, _ = server
    row, model_at = torch.randn(1, 64), names["model_at"]
    with torch.inference_mode():
        model_at(0.2)
        kept = median_time(lambda: model_at(0.2)(row))
    assert 3 * kept < median_time(lambda: names["network"].predict(row, [0.2, 0.8]))


ROW = [0.0] * 64


@pytest.mark.parametrize("digit", [1.5, -0.1, "nan", "inf", "half", ""])
def test_a_trade_off_that_is_none_is_refused(server, digit):
    with pytest.raises(urllib.error.HTTPError, match="422"):
        ask(server[1], json.dumps([ROW]).encode(), digit=digit)


ROWS = [
    *([], [[]], ROW, [ROW[1:]], [[*ROW, 0.0]], [ROW, ROW[1:]], [[ROW]], {"rows": [ROW]}, None),
    *([[float("nan"), *ROW[1:]]], [[float("-inf"), *ROW[1:]]], [[1e39, *ROW[1:]]]),
    *([[None, *ROW[1:]]], [["a", *ROW[1:]]], [[10**400, *ROW[1:]]]),
]
BODIES = [json.dumps(rows).encode() for rows in ROWS]
BODIES += [b"", b"[", b"\xff", b"[" * 500_000, iter([b"[[0.0"])]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body)[:20])
def test_a_body_that_is_no_list_of_rows_is_refused(server, body):
    with pytest.raises(urllib.error.HTTPError, match="422"):
        ask(server[1], body)


@pytest.mark.parametrize("more", [-1, 0, 1, 1000, 1_000_000])
@pytest.mark.parametrize("is_declared", [True, False], ids=["declared", "in chunks"])
def test_a_body_above_the_limit_is_refused_and_none_below(server, more, is_declared):
    names, address = server
    body = json.dumps([ROW]).encode().ljust(names["MOST"] + more)
    given = body if is_declared else iter([body[:1000], body[1000:]])
    if more <= 0:
        assert len(ask(address, given)["digit"]) == 1
        return
    # It answers before it has read all, and closes: who still sends may see only that.
    with pytest.raises(OSError, match=r"422|reset|Broken pipe"):
        ask(address, given)
