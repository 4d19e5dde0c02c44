"""What the best constant answer achieves, and the warning where no network is better."""

import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from over_batches import gathered
from small_problems import SharedBottom
from torch import nn
from torch.nn import functional as F

import pamal_core as pamal
from pamal_core.balancing import Linear, UnitNorm

X = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
KINDS, SIZES = (X[:, 0] + 0.3 > 0).long(), X[:, 0] - X[:, 1]


def constants(task, outputs, targets, size=3):
    """The metrics of the best constant answer, by name."""
    known = [m for m in task.metrics if m.constant is not None]
    return {m.name: gathered(m.constant, outputs, targets, size) for m in known}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), weighted=st.booleans())
def test_no_constant_answer_is_better_than_the_best_one_of_classes(seed, weighted):
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (30,), generator=rng).clamp(max=1 + seed % 2)
    labels[::4] = -100
    weight = [1.0, 3.0, 0.5] if weighted else None
    task = pamal.classification("c", class_weight=weight)
    found = constants(task, torch.zeros(30, 3), labels)
    answers = torch.randn(50, 3, generator=rng)
    judged = [[m(one.expand(30, 3), labels) for m in task.metrics] for one in answers]
    assert max(a for a, _ in judged) == pytest.approx(found["accuracy"])
    assert min(loss for _, loss in judged) >= found["loss"] - 1e-6
    kept = labels[labels >= 0]
    mass = kept.bincount(minlength=3) * torch.tensor(weight or [1.0] * 3)
    best = (mass / mass.sum()).clamp(min=1e-30).log()
    assert task.loss(best.expand(30, 3), labels).item() == pytest.approx(found["loss"], rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-3, 1.0, 1e3]))
@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss])
def test_the_best_constant_number_is_one_that_exists_and_hardly_beaten(loss, seed, scale):
    rng = torch.Generator().manual_seed(seed)
    target = scale * torch.randn(40, generator=rng).exp()
    target[::5] = math.nan
    found = constants(pamal.regression("r", loss), torch.zeros(40, 1), target)
    kept = target[~target.isnan()].double()
    ends = torch.linspace(kept.min(), kept.max(), 2000)
    grid = torch.cat([ends, kept.mean()[None], kept.median()[None]])
    least = min(loss(c.expand_as(kept), kept).item() for c in grid)
    assert found["R2"] == 0
    assert least * (1 - 1e-5) <= found["loss"] <= least * 1.25
    if loss in (F.mse_loss, F.l1_loss):
        assert found["loss"] == pytest.approx(least, rel=2e-3)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_best_constant_depth_is_that_of_the_median(seed, scale):
    rng = torch.Generator().manual_seed(seed)
    target = scale * (torch.rand(6, 5, 5, generator=rng) - 0.2)
    found = constants(pamal.depth("d"), torch.zeros(6, 1, 5, 5), target)
    kept = target[target > 0].double()
    least = (kept - kept.median()).abs().mean().item()
    assert least * (1 - 1e-12) <= found["loss"] == found["absolute error"] <= least * 1.01


@pytest.mark.parametrize(
    ("task", "output", "target"),
    [
        (pamal.regression("r"), torch.zeros(9, 1), torch.full((9,), 0.1)),
        (pamal.depth("d"), torch.zeros(9, 1, 2, 2), torch.full((9, 2, 2), 0.1)),
        (pamal.classification("c"), torch.zeros(9, 3), torch.ones(9).long()),
        (pamal.classification("c"), torch.zeros(9, 3), torch.rand(9, 3).softmax(1)),
        (pamal.segmentation("s", 3), torch.zeros(9, 3, 2, 2), torch.ones(9, 2, 2).long()),
        (pamal.regression("r"), torch.zeros(9, 1), torch.full((9,), math.nan)),
        (pamal.classification("c"), torch.zeros(9, 3), torch.full((9,), -100)),
    ],
)
def test_labels_that_are_all_alike_or_not_there_have_no_constant_to_beat(task, output, target):
    found = constants(task, output, target)
    perfect = {"accuracy": 1, "pixel accuracy": 1, "loss": 0, "R2": 1, "absolute error": 0}
    assert any(not math.isfinite(value) or value == perfect[n] for n, value in found.items())


def two():
    encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
    return SharedBottom(encoder, [nn.Linear(8, 2), nn.Linear(8, 1)])


def evaluated(targets, epochs, balancer=None, tasks=None, **network):
    torch.manual_seed(0)
    tasks = tasks or [pamal.classification("kind"), pamal.regression("size")]
    members = [two() for _ in range(len(network.get("task_weights", [0, 0])))]
    ensemble = pamal.WeightEnsemble(members, shared="encoder", **network)
    data = [(X, KINDS, targets)]
    if epochs:
        method = pamal.Method(ensemble, tasks, balancer=balancer or Linear())
        pamal.train(method, data, epochs=epochs, lr=0.02, progress=False)
    return pamal.evaluate(ensemble, tasks, data)


@pytest.mark.parametrize("loss", [F.huber_loss, F.mse_loss, lambda o, t: (o - t).abs().mean()])
def test_a_target_in_thousands_under_unit_norm_is_a_false_front_and_told(loss):
    tasks = [pamal.classification("kind"), pamal.regression("size", loss)]
    with pytest.warns(UserWarning, match=r"At no alpha .* answer: size \(\w+ .* constant\)\.$"):
        front = evaluated(4000 + 1000 * SIZES, 20, UnitNorm(), tasks)
    assert (front.table["size/R2"] < 0).all()


def test_tasks_without_training_or_a_known_constant_are_not_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluated(1000 + SIZES, 60, task_weights=[[1.0, 0.0]])
        evaluated(1000 + SIZES, 0, tasks=UNJUDGED)


MEAN = pamal.Metric.mean("mean", lambda o, t: o.mean(), maximise=False)
UNJUDGED = [
    pamal.classification("kind", metrics=[MEAN]),
    pamal.Task("size", F.huber_loss, [MEAN]),
]


def test_the_warning_names_each_task_that_has_learnt_nothing():
    with pytest.warns(UserWarning, match="At no alpha") as found:
        evaluated(1000 + SIZES, 0)
    (text,) = {str(w.message) for w in found if "At no alpha" in str(w.message)}
    assert "size (loss 9" in text and text.endswith(" of the constant).")
