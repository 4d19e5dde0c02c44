"""Tasks with a target for every pixel, against loops over the pixels."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from over_batches import judged
from small_problems import SharedBottom
from torch import nn

from pamal_core.classes import confusion_matrix, mean_iou, segmentation
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate, objectives
from pamal_core.numbers import depth

CLASSES = 4


def by_pixel(images):
    """Every (image, row, column) of [n, H, W]."""
    n, height, width = images.shape
    for i in range(n):
        for y in range(height):
            for x in range(width):
                yield i, y, x


def loops_over_classes(logits, labels, ignore):
    """mIoU, pixel accuracy and cross-entropy by hand, without a confusion matrix."""
    both, either, right, total, seen = [0] * CLASSES, [0] * CLASSES, 0, 0.0, 0
    for i, y, x in by_pixel(labels):
        label, scores = int(labels[i, y, x]), logits[i, :, y, x].tolist()
        if label == ignore:
            continue
        guess = scores.index(max(scores))
        for c in range(CLASSES):
            both[c] += guess == c and label == c
            either[c] += guess == c or label == c
        right += guess == label
        total += math.log(sum(math.exp(s) for s in scores)) - scores[label]
        seen += 1
    shares = [b / e for b, e in zip(both, either, strict=True) if e]
    return (sum(shares) / len(shares), right / seen, total / seen) if seen else (math.nan,) * 3


def loops_over_depths(output, target):
    absolute, relative, seen = 0.0, 0.0, 0
    for i, y, x in by_pixel(target):
        guess, truth = output[i, 0, y, x].item(), target[i, y, x].item()
        if truth > 0:
            absolute += abs(guess - truth)
            relative += abs(guess - truth) / truth
            seen += 1
    return (absolute / seen, relative / seen, absolute / seen) if seen else (math.nan,) * 3


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    batch_size=st.integers(1, 5),
    labels=st.sets(st.sampled_from([0, 1, 2, 3, "ignored"]), min_size=1),
    silent=st.sets(st.integers(0, CLASSES - 1), max_size=CLASSES - 1),
    ignore=st.sampled_from([-1, 255]),
)
def test_segmentation_is_judged_as_by_a_loop_over_pixels(seed, batch_size, labels, silent, ignore):
    """Some classes may occur nowhere, some may never be predicted, and all pixels be ignored."""
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(5, CLASSES, 3, 4, generator=rng)
    logits[:, list(silent)] -= 50
    values = torch.tensor([ignore if c == "ignored" else c for c in labels])
    target = values[torch.randint(len(values), (5, 3, 4), generator=rng)]
    found = judged(segmentation("s", CLASSES, ignore), logits, target, batch_size)
    assert found == pytest.approx(loops_over_classes(logits, target, ignore), nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    batch_size=st.integers(1, 5),
    missing=st.floats(0, 1),
    column=st.booleans(),
    sign=st.sampled_from([0.0, -1.0, math.nan]),
)
def test_depth_is_judged_as_by_a_loop_over_pixels(seed, batch_size, missing, column, sign):
    """Invalid targets may be 0, negative or NaN."""
    rng = torch.Generator().manual_seed(seed)
    output = torch.randn(5, 1, 3, 4, generator=rng)
    target = torch.rand(5, 3, 4, generator=rng) + 0.01
    target[torch.rand(5, 3, 4, generator=rng) < missing] *= sign
    given_target = target.unsqueeze(1) if column else target
    found = judged(depth("d"), output, given_target, batch_size)
    assert found == pytest.approx(loops_over_depths(output, target), nan_ok=True)


def test_the_loss_of_a_batch_is_its_mean_over_labelled_pixels():
    logits, labels = torch.randn(2, CLASSES, 3, 4), torch.randint(-1, CLASSES, (2, 3, 4))
    assert (labels == -1).any()
    task, kept = segmentation("s", CLASSES), labels != -1
    expected = torch.nn.functional.cross_entropy(logits.movedim(1, -1)[kept], labels[kept])
    torch.testing.assert_close(task.loss(logits, labels), expected)
    output, target = torch.randn(2, 1, 3, 4), torch.rand(2, 1, 3, 4) - 0.5
    expected = torch.nn.functional.l1_loss(output[target > 0], target[target > 0])
    torch.testing.assert_close(depth("d").loss(output, target), expected)


def test_pixels_without_a_target_have_no_gradient():
    logits = torch.randn(1, CLASSES, 2, 2, requires_grad=True)
    segmentation("s", CLASSES).loss(logits, torch.tensor([[[-1, 0], [3, -1]]])).backward()
    assert not logits.grad[0, :, [0, 1], [0, 1]].any()
    assert logits.grad[0, :, [0, 1], [1, 0]].all()
    output = torch.randn(1, 1, 2, 2, requires_grad=True)
    depth("d").loss(output, torch.tensor([[[math.nan, 0.5], [0.1, 0.0]]])).backward()
    assert (output.grad != 0).tolist() == [[[[False, True], [True, False]]]]


def test_a_confusion_matrix_has_labels_in_rows():
    predicted, labels = torch.tensor([0, 1, 1, 2]), torch.tensor([0, 2, 1, 2])
    counted = torch.tensor([True, True, True, False])
    found = confusion_matrix(predicted, labels, counted, 3)
    assert found.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    # 0: 1 / 1, 1: 1 / 2, 2: 0 / 1
    assert mean_iou(found) == pytest.approx(0.5)


def test_a_class_that_is_predicted_but_never_occurs_counts_as_missed():
    assert mean_iou(torch.tensor([[3, 1], [0, 0]])) == pytest.approx((3 / 4 + 0) / 2)
    assert mean_iou(torch.tensor([[4, 0], [0, 0]])) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_pixels_without_an_answer_have_no_metrics_unless_they_do_not_count(value):
    logits, labels = torch.randn(2, 3, 4, 5), torch.randint(3, (2, 4, 5))
    metrics = segmentation("classes", 3).metrics
    logits[0, 1, 2, 3] = value
    assert all(math.isnan(m(logits, labels)) for m in metrics)
    labels[0, 2, 3] = -1
    found = [m(logits, labels) for m in metrics]
    logits[0, :, 2, 3] = 0.0
    assert found == [m(logits, labels) for m in metrics]


def test_sums_over_many_batches_are_exact():
    task, output = depth("d"), torch.full((1, 1, 512, 512), 0.1)
    statistic = task.metrics[0].statistic(output, torch.full((1, 1, 512, 512), 0.3))
    assert statistic.dtype == torch.float64
    value = task.metrics[0].value(sum(statistic for _ in range(1000)))
    assert value == pytest.approx(output.new_tensor(0.3).sub(0.1).item(), rel=1e-12)


def test_logits_of_other_classes_are_refused():
    with pytest.raises(
        InputError, match=r"logits \[n, 4, H, W\] .* Found one tensor \[2, 7, 3, 3\]"
    ):
        segmentation("s", 4).loss(torch.rand(2, 7, 3, 3), torch.zeros(2, 3, 3, dtype=torch.long))


def test_dense_tasks_make_a_front_with_named_columns():
    tasks = [segmentation("classes", 3), depth("distance")]
    heads = [[nn.Conv2d(4, c, 1) for c in (3, 1)] for _ in range(2)]
    members = [SharedBottom(nn.Conv2d(3, 4, 3, padding=1), pair) for pair in heads]
    network = WeightEnsemble(members, shared="encoder")
    x = torch.rand(3, 3, 32, 32)
    batch = x, torch.randint(-1, 3, (3, 32, 32)), torch.rand(3, 1, 32, 32)
    parts = list(zip(*(part.split(1) for part in batch), strict=True))
    whole, split = (
        evaluate(network, tasks, data, [[0.5, 0.5]], calibration="shared")
        for data in ([batch], parts)
    )
    assert list(whole.table) == [
        *(f"classes/{m}" for m in ("mIoU", "pixel accuracy", "loss")),
        *(f"distance/{m}" for m in ("absolute error", "relative error", "loss")),
    ]
    assert whole.maximise == [True, False]
    assert [o.name for o in objectives(tasks)] == ["classes/mIoU", "distance/absolute error"]
    assert split.table.iloc[0].tolist() == pytest.approx(whole.table.iloc[0].tolist(), rel=1e-5)
