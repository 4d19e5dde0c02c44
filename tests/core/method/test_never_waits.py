"""A step that does not wait for a GPU, on a CPU: what runs is the same but for the device."""

import copy

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_leaves

from pamal_companion.rivals.cosmos import Cosine
from pamal_core import training as loop
from pamal_core.balancing import (
    DynamicWeightAverage,
    Linear,
    MovingAverage,
    RandomWeighting,
    UnitNorm,
)
from pamal_core.method import NonFiniteError
from pamal_core.optimizers import parameter_groups
from pamal_core.penalties import MultiForward
from pamal_core.training import train

WAITS = "aten::_local_scalar_dense"


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    monkeypatch.setattr(loop, "SKIPPING", {"cpu"})


@pytest.fixture
def make_method(make_plain_method):
    def make(balancer=None, penalty=None, window=3):
        parts = {"balancer": balancer or Linear(), "penalty": penalty or MultiForward()}
        return make_plain_method(window=window, **parts)

    return make


def fused_adam(trained):
    return torch.optim.Adam(trained, lr=0.01, fused=True)


def fused_sgd(trained):
    return torch.optim.SGD(trained, lr=0.01, momentum=0.9, fused=True)


def waits(method, batch, optimizer, **arguments):
    """How often the second and third step of a training ask the device for a number."""
    recorded = profile(activities=[ProfilerActivity.CPU], acc_events=True)

    def record(training):
        if training.step == 1:
            recorded.start()
        elif training.step == 3:
            recorded.stop()

    loader = [batch] * 4
    train(
        method, loader, epochs=1, optimizer=optimizer, on_step=record, progress=False, **arguments
    )
    return sum(event.name == WAITS and not _of_adam(event) for event in recorded.events())


def _of_adam(event):
    """Whether it is the kernel of a CPU, which reads the number of the step: that of CUDA does so
    on the device."""
    while event is not None and event.name != "aten::_fused_adam_":
        event = event.cpu_parent
    return event is not None


@pytest.mark.parametrize(
    ("balancer", "penalty"),
    [
        (Linear, MultiForward()),
        (Linear, MultiForward(0.5)),
        (Linear, MultiForward(0.5, edges="full", skip="as_released")),
        (Linear, Cosine(1.0)),
        (MovingAverage, MultiForward()),
        (UnitNorm, MultiForward(0.5)),
        (RandomWeighting, MultiForward()),
        (DynamicWeightAverage, MultiForward()),
    ],
)
@pytest.mark.usefixtures("as_on_a_gpu")
def test_no_step_asks_for_a_number(make_method, batch, balancer, penalty):
    for make_optimizer in (fused_sgd, fused_adam):
        method = make_method(balancer(), penalty)
        optimizer = make_optimizer(method.parameters())
        assert waits(method, batch, optimizer, clip_norm=1.0) == 0


@pytest.mark.usefixtures("as_on_a_gpu")
def test_groups_by_name_do_not_wait_either(make_method, batch):
    method = make_method()
    groups = parameter_groups(method, lambda _, shape: {"lr": 0.1} if len(shape) > 1 else {})
    assert waits(method, batch, fused_sgd(groups)) == 0


def test_what_is_counted_is_there_without(make_method, batch, monkeypatch):
    """On a CPU W + 1 a step, and one a step with an optimiser that cannot leave one out."""
    method = make_method()
    assert waits(method, batch, fused_adam(method.parameters())) == 2 * (3 + 1)
    monkeypatch.setattr(loop, "SKIPPING", {"cpu"})
    method = make_method()
    assert waits(method, batch, torch.optim.SGD(method.parameters(), lr=0.1)) == 2


def test_the_numbers_are_those_of_a_training_that_waits(make_method, batch, monkeypatch):
    found = []
    for devices in (set(), {"cpu"}):
        monkeypatch.setattr(loop, "SKIPPING", devices)
        method = make_method(MovingAverage(), MultiForward(0.5))
        optimizer = fused_adam(method.parameters())
        rows = train(method, [batch] * 5, epochs=2, optimizer=optimizer, progress=False)
        found.append((rows, method.network.stacked, optimizer.state_dict()["state"]))
    assert found[0][0] == found[1][0] and torch.equal(found[0][1], found[1][1])
    torch.testing.assert_close(found[0][2], found[1][2], rtol=0, atol=0)


OPTIMIZERS = {
    "Adam": (torch.optim.Adam, {}),
    "AdamW": (torch.optim.AdamW, {"weight_decay": 0.1}),
    "SGD": (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1}),
}


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.usefixtures("as_on_a_gpu")
def test_a_step_that_is_not_finite_touches_nothing(make_method, batch, name, by_name):
    """Neither weights nor moments; the step after it is as if it had not been."""
    kind, own = OPTIMIZERS[name]
    broken = (batch[0], batch[1].clone().fill_(torch.inf), batch[2])
    method, states = make_method(), []
    trained = parameter_groups(method, lambda *_: {}) if by_name else method.parameters()
    optimizer = kind(trained, lr=0.01, fused=True, **own)

    def keep(training):
        parts = [method.network.state_dict(), optimizer.state_dict()["state"]]
        states.append(copy.deepcopy(parts))

    with pytest.raises(NonFiniteError) as caught:
        loader = [batch, batch, broken, broken, batch]
        train(method, loader, epochs=1, optimizer=optimizer, on_step=keep, progress=False)
    text = str(caught.value)
    assert text.startswith(
        "Stopped in epoch 1, step 3. The loss of task 1 (height) is inf at alpha=["
    )
    assert text.endswith("left the weights as they were: 3, 4.")
    torch.testing.assert_close(states[3], states[1], rtol=0, atol=0)
    assert not torch.equal(states[4][0]["stacked"], states[3][0]["stacked"])
    assert all(value.isfinite().all() for value in tree_leaves(states[4]))
    assert not hasattr(optimizer, "found_inf")


@pytest.mark.usefixtures("as_on_a_gpu")
def test_a_gradient_that_overflows_is_named_as_such(make_method, batch):
    method, calls = make_method(window=1), []

    def overflow(gradient):
        calls.append(1)
        return gradient * (torch.inf if len(calls) == 2 else 1)

    method.network.stacked.register_hook(overflow)
    optimizer = fused_adam(method.parameters())
    with pytest.raises(NonFiniteError, match=r"step 2\. All losses are finite but .* were: 2\.$"):
        train(method, [batch] * 3, epochs=1, optimizer=optimizer, progress=False)
    assert method.network.stacked.isfinite().all()


@pytest.mark.usefixtures("as_on_a_gpu")
def test_the_device_is_asked_every_so_many_steps(make_method, batch, monkeypatch):
    monkeypatch.setattr(loop, "READ_EVERY", 4)
    method, steps = make_method(), []
    broken = (batch[0] * torch.nan, *batch[1:])
    count = lambda training: steps.append(training.step)  # noqa: E731
    optimizer = fused_adam(method.parameters())
    with pytest.raises(NonFiniteError, match=r"epoch 2, step 2\. .* were: 2\."):
        for _ in range(2):
            given = {"optimizer": optimizer, "on_step": count, "progress": False}
            train(method, Second(batch, broken), epochs=2, **given)
    assert len(steps) == 10 + 3


class Second:
    """Ten good batches in the first epoch; a bad second one in the next."""

    def __init__(self, good, bad):
        self.good, self.bad, self.epoch = good, bad, 0

    def __iter__(self):
        self.epoch += 1
        yield self.good
        yield self.good if self.epoch == 1 else self.bad
        yield from [self.good] * 8


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adagrad])
def test_an_optimiser_that_cannot_leave_a_step_out_stops_at_once(make_method, batch, kind):
    method, steps = make_method(), []
    broken = (batch[0] * torch.nan, *batch[1:])
    optimizer = kind(method.parameters(), lr=0.1)
    count = lambda training: steps.append(method.network.stacked.clone())  # noqa: E731
    given = {"optimizer": optimizer, "on_step": count, "progress": False}
    with pytest.raises(NonFiniteError, match=r"epoch 1, step 3\. The loss of task 1 \(height\)"):
        train(method, [batch, batch, broken, batch], epochs=1, **given)
    assert len(steps) == 2 and torch.equal(method.network.stacked, steps[-1])
