"""What is refused before a weight is moved."""

import copy

import pytest
import torch
from small_problems import through_a_file
from torch.optim.lr_scheduler import StepLR

from pamal_core.balancing import (
    Linear,
    MovingAverage,
    SmoothTchebycheff,
    UncertaintyWeighting,
)
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.metrics import Metric
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Task
from pamal_core.training import train


def sgd(method, lr=0.1, **settings):
    return torch.optim.SGD(method.parameters(), lr=lr, **settings)


def refused(message, method, loader, **arguments):
    """`train` refuses, and leaves all weights as they were."""
    before = method.network.stacked.detach().clone()
    with pytest.raises(InputError, match=message):
        train(method, loader, **{"epochs": 1, "progress": False} | arguments)
    assert torch.equal(method.network.stacked, before)


def test_a_generator_is_refused_for_two_epochs_and_taken_for_one(make_plain_method, batch):
    method, seen = make_plain_method(), []

    def generator():
        for number in range(3):
            seen.append(number)
            yield batch

    refused("each time that it is read, .* Found generator", method, generator(), epochs=2)
    assert not seen
    once, listed = generator(), [batch] * 3
    rows = train(method, once, epochs=1, progress=False)
    assert seen == [0, 1, 2] and rows == train(
        make_plain_method(), listed, epochs=1, progress=False
    )
    refused("at least one batch an epoch; a generator has them once. Found none", method, once)


def test_an_optimiser_must_train_what_the_method_has(make_plain_method, make_mlp, batch):
    method, other = make_plain_method(balancer=UncertaintyWeighting(2)), make_mlp()
    found = {
        "entry 0 of the balancer missing and 0": method.network.parameters(),
        "stacked missing and 0": method.balancer.parameters(),
        "nothing missing and 6": [*method.parameters(), *other.parameters()],
        "stacked, entry 0 of the balancer missing and 6": other.parameters(),
        "stacked missing and 1": [
            method.network.stacked.detach().clone(),
            *method.balancer.parameters(),
        ],
    }
    for message, parameters in found.items():
        wrong = torch.optim.Adam(parameters)
        refused(f"{message} tensors", method, [batch], optimizer=wrong)


def test_a_scheduler_must_be_that_of_the_optimiser(make_plain_method, batch):
    method = make_plain_method()
    own, other = sgd(method), sgd(method)
    for given in ({"optimizer": other}, {}):
        refused("Found one of another", method, [batch], scheduler=StepLR(own, 1), **given)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_few_digits_are_refused_with_what_to_do_instead(make_mlp, tasks, batch, dtype):
    network = WeightEnsemble([make_mlp().to(dtype), make_mlp().to(dtype)])
    refused(rf"Found {dtype} in stacked. For speed train under", Method(network, tasks), [batch])


# The state that a training goes on from.


def begun():
    return {
        "window": 2,
        "penalty": MultiForward(0.5),
        "balancer": MovingAverage(5),
        "preference": Dirichlet(2.0),
    }


def parts(method, lr=0.1, kind=torch.optim.SGD, scheduled=True, gamma=0.5, **settings):
    optimizer = kind(method.parameters(), lr=lr, **settings)
    scheduler = StepLR(optimizer, 1, gamma=gamma) if scheduled else None
    return {"optimizer": optimizer, "scheduler": scheduler, "progress": False}


def trained(method, loader, epochs=1, **given):
    """The state of a training after its last epoch."""
    states = []

    def keep(training):
        states.append(copy.deepcopy(training.state_dict()))

    train(method, loader, epochs=epochs, on_epoch=keep, **{"progress": False, **given})
    return states[-1]


@pytest.fixture
def state(make_plain_method, batch, tmp_path):
    """That of two epochs, written to a file and read."""
    method = make_plain_method(**begun())
    found = trained(method, [batch], epochs=2, **parts(method, momentum=0.9))
    return through_a_file(found, tmp_path)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"lr": 0.2}, "lr of group 0 0.1 in the state and 0.2 here"),
        ({"momentum": 0.8}, "momentum of group 0 0.9 in the state and 0.8 here"),
        ({"weight_decay": 0.1}, "weight_decay of group 0 0 in the state and 0.1 here"),
        ({"kind": torch.optim.RMSprop}, "optimizer SGD in the state and RMSprop here"),
        ({"scheduled": False}, "scheduler StepLR {.*} in the state and NoneType {} here"),
        ({"gamma": 0.9}, "scheduler StepLR {'step_size': 1, 'gamma': 0.5.* in the .*'gamma': 0.9"),
        ({"clip_norm": 1.0}, "clip_norm None in the state and 1.0 here"),
        ({"seed": 1}, "seed 0 in the state and 1 here"),
        ({"window": 3}, "window 2 in the state and 3 here"),
        (
            {"penalty": MultiForward(0.4)},
            r"penalty MultiForward\(lam=0.5.* and MultiForward\(lam=0.4",
        ),
        ({"balancer": MovingAverage(6)}, "balancer MovingAverage {'history': 5"),
        ({"balancer": Linear()}, "and Linear {} here"),
        ({"preference": Dirichlet(1.0)}, r"preference Dirichlet\(p=2.0.* in the state and"),
    ],
)
def test_a_state_of_another_training_is_refused_with_the_difference(
    make_plain_method, batch, state, changed, found
):
    method = make_plain_method(**begun() | {k: v for k, v in changed.items() if k in begun()})
    own = {k: v for k, v in changed.items() if k not in {*begun(), "clip_norm", "seed"}}
    others = {k: v for k, v in changed.items() if k in {"clip_norm", "seed"}}
    given = parts(method, **{"momentum": 0.9, **own})
    refused(found, method, [batch], epochs=3, resume=state, **given, **others)


def test_an_ensemble_of_other_members_is_named(make_mlp, tasks, batch, state):
    network = WeightEnsemble([make_mlp()] * 1, task_weights=[[0.5, 0.5]])
    method = Method(network, tasks, **begun())
    refused(
        r"\[2, 76\]} in the state and {'stacked': \[1, 76\]} here",
        method,
        [batch],
        epochs=3,
        resume=state,
        **parts(method, momentum=0.9),
    )


@pytest.mark.parametrize(
    ("balancers", "found"),
    [
        ([SmoothTchebycheff(ideal=[0.0, 0.1]), SmoothTchebycheff(ideal=[0.0, 0.2])], "ideal"),
        ([SmoothTchebycheff(), SmoothTchebycheff(ideal=[0.0, 0.2])], "ideal"),
    ],
)
def test_a_state_of_another_rule_is_refused(make_plain_method, batch, balancers, found):
    first, second = (make_plain_method(balancer=rule) for rule in balancers)
    state = trained(first, [batch])
    refused(found, second, [batch], epochs=2, resume=state, progress=False)


@pytest.mark.parametrize(
    ("loss", "is_refused"),
    [
        (lambda o, y: ((o - y) ** 2).mean(), True),
        (lambda o, y: (o - y).abs().mean(), True),
        (lambda o, y: ((o.squeeze(-1) - y) ** 2).mean(), False),
        (lambda o, y: ((o - y[:, None]) ** 2).mean(), False),
        (lambda o, y: ((o.flatten() - y.flatten()) ** 2).mean(), False),
        (lambda o, y: (o**2).mean(), False),  # one that needs no target, as of an energy
    ],
)
def test_a_loss_of_n_by_n_pairs_is_refused_before_a_step(make_mlp, tasks, batch, loss, is_refused):
    own = Task("height", loss, (Metric.mean("loss", loss, maximise=False),))
    method = Method(WeightEnsemble([make_mlp(), make_mlp()]), [own, tasks[1]])
    if is_refused:
        refused(r"outputs \[32, 1\] with all targets \[32\]", method, [batch])
    else:
        train(method, [batch], epochs=1, progress=False)


def test_targets_that_are_all_alike_say_nothing_of_pairs(make_mlp, tasks, batch):
    own = Task("height", lambda o, y: ((o.squeeze(-1) - y) ** 2).mean(), ())
    method = Method(WeightEnsemble([make_mlp(), make_mlp()]), [own, tasks[1]])
    train(method, [(batch[0], torch.ones(32), batch[2])], epochs=1, progress=False)
