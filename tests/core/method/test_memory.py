"""A step that does not fit into memory."""

import copy

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_companion.experiments.models import SharedBottom
from pamal_core.balancing import MovingAverage, UncertaintyWeighting
from pamal_core.errors import InputError
from pamal_core.memory import is_out_of_memory, too_large
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.penalties import MultiForward
from pamal_core.tasks import regression
from pamal_core.training import train

TASKS = [regression("first"), regression("second")]


class Greedy(nn.Module):
    """An encoder on a machine with room for `room` examples: those of all graphs that are alive."""

    def __init__(self, room):
        super().__init__()
        self.layer, self.room = nn.Linear(3, 4), room

    def forward(self, x):
        held = torch.zeros(len(x))
        Greedy.alive = [ref for ref in Greedy.alive if ref() is not None]
        if sum(len(ref()) for ref in Greedy.alive) + len(x) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        import weakref

        Greedy.alive.append(weakref.ref(held))
        return Hold.apply(self.layer(x), held)


Greedy.alive = []


class Hold(torch.autograd.Function):
    """The identity; keeps `held` for as long as the graph lives."""

    @staticmethod
    def forward(ctx, x, held):
        ctx.held = held
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def stop(room, window, lam, batch_size=32):
    def member():
        return SharedBottom(Greedy(room), [nn.Linear(4, 1), nn.Linear(4, 1)])

    network = WeightEnsemble([member(), member()], shared="encoder")
    method = Method(network, TASKS, penalty=MultiForward(lam), window=window)
    data = TensorDataset(torch.randn(64, 3), torch.randn(64), torch.randn(64))
    with pytest.raises(InputError) as caught:
        train(method, batches(data, batch_size), epochs=1, progress=False)
    return str(caught.value)


def test_the_largest_half_of_the_batch_that_fits_is_named():
    text = stop(room=10, window=1, lam=0.0)
    assert text == "Out of memory with batch_size=32 and W=1. What fits: batch_size=8."


def test_with_a_penalty_fewer_draws_may_fit_too():
    """The penalty keeps the graphs of all draws: three of 32 are 96."""
    text = stop(room=70, window=3, lam=1.0)
    assert "with batch_size=32 and W=3" in text
    assert "batch_size=16; W=2; lam=0 takes no more memory than W=1" in text


def test_without_a_penalty_more_draws_take_no_more_memory():
    network_fits = torch.nn.Linear(1, 1)  # anything alive that is not a graph
    assert network_fits is not None
    method_text = stop(room=31, window=5, lam=0.0)
    assert method_text.endswith("What fits: batch_size=16.")


def states(method, optimizer, average):
    """All that a step changes, copied."""
    parts = [method.network, optimizer, method.balancer, average]
    found = [part.state_dict() for part in parts]
    gradients = [p.grad for p in method.parameters()]
    return copy.deepcopy([found, gradients, torch.random.get_rng_state()])


class MovingMean(nn.Module):
    """Keeps a moving mean, which it assigns anew each time."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return x - self.mean


@pytest.mark.parametrize("first", [True, False], ids=["first step", "second step"])
@pytest.mark.parametrize("make_balancer", [MovingAverage, lambda: UncertaintyWeighting(2)])
def test_what_is_tried_is_undone(first, make_balancer, monkeypatch):
    """Adam's moments, the running statistics, the balancer's memory, the random numbers, ..."""
    body = nn.Sequential(Greedy(40), nn.BatchNorm1d(4), MovingMean(), nn.Dropout(0.5))
    member = SharedBottom(body, [nn.Linear(4, 1), nn.Linear(4, 1)])
    network = WeightEnsemble([member], task_weights=[[0.3, 0.7]])
    method = Method(network, TASKS, balancer=make_balancer(), penalty=MultiForward(1.0), window=2)
    optimizer = torch.optim.Adam(method.parameters(), lr=0.1)
    average = AveragedModel(network)
    steps = []
    optimizer.register_step_post_hook(lambda *_: steps.append(1))

    def batch(size):
        return torch.randn(size, 3), torch.randn(size), torch.randn(size)

    def watched(*args):
        before = states(method, optimizer, average)
        error = too_large(*args)
        after = states(method, optimizer, average)
        torch.testing.assert_close(after, before, rtol=0, atol=0)
        raise TriedError(str(error))

    monkeypatch.setattr("pamal_core.training.too_large", watched)
    fits = [] if first else [batch(16)]
    with pytest.raises(TriedError, match="What fits: batch_size=16"):
        train(method, [*fits, batch(32)], epochs=1, optimizer=optimizer, average=average)
    assert len(steps) == len(fits) == int(average.n_averaged)


class TriedError(Exception):
    """The trials are over, and nothing was changed."""


def test_where_nothing_fits_the_error_says_what_the_weights_take():
    assert "Not even one example fits: the weights of 2 members" in stop(0, 1, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory. Tried to allocate 20.00 GiB",
        "MPS backend out of memory (MPS allocated: 8.00 GB)",
        "[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 80 bytes",
        "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
    ],
)
def test_the_words_of_every_device_are_known(text):
    assert is_out_of_memory(RuntimeError(text))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_other_errors_of_torch_pass_through():
    encoder = nn.Linear(5, 4)  # the data have three features
    member = SharedBottom(encoder, [nn.Linear(4, 1), nn.Linear(4, 1)])
    network = WeightEnsemble([member], task_weights=[[0.5, 0.5]], shared="encoder")
    data = TensorDataset(torch.randn(4, 3), torch.randn(4), torch.randn(4))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        train(Method(network, TASKS), batches(data, 4), epochs=1, progress=False)
