"""Schedules whose length is not that of the training."""

import warnings
from functools import partial

import pytest
import torch
from small_problems import batches
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import (
    ChainedScheduler,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LinearLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
)

from pamal_core.errors import InputError
from pamal_core.training import train

# What torch 2.6 says of its own SequentialLR.
pytestmark = pytest.mark.filterwarnings("ignore:The epoch parameter in `scheduler.step")


@pytest.fixture
def loader(batch):
    """Four batches."""
    return batches(batch, 8)


@pytest.fixture
def trained(make_plain_method, loader):
    """Trains for three epochs with the schedule that a function makes, in steps of plain descent;
    the learning rate of each step."""

    def run(make, interval, loader=loader, epochs=3, **given):
        method, rates = make_plain_method(), []
        before = [p.detach().clone() for p in method.parameters()]
        optimizer = torch.optim.SGD(method.parameters(), lr=0.1, momentum=0.9)
        optimizer.register_step_pre_hook(lambda *_: rates.append(optimizer.param_groups[0]["lr"]))
        given = {"optimizer": optimizer, "scheduler": make, "epochs": epochs, **given}
        try:
            train(method, loader, scheduler_interval=interval, progress=False, **given)
        except InputError:
            assert not rates and all(map(torch.equal, before, method.parameters()))
            raise
        return rates

    return run


def warm(make, *, milestone, optimizer):
    parts = [LinearLR(optimizer, total_iters=milestone), make(optimizer)]
    return SequentialLR(optimizer, parts, milestones=[milestone])


def chained(make, optimizer):
    return ChainedScheduler([make(optimizer), ExponentialLR(optimizer, 0.9)], optimizer)


cycle = partial(partial, OneCycleLR, max_lr=0.2)


@pytest.mark.parametrize(
    ("make", "interval", "number"),
    [
        (cycle(total_steps=12), "step", 12),
        (cycle(total_steps=3), "epoch", 3),
        (cycle(epochs=3, steps_per_epoch=4), "step", 12),
        (partial(chained, cycle(total_steps=12)), "step", 12),
        (lambda o: warm(cycle(total_steps=10), milestone=2, optimizer=o), "step", 12),
        (lambda o: chained(partial(chained, cycle(total_steps=3)), o), "epoch", 3),
    ],
)
def test_a_cycle_of_as_many_steps_is_taken(trained, make, interval, number):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, for a schedule within another one
        rates = trained(make, interval)
    assert len(rates) == 12 and len(set(rates)) == number


@pytest.mark.parametrize(
    ("make", "interval", "found"),
    [
        (cycle(total_steps=12), "epoch", "must be 3: it is stepped 3 times, after each epoch"),
        (cycle(total_steps=13), "step", "must be 12: it is stepped 12 times, after each step"),
        (cycle(total_steps=11), "step", r"must be 12: .* \(`scheduler_interval`\)\. Found 11"),
        (cycle(total_steps=3), "step", "`total_steps` of OneCycleLR must be 12: .* Found 3"),
        (partial(chained, cycle(total_steps=12)), "epoch", "must be 3: .* Found 12"),
        (lambda o: warm(cycle(total_steps=12), milestone=2, optimizer=o), "step", "must be 10: "),
        (lambda o: warm(cycle(total_steps=2), milestone=12, optimizer=o), "step", "must be 0: "),
    ],
)
@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step:UserWarning")
def test_a_cycle_of_another_number_of_steps_is_refused(trained, make, interval, found):
    with pytest.raises(InputError, match=found):
        trained(make, interval)


@pytest.mark.parametrize(
    ("options", "interval", "found"),
    [
        ({}, "step", "Found min and step"),
        ({"mode": "max"}, "epoch", "Found max and epoch"),
        ({"mode": "max", "patience": 1}, "step", "Found max and step"),
    ],
)
def test_a_plateau_is_one_of_the_losses_of_epochs(trained, options, interval, found):
    """With "max" the rate would fall while the losses do."""
    with pytest.raises(InputError, match=f"ReduceLROnPlateau gets the sum of the losses.*{found}"):
        trained(partial(ReduceLROnPlateau, **options), interval)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (partial(CosineAnnealingLR, T_max=4), "CosineAnnealingLR has `T_max` = 4 .* stepped 3 ti"),
        (partial(CosineAnnealingWarmRestarts, T_0=4), "Restarts has `T_0` = 4 but does not get"),
        (partial(PolynomialLR, total_iters=4), "PolynomialLR has `total_iters` = 4"),
        (partial(LinearLR, total_iters=4), "LinearLR has `total_iters` = 4"),
        (
            partial(CyclicLR, base_lr=0.01, max_lr=0.1, step_size_up=2000),
            "CyclicLR has `total_size` = 4000",
        ),
        (partial(chained, partial(CosineAnnealingLR, T_max=4)), "`T_max` = 4 but does not get th"),
        (
            lambda o: warm(partial(CosineAnnealingLR, T_max=3), milestone=1, optimizer=o),
            r"`T_max` = 3 but does not get there: it is stepped 2 times, after each epoch",
        ),
        (
            lambda o: warm(partial(ExponentialLR, gamma=0.9), milestone=5, optimizer=o),
            "LinearLR has `total_iters` = 5 .* stepped 3 times",
        ),
    ],
)
def test_a_schedule_that_ends_too_early_is_warned_of(trained, make, found):
    with pytest.warns(UserWarning, match=found):
        assert len(trained(make, "epoch")) == 12


@pytest.mark.parametrize(
    ("make", "interval"),
    [
        (partial(CosineAnnealingLR, T_max=3), "epoch"),
        (partial(CosineAnnealingLR, T_max=12), "step"),
        (partial(CosineAnnealingLR, T_max=2), "step"),  # it goes up and down, as is meant
        (partial(CosineAnnealingWarmRestarts, T_0=1, T_mult=2), "epoch"),
        (partial(ExponentialLR, gamma=0.9), "step"),
        (partial(ReduceLROnPlateau, patience=100), "epoch"),
        (lambda o: lr_scheduler.LambdaLR(o, lambda n: 1 / (1 + n)), "step"),
        (lambda o: warm(partial(CosineAnnealingLR, T_max=2), milestone=1, optimizer=o), "epoch"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step:UserWarning")
def test_others_are_taken_in_silence(trained, make, interval):
    assert len(trained(make, interval)) == 12


class Lengthless:
    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def test_of_a_loader_without_a_length_only_the_epochs_are_known(trained, loader):
    unknown = Lengthless([*loader])
    assert len(trained(cycle(total_steps=100), "step", unknown)) == 12
    assert len(trained(partial(CosineAnnealingLR, T_max=100), "step", unknown)) == 12
    with pytest.raises(InputError, match="must be 3"):
        trained(cycle(total_steps=100), "epoch", unknown)


def test_a_resumed_training_counts_from_the_beginning(trained):
    states = []
    keep = lambda training: states.append(training.state_dict())  # noqa: E731
    make = cycle(total_steps=12)
    whole = trained(make, "step", on_epoch=keep)
    assert trained(make, "step", resume=states[0]) == whole[4:]
    with pytest.raises(InputError, match=r"must be 12: .* Found 8"):
        trained(cycle(total_steps=8), "step", resume=states[0])
