from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pamal_core.errors import InputError
from pamal_core.runs.records import Record
from pamal_core.study import multimnist_tables as tables
from pamal_core.study.paper import table
from pamal_core.study.tables import (
    ONE_NETWORK,
    baselines_beside_the_paper,
    beside_the_paper,
    read,
)

ROOT = Path(__file__).parents[2]
TASKS = tables.TASKS

MULTIMNIST = ("multiforward_multimnist", "multimnist/full/")


def record(method="pamal", seed=0, values=((0.9, 0.8), (0.7, 0.9)), data="multimnist/full/x"):
    """A record whose fronts have the given accuracies on both splits."""
    alphas = np.linspace(1, 0, len(values))
    points = [
        {"alpha": [a, 1 - a], "split": split, "metrics": dict(zip(TASKS, v, strict=True))}
        for split in ("validation", "test")
        for a, v in zip(alphas, values, strict=True)
    ]
    hypervolume = 0.9 * 0.8 + 0.7 * 0.1
    best = dict(zip(TASKS, np.max(values, axis=0).tolist(), strict=True))
    return Record(
        experiment="multimnist",
        method=method,
        options={"W": 4, "lam": 0.0, "epochs": 10} if method == "pamal" else {"epochs": 10},
        seed=seed,
        data=data,
        objectives=dict.fromkeys(TASKS, "max"),
        points=points,
        summary={s: {"hypervolume": hypervolume, "best": best} for s in ("validation", "test")},
        cost={},
        versions={},
    )


def all_runs():
    return {
        "pamal": [record(seed=s) for s in range(3)],
        "ls": [record("ls", s, [v]) for s, v in enumerate([(0.9, 0.7), (0.8, 0.8), (0.7, 0.6)])],
        "stl top-left": [record("stl", s, [(0.6 + s / 10, 0)]) for s in range(3)],
        "stl bottom-right": [record("stl", s, [(0, 0.9)]) for s in range(3)],
    }


def test_a_run_at_a_setting_of_the_paper_is_set_beside_its_row():
    row = beside_the_paper(record(), *MULTIMNIST).iloc[0]
    assert row["paper, mean of 3"] == 0.9184 and row["paper, std"] == 0.0032
    assert row["difference"] == pytest.approx(0.79 - 0.9184)


@pytest.mark.parametrize("other", [record("ls"), record(data="multimnist/sample/x")])
def test_other_data_and_other_methods_have_nothing_to_be_compared_with(other):
    row = beside_the_paper(other, *MULTIMNIST).iloc[0]
    assert row["measured"] == pytest.approx(0.79)
    assert row.drop("measured").isna().all()


def test_the_validation_table_has_both_means_and_population_deviations():
    found = tables.validation_table(all_runs())
    assert found.loc["measured", "mean"] == pytest.approx(0.79)
    assert found.loc["measured", "std"] == pytest.approx(0)
    assert found.loc["paper", "mean"] == pytest.approx(0.9184, abs=1e-4)
    assert found.loc["paper", "std"] == pytest.approx(0.0032, abs=5e-5)


def test_the_results_table_takes_best_values_and_for_ls_the_union():
    found = tables.results_table(all_runs())
    pamal, ls = found.loc["PaMaL, seed 1"], found.loc["LS, three seeds"]
    assert pamal["top-left/accuracy", "measured"] == 0.9
    assert pamal["hypervolume", "measured"] == pytest.approx(0.79)
    assert pamal["hypervolume", "paper"] == 0.916
    assert ls["top-left/accuracy", "measured"] == pytest.approx(0.8)
    assert ls["hypervolume", "measured"] == pytest.approx(0.9 * 0.7 + 0.8 * 0.1)
    assert ls["hypervolume", "paper"] == 0.907


def test_single_task_learning_is_the_mean_over_seeds_of_each_task():
    np.testing.assert_allclose(tables.single_task(all_runs()), (0.7, 0.9))


def test_the_authors_fronts_have_eleven_points_and_their_published_hypervolumes():
    fronts = tables.authors_fronts()
    assert [len(f.alphas) for f in fronts] == [11] * 3
    volumes = [f.hypervolume([0.0, 0.0]) for f in fronts]
    np.testing.assert_allclose(volumes, [0.9190, 0.9164, 0.9147], atol=5e-5)


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(InputError, match=r"pamal_seed_0\.json"):
        tables.read_runs(tmp_path)


def test_the_numbers_quoted_in_the_book_and_the_readme_are_those_of_the_records():
    root = Path(__file__).parents[2]
    runs = tables.read_runs(root / "results" / "multimnist")
    mean = tables.validation_table(runs).loc["measured", "mean"]
    assert abs(mean - 0.9184) < 0.005
    for page in ("README.md", "book/index.md"):
        assert f"{mean:.4f}" in (root / page).read_text()
    ls = tables.results_table(runs).loc["LS, three seeds", ("hypervolume", "measured")]
    assert abs(ls - 0.907) < 0.006
    pairs = zip(runs["pamal"], runs["ls"], strict=True)
    for ours, other in pairs:
        volumes = [r.summary["validation"]["hypervolume"] for r in (ours, other)]
        assert volumes[0] > volumes[1]


def test_each_baseline_is_set_beside_its_row_in_the_paper():
    uw, cagrad = record(method="uw"), record(method="cagrad")
    found = baselines_beside_the_paper([uw, cagrad], "multimnist")
    best = uw.summary["test"]["best"]
    assert found.loc["UW", ("top-left", "measured")] == best["top-left/accuracy"]
    assert found.loc["UW", ("top-left", "paper")] == 0.957
    assert found.loc["UW", ("bottom-right", "paper")] == 0.945
    difference = best["bottom-right/accuracy"] - 0.945
    assert found.loc["UW", ("bottom-right", "difference")] == pytest.approx(difference)
    assert found.loc["CAGrad"].drop("measured", level=1).isna().all()


@pytest.mark.parametrize("dataset", ["multimnist", "census"])
def test_the_baselines_of_the_repository_are_within_a_point_of_the_paper(dataset):
    records = [r for r in read(ROOT / "results" / dataset) if r.method in ONE_NETWORK]
    found = baselines_beside_the_paper(records, dataset)
    assert {"LS", "UW", "MGDA", "PCGrad", "CAGrad", "Nash-MTL"} <= set(found.index)
    assert found.xs("difference", axis=1, level=1).abs().max(axis=None) < 0.01


def test_the_authors_seeds_stand_beside_ours_with_their_spreads():
    runs = [r for r in read(ROOT / "results" / "multimnist") if r.method == "ls"]
    found = tables.beside_the_authors(runs)
    assert len(found) == 2 * len(ONE_NETWORK)
    rows = table("authors_multimnist")
    theirs = rows.query("method == 'ls' and split == 'test' and task == 2 and metric == 'accuracy'")
    cells = found.loc["LS"].loc["bottom-right, accuracy ↑"]
    assert cells["authors"] == pytest.approx(np.mean(theirs["value"]))
    assert cells["authors ±"] == pytest.approx(np.std(theirs["value"], ddof=1))
    ours = [r.summary["test"]["best"]["bottom-right/accuracy"] for r in runs]
    assert (cells["seeds"], cells["ours"]) == (3, pytest.approx(np.mean(ours)))
    assert (found.loc["UW", "seeds"] == 0).all()


def test_agreement_counts_methods_by_their_worst_accuracy():
    index = pd.MultiIndex.from_product([["a", "b", "c", "d"], ["one", "two"]])
    theirs, ours = [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6], [0.9, 0.91, 0.8, 0.8, 0.5, 0.5, 0, 0]
    beside = pd.DataFrame({"authors": theirs, "ours": ours, "seeds": [1] * 6 + [0] * 2}, index)
    beside["difference"] = beside["ours"] - beside["authors"]
    found = tables.agreement(beside)
    assert found == {"methods": 3, "within the tolerance": 1, "rank correlation": 1.0}
