"""Several processes share the draws of a step and take the step of one."""

import json
import socket
from pathlib import Path

import forked
import numpy as np
import pytest
import torch
from torch import nn

from pamal_companion.experiments.models import SharedBottom
from pamal_core import distributed
from pamal_core.balancing import Linear, MovingAverage, UncertaintyWeighting
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.penalties import MultiForward
from pamal_core.tasks import classification

TASKS = [classification("first"), classification("second")]

STEP = """
import sys
import numpy as np, torch
from pamal_core import distributed
sys.path.insert(0, {tests!r})
from test_processes import BATCH, make_method
torch.set_num_threads(1)
distributed.join()
method = make_method(lam={lam})
losses = method.step(BATCH, np.random.default_rng(5))
distributed.average_buffers(method.network)
if distributed.is_first():
    torch.save([losses, method.network.stacked.grad, distributed.count()], {out!r})
distributed.wait()
"""

RUN = """
import sys
import torch
sys.path.insert(0, {tests!r})
from tiny_experiment import tiny
from pamal_companion.runs.run import run
from pamal_companion.runs.options import Options
torch.set_num_threads(1)
run(tiny(), Options.create(W=4, lam=1.0, epochs={epochs}, batch_size=50, device="cpu", out={out!r}))
"""


def example():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(12, 4, generator=generator)
    return inputs, (inputs[:, 0] > 0).long(), (inputs[:, 1] > 0).long()


BATCH = example()


def make_method(lam):
    def member():
        encoder = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        return SharedBottom(encoder, [nn.Linear(6, 2), nn.Linear(6, 2)])

    torch.manual_seed(1)
    network = WeightEnsemble([member(), member()], shared="encoder")
    return Method(network, TASKS, penalty=MultiForward(lam), window=4)


def torchrun(code, folder, number=2):
    """Run `code` in `number` processes that know of each other, as those of `torchrun` do."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    shared = {"WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = ({"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(number))
    return forked.run(code, folder, [shared | rank for rank in ranks])


@pytest.mark.parametrize("lam", [0.0, 5.0])
def test_two_processes_have_the_gradient_of_one(tmp_path, lam):
    out = str(tmp_path / "step.pt")
    codes, errors = torchrun(
        STEP.format(tests=str(Path(__file__).parent), lam=lam, out=out), tmp_path
    )
    assert codes == [0, 0], errors
    losses, gradient, count = torch.load(out)
    alone = make_method(lam)
    expected = alone.step(BATCH, np.random.default_rng(5))
    assert count == 2
    torch.testing.assert_close(losses, expected)
    torch.testing.assert_close(gradient, alone.network.stacked.grad)
    assert gradient.abs().sum() > 0


def test_a_run_of_two_processes_writes_one_record_and_can_be_resumed(tmp_path):
    tests, out = str(Path(__file__).parents[1]), tmp_path / "r.json"
    codes, errors = torchrun(RUN.format(tests=tests, epochs=3, out=str(out)), tmp_path)
    assert codes == [0, 0], errors
    record = json.loads(out.read_text())
    assert len(record["history"]) == 3 and not list(tmp_path.glob("*checkpoint*"))
    before = out.read_bytes()
    codes, errors = torchrun(RUN.format(tests=tests, epochs=3, out=str(out)), tmp_path)
    assert codes == [0, 0] and out.read_bytes() == before, errors


def test_draws_that_cannot_be_shared_evenly_are_refused(monkeypatch):
    monkeypatch.setattr(distributed, "count", lambda: 2)
    with pytest.raises(
        InputError, match=r"`W` must be 1, .* or a multiple .* Found W=3 and 2 processes"
    ):
        distributed.check(3, Linear())
    with pytest.raises(InputError, match=r"without a memory, .* Found MovingAverage"):
        distributed.check(4, MovingAverage())
    with pytest.raises(InputError, match=r"without a memory, .* Found UncertaintyWeighting"):
        distributed.check(4, UncertaintyWeighting(2))
    distributed.check(4, Linear())


def test_gathering_undoes_sharing(monkeypatch):
    """Without processes: the shares of three, put together in the order `gather` puts them."""
    draws = torch.arange(12.0).reshape(6, 2)
    shares = []
    for rank in range(3):
        monkeypatch.setattr(distributed, "count", lambda: 3)
        monkeypatch.setattr(distributed.dist, "get_rank", lambda rank=rank: rank)
        shares.append(distributed.mine(draws))

    def all_gather(parts, own):
        for part, share in zip(parts, shares, strict=True):
            part.copy_(share)

    monkeypatch.setattr(distributed.dist, "all_gather", all_gather)
    assert torch.equal(distributed.gather(shares[0], 6), draws)


def test_a_process_on_its_own_has_every_draw():
    draws = torch.randn(3, 2)
    assert distributed.count() == 1 and distributed.is_first()
    assert distributed.mine(draws) is draws and distributed.gather(draws, 3) is draws
