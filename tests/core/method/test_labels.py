"""Labels with one logit each, against torch, scikit-learn and torchmetrics on those there are."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from over_batches import gathered, judged
from small_problems import Constant, SharedBottom
from torch import nn
from torch.nn import functional as F

import pamal_core as pamal
from pamal_core.labels import checked

sk = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle here")

REASON = "torchmetrics is the oracle here"
NAN = math.nan
SHAPES = {"one": (), "several": (3,)}
RNG = torch.Generator().manual_seed(5)
X = torch.randn(60, 4, generator=RNG)
SOLD, TAGS = X[:, 0] + 0.3 > 0, X[:, 1:] + 0.5 * torch.randn(60, 3, generator=RNG) > 0


def made(kind, seed, size=7, missing=0.0):
    """Logits and labels 0.0, 1.0 or NaN of a kind, and which labels are there."""
    rng = torch.Generator().manual_seed(seed)
    shape = size, *SHAPES[kind]
    logits = 2 * torch.randn(shape, generator=rng)
    labels = (torch.rand(shape, generator=rng) > 0.4).double()
    labels[torch.rand(shape, generator=rng) < missing] = NAN
    return logits, labels, ~labels.isnan()


# Values, against torch and scikit-learn


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    missing=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    weight=st.sampled_from([None, 3, 0.2, "each"]),
    form=st.sampled_from(["float", "double", "long", "int8", "bool"]),
)
@pytest.mark.parametrize("kind", SHAPES)
def test_the_loss_is_torchs_on_the_labels_that_are_there(kind, seed, missing, weight, form):
    logits, labels, there = made(kind, seed, missing=0.0 if form == "bool" else missing)
    if weight == "each":
        weight = [0.5, 2.0, 7.0] if kind == "several" else [2.0]
    task = pamal.binary("t", pos_weight=weight)
    given_labels = labels if form in ("float", "double") else labels.nan_to_num(-100)
    given_labels = given_labels.to(getattr(torch, form))
    logits.requires_grad_()
    accuracy, loss = judged(task, logits, given_labels)
    if not there.any():
        assert math.isnan(accuracy) and math.isnan(loss)
        return
    weights = None if weight is None else torch.tensor(weight).float().expand_as(logits)[there]
    expected = F.binary_cross_entropy_with_logits(
        logits[there], labels[there].float(), pos_weight=weights
    )
    found = task.loss(logits, given_labels)
    torch.testing.assert_close(found, expected)
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    answers = logits[there] > 0
    assert accuracy == pytest.approx(sk.accuracy_score(labels[there], answers))
    slopes = [torch.autograd.grad(one, logits)[0] for one in (found, expected)]
    torch.testing.assert_close(*slopes)
    assert not slopes[0][~there].any()
    assert task.count(given_labels) == there.sum()
    if weight is None:
        assert loss == pytest.approx(
            sk.log_loss(labels[there], logits[there].detach().double().sigmoid(), labels=[0, 1]),
            rel=1e-5,
        )


def test_known_values():
    logits, labels = torch.tensor([[0.0, math.log(3.0)]]), torch.tensor([[1, 0]])
    task = pamal.binary("m", pos_weight=[2.0, 5.0])
    assert task.loss(logits, labels).item() == pytest.approx((2 * math.log(2) + math.log(4)) / 2)
    assert (
        judged(task, logits, labels)[0] == 0
    )  # a logit of 0 is an answer of 0, as in torchmetrics
    task = pamal.binary("b")
    assert judged(task, torch.tensor([0.1, -0.1, -7.0]), torch.tensor([1, 0, 1]))[0] == 2 / 3


FORMS = {
    "[n]": (lambda x: x, lambda y: y),
    "[n, 1]": (lambda x: x[:, None], lambda y: y),
    "both [n, 1]": (lambda x: x[:, None], lambda y: y[:, None]),
    "labels [n, 1]": (lambda x: x, lambda y: y[:, None]),
    "pixels": (lambda x: x.view(-1, 1, 2, 2), lambda y: y.view(-1, 2, 2)),
    "pixels of both": (lambda x: x.view(-1, 1, 2, 2), lambda y: y.view(-1, 1, 2, 2)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_logit_for_each_label_may_have_any_of_its_shapes(form):
    logits, labels, _ = made("one", 1, size=8, missing=0.3)
    task, (of_logits, of_labels) = pamal.binary("b", pos_weight=2.0), FORMS[form]
    found = (
        task.loss(of_logits(logits), of_labels(labels)),
        *judged(task, of_logits(logits), of_labels(labels)),
    )
    assert found == pytest.approx((task.loss(logits, labels), *judged(task, logits, labels)))
    parts = task.labelled(of_logits(logits), of_labels(labels))
    assert all(map(torch.equal, parts, task.labelled(logits, labels)))


# torchmetrics


@pytest.mark.parametrize("size", [3, 7, 60])
@pytest.mark.parametrize("ones", [0.5, 0.99], ids=["balanced", "all in [0, 1]"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_f1_and_auroc_are_those_of_scikit_learn_on_all_labels_at_once(size, ones, missing):
    """torchmetrics would take the logits of a batch for probabilities where all are in [0, 1]."""
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    logits, labels, there = made("one", 3, 60, missing)
    if ones > 0.9:
        logits = logits.sigmoid() - torch.tensor([0.0, 3.0]).repeat(30).sort().values
    task = pamal.binary("b", metrics=[kinds.BinaryF1Score(), kinds.BinaryAUROC(), "loss"])
    f1, auroc = (gathered(m, logits, labels, size) for m in task.metrics[:2])
    truth, scores = labels[there], logits[there]
    assert f1 == pytest.approx(sk.f1_score(truth, scores > 0), abs=1e-6)
    assert auroc == pytest.approx(sk.roc_auc_score(truth, scores.double()), abs=1e-6)
    whole = copy.deepcopy(kinds.BinaryAUROC())(scores, truth.long()).item()
    assert auroc == pytest.approx(whole, abs=1e-6)


def test_one_label_is_judged_as_a_vector_and_several_as_columns():
    logits, labels, there = made("one", 4, 9, 0.4)
    for shape in ((9,), (9, 1)):
        chances, truth = pamal.binary("b").labelled(logits.view(shape), labels.view(shape))
        assert torch.equal(chances, logits.sigmoid()[there])
        assert torch.equal(truth, labels[there].long())
    logits, labels, there = made("several", 4, 9, 0.7)
    chances, truth = pamal.binary("b", -1).labelled(logits, labels)
    kept = there.any(1)
    assert 0 < kept.sum() < 9
    assert torch.equal(chances, logits.sigmoid()[kept])
    assert torch.equal(truth, labels[kept].nan_to_num(-1).long())


@pytest.mark.parametrize("size", [4, 60])
@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("ignored", [-100, -1, 255])
def test_those_of_several_labels_are_means_over_the_labels(size, missing, ignored):
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    logits, labels, there = made("several", 4, 60, missing)
    judges = [kinds.MultilabelF1Score(3, ignore_index=ignored),
              kinds.MultilabelAUROC(3, ignore_index=ignored)]  # fmt: skip
    task = pamal.binary("m", ignored, metrics=judges)
    whole = labels.nan_to_num(ignored).long()
    columns = [(labels[:, k][there[:, k]], logits[:, k][there[:, k]].double()) for k in range(3)]
    expected = [
        np.mean([sk.f1_score(truth, scores > 0) for truth, scores in columns]),
        np.mean([sk.roc_auc_score(truth, scores) for truth, scores in columns]),
    ]
    for target in (labels, whole):
        found = [gathered(m, logits, target, size) for m in task.metrics]
        assert found == pytest.approx(expected, abs=1e-6)
    if missing:  # torchmetrics itself refuses what it was not told of
        task = pamal.binary("m", ignored, metrics=[kinds.MultilabelF1Score(3)])
        with pytest.raises(RuntimeError, match="Detected the following values"):
            gathered(task.metrics[0], logits, labels, size)


def test_references_and_directions_are_those_of_a_classification():
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    for auroc in (kinds.BinaryAUROC(), kinds.MultilabelAUROC(3)):
        task = pamal.binary("t", metrics=["accuracy", "loss", ("AUROC", auroc)])
        assert [m.name for m in task.metrics] == ["accuracy", "loss", "AUROC"]
        assert [m.maximise for m in task.metrics] == [True, False, True]
        assert [m.reference for m in task.metrics] == [0, None, 0.5]
        assert [m.name for m in pamal.binary("t").metrics] == ["accuracy", "loss"]


# Missing labels


def test_a_logit_that_is_not_finite_has_no_metrics_unless_it_counts_not():
    task = pamal.binary("b")
    for kind in SHAPES:
        for value in (NAN, math.inf):
            logits, labels, _ = made(kind, 0)
            logits[2] = value
            labels[2] = 0
            assert math.isnan(judged(task, logits, labels)[0])
            labels[2] = NAN
            assert all(map(math.isfinite, judged(task, logits, labels)))


# What is refused


@pytest.mark.parametrize(
    ("task", "output", "target", "message"),
    [
        (
            pamal.binary("t"),
            (6, 2),
            torch.zeros(6).long(),
            r"Two logits of one label .* `classif.*6, 2\]",
        ),
        (pamal.binary("t"), (6, 2, 4), torch.zeros(6, 2, 4), r"both are \[n\] or \[n, L\]"),
        (pamal.binary("t"), (6, 2, 4), torch.zeros(6, 4), "Each label must have one logit"),
        (pamal.binary("t"), (6, 1), torch.zeros(6, 2), "one target for each number of the output"),
        (pamal.binary("t"), (6, 1, 2, 3), torch.zeros(6, 3, 2), "with the axes in its order"),
        (pamal.binary("t"), (6, 1), torch.tensor([0, 1, 2, 0, 1, 0]), "0 or 1, or NaN .* Found 2"),
        (pamal.binary("t"), (6,), torch.tensor([0, 1, -1, 0, 1, 0]), "NaN or -100 .* Found -1"),
        (pamal.binary("t"), (6,), torch.tensor([0.5] * 6), "must be 0 or 1.* Found 0.5"),
        (pamal.binary("t"), (6,), torch.tensor([math.inf] * 6), "must be 0 or 1.* Found inf"),
        (pamal.binary("t"), (6,), torch.full((6,), 156, dtype=torch.uint8), "Found 156"),
        (pamal.binary("t", pos_weight=[1, 2]), (6, 1), torch.zeros(6), r"pos_weight=\[1.0, 2.0\]"),
        (pamal.binary("t", pos_weight=[2]), (6, 3), torch.zeros(6, 3), r"pos_weight=\[2.0\]"),
        (pamal.binary("t"), (6, 3), torch.zeros(6), r"\[6, 3\] of float32 and one .* \[6\]"),
        (pamal.binary("t"), (6, 3), torch.zeros(6, 2), r"both are \[n\] or \[n, L\]"),
        (pamal.binary("t"), (6, 3), torch.full((6, 3), 2), "must be 0 or 1.* Found 2"),
        (pamal.classification("t"), (6, 1), torch.zeros(6).long(), "is for a `binary`"),
        (pamal.classification("t"), (6,), torch.zeros(6).long(), "is for a `binary`"),
        (pamal.classification("t"), (6, 1), torch.zeros(6, 1), "is for a `binary`"),
        (pamal.classification("t"), (6, 3), torch.ones(6, 3).long(), "is for a `binary`"),
        (pamal.classification("t"), (6, 3), torch.ones(6, 3), "at once are for a `binary`"),
    ],
)
def test_what_would_be_wrong_in_silence_is_refused_everywhere(task, output, target, message):
    network = pamal.WeightEnsemble([Constant(output)], task_weights=[[1.0]])
    with pytest.raises(pamal.InputError, match=f"(?s){message}.*task t"):
        pamal.train(pamal.Method(network, [task]), [(torch.ones(6), target)], epochs=1)
    with pytest.raises(pamal.InputError, match=message):
        pamal.evaluate(network, [task], [(torch.ones(6), target)])


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("weight", [0, -1.0, NAN, [1.0, 0.0], torch.tensor([2.0, -3.0]), math.inf])
def test_weights_of_ones_are_numbers_above_0(kind, weight):
    with pytest.raises(pamal.InputError, match="`pos_weight` must be a finite number > 0"):
        pamal.binary("t", pos_weight=weight)


def test_labels_off_the_cpu_that_are_neither_give_nan():
    """On "meta" in place of a GPU, which has no values."""
    logits, labels = torch.randn(3, 1, device="meta"), torch.empty(3, device="meta")
    parts = checked(-100, logits, labels)
    assert [(p.device.type, [*p.shape]) for p in parts] == [("meta", [3, 1])] * 3


# In training


def net():
    return SharedBottom(nn.Identity(), [nn.Linear(4, 1), nn.Linear(4, 3)])


TASKS = [pamal.binary("sold", pos_weight=2.0), pamal.binary("tags")]


def test_steps_are_those_of_plain_torch_whatever_form_a_batch_has():
    sold = SOLD.double().where(torch.arange(60) % 5 > 0, NAN)
    tags = TAGS.long().where(torch.arange(180).view(60, 3) % 7 > 0, -100)
    losses = [
        lambda out: F.binary_cross_entropy_with_logits(
            out[0][sold == sold, 0], sold[sold == sold].float(), pos_weight=torch.tensor(2.0)
        ),
        lambda out: F.binary_cross_entropy_with_logits(out[1][tags >= 0], tags[tags >= 0].float()),
    ]
    forms = [
        (X, sold, tags),
        (X, {"tags": tags, "sold": sold[:, None]}),
        {"x": X, "sold": sold, "tags": tags.float()},
        (X, sold.nan_to_num(-100).long(), tags.double().where(tags >= 0, NAN)),
    ]
    plain = net()
    start = copy.deepcopy(plain)
    descent = torch.optim.SGD(plain.parameters(), lr=0.5)
    for _ in range(5):
        descent.zero_grad()
        (0.5 * sum(loss(plain(X)) for loss in losses)).backward()
        descent.step()
    for batch in forms:
        network = pamal.WeightEnsemble([start], task_weights=[[0.5, 0.5]])
        method = pamal.Method(network, TASKS)
        descent = torch.optim.SGD(method.parameters(), lr=0.5)
        rows = pamal.train(method, [batch], epochs=5, optimizer=descent, progress=False)
        exported = network.export([1.0])
        for ours, theirs in zip(exported.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
        assert rows[4]["sold/loss"] < rows[0]["sold/loss"]


def test_fit_learns_both_and_says_what_they_are_worth():
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    tasks = [pamal.binary("sold", metrics=["accuracy", kinds.BinaryAUROC()]), TASKS[1]]
    data = [{"x": X, "sold": SOLD.long(), "tags": TAGS}]
    fitted = pamal.fit(net, tasks, data, data, epochs=60, lr=0.05, progress=False)
    assert list(fitted.front.table) == [
        "sold/accuracy", "sold/BinaryAUROC", "tags/accuracy", "tags/loss"
    ]  # fmt: skip
    point = fitted.front.choose(best="sold", at_least={"tags": 0.7})
    sold, tags = fitted.predict(X, point.alpha)
    assert point.metrics["sold/accuracy"] == pytest.approx(sk.accuracy_score(SOLD, sold[:, 0] > 0))
    assert point.metrics["tags/accuracy"] == pytest.approx(
        sk.accuracy_score(TAGS.flatten(), tags.flatten() > 0)
    )
    assert point.metrics["sold/BinaryAUROC"] == pytest.approx(
        sk.roc_auc_score(SOLD, sold[:, 0]), abs=1e-6
    )
    assert point.metrics["sold/accuracy"] > 0.9 and fitted.front.hypervolume() > 0.4
