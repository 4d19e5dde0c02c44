"""Optimisers that have a mode for training and one for evaluation, as schedule-free ones do."""

import pytest
import torch
from small_problems import batches, through_a_file

from pamal_core.training import seed_everything, train

LR, BETA = 0.05, 0.9


class ScheduleFree(torch.optim.Optimizer):
    """Schedule-free gradient descent (Defazio et al., "The road less scheduled", 2024): steps z,
    their mean x for evaluation, and y between the two for gradients."""

    def __init__(self, parameters):
        super().__init__(parameters, {"number": 0, "trains": False})

    def train(self):
        self._switch(lambda x, z: x.lerp(z, 1 - BETA), True)

    def eval(self):
        self._switch(lambda x, z: x, False)

    @torch.no_grad()
    def _switch(self, value, trains):
        for group in self.param_groups:
            group["trains"] = trains
            for y in group["params"]:
                if state := self.state[y]:
                    y.copy_(value(state["x"], state["z"]))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            assert group["trains"], "it steps in training mode only"
            group["number"] += 1
            for y in group["params"]:
                if not self.state[y]:
                    self.state[y].update(x=y.clone(), z=y.clone())
                x, z = self.state[y]["x"], self.state[y]["z"]
                z.sub_(y.grad, alpha=LR)
                x.lerp_(z, 1 / group["number"])
                y.copy_(x.lerp(z, 1 - BETA))


@pytest.fixture
def loader(batch):
    """Four batches in a new order each epoch."""
    return batches(batch, 8, shuffle=True)


def weights(method):
    return torch.cat([p.detach().flatten() for p in method.network.parameters()])


def by_hand(method, loader, epochs):
    """The weights x after each step, by the formulas on one vector."""
    y = weights(method)
    x, z, means = y, y, []
    for epoch in range(1, epochs + 1):
        rng = seed_everything(0, epoch)
        method.network.train()
        for batch in loader:
            torch.nn.utils.vector_to_parameters(y, method.network.parameters())
            method.network.zero_grad()
            method.step(batch, method.draw(rng))
            z = z - LR * torch.cat([p.grad.flatten() for p in method.network.parameters()])
            x = x + (z - x) / (len(means) + 1)
            y = BETA * x + (1 - BETA) * z
            means.append(x)
    return torch.stack(means)


def test_hooks_and_the_end_find_the_weights_for_evaluation(make_plain_method, loader):
    method, seen, modes = make_plain_method(), [], []

    def watch(training):
        seen.append(weights(training.method))
        modes.append(training.optimizer.param_groups[0]["trains"])

    given = {"optimizer": ScheduleFree, "progress": False}
    train(method, loader, epochs=3, on_step=watch, **given)
    expected = by_hand(make_plain_method(), loader, epochs=3)
    torch.testing.assert_close(torch.stack(seen), expected, rtol=1e-4, atol=1e-6)
    assert torch.equal(weights(method), seen[-1]) and modes == [False] * 12
    again = make_plain_method()
    seen.clear()
    train(again, loader, epochs=3, on_epoch=watch, **given)
    torch.testing.assert_close(torch.stack(seen), expected[3::4], rtol=1e-4, atol=1e-6)
    quiet = make_plain_method()
    train(quiet, loader, epochs=3, **given)  # hooks change nothing
    assert torch.equal(weights(quiet), weights(again))
    assert torch.equal(weights(quiet), weights(method))


def test_a_hook_that_stops_leaves_the_weights_for_evaluation(make_plain_method, loader):
    method, seen = make_plain_method(), []

    def stop(training):
        seen.append(weights(method))
        training.stop = training.step == 6

    train(method, loader, epochs=3, optimizer=ScheduleFree, on_step=stop, progress=False)
    assert len(seen) == 6 and torch.equal(weights(method), seen[-1])


def test_it_is_resumed_to_the_same_bits(make_plain_method, loader, tmp_path):
    whole, again, states = make_plain_method(), make_plain_method(), []
    keep = lambda t: states.append(through_a_file(t.state_dict(), tmp_path))  # noqa: E731
    given = {"epochs": 3, "optimizer": ScheduleFree, "progress": False}
    rows = train(whole, loader, on_epoch=keep, **given)
    assert rows == train(again, loader, resume=states[0], **given)
    assert torch.equal(weights(whole), weights(again))
