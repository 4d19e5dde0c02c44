"""What a user may do to the training loop."""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import ExponentialLR, OneCycleLR

from pamal_core.balancing import (
    Balancer,
    DynamicWeightAverage,
    Linear,
    MovingAverage,
    UncertaintyWeighting,
)
from pamal_core.classes import classification
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.numbers import regression
from pamal_core.recipe import fit
from pamal_core.training import seed_everything, train


def test_the_hook_of_a_step_sees_its_losses_and_alphas(make_plain_method, loader):
    seen = []

    def watch(training):
        seen.append((training.step, training.losses, training.alphas))

    method = make_plain_method(window=3)
    rows = train(method, loader, epochs=2, on_step=watch, progress=False)
    assert [step for step, *_ in seen] == [*range(1, 9)]
    rng = seed_everything(0, 1)
    assert np.array_equal(seen[0][2], method.preference.sample(3, 2, rng))
    for epoch, row in enumerate(rows):
        losses = torch.stack([losses.mean(0) for _, losses, _ in seen[4 * epoch : 4 * epoch + 4]])
        assert losses.mean(0).tolist() == pytest.approx([row["height/loss"], row["kind/loss"]])
    assert rows == train(make_plain_method(window=3), loader, epochs=2, progress=False)


def test_a_step_brings_its_batch_to_the_device_once(make_mlp, tasks, loader):
    class There:
        def __init__(self, x):
            self.x = x

        def to(self, device, non_blocking=False):
            return self

    class Here(There):
        def to(self, device, non_blocking=False):
            moves.append(device)
            return There(self.x)

    class Reading(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = make_mlp()

        def forward(self, inputs):
            return self.model(inputs.x)

    moves, batches = [], [(Here(x), *targets) for x, *targets in loader]
    method = Method(WeightEnsemble([Reading(), Reading()]), tasks)
    train(method, batches, epochs=2, progress=False)
    assert len(moves) == 2 * len(batches)


def test_a_hook_may_stop_after_a_step_and_the_epoch_counts_so_far(make_plain_method, loader):
    losses, states, method = [], [], make_plain_method()

    def watch(training):
        losses.append(training.losses.mean(0))
        training.stop = training.step == 6

    keep = lambda training: states.append(training.state_dict())  # noqa: E731
    rows = train(method, loader, epochs=5, on_step=watch, on_epoch=keep, progress=False)
    assert len(losses) == 6 and len(rows) == len(states) == 2
    height, kind = torch.stack(losses[4:]).mean(0).tolist()
    assert rows[1] == pytest.approx({"epoch": 2, "height/loss": height, "kind/loss": kind})
    assert states[-1]["step"] == 6


def test_a_training_does_not_go_on_after_an_epoch_that_was_cut_short(make_plain_method, loader):
    """A stop at the last step of an epoch, or in `on_epoch`, cuts nothing."""
    for step, hook in ((6, "on_step"), (8, "on_step"), (8, "on_epoch")):
        states = []

        def keep(training, states=states, step=step):
            training.stop = training.stop or training.step == step
            states.append(training.state_dict())

        hooks = {hook: keep} | {"on_epoch": keep}
        train(make_plain_method(), loader, epochs=3, progress=False, **hooks)
        again = partial(train, make_plain_method(), loader, epochs=3, progress=False)
        if step == 8:
            assert len(again(resume=states[-1])) == 3
        else:
            with pytest.raises(InputError, match="stopped during epoch 2"):
                again(resume=states[-1])


def test_a_stop_by_a_numpy_bool_leaves_a_state_that_torch_loads(
    make_plain_method, loader, tmp_path
):
    def stop(training):
        training.stop = np.mean([row["height/loss"] for row in training.history]) < np.inf
        torch.save(training.state_dict(), tmp_path / "state.pt")

    train(make_plain_method(), loader, epochs=3, on_epoch=stop, progress=False)
    state = torch.load(tmp_path / "state.pt")
    assert len(train(make_plain_method(), loader, epochs=3, resume=state, progress=False)) == 3


def test_epochs_that_a_hook_ends_early_may_be_resumed(make_plain_method, loader):
    states = []

    def end(training):
        training.stop = training.step % 2 == 0

    def go_on(training):
        training.stop = False
        states.append(training.state_dict())

    hooks = {"on_step": end, "on_epoch": go_on, "progress": False}
    whole, again = make_plain_method(), make_plain_method()
    rows = train(whole, loader, epochs=3, **hooks)
    assert states[-1]["step"] == 6
    assert train(again, loader, epochs=3, resume=states[0], **hooks) == rows
    assert torch.equal(again.network.members(), whole.network.members())


def test_a_state_counts_the_steps_before_it(make_plain_method, loader):
    states, steps = [], []
    keep = lambda training: states.append(training.state_dict())  # noqa: E731
    count = lambda training: steps.append(training.step)  # noqa: E731
    train(make_plain_method(), loader, epochs=1, on_epoch=keep, progress=False)
    train(make_plain_method(), loader, epochs=2, resume=states[0], on_step=count, progress=False)
    assert steps == [5, 6, 7, 8]


def test_a_scheduler_may_take_its_step_after_each_step(make_plain_method, loader, rates):
    method = make_plain_method()
    optimizer = torch.optim.Adam(method.parameters(), lr=0.1)
    cycle = OneCycleLR(optimizer, max_lr=0.1, total_steps=8)
    given = {"optimizer": optimizer, "scheduler": cycle, "scheduler_interval": "step"}
    train(method, loader, epochs=2, progress=False, **given)
    other = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    plain, expected = OneCycleLR(other, max_lr=0.1, total_steps=8, cycle_momentum=False), []
    for _ in range(8):
        expected.append(other.param_groups[0]["lr"])
        other.step()
        plain.step()
    assert rates == pytest.approx(expected) and len(set(rates)) > 6


def test_a_hook_of_the_optimiser_scales_a_long_gradient(make_plain_method, batch):
    """A step of plain descent is then as long as that norm; a shorter gradient stays as it is."""
    moves = {}
    for norm in (math.inf, 1e-3, 1e3):
        method = make_plain_method()
        before = torch.cat([p.detach().flatten() for p in method.parameters()])
        optimizer = torch.optim.SGD(method.parameters(), lr=1.0)

        def clip(*_, method=method, norm=norm):
            clip_grad_norm_(method.parameters(), norm)

        optimizer.register_step_pre_hook(clip)
        train(method, [batch], epochs=1, optimizer=optimizer, progress=False)
        moves[norm] = torch.cat([p.detach().flatten() for p in method.parameters()]) - before
    assert torch.equal(moves[math.inf], moves[1e3])
    assert moves[1e-3].norm().item() == pytest.approx(1e-3, rel=1e-3)
    unit = moves[1e3] / moves[1e3].norm()
    torch.testing.assert_close(moves[1e-3] / moves[1e-3].norm(), unit, rtol=0, atol=1e-4)


def test_a_second_call_goes_on_where_the_first_ended(make_plain_method, loader):
    """Draws, order of the batches, optimiser, scheduler and what a balancer asks of the past."""

    def run(*calls):
        method = make_plain_method(balancer=DynamicWeightAverage(), window=2)
        optimizer = torch.optim.Adam(method.parameters(), lr=0.01)
        fall = ExponentialLR(optimizer, 0.9)
        given = {"optimizer": optimizer, "scheduler": fall, "progress": False}
        rows = [row for epochs in calls for row in train(method, loader, epochs=epochs, **given)]
        epochs = [row.pop("epoch") for row in rows]
        assert epochs == [epoch for number in calls for epoch in range(1, number + 1)]
        return rows, method.network.members()

    once, twice = run(5), run(3, 2)
    assert once[0] == twice[0] and torch.equal(once[1], twice[1])


def test_a_second_call_can_be_resumed_too(make_plain_method, loader):
    states, whole, again = [], make_plain_method(), make_plain_method()
    keep = lambda training: states.append(copy.deepcopy(training.state_dict()))  # noqa: E731
    train(whole, loader, epochs=2, progress=False)
    expected = train(whole, loader, epochs=2, on_epoch=keep, progress=False)
    assert train(again, loader, epochs=2, resume=states[0], progress=False) == expected
    assert again.epoch_losses == whole.epoch_losses and len(again.epoch_losses) == 4
    assert torch.equal(again.network.members(), whole.network.members())


def test_a_state_stays_as_it_is_and_resumes_twice(make_plain_method, loader):
    states = []
    keep = {"on_epoch": lambda training: states.append(training.state_dict()), "progress": False}
    whole = make_plain_method()
    train(whole, loader, epochs=4, **keep)
    state, ends = states[1], []
    for _ in range(2):
        again = make_plain_method()
        train(again, loader, epochs=4, resume=state, progress=False)
        ends.append(again.network.members())
    assert torch.equal(ends[0], whole.network.members()) and torch.equal(*ends)


@pytest.mark.parametrize("given", [{"ema": 0.9}, {"scheduler": lambda o: ExponentialLR(o, 0.9)}])
def test_a_state_of_other_parts_is_refused(make_plain_method, loader, given):
    states = []
    keep = {"on_epoch": lambda training: states.append(training.state_dict()), "progress": False}
    train(make_plain_method(), loader, epochs=1, **keep)
    with pytest.raises(InputError, match=r"the same parts.* Found (average|scheduler) in one"):
        train(make_plain_method(), loader, epochs=2, resume=states[0], progress=False, **given)


class Forgetful(Balancer):
    """Has a state, and nothing that continues from it."""

    def direction(self, draw):
        return draw.gradient(draw.weights @ draw.losses)

    def state_dict(self):
        return {"seen": 1}


def names(first, second):
    return [regression(first), classification(second)]


def wide():
    """A network whose encoder is wider than the one of `make_mlp`."""
    encoder = nn.Sequential(nn.Linear(4, 9), nn.Tanh())
    return SharedBottom(encoder, [nn.Linear(9, 1), nn.Linear(9, 3)])


def without(key):
    return lambda state: {name: part for name, part in state.items() if name != key}


SGD, ADAM = (lambda p: torch.optim.SGD(p, 0.1, 0.9)), torch.optim.Adam
ANOTHER = {
    "fewer epochs": ({"epochs": 1}, "no more epochs than are to be trained, 1. Found 2"),
    "tasks of other names": (
        {"tasks": names("a", "b")},
        "of the tasks a, b. Found a history of ep",
    ),
    "one other name": ({"tasks": names("height", "b")}, "of the tasks height, b. Found a history"),
    "a wider network": ({"members": [wide(), wide()]}, r"\[2, 9, 4\]. Found \[2, 8, 4\]"),
    "a third member": ({"num_members": 3}, r"with stacked.*\[3, 8, 4\]. Found \[2, 8, 4\]"),
    "SGD after Adam": ({"optimizer": SGD}, "the same optimizer. Found one without .*momentum"),
    "two groups": (
        {"optimizer": lambda p: ADAM([{"params": p[:2]}, {"params": p[2:]}])},
        "the same optimizer. Found another one",
    ),
    "a balancer with a memory": ({"balancer": MovingAverage()}, "the same balancer. Found another"),
    "weights of losses": ({"balancer": UncertaintyWeighting(2)}, "the same .* Found another one"),
    "a state without its steps": (
        {"change": without("step")},
        "must be what `Training.state_dict`",
    ),
    "one without its losses": ({"change": without("epoch_losses")}, "must be what `Training.state"),
    "one without a balancer": ({"change": without("balancer")}, "Found balancer in one of the two"),
}


@pytest.mark.parametrize("name", ANOTHER)
def test_a_state_of_another_training_is_refused(make_mlp, tasks, loader, name):
    given, said = ANOTHER[name]
    given = {"epochs": 3, "change": dict, "balancer": Linear(), "tasks": tasks} | given
    states, keep = [], {"on_epoch": lambda t: states.append(t.state_dict()), "progress": False}
    train(Method(WeightEnsemble([make_mlp(), make_mlp()]), tasks), loader, epochs=2, **keep)
    rows = [[1, 0], [0, 1], [0.5, 0.5]][: given.pop("num_members", 2)]
    members = given.pop("members", [make_mlp() for _ in rows])
    network = WeightEnsemble(members, task_weights=rows)
    method = Method(network, given.pop("tasks"), balancer=given.pop("balancer"))
    state, before = given.pop("change")(states[-1]), network.members().detach().clone()
    with pytest.raises(InputError, match=said) as found:
        train(method, loader, resume=state, progress=False, **given)
    assert torch.equal(network.members(), before) and not method.epoch_losses
    assert len(str(found.value)) < 300 and "\n" not in str(found.value)


def test_a_memory_that_nothing_continues_from_is_refused(make_plain_method, loader):
    states, keep = [], {"on_epoch": lambda t: states.append(t.state_dict()), "progress": False}
    train(make_plain_method(balancer=Forgetful()), loader, epochs=1, **keep)
    for balancer in (Forgetful(), Linear()):
        with pytest.raises(InputError, match=r"the same balancer\. Found another one"):
            train(make_plain_method(balancer=balancer), loader, epochs=2, resume=states[0])


def test_a_training_that_has_all_its_epochs_is_resumed_to_itself(make_plain_method, loader):
    states, whole, again = [], make_plain_method(), make_plain_method()
    keep = {"on_epoch": lambda training: states.append(training.state_dict()), "progress": False}
    rows = train(whole, loader, epochs=2, **keep)
    assert train(again, loader, epochs=2, resume=states[-1], progress=False) == rows
    assert torch.equal(again.network.members(), whole.network.members()) and len(states) == 2


@pytest.mark.parametrize(("epochs", "start"), [(1, 0), (2, 1), (4, 3)])
def test_fit_refuses_a_state_with_more_epochs_than_it_trains(
    make_mlp, tasks, loader, epochs, start
):
    states, keep = [], {"on_epoch": lambda t: states.append(t.state_dict()), "progress": False}
    given = {"averaging": None, "baseline": None, "progress": False}
    train(Method(WeightEnsemble([make_mlp(), make_mlp()]), tasks), loader, epochs=2, **keep)
    said = f"no more epochs than are to be trained, {epochs - start}. Found 2"
    with pytest.raises(InputError, match=said):
        options = given | {"epochs": epochs, "start": start, "resume": states[-1]}
        fit(make_mlp, tasks, loader, loader, **options)
