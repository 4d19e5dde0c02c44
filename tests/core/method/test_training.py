import copy

import pytest
import torch
from small_problems import through_a_file
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR, ReduceLROnPlateau

from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError, NonFiniteError
from pamal_core.method import Method
from pamal_core.recipe import fit
from pamal_core.training import train


def test_two_runs_of_one_seed_agree_and_another_seed_does_not(make_method, loader):
    methods = [make_method() for _ in range(3)]
    runs = [
        train(m, loader, epochs=3, seed=s, progress=False)
        for m, s in zip(methods, (0, 0, 1), strict=True)
    ]
    assert runs[0] == runs[1] != runs[2]
    assert torch.equal(methods[0].network.members(), methods[1].network.members())


def test_a_rate_that_is_reduced_on_a_plateau_follows_the_sum_of_the_losses(make_method, loader):
    method = make_method()
    optimizer = torch.optim.Adam(method.parameters(), lr=0.1)
    plateau = ReduceLROnPlateau(optimizer, patience=0, threshold=10.0, threshold_mode="abs")
    rows = train(
        method, loader, epochs=2, optimizer=optimizer, scheduler=plateau, progress=False
    )  # no loss falls by 10, so that the second epoch is a plateau
    assert plateau.best == pytest.approx(rows[0]["height/loss"] + rows[0]["kind/loss"])
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


def test_a_plateau_is_of_the_tasks_that_have_labels(make_method, batch):
    method = make_method()
    optimizer = torch.optim.Adam(method.parameters(), lr=0.01)
    plateau = ReduceLROnPlateau(optimizer, patience=0)
    loader = [(batch[0], batch[1], None)]
    rows = train(method, loader, epochs=3, optimizer=optimizer, scheduler=plateau, progress=False)
    assert plateau.best == pytest.approx(min(row["height/loss"] for row in rows))


@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("lr", [None, 0.01])
def test_the_rate_is_that_of_adam_and_a_thousandth_per_task(make_mlp, tasks, loader, members, lr):
    """Whatever the number of members: torch's Adam by hand, with the draws of the training."""
    rows = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]][:members]
    network = WeightEnsemble([make_mlp() for _ in rows], task_weights=rows)
    method, drawn = Method(network, tasks, window=2), []
    twin = copy.deepcopy(method)
    given = {} if lr is None else {"lr": lr}
    keep = lambda training: drawn.append(training.alphas)  # noqa: E731
    fixed = [*loader]
    train(method, fixed, epochs=2, on_step=keep, progress=False, **given)
    adam = torch.optim.Adam(twin.network.stacked.parameters(), lr or 1e-3 * len(tasks))
    for batch, alphas in zip(fixed * 2, drawn, strict=True):
        adam.zero_grad()
        twin.step(batch, alphas)
        adam.step()
    assert torch.equal(twin.network.members(), network.members())


def test_an_optimizer_and_a_scheduler_may_be_made_by_functions(make_method, loader):
    found, seen = [], []

    def descent(parameters):
        seen[:] = parameters
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def fall(optimizer):
        return MultiStepLR(optimizer, [1], gamma=0.5)

    for is_function in (True, False):
        method = make_method()
        method.network.register_parameter("still", torch.nn.Parameter(torch.ones(2), False))
        given = {"optimizer": descent, "scheduler": fall}
        if not is_function:
            made = descent([*method.network.stacked.parameters()])
            given = {"optimizer": made, "scheduler": fall(made)}
        rows = train(method, loader, epochs=3, progress=False, **given)
        expected = [*method.network.parameters()]  # also what is frozen, as torch's idiom has it
        if not is_function:
            expected = expected[1:]
        assert [*map(id, seen)] == [*map(id, expected)]
        found.append((rows, method.network.members()))
    assert found[0][0] == found[1][0] and torch.equal(found[0][1], found[1][1])


def test_the_hook_sees_every_epoch_and_adds_to_its_row(make_method, loader):
    def watch(training):
        training.history[-1]["number"] = len(training.history)

    rows = train(make_method(), loader, epochs=3, on_epoch=watch, progress=False)
    plain = train(make_method(), loader, epochs=3, progress=False)
    assert rows == [row | {"number": number} for number, row in enumerate(plain, start=1)]


def test_a_training_goes_on_from_the_state_in_a_file(make_method, loader, tmp_path):
    """Network, optimiser, balancer, scheduler, average and history, by one `state_dict`."""

    def make_parts():
        method = make_method()
        optimizer = torch.optim.Adam(method.parameters(), lr=0.1)
        return {
            "method": method,
            "optimizer": optimizer,
            "scheduler": MultiStepLR(optimizer, [2, 4], gamma=0.5),
            "ema": 0.9,
        }

    whole, resumed, states = make_parts(), make_parts(), []
    expected = train(loader=loader, epochs=5, progress=False, **whole)

    def keep(training):
        states.append(through_a_file(training.state_dict(), tmp_path))

    train(loader=loader, epochs=3, on_epoch=keep, progress=False, **make_parts())
    got = train(loader=loader, epochs=5, resume=states[-1], progress=False, **resumed)
    assert got == expected and len(states[-1]["history"]) == 3
    rates = [p["optimizer"].param_groups[0]["lr"] for p in (whole, resumed)]
    assert rates == [0.025, 0.025]
    assert torch.equal(whole["method"].network.members(), resumed["method"].network.members())


class ByName(nn.Module):
    """Outputs in a dict, so that tasks may be given in any order."""

    def __init__(self):
        super().__init__()
        self.height, self.kind = nn.Linear(4, 1), nn.Linear(4, 3)

    def forward(self, x):
        return {"height": self.height(x), "kind": self.kind(x)}


@pytest.mark.parametrize("by", ["resume", "load_state_dict", "fit"])
def test_the_weights_of_tasks_in_another_order_are_refused(tasks, batch, by):
    """An alpha would mean the other task, and both names would be known."""
    x, height, kind = batch
    loader, states = [(x, {"height": height, "kind": kind})], []
    keep = lambda training: states.append(training.state_dict())  # noqa: E731
    method, other = (
        Method(WeightEnsemble(ByName(), num_members=2), given) for given in (tasks, tasks[::-1])
    )
    train(method, loader, epochs=1, on_epoch=keep, progress=False)
    given = {"epochs": 2, "progress": False}
    message = "same order, kind, height: alphas mean these. Found height, kind"
    if by == "load_state_dict":
        other.network.load_state_dict(method.network.state_dict())
        message = "order of the training, height, kind: alphas mean these. Found kind, height"
    before = other.network.members()
    with pytest.raises(InputError, match=message):
        if by == "fit":
            more = {"baseline": None, "averaging": None, "resume": states[0]}
            fit(ByName, tasks[::-1], loader, loader, **given, **more)
        else:
            train(other, loader, resume=states[0] if by == "resume" else None, **given)
    assert torch.equal(other.network.members(), before)


def test_a_history_in_another_order_of_columns_is_as_good(make_method, loader):
    states, given = [], {"epochs": 2, "progress": False}

    def sort(training):
        training.history[-1] = dict(sorted(training.history[-1].items(), reverse=True))
        states.append(training.state_dict())

    expected = make_method()
    train(expected, loader, on_epoch=sort, **given)
    resumed = make_method()
    train(resumed, loader, resume=states[0], **given)
    assert torch.equal(resumed.network.members(), expected.network.members())


def test_a_gradient_that_overflows_stops_before_the_weights_are_touched(make_method, batch):
    method = make_method()
    first = next(method.network.stacked.parameters())
    first.register_hook(lambda gradient: gradient * torch.inf)
    before = method.network.members()
    with pytest.raises(NonFiniteError, match=r"epoch 1, step 1\. All losses are finite"):
        train(method, [batch], epochs=1, progress=False)
    assert torch.equal(method.network.members(), before)


def test_finite_gradients_whose_sum_overflows_are_not_refused(make_method, batch):
    method = make_method()
    for weight in method.network.stacked.parameters():
        weight.register_hook(lambda gradient: torch.full_like(gradient, 1e38))
    before = method.network.members()
    descent = torch.optim.SGD(method.parameters(), lr=1e-38)
    train(method, [batch], epochs=1, optimizer=descent, progress=False)
    torch.testing.assert_close(method.network.members(), before - 2)
