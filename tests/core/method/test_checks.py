"""What is refused before a weight is moved."""

import copy

import jaxtyping
import pytest
import torch
from torch import nn
from torch.nn.functional import l1_loss, mse_loss
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau, StepLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_companion.rivals.auto_lambda import AutoLambda
from pamal_companion.runs.checkpoint import load_state, save_state
from pamal_core.balancing import (
    CAGrad,
    Linear,
    MovingAverage,
    SmoothTchebycheff,
    UncertaintyWeighting,
)
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Metric, Task, classification, mean_metric, regression
from pamal_core.training import train


def sgd(method, lr=0.1, **settings):
    return torch.optim.SGD(method.parameters(), lr=lr, **settings)


def refused(message, method, loader, **arguments):
    """`train` refuses, and leaves all weights as they were."""
    before = method.network.stacked.detach().clone()
    with pytest.raises(InputError, match=message):
        train(method, loader, **{"epochs": 1, "progress": False} | arguments)
    assert torch.equal(method.network.stacked, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": "3"}, "`epochs` must be a whole number >= 1. Found epochs='3'"),
        ({"epochs": 0}, "`epochs` must be a whole number >= 1. Found epochs=0"),
        ({"epochs": 2.0}, "`epochs` must be a whole number >= 1. Found epochs=2.0"),
        ({"seed": -1}, "`seed` must be a whole number >= 0. Found seed=-1"),
        ({"seed": None}, "`seed` must be a whole number >= 0. Found seed=None"),
        ({"lr": 0}, "`lr` must be a finite number > 0. Found lr=0"),
        ({"lr": "fast"}, "`lr` must be a finite number > 0. Found lr='fast'"),
        (
            {"clip_norm": float("inf")},
            "`clip_norm` must be a finite number > 0. Found clip_norm=inf",
        ),
        ({"scheduler_interval": "batch"}, "must be one of epoch, step. Found 'batch'"),
        ({"loader": 5}, "as a DataLoader or a list does. Found int"),
        ({"optimizer": "adam"}, "as Adam does. Found str"),
        ({"resume": "file.pt"}, "`Training.state_dict` returned. Found str"),
        ({"resume": {"history": []}}, "returned. Found a dict with keys history"),
    ],
)
def test_wrong_arguments_are_refused(make_plain_method, batch, arguments, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    refused(message, make_plain_method(), arguments.pop("loader", [batch]), **arguments)


def test_a_rate_beside_an_optimiser_is_not_ignored(make_plain_method, batch):
    method = make_plain_method()
    refused("`lr` is that of Adam", method, [batch], optimizer=sgd(method), lr=0.1)


def test_a_generator_is_refused_for_two_epochs_and_has_all_its_batches_in_one(
    make_plain_method, batch
):
    method, seen = make_plain_method(), []

    def generator():
        for number in range(3):
            seen.append(number)
            yield batch

    refused("for each of 2 epochs, .* Found generator", method, generator(), epochs=2)
    assert not seen
    once, listed = generator(), [batch] * 3
    rows = train(method, once, epochs=1, progress=False)
    assert seen == [0, 1, 2] and rows == train(
        make_plain_method(), listed, epochs=1, progress=False
    )
    refused("at least one batch an epoch; a generator has them once. Found none", method, once)


def test_lbfgs_and_sparse_adam_are_refused(make_plain_method, batch):
    method = make_plain_method()
    for kind in (torch.optim.LBFGS, torch.optim.SparseAdam):
        wrong = kind(method.parameters())
        message = f"step on one dense gradient.* Found {kind.__name__}"
        refused(message, method, [batch], optimizer=wrong)


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
        refused("Found StepLR of another", method, [batch], scheduler=StepLR(own, 1), **given)
    plateau = ReduceLROnPlateau(own)
    given = {"scheduler": plateau, "scheduler_interval": "step"}
    refused("needs the losses of an epoch", method, [batch], optimizer=own, **given)


def test_an_average_must_be_that_of_the_network(make_plain_method, make_mlp, batch):
    refused("Found another's", make_plain_method(), [batch], average=AveragedModel(make_mlp()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_few_digits_are_refused_with_what_to_do_instead(make_mlp, tasks, batch, dtype):
    network = WeightEnsemble([make_mlp().to(dtype), make_mlp().to(dtype)])
    refused(rf"Found {dtype} in stacked. For speed set", Method(network, tasks), [batch])


def test_double_precision_trains(make_mlp, tasks, batch):
    network = WeightEnsemble([make_mlp().double(), make_mlp().double()])
    double = (batch[0].double(), *batch[1:])
    assert train(Method(network, tasks), [double], epochs=1, progress=False)


# The first batch.


def broken(output, target):
    raise KeyError("no such class")


@pytest.mark.parametrize(
    ("metric", "error"),
    [
        (mean_metric("share", True, lambda o, y: (o[:, 5] == y).double().mean()), IndexError),
        (mean_metric("share", True, broken), KeyError),
        (Metric("share", True, lambda o, y: o.sum(0), float), (RuntimeError, ValueError)),
        (Metric("share", True, lambda o, y: 3, lambda total: None), TypeError),
    ],
)
def test_a_metric_is_tried_on_the_first_batch(make_plain_method, batch, metric, error, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    method = make_plain_method()
    kind = method.tasks[1]
    method.tasks = [method.tasks[0], Task("kind", kind.loss, (*kind.metrics, metric))]
    with pytest.raises(error, match=r"In the metric share of task kind: output .* target .*32"):
        train(method, [batch], epochs=1, progress=False)


def test_trying_the_metrics_changes_no_number_of_a_run(make_mlp, tasks, batch):
    """A metric that draws random numbers; dropout, statistics and shuffled batches beside it."""

    def random(output, target):
        return torch.rand(()) + output.mean()

    def run(metrics):
        torch.manual_seed(1)
        members = [make_mlp() for _ in range(2)]
        for member in members:
            member.encoder.extend([nn.BatchNorm1d(8), nn.Dropout(0.5)])
        network = WeightEnsemble(members, shared="encoder")
        made = [Task(task.name, task.loss, metrics) for task in tasks]
        calls = []
        network.register_forward_hook(lambda *_: calls.append(1))
        loader = batches(TensorDataset(*batch), 8, shuffle=True)
        rows = train(Method(network, made, window=2), loader, epochs=2, progress=False)
        return rows, network.state_dict(), torch.get_rng_state(), len(calls)

    plain, tried = run(()), run((mean_metric("random", True, random),))
    assert plain[0] == tried[0] and plain[3] == tried[3] == 2 * 4 * 2 + 2
    torch.testing.assert_close(tried[1:3], plain[1:3], rtol=0, atol=0)


def test_a_task_that_no_member_is_trained_on_needs_no_metric(make_mlp, tasks, batch):
    """As in `evaluate`: of single-task learning the other tasks are not judged."""
    broken_metric = mean_metric("share", True, broken)
    made = [tasks[0], Task("kind", tasks[1].loss, (broken_metric,))]
    network = WeightEnsemble([make_mlp()], task_weights=[[1.0, 0.0]])
    assert train(Method(network, made), [batch], epochs=1, progress=False)


def test_a_batch_without_labels_of_a_task_may_be_the_first(make_plain_method, batch):
    """Its metric is then 0 / 0, which evaluation over more batches need not be."""
    method = make_plain_method()
    share = Metric("share", True, lambda o, y: torch.zeros(2), lambda s: s.tolist()[0] / 0)
    method.tasks = [Task(task.name, task.loss, (share,)) for task in method.tasks]
    assert train(method, [batch], epochs=1, progress=False)


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
    save_state(tmp_path / "state", found)
    return load_state(tmp_path / "state")


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"lr": 0.2}, "lr of group 0 0.1 in the state and 0.2 here"),
        ({"momentum": 0.8}, "momentum of group 0 0.9 in the state and 0.8 here"),
        ({"weight_decay": 0.1}, "weight_decay of group 0 0 in the state and 0.1 here"),
        ({"kind": torch.optim.RMSprop}, "optimizer SGD in the state and RMSprop here"),
        ({"scheduled": False}, "scheduler StepLR {.*} in the state and NoneType {} here"),
        ({"gamma": 0.9}, "scheduler StepLR {'step_size': 1, 'gamma': 0.5} in the .*'gamma': 0.9}"),
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


def test_a_state_of_the_same_training_is_taken_though_its_rate_has_fallen(
    make_plain_method, batch, state
):
    method, whole = make_plain_method(**begun()), make_plain_method(**begun())
    got = train(method, [batch], epochs=3, resume=state, **parts(method, momentum=0.9))
    assert got == train(whole, [batch], epochs=3, **parts(whole, momentum=0.9))
    assert torch.equal(method.network.stacked, whole.network.stacked)


def schedule(rate):
    return lambda epoch: rate**epoch


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (
            lambda decay, method, optimizer: {
                "average": AveragedModel(method.network, multi_avg_fn=get_ema_multi_avg_fn(decay))
            },
            r"average AveragedModel {.*0\.9.*} in the state and .*0\.8",
        ),
        (
            lambda rate, method, optimizer: {"scheduler": LambdaLR(optimizer, schedule(rate))},
            r"scheduler LambdaLR {.*0\.9.*} in the state and .*0\.8",
        ),
    ],
    ids=["average", "LambdaLR"],
)
def test_numbers_within_functions_are_compared(make_plain_method, batch, made, found):
    def begun_with(number):
        method = make_plain_method(**begun())
        optimizer = torch.optim.SGD(method.parameters(), lr=0.1)
        return method, {"optimizer": optimizer, **made(number, method, optimizer)}

    method, given = begun_with(0.9)
    state = trained(method, [batch], **given)
    method, given = begun_with(0.8)
    refused(found, method, [batch], epochs=2, progress=False, resume=state, **given)
    method, given = begun_with(0.9)
    train(method, [batch], epochs=2, progress=False, resume=state, **given)


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


def test_what_has_no_text_of_its_own_is_not_told_apart_by_its_address(make_plain_method, batch):
    class Middle(Dirichlet):
        __repr__ = object.__repr__

    state = trained(make_plain_method(preference=Middle(), balancer=CAGrad()), [batch])
    again = make_plain_method(preference=Middle(), balancer=CAGrad())
    assert len(train(again, [batch], epochs=2, resume=state, progress=False)) == 2


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


def test_a_state_of_another_loss_or_meta_rate_is_refused(make_mlp, batch):
    def method_of(loss, meta_lr):
        torch.manual_seed(0)
        network = WeightEnsemble([make_mlp(), make_mlp()], shared="encoder")
        tasks = [regression("height", loss), classification("kind")]
        rule = AutoLambda(network, tasks, [batch], lr=1e-3, meta_lr=meta_lr)
        return Method(network, tasks, balancer=rule)

    state = trained(method_of(l1_loss, 1e-4), [batch])
    for loss, rate, found in ((mse_loss, 1e-4, "mse_loss"), (l1_loss, 1e-3, "meta_lr")):
        refused(found, method_of(loss, rate), [batch], epochs=2, resume=state, progress=False)
