"""Examples and batches without a label of a task, against scikit-learn and torch on the rest."""

import math
import multiprocessing
import pickle

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from over_batches import gathered, judged
from small_problems import Constant
from torch import nn
from torch.nn import functional as F

import pamal_core as pamal
from pamal_core.balancing import DynamicWeightAverage, MovingAverage, UncertaintyWeighting, UnitNorm
from pamal_core.classes import Classes, or_nan
from pamal_core.tasks import label_counts, task_losses

sk = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle here")

CLASSES = 4
ALL = [
    (pamal.classification("c"), (6, CLASSES), torch.full((6,), -100)),
    (pamal.classification("c", 0), (6, CLASSES), torch.zeros(6, dtype=torch.long)),
    (pamal.classification("c"), (6, CLASSES, 3), torch.full((6, 3), -100)),
    (pamal.classification("c"), (6, CLASSES), torch.full((6, CLASSES), math.nan)),
    (pamal.regression("r"), (6, 1), torch.full((6,), math.nan)),
    (pamal.regression("r", lambda o, t: (o - t).square().mean()), (6,), torch.full((6,), math.nan)),
    (pamal.segmentation("s", CLASSES), (6, CLASSES, 2, 2), torch.full((6, 2, 2), -1)),
    (pamal.depth("d"), (6, 1, 2, 2), torch.full((6, 2, 2), math.nan)),
    (pamal.binary("b"), (6,), torch.full((6,), -100)),
    (pamal.binary("b", 255), (6, 1), torch.full((6,), 255, dtype=torch.uint8)),
    (pamal.binary("m", -1, pos_weight=torch.ones(3)), (6, 3), torch.full((6, 3), -1)),
]
NEITHER = [
    (pamal.binary("b"), (6, 1), torch.full((6,), math.nan)),
    (pamal.binary("m"), (6, 3), torch.full((6, 3), math.nan)),
    (pamal.depth("d"), (6, 1, 2, 2), torch.zeros(6, 1, 2, 2)),
]


@pytest.mark.parametrize("class_weight", [None, [1.0, 2.0, 3.0, 4.0]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_column_of_pandas_with_missing_classes_is_that_of_integers(class_weight, dtype):
    logits = torch.randn(5, CLASSES, generator=torch.Generator().manual_seed(0))
    task = pamal.classification("c", class_weight=class_weight)
    whole = torch.tensor([0, -100, 3, 1, -100])
    column = torch.tensor([0, math.nan, 3, 1, math.nan], dtype=dtype)
    assert judged(task, logits, column) == judged(task, logits, whole)
    assert task.loss(logits, column) == task.loss(logits, whole)
    assert task.count(column) == task.count(whole)
    assert task.loss(logits, torch.full((5,), math.nan, dtype=dtype)) == 0
    for ours, theirs in zip(
        task.labelled(logits, column), task.labelled(logits, whole), strict=True
    ):
        assert torch.equal(ours, theirs)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    tokens=st.sampled_from([(), (3,), (2, 3)]),
    missing=st.floats(0, 0.9),
    ignored=st.sampled_from([-100, -1, 0, 3]),
    dtype=st.sampled_from([torch.long, torch.int32, torch.int8]),
)
def test_a_classification_is_judged_on_its_labelled_part_alone(
    seed, tokens, missing, ignored, dtype
):
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(7, CLASSES, *tokens, generator=rng)
    labels = torch.randint(CLASSES, (7, *tokens), generator=rng)
    labels[torch.rand(labels.shape, generator=rng) < missing] = ignored
    kept = labels != ignored
    task, flat = pamal.classification("c", ignored), logits.movedim(1, -1)[kept]
    accuracy, loss = judged(task, logits, labels.to(dtype))
    if not kept.any():
        assert math.isnan(accuracy) and math.isnan(loss)
        return
    shares = flat.double().softmax(1).numpy()
    entropy = sk.log_loss(labels[kept], shares, labels=range(CLASSES))
    assert accuracy == pytest.approx(sk.accuracy_score(labels[kept], flat.argmax(1)))
    assert loss == pytest.approx(entropy, rel=1e-5)
    assert task.loss(logits, labels.to(dtype)).item() == pytest.approx(entropy, rel=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), missing=st.floats(0, 0.9))
@pytest.mark.parametrize(
    ("loss", "judge"),
    [
        (F.l1_loss, sk.mean_absolute_error),
        (F.mse_loss, sk.mean_squared_error),
        # One that is not 0 at the target, so that no number can stand in for a missing one.
        (lambda o, t: (o - t).abs().mean() + 1, lambda t, o: sk.mean_absolute_error(t, o) + 1),
    ],
)
def test_a_regression_is_judged_on_its_labelled_part_alone(loss, judge, seed, missing):
    rng = torch.Generator().manual_seed(seed)
    output = torch.randn(7, 1, generator=rng, requires_grad=True)
    target = torch.randn(7, generator=rng)
    target[torch.rand(7, generator=rng) < missing] = math.nan
    kept, task = ~target.isnan(), pamal.regression("r", loss)
    found, determination = judged(task, output, target)
    if not kept.any():
        assert math.isnan(found) and math.isnan(determination)
        return
    if kept.sum() > 1:
        expected = sk.r2_score(target[kept].double(), output.detach()[kept, 0].double())
        assert determination == pytest.approx(expected, rel=1e-9)
    assert found == pytest.approx(judge(target[kept], output.detach()[kept, 0]), rel=1e-5)
    slope, expected = (
        torch.autograd.grad(value, output)[0]
        for value in (task.loss(output, target), loss(output[kept, 0], target[kept]))
    )
    torch.testing.assert_close(slope, expected)


@pytest.mark.parametrize(("task", "shape", "target"), [*ALL, *NEITHER])
def test_a_batch_without_labels_adds_nothing(task, shape, target):
    for given_target in (target, None):
        output = torch.randn(shape, requires_grad=True)
        (loss,) = task_losses([task], [output], [given_target])
        loss.backward()
        assert loss.item() == 0 and not output.grad.any()
    assert not label_counts([task], [target], target.device).any()
    for metric in task.metrics:
        assert math.isnan(metric(output, target))
        before = metric.statistic(output, target)
        assert before == [] or not before.any()


def test_losses_with_all_labels_are_those_of_torch_bit_for_bit():
    logits, labels = torch.randn(33, 10, requires_grad=True), torch.randint(10, (33,))
    line, target = torch.randn(33, 1, requires_grad=True), torch.randn(33)
    for found, expected, x in (
        (pamal.classification("c").loss(logits, labels), F.cross_entropy(logits, labels), logits),
        (pamal.regression("r").loss(line, target), F.huber_loss(line.flatten(), target), line),
    ):
        slopes = [torch.autograd.grad(0.3 * loss, x)[0] for loss in (found, expected)]
        assert torch.equal(found, expected) and torch.equal(*slopes)


def test_probabilities_are_targets_of_a_classification():
    logits, shares = torch.randn(5, CLASSES), torch.rand(5, CLASSES).softmax(1)
    task = pamal.classification("c")
    accuracy, loss = judged(task, logits, shares)
    assert loss == pytest.approx(F.cross_entropy(logits, shares).item(), rel=1e-5)
    assert accuracy == sk.accuracy_score(shares.argmax(1), logits.argmax(1))
    shares[[1, 3]] = math.nan
    expected = F.cross_entropy(logits[[0, 2, 4]], shares[[0, 2, 4]])
    torch.testing.assert_close(task.loss(logits, shares), expected)


WEIGHT = [0.5, 1.0, 2.0, 7.0]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), missing=st.floats(0, 1), soft=st.booleans())
def test_weights_of_classes_are_those_of_torch_on_what_is_labelled(seed, missing, soft):
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(7, CLASSES, 2, 3, generator=rng, requires_grad=True)
    labels = torch.randint(CLASSES, (7, 2, 3), generator=rng)
    gone = torch.rand(7, 2, 3, generator=rng) < missing
    flat, kept = logits.movedim(1, -1)[~gone], labels[~gone]
    labels = labels.masked_fill(gone, -1)
    if soft:
        shares = torch.rand(7, CLASSES, 2, 3, generator=rng).softmax(1)
        kept = shares.movedim(1, -1)[~gone]
        labels = shares.masked_fill(gone[:, None], math.nan)
    tasks = [pamal.classification("c", -1, class_weight=WEIGHT)]
    tasks += [] if soft else [pamal.segmentation("s", CLASSES, class_weight=WEIGHT)]
    for task in tasks:
        loss = task.loss(logits, labels)
        (slope,) = torch.autograd.grad(loss, logits)
        value = judged(task, logits, labels)[-1]
        if gone.all():
            assert loss == 0 and not slope.any() and math.isnan(value)
            continue
        expected = F.cross_entropy(flat, kept, torch.tensor(WEIGHT))
        (expected_slope,) = torch.autograd.grad(expected, logits, retain_graph=True)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(slope, expected_slope)
        assert value == pytest.approx(expected.item(), rel=1e-5)
        whole = len(kept) if soft else torch.tensor(WEIGHT)[kept].sum().item()
        assert task.count(labels).item() == pytest.approx(whole)


@pytest.mark.parametrize("weight", [[1.0, 0.0], [1.0, -2.0], [1.0, math.nan]])
def test_weights_of_classes_are_numbers_above_0(weight):
    with pytest.raises(pamal.InputError, match="`class_weight` must be a finite number > 0"):
        pamal.classification("c", class_weight=weight)


def test_weights_of_another_number_of_classes_are_refused():
    for task in (
        pamal.classification("c", class_weight=[1, 2]),
        pamal.segmentation("s", CLASSES, class_weight=torch.ones(2)),
    ):
        with pytest.raises(RuntimeError, match=r"for all( 4 classes)? or no classes"):
            task.loss(torch.zeros(1, CLASSES, 2, 2), torch.zeros(1, 2, 2).long())


@pytest.mark.parametrize("offset", [0.0, 1e9, -3e7])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_r2_loses_no_digits_where_targets_are_far_from_0(offset, size):
    target = torch.randn(50).double() + offset
    output = target + 0.3 * torch.randn(50)
    determination = pamal.regression("r").metrics[1]
    expected = sk.r2_score(target - offset, output - offset)
    assert gathered(determination, output, target, size) == pytest.approx(expected, rel=1e-6)
    assert math.isnan(gathered(determination, output, torch.full((50,), 0.1 + offset), size))


@pytest.mark.parametrize(
    ("task", "output", "target", "message"),
    [
        (ALL[0][0], (6, 4), torch.tensor([0, 1, 2, 3, 4, 0]), "(?s)Target 4 is out .*task c"),
        (ALL[0][0], (6, 4), torch.tensor([0, 1, 2, 3, -1, 0]), "Target -1 is out of bounds"),
        (
            ALL[0][0],
            (6, 4),
            torch.tensor([0, 1, math.nan, 0.5, math.inf, 0]),
            "(?s)whole numbers or NaN. Found 0.5.*task c",
        ),
        (ALL[0][0], (6, 4), torch.zeros(6, 1).long(), r"must be integers \[n.* \[6, 1\] of int64"),
        (ALL[4][0], (6, 1), torch.zeros(6, 2), "one target for each number of the output"),
        (ALL[6][0], (6, 4, 2, 2), torch.full((6, 2, 2), 9), "(?s) out of (bounds|range).*task s"),
        (ALL[6][0], (6, 4, 2, 2), torch.zeros(6, 2, 2), r"must be integers \[n, H, W\]"),
        (ALL[7][0], (6, 1, 2, 2), torch.zeros(6, 3, 2), "one target for each number"),
    ],
)
def test_labels_that_are_none_are_named_in_training_and_in_evaluation(
    task, output, target, message
):
    network = pamal.WeightEnsemble([Constant(output)], task_weights=[[1.0]])
    errors = pamal.InputError, IndexError  # the latter is torch's own, for a class out of range
    with pytest.raises(errors, match=message):
        pamal.train(pamal.Method(network, [task]), [(torch.ones(6), target)], epochs=1)
    if " out " in message:  # not torch's words: an accuracy asks no loss
        errors, message = pamal.InputError, "the classes of the logits, or the `ignore_index` -"
    with pytest.raises(errors, match=message):
        pamal.evaluate(network, [task], [(torch.ones(6), target)])


def test_labels_off_the_cpu_that_are_no_class_give_nan():
    """On "meta" in place of a GPU, which has no values."""
    logits = torch.randn(3, CLASSES, device="meta")
    taken = Classes(-100, None).checked(logits, torch.empty(3, dtype=torch.long, device="meta"))
    assert all(part.device.type == "meta" and len(part) == 3 for part in taken)
    wrong = torch.tensor([True], device="meta")
    assert or_nan(logits, wrong, wrong, "").device.type == "meta"


@pytest.mark.parametrize("value", [True, 1])
def test_a_regression_takes_bool_and_int_targets_as_numbers(value):
    loss = pamal.regression("r", F.mse_loss).loss(torch.zeros(2, 1), torch.tensor([value] * 2))
    assert loss.item() == 1


def test_a_mean_metric_counts_what_it_is_told():
    metric = pamal.Metric.mean(
        "m", lambda o, t: (o - t).nanmean(), maximise=False, count=lambda t: (~t.isnan()).sum()
    )
    output = torch.tensor([1.0, 2.0, 3.0, 4.0])
    target = torch.tensor([0.0, math.nan, 0.0, math.nan])
    parts = [metric.statistic(output[s], target[s]) for s in (slice(0, 2), slice(2, 3))]
    nothing = metric.statistic(output[3:], target[3:])
    assert metric.value(sum([*parts, nothing])) == 2
    assert math.isnan(metric.value(nothing))


X = torch.randn(12, 3, generator=torch.Generator().manual_seed(1))
KIND, SIZE = (X[:, 0] > 0).long(), X.sum(1)
TASKS = [pamal.classification("kind"), pamal.regression("size")]


class Two(nn.Module):
    """Two tasks, in a tuple or in a dict by name of any order."""

    def __init__(self, form=tuple):
        super().__init__()
        self.body, self.kind, self.size = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 1)
        self.form = form

    def forward(self, x):
        z = self.body(x).relu()
        kind, size = self.kind(z), self.size(z)
        return (kind, size) if self.form is tuple else {"size": size, "kind": kind}


def trained(form, batches, balancer=None, window=1):
    torch.manual_seed(0)
    network = pamal.WeightEnsemble([Two(form), Two(form)], shared="body")
    options = {} if balancer is None else {"balancer": balancer}
    method = pamal.Method(network, TASKS, window=window, **options)
    rows = pamal.train(method, batches, epochs=4, progress=False, lr=0.01)
    return network, rows, pamal.evaluate(network, TASKS, batches).table


@pytest.mark.parametrize("form", [tuple, dict])
@pytest.mark.parametrize(
    "targets", [({"size": SIZE, "kind": KIND},), ({"kind": KIND, "size": SIZE},), (KIND, SIZE)]
)
def test_names_give_what_the_order_gives_whatever_theirs_is(form, targets):
    network, rows, table = trained(form, [(X, *targets)])
    expected, expected_rows, expected_table = trained(tuple, [(X, KIND, SIZE)])
    assert rows == expected_rows and table.equals(expected_table)
    assert torch.equal(network.members(), expected.members())
    outputs, same = network.predict(X, [0.5, 0.5]), expected.predict(X, [0.5, 0.5])
    assert torch.equal(outputs["size"] if form is dict else outputs[1], same[1])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"kind": KIND, "siez": SIZE}, "must be one of kind, size. Found 'siez'"),
        ({}, "A batch must have a target, .* Found an empty dict"),
        ({"kind": [0, 1]}, "A batch must be a tuple or list"),
    ],
)
def test_a_name_that_no_task_has_is_refused(targets, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(pamal.InputError, match=message):
        trained(tuple, [(X, targets)])
    network = pamal.WeightEnsemble([Two()], task_weights=[[0.5, 0.5]])
    with pytest.raises(pamal.InputError, match=message):
        pamal.evaluate(network, TASKS, [(X, targets)])


BALANCERS = [None, MovingAverage(), MovingAverage(2, "released"), UnitNorm(), UnitNorm("released")]


@pytest.mark.parametrize("balancer", [*BALANCERS, DynamicWeightAverage(), UncertaintyWeighting(2)])
def test_batches_of_one_source_per_task_train_and_are_judged(balancer):
    both = [(X[:5], {"kind": KIND[:5]}), (X[5:], None, SIZE[5:])]
    _, rows, table = trained(tuple, both, balancer, window=2)
    assert np.isfinite([[*row.values()] for row in rows]).all()
    assert np.isfinite(table).all(axis=None)


def test_labels_that_stand_for_none_train_as_no_target_does():
    hidden, line = torch.full((5,), -100), torch.full((7,), math.nan)
    by_value = [(X[:7], KIND[:7], line), (X[7:], hidden, SIZE[7:])]
    by_name = [(X[:7], {"kind": KIND[:7]}), (X[7:], {"size": SIZE[7:]})]
    found, expected = trained(tuple, by_value), trained(tuple, by_name)
    assert torch.equal(found[0].members(), expected[0].members())
    assert found[1] == expected[1] and found[2].equals(expected[2])


def test_the_losses_of_an_epoch_are_means_over_the_steps_that_had_labels():
    torch.manual_seed(0)
    network = pamal.WeightEnsemble([Two()], task_weights=[[0.5, 0.5]])
    kind, size = network.export([1.0])(X)
    expected = F.cross_entropy(kind, KIND).item(), F.huber_loss(size.flatten(), SIZE).item()
    still = torch.optim.SGD(network.parameters(), lr=0.0)
    batches = [(X, KIND, SIZE), (X, KIND, None), (X, {"kind": KIND})]
    method = pamal.Method(network, TASKS)
    (row,) = pamal.train(method, batches, epochs=1, optimizer=still, progress=False)
    assert row == pytest.approx({"epoch": 1, "kind/loss": expected[0], "size/loss": expected[1]})
    (row,) = pamal.train(method, batches[1:], epochs=1, optimizer=still, progress=False)
    assert row["kind/loss"] == pytest.approx(expected[0]) and math.isnan(row["size/loss"])


def test_a_moving_average_is_over_the_draws_that_had_labels():
    with_gaps, without = MovingAverage(6), MovingAverage(6)
    weights = torch.tensor([0.5, 0.5])
    for value in (2.0, 4.0, 3.0):
        with_gaps.reweigh(torch.tensor([value, 0.0]), weights)
        found = with_gaps.reweigh(torch.tensor([0.0, value]), weights)
        expected = without.reweigh(torch.tensor([value, value]), weights)
    torch.testing.assert_close(found, expected)


def test_an_epoch_without_labels_leaves_dynamic_averaging_even():
    rule = DynamicWeightAverage()
    rule.start_epoch([[1.0, 2.0], [1.0, math.nan]])
    assert rule.reweigh(torch.ones(2), torch.ones(2)).tolist() == [1.0, 1.0]


def test_a_variance_is_not_learned_from_batches_without_labels():
    rule = UncertaintyWeighting(2)
    rule.reweigh(torch.tensor([3.0, 0.0]), torch.tensor([0.5, 0.5]))
    first, second = rule.log_variances.grad.tolist()
    assert second == 0
    assert first == pytest.approx(0.5 * 0.5 * (1 - 3))


def values(tasks):
    """Losses and metrics of the tasks on what suits each of `ALL`."""
    rng = torch.Generator().manual_seed(0)
    outputs = [torch.randn(shape, generator=rng) for _, shape, _ in ALL]
    found = []
    for task, output, (_, _, target) in zip(tasks, outputs, ALL, strict=True):
        labels = target.nan_to_num(0.25) if target.is_floating_point() else target.clamp(min=1)
        found += [task.loss(output, labels).item(), *judged(task, output, labels)]
    return found


NAMED = [pamal.regression("r") if task.name == "r" else task for task, _, _ in ALL]


def test_tasks_survive_pickle_and_another_process():
    expected = pytest.approx(values(NAMED), nan_ok=True, abs=0, rel=0)  # R2 of equal targets
    assert values(pickle.loads(pickle.dumps(NAMED))) == expected
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(values, (NAMED,)) == expected


def test_labels_of_eight_bits_are_none_only_where_they_say_so():
    """156 is -100 in eight bits without a sign."""
    logits = torch.zeros(4, 200)
    logits[:, 156] = 1.0
    task, labels = pamal.classification("kind"), torch.tensor([156, 156, 3, 156])
    for dtype in (torch.uint8, torch.int64):
        accuracy = task.metrics[0]
        found = accuracy.value(accuracy.statistic(logits, labels.to(dtype)))
        assert found == 0.75
        assert label_counts([task], [labels.to(dtype)], labels.device).item() == 4
