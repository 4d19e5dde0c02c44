"""A step that does not wait for a GPU, on a CPU: what runs is the same but for the device."""

import pytest
import torch
from waiting import fused_adam, fused_sgd, waits

from pamal_core import training as loop
from pamal_core.balancing import (
    DynamicWeightAverage,
    Linear,
    MovingAverage,
    RandomWeighting,
    UnitNorm,
)
from pamal_core.ensemble import member_parameters
from pamal_core.errors import NonFiniteError
from pamal_core.penalties import MultiForward
from pamal_core.training import train


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    monkeypatch.setattr(loop, "CHECKED_EVERY_STEP", set())


@pytest.fixture
def make_method(make_plain_method):
    def make(balancer=None, penalty=None, window=3):
        return make_plain_method(window=window, balancer=balancer or Linear(), penalty=penalty)

    return make


@pytest.mark.parametrize(
    ("balancer", "penalty"),
    [
        (Linear, None),
        (Linear, MultiForward(0.5)),
        (Linear, MultiForward(0.5, edges="full", skip="as_released")),
        (MovingAverage, None),
        (UnitNorm, MultiForward(0.5)),
        (RandomWeighting, None),
        (DynamicWeightAverage, None),
    ],
)
@pytest.mark.usefixtures("as_on_a_gpu")
def test_no_step_asks_for_a_number(make_method, batch, balancer, penalty):
    for make_optimizer in (fused_sgd, fused_adam):
        method = make_method(balancer(), penalty)
        optimizer = make_optimizer(method.parameters())
        assert waits(method, batch, optimizer) == 0


@pytest.mark.usefixtures("as_on_a_gpu")
def test_views_of_members_do_not_wait_either(make_method, batch):
    method = make_method()
    views = [view for _, view in member_parameters(method.network)]
    assert waits(method, batch, fused_sgd(views)) == 0


def test_what_is_counted_is_there_without(make_method, batch):
    """Whether the gradient of each parameter is finite, in two steps."""
    method = make_method()
    assert waits(method, batch, fused_adam(method.parameters())) == 2 * len(method.parameters())


def test_the_numbers_are_those_of_a_training_that_waits(make_method, batch, monkeypatch):
    found = []
    for devices in (set(), {"cpu"}):
        monkeypatch.setattr(loop, "CHECKED_EVERY_STEP", devices)
        method = make_method(MovingAverage(), MultiForward(0.5))
        optimizer = fused_adam(method.parameters())
        rows = train(method, [batch] * 5, epochs=2, optimizer=optimizer, progress=False)
        found.append((rows, method.network.members(), optimizer.state_dict()["state"]))
    assert found[0][0] == found[1][0] and torch.equal(found[0][1], found[1][1])
    torch.testing.assert_close(found[0][2], found[1][2], rtol=0, atol=0)


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
def test_the_losses_are_checked_every_so_many_steps(make_method, batch, monkeypatch):
    monkeypatch.setattr(loop, "CHECK_INTERVAL", 4)
    method, steps = make_method(), []
    loader = Second(batch, (batch[0] * torch.nan, *batch[1:]))
    count = lambda training: steps.append(training.step)  # noqa: E731
    with pytest.raises(NonFiniteError, match=r"epoch 2, step 2\. The loss of task 1 \(height\)"):
        train(method, loader, epochs=2, on_step=count, progress=False)
    assert len(steps) == 10 + 3


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("hook", ["on_step", "on_epoch"])
def test_a_loss_is_checked_before_a_state_is_kept(make_method, batch, hook):
    broken, states = (batch[0], batch[1].clone().fill_(torch.inf), batch[2]), []
    keep = {hook: lambda training: states.append(training.state_dict())}
    with pytest.raises(NonFiniteError, match=r"step 2\. The loss of task 1 \(height\) is inf"):
        train(make_method(), [batch, broken, batch], epochs=1, progress=False, **keep)
    assert len(states) == (hook == "on_step")
