"""Each measure is that of the points of a record, recomputed here by loops."""

import numpy as np
import pandas as pd
import pytest
from made_up import objectives, record, staircase
from scipy.stats import spearmanr

from pamal_companion.study.frame import select, value_of
from pamal_companion.study.measures import MEASURES, OF_TOY, is_better_high, value
from pamal_core.errors import InputError

CITY = [
    {
        "segmentation/mIoU": miou,
        "segmentation/pixel accuracy": accuracy,
        "depth/absolute error": error,
        "depth/relative error": relative,
    }
    for miou, accuracy, error, relative in ((0.7, 0.9, 0.014, 60.0), (0.6, 0.92, 0.016, 50.0))
]


def by_hand(record, split):
    """Every measure of a run with two tasks, from its points alone."""
    points = [point for point in record.points if point["split"] == split]
    names = [*record.objectives]
    values = np.array([[p["metrics"][n] for n in names] for p in points])
    losses = np.array(
        [[p["metrics"][n.replace("accuracy", "loss")] for n in names] for p in points]
    )
    alphas = np.array([p["alpha"] for p in points])

    def dominated(p, by, numbers):
        return any((numbers[q] <= numbers[p]).all() and (numbers[q] < numbers[p]).any() for q in by)

    everyone = range(len(points))
    pairs = [(i, j) for i in everyone for j in everyone]
    return {
        "hypervolume": staircase(values),
        "competition": spearmanr(*values.T).statistic,
        "non-dominated": np.mean([not dominated(p, everyone, -values) for p in everyone]),
        "non-dominated in loss": np.mean([not dominated(p, everyone, losses) for p in everyone]),
        "dominated by no neighbour in loss": np.mean(
            [not dominated(p, {p - 1, p + 1} & {*everyone}, losses) for p in everyone]
        ),
        "order": np.mean([spearmanr(alphas[:, t], losses[:, t]).statistic for t in range(2)]),
        "ordered pairs": np.mean(
            [
                np.mean(
                    [losses[i, t] > losses[j, t] for i, j in pairs if alphas[i, t] < alphas[j, t]]
                )
                for t in range(2)
            ]
        ),
        "order in metrics": np.mean(
            [spearmanr(alphas[:, t], values[:, t]).statistic for t in range(2)]
        ),
        "centre": values[len(points) // 2].mean(),
        "mean of objectives": values.max(0).mean(),
        "span": max(
            np.ptp([v[t] for p, v in enumerate(values) if not dominated(p, everyone, -values)])
            for t in range(2)
        ),
        "competition in loss": spearmanr(*losses.T).statistic,
        "cosine of the members": record.summary["member_similarity"],
        "training time": record.cost["train_seconds"],
        "peak memory": record.cost["peak_memory_bytes"],
    }


def chosen_by_hand(record):
    """The test row of the point that has the best mean of the objectives on validation, each scaled
    to its extent over the points that no other dominates."""
    names, by_split = [*record.objectives], {}
    for split in ("validation", "test"):
        points = [point for point in record.points if point["split"] == split]
        by_split[split] = pd.DataFrame([point["metrics"] for point in points])
    ways = [1 if way == "max" else -1 for way in record.objectives.values()]
    better = by_split["validation"][names].to_numpy() * ways
    kept = [
        p
        for p, one in enumerate(better)
        if not any((q >= one).all() and (q > one).any() for q in better)
    ]
    low, high = better[kept].min(0), better[kept].max(0)
    scaled = (better[kept] - low) / np.where(high > low, high - low, 1)
    return by_split["test"].iloc[kept[int(scaled.mean(1).argmax())]]


def test_every_record_has_the_network_that_is_chosen_on_validation(runs):
    checked = 0
    for by_seed in runs.values():
        for one in by_seed.values():
            if (found := one.summary.get("chosen_on_validation")) is not None:
                expected = chosen_by_hand(one)
                assert found["test"] == expected.to_dict(), (one.method, one.options, one.seed)
                checked += 1
    assert checked > 700


@pytest.mark.parametrize("text", ["multimnist/pamal", "census/pamal", "census/pamal lam=0"])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_measures_of_the_records_are_those_of_their_points(runs, text, split):
    for found in runs[select(text)].values():
        expected = by_hand(found, split)
        assert {*expected} == {*MEASURES} - {*OF_TOY}
        for name, number in expected.items():
            assert value_of(found, name, split) == pytest.approx(number, abs=1e-12), name


def test_covering_pairs_are_those_of_a_variant_of_the_toy_problem(runs):
    toy = runs[select("toy/all")][0]
    assert value(toy, "covering pairs", "PaMaL, c = 0.1, gradient balancing") == 25


def test_the_best_of_an_objective_is_taken_on_its_own_in_its_direction():
    faces = record("utkface/pamal", [(0.09, 0.9, 0.7), (0.08, 0.8, 0.75), (0.1, 0.85, 0.6)])
    names = ("age/loss", "gender/accuracy", "ethnicity/accuracy")
    assert [value(faces, name, "test") for name in names] == [0.08, 0.9, 0.75]
    street = record("cityscapes/pamal", CITY)
    assert [value(street, name, "test") for name in CITY[0]] == [0.7, 0.92, 0.014, 50.0]


def test_order_in_metrics_is_that_of_what_is_better_in_its_direction():
    first, last = CITY  # each member is to be good at its own task
    depths = [name for name in first if name.startswith("depth")]
    street = [first | {n: last[n] for n in depths}, last | {n: first[n] for n in depths}]
    assert value(record("cityscapes/pamal", street), "order in metrics", "test") == 1
    assert value(record("cityscapes/pamal", street[::-1]), "order in metrics", "test") == -1


def test_single_task_learning_has_its_own_task_alone():
    stl = [record("cityscapes/stl", CITY[:1], task=t) for t in range(2)]
    numbers = [[value(one, name, "test") for name in CITY[0]] for one in stl]
    np.testing.assert_equal(numbers, [[0.7, 0.9, np.nan, np.nan], [np.nan, np.nan, 0.014, 60.0]])
    assert np.isnan(value(stl[0], "hypervolume", "test"))
    assert np.isnan(value(stl[0], "competition", "test"))
    assert np.isnan(value(stl[0], "depth/loss", "test"))
    with pytest.raises(InputError, match="A measure is one of"):
        value(stl[0], "segmentation/nothing", "test")


def test_what_a_record_does_not_have_is_nan():
    one = record(points=[(0.5, 0.5)])
    assert np.isnan(value(one, "competition", "test")) and np.isnan(value(one, "order", "test"))
    one.summary["member_similarity"] = None
    one.cost["train_seconds"] = None
    for name in ("cosine of the members", "training time"):
        assert np.isnan(value(one, name, "test"))
    stuck = record(points=[(0.9, 0.5), (0.9, 0.6)])
    assert np.isnan(value(stuck, "order", "test"))


def test_the_order_of_one_task_is_that_of_its_loss_or_of_its_metric(runs):
    (found, *_) = runs[select("census/pamal")].values()
    by_task = [value(found, f"order of {task}/loss", "test") for task in ("age", "education")]
    assert value(found, "order", "test") == pytest.approx(sum(by_task) / 2)
    assert by_task[0] == found.front("test").on("loss").spearman()[0]
    accuracy = value(found, "order of education/accuracy", "test")
    assert accuracy == found.front("test").spearman()[1]
    assert np.isnan(value(found, "order of income/loss", "test"))
    assert [is_better_high(f"order of age/{name}") for name in ("loss", "accuracy")] == [
        False,
        True,
    ]


@pytest.mark.parametrize("text", ["census/pamal", "multimnist/pamal"])
def test_the_chosen_network_is_the_best_on_validation_by_what_judges_it(runs, text):
    differ = 0
    for found in runs[select(text)].values():
        rows = {split: found.front(split).table for split in ("validation", "test")}
        names, places = found.front().objectives, set()
        for objective in names:
            at = int(rows["validation"][objective.name].argmax())
            assert (
                value(found, f"chosen {objective.name}", "test")
                == (rows["test"][objective.name].iloc[at])
            )
            places.add(at)
        volumes = {
            split: np.prod([of[o.name] for o in names], axis=0) for split, of in rows.items()
        }
        expected = volumes["test"][volumes["validation"].argmax()]
        assert value(found, "chosen hypervolume", "test") == pytest.approx(expected)
        assert value(found, "chosen hypervolume", "validation") == volumes["validation"].max()
        differ += len(places) > 1
    assert differ > 3  # the networks of two tasks are two


def test_of_a_loss_the_chosen_network_has_the_least():
    faces = record("utkface/pamal", [(0.09, 0.9, 0.7), (0.08, 0.8, 0.75), (0.1, 0.85, 0.6)])
    assert value(faces, "chosen age/loss", "test") == 0.08
    assert np.isnan(value(faces, "chosen hypervolume", "test"))
    assert not is_better_high("chosen age/loss") and is_better_high("chosen age/accuracy")


def test_where_baselines_of_the_toy_problem_end():
    """Four runs on the front, of which one is at task 1, and one beside it; c = 0.1."""
    losses = [(-0.1, -20.0), (-0.5, -19.0), (-1.0, -15.0), (-2.0, -5.0), (-0.3, -2.0)]
    one = record()
    one.points = [
        {"alpha": [1.0], "split": f"UW, c = 0.1, {k}", "metrics": {"1/loss": a, "2/loss": b}}
        for k, (a, b) in enumerate(losses, 1)
    ]
    runs = {str(k): {"verdict": "subset" if k < 5 else "off"} for k in range(1, 6)}
    one.summary["UW, c = 0.1"] = {"runs": runs}
    assert value(one, "ends on the front of UW", "c = 0.1") == 4
    assert value(one, "ends at task 2 of UW", "c = 0.1") == 3 / 4
    for run in runs.values():
        run["verdict"] = "off"
    assert value(one, "ends on the front of UW", "c = 0.1") == 0
    assert np.isnan(value(one, "ends at task 2 of UW", "c = 0.1"))


def test_an_unknown_measure_is_answered_by_the_known_ones():
    with pytest.raises(InputError, match=r"hypervolume, .*task/metric\. Found 'volume'"):
        value(record(), "volume", "test")


def test_directions():
    low = {"competition", "competition in loss", "order", "cosine of the members"}
    low |= {"training time", "peak memory"}
    assert {name for name in MEASURES if not is_better_high(name)} == low
    for experiment in ("multimnist", "utkface", "cityscapes"):
        for name, way in objectives(experiment).items():
            assert is_better_high(name) == (way == "max")


def test_a_split_that_a_record_lacks_has_no_measure():
    run = record()
    for measure in ("hypervolume", "left/accuracy", "left/loss"):
        assert np.isnan(value(run, measure, "validation, recalibrated")), measure
