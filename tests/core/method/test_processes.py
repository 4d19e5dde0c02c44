"""Several processes take their own batches and draws, and the mean of their gradients."""

import socket
from pathlib import Path

import forked
import numpy as np
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset

from pamal_core import distributed
from pamal_core.balancing import MGDA, Linear, MovingAverage, UncertaintyWeighting, UnitNorm
from pamal_core.classes import classification
from pamal_core.ensemble import WeightEnsemble
from pamal_core.method import Method
from pamal_core.penalties import MultiForward
from pamal_core.training import seed_everything, train

TASKS = [classification("first"), classification("second")]
RULES = {
    "linear": (Linear, 0.0),
    "penalty": (Linear, 5.0),
    "memory": (MovingAverage, 0.0),
    "unit norm": (UnitNorm, 5.0),
    "learned": (lambda: UncertaintyWeighting(2), 0.0),
    "gram": (MGDA, 0.0),
}
# Each process begins with weights of its own, and must train those of the first one.
TRAIN = """
import sys
import torch
from pamal_core import distributed
sys.path.insert(0, {tests!r})
from test_processes import RULES, first_step
torch.set_num_threads(1)
distributed.join()
steps = {name: first_step(name, seed=distributed.rank()) for name in RULES}
torch.save(steps, f"steps_{distributed.rank()}.pt")
"""
BROKEN = """
import sys
import torch
from pamal_core import distributed
sys.path.insert(0, {tests!r})
from test_processes import batches, make_method
from pamal_core import train
torch.set_num_threads(1)
distributed.join()
good, bad = batches()
bad = (bad[0] * torch.nan, *bad[1:])
train(make_method("linear"), [good, good, good, bad, good, good], epochs=1, progress=False)
"""


def batches():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 6, 4, generator=generator)
    return [(x, (x[:, 0] > 0).long(), (x[:, 1] > 0).long()) for x in inputs]


def net():
    encoder = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh())
    return SharedBottom(encoder, [nn.Linear(6, 2), nn.Linear(6, 2)])


def make_method(name, seed=0):
    rule, lam = RULES[name]
    torch.manual_seed(seed)
    network = WeightEnsemble([net(), net()], shared="encoder")
    return Method(network, TASKS, balancer=rule(), penalty=MultiForward(lam), window=3)


def first_step(name, seed=0):
    """The gradient of the first step, and the weights after an epoch of one step."""
    method, steps = make_method(name, seed), []
    optimizer = torch.optim.SGD(method.parameters(), lr=0.1)
    train(
        method,
        batches(),
        epochs=1,
        optimizer=optimizer,
        on_step=lambda _: steps.append([p.grad.clone() for p in method.parameters()]),
        progress=False,
    )
    weights = [value.detach() for value in method.network.state_dict().values()]
    return steps[0], weights, len(steps)


def torchrun(code, folder, number=2):
    """Run `code` in `number` processes that know of each other, as those of `torchrun` do."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    shared = {"WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = ({"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(number))
    code = code.replace("{tests!r}", repr(str(Path(__file__).parent)))
    return forked.run(code, folder, [shared | rank for rank in ranks])


def test_two_processes_take_the_mean_of_their_gradients(tmp_path, monkeypatch):
    codes, errors = torchrun(TRAIN, tmp_path)
    assert codes == [0, 0], errors
    both = [torch.load(tmp_path / f"steps_{rank}.pt") for rank in range(2)]
    for name in RULES:
        method, gradients = make_method(name), []
        for rank, batch in enumerate(batches()):
            monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
            rng = seed_everything(0, 1)
            method = make_method(name)
            method.network.train()
            method.step(batch, method.draw(rng))
            gradients.append([p.grad for p in method.parameters()])
        for k, pair in enumerate(zip(*gradients, strict=True)):
            for steps in both:
                found = steps[name][0][k]
                torch.testing.assert_close(found, sum(pair) / 2, rtol=1e-6, atol=1e-6)
        assert both[0][name][2] == 1
        for one, two in zip(both[0][name][1], both[1][name][1], strict=True):
            assert torch.equal(one, two)  # weights and running statistics


def test_a_loss_that_is_not_finite_in_one_process_ends_both(tmp_path):
    codes, errors = torchrun(BROKEN, tmp_path)
    assert codes == [1, 1], errors
    assert "NonFiniteError: Stopped, as a loss in another process is not finite" in errors[0]
    assert "epoch 1, step 2. The loss of task 1 (first) is nan at alpha=" in errors[1]


def test_each_process_has_every_so_many_th_batch(monkeypatch):
    monkeypatch.setattr(distributed, "count", lambda: 3)
    shares = []
    for rank in range(3):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        shares.append("".join(distributed.shard(list("abcdefghijk"), 1)))
    assert shares == ["adg", "beh", "cfi"]  # as many each: the others would wait


def test_a_distributed_sampler_is_told_the_epoch_and_left_to_share(monkeypatch):
    monkeypatch.setattr(distributed, "count", lambda: 2)
    data = TensorDataset(torch.arange(8))
    sampler = DistributedSampler(data, num_replicas=2, rank=1)
    loader = DataLoader(data, batch_size=2, sampler=sampler)
    epochs = [torch.cat([x for (x,) in distributed.shard(loader, n)]) for n in (1, 2)]
    assert all(len(epoch) == 4 for epoch in epochs) and not torch.equal(*epochs)
    # A share of all steps is one of this process's.
    assert distributed.length(loader) == 2 == distributed.length(DataLoader(data, batch_size=2))
    assert distributed.length(iter([])) == 0
    # The sampler may be inside that of the batches.
    inside = DataLoader(data, batch_sampler=BatchSampler(sampler, 2, drop_last=False))
    assert torch.equal(torch.cat([x for (x,) in distributed.shard(inside, 2)]), epochs[1])
    assert distributed.length(inside) == 2


@pytest.mark.parametrize("number", [2, 3, 7, 10, 13])
def test_a_buffer_that_is_alike_in_all_processes_stays_so(monkeypatch, number):
    def summed(tensor, *_):  # of equal ones, in the order in which they come
        tensor.copy_(sum([tensor.clone() for _ in range(number)], torch.zeros_like(tensor)))

    monkeypatch.setattr(distributed, "count", lambda: number)
    monkeypatch.setattr(distributed.dist, "all_reduce", summed)
    constant = torch.linspace(0, 255, 256) / 3
    whole = torch.arange(3)
    buffers = [constant.clone(), whole.clone()]
    distributed.average_buffers(buffers)
    assert torch.equal(buffers[0], constant) and torch.equal(buffers[1], whole)


def test_a_process_on_its_own_has_everything():
    assert (distributed.count(), distributed.rank()) == (1, 0)
    assert [*distributed.shard(iter("abc"), 1)] == ["a", "b", "c"]
    gradient = torch.ones(2)
    distributed.average([gradient, None])
    assert gradient.tolist() == [1, 1]


@pytest.mark.parametrize("rank", [0, 1, 5])
def test_each_process_has_draws_of_its_own_and_torchs_numbers_of_all(monkeypatch, rank):
    expected = seed_everything(3, 2).random(), torch.rand(1)
    monkeypatch.setattr(distributed, "rank", lambda: rank)
    drawn, number = seed_everything(3, 2).random(), torch.rand(1)
    assert torch.equal(number, expected[1]) and (drawn == expected[0]) == (rank == 0)
    assert 0 <= drawn < 1 and isinstance(seed_everything(0), np.random.Generator)
