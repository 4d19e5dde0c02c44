"""Income against the gap between women and men: data, losses, metrics, and runs."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import average_precision_score
from small_problems import slopes_of

from pamal_companion.data import census, fairness
from pamal_companion.data.samples import people
from pamal_companion.experiments.fairness import (
    EXPERIMENT,
    PRECISION,
    RIGHT_PICKS,
    FairnessOptions,
    gap,
    parity,
)
from pamal_companion.experiments.models import OneScore
from pamal_companion.runs.run import run
from pamal_core import Method, WeightEnsemble
from pamal_core.errors import InputError


def options(**values):
    return FairnessOptions.create(**{"data": "sample", "epochs": 1, "device": "cpu"} | values)


@pytest.mark.parametrize("seed", range(4))
def test_average_precision_is_that_of_scikit_learn_with_ties(seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=301).round(seed % 2)  # rounded to whole numbers there are many ties
    labels = rng.integers(0, 2, 301)
    total = None
    for part in np.array_split(np.arange(301), 4):
        total = PRECISION.add(total, *map(torch.from_numpy, (logits[part], labels[part])))
    assert PRECISION.of(total) == pytest.approx(average_precision_score(labels, logits), abs=1e-12)


def test_a_constant_answer_has_the_share_of_positives_and_no_positive_none():
    labels = torch.tensor([1, 0, 0, 0])
    assert PRECISION(torch.zeros(4), labels) == 0.25
    assert np.isnan(PRECISION(torch.zeros(4), torch.zeros(4, dtype=torch.long)))
    assert np.isnan(PRECISION(torch.tensor([0.0, torch.nan, 0, 0]), labels))


def test_the_gap_is_the_difference_of_mean_scores_by_a_plain_loop():
    logits, groups = torch.randn(50, requires_grad=True), torch.randint(2, (50,))
    means = [
        np.mean(
            [1 / (1 + np.exp(-z.item())) for z, g in zip(logits, groups, strict=True) if g == k]
        )
        for k in (0, 1)
    ]
    assert gap(logits, groups).item() == pytest.approx(abs(means[0] - means[1]), abs=1e-6)
    (slope,) = torch.autograd.grad(gap(logits, groups), logits)
    assert slope[groups == 0].sign().unique().numel() == 1 and slope.abs().min() > 0


@pytest.mark.parametrize("seed", range(3))
def test_picks_are_those_of_pandas_over_all_rows(seed):
    """The 6.2 % with the highest scores, in batches of any size."""
    rng = np.random.default_rng(seed)
    rated = pd.DataFrame(
        {
            "z": rng.normal(size=701),
            "earns": rng.integers(0, 2, 701),
            "male": rng.integers(0, 2, 701),
        }
    )
    best = rated.nlargest(round(0.062 * 701), "z")
    shares = best.groupby("male").size() / rated.groupby("male").size()
    gap_metric = next(m for m in parity("p", "income").metrics if m.name == "gap in picks")
    for metric, label, expected in (
        (RIGHT_PICKS, "earns", best["earns"].mean()),
        (gap_metric, "male", abs(shares[1] - shares[0])),
    ):
        total = None
        for part in np.array_split(np.arange(701), 5):
            rows = rated.iloc[part]
            given = (torch.from_numpy(rows[name].to_numpy(copy=True)) for name in ("z", label))
            total = metric.add(total, *given)
        assert metric.of(total) == pytest.approx(expected, abs=1e-12)


def test_picks_of_scores_that_are_not_finite_are_none():
    scores, labels = torch.tensor([0.0, torch.nan]), torch.tensor([0, 1])
    for metric in (RIGHT_PICKS, parity("p", "income").metrics[2]):
        assert np.isnan(metric(scores, labels))


@pytest.mark.parametrize("group", [0, 1])
def test_a_batch_without_one_of_the_groups_has_no_gap_and_no_gradient(group):
    logits = torch.randn(5, requires_grad=True)
    loss = gap(logits, torch.full((5,), group))
    loss.backward()
    assert loss.item() == 0 and logits.grad.abs().max() == 0


def test_the_metrics_of_parity_are_of_all_rows_and_not_means_over_batches():
    logits, groups = torch.randn(90), torch.randint(2, (90,))
    for metric in parity("parity", "income").metrics:
        if metric.name == "gap in picks":
            continue  # whose oracle is pandas, above
        total = None
        for part in torch.arange(90).split(7):
            total = metric.add(total, logits[part], groups[part])
        values = (logits > 0).float() if "answers" in metric.name else logits.sigmoid()
        expected = (values[groups == 1].mean() - values[groups == 0].mean()).abs().item()
        assert metric.of(total) == pytest.approx(expected, abs=1e-6)
        assert not metric.maximise


def test_neither_sex_nor_income_is_an_input_and_the_people_of_census_stay():
    splits = fairness.load("sample")
    assert splits.id != census.load("sample", tasks=("income", "male")).id
    inputs, income, male = splits.train.tensors
    for column in inputs.T:  # none tells who earns well, or the sex of those who have it
        if 100 < (has := column != 0).sum() < len(column):
            assert income[has].double().mean() < 0.98 and 0.02 < male[has].double().mean() < 0.98
    plain, unequal = (
        census.parse(texts(census.COLUMNS)[0]) for texts in (people.texts, fairness.UNEQUAL)
    )
    changed = {c for c in census.COLUMNS if not plain[c].astype(str).equals(unequal[c].astype(str))}
    assert changed == {"INCOME", "AMJIND"}


def test_the_sample_has_the_gap_that_was_put_in():
    _, income, male = fairness.load("sample").train.tensors
    unequal = income[male == 1].double().mean() - income[male == 0].double().mean()
    _, income, male = census.load("sample", tasks=("income", "male")).train.tensors
    equal = income[male == 1].double().mean() - income[male == 0].double().mean()
    assert unequal > 0.1 > 0.03 > abs(equal)


def test_a_front_goes_from_finding_people_to_treating_both_groups_alike():
    record = run(EXPERIMENT, options(epochs=6, average=0.99)).record
    table = record.front("test").table
    ends = table.iloc[[0, -1]]
    assert ends["income/average precision"].is_monotonic_decreasing
    assert ends["parity/gap"].iloc[0] > 2 * ends["parity/gap"].iloc[1]
    assert record.objectives == {"income/average precision": "max", "parity/gap": "min"}


@pytest.mark.parametrize("method", ["ls", "stl", "uw", "mgda", "pcgrad", "phn", "cosmos", "soup"])
def test_methods_run_on_one_logit_for_two_losses(method):
    record = run(EXPERIMENT, options(method=method, epochs=2)).record
    values = [value for point in record.points for value in point["metrics"].values()]
    assert np.isfinite(values).all()


def test_rotograd_is_refused_before_data_are_loaded():
    with pytest.raises(InputError, match="both tasks read one logit here"):
        options(method="rotograd")


def test_a_batch_of_women_alone_is_trained_on_as_any_other():
    network = WeightEnsemble([OneScore(3), OneScore(3)], shared="encoder")
    method = Method(network, EXPERIMENT.tasks)
    batch = torch.randn(8, 3), torch.randint(2, (8,)), torch.zeros(8, dtype=torch.long)
    losses = method.step(batch, [[0.5, 0.5]])
    assert losses[0, 1] == 0 and slopes_of(network).isfinite().all()
