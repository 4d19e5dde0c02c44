"""The transcribed tables hold together, and agree with each other where they ought to."""

import moocore
import numpy as np
import pytest

from pamal_core.errors import InputError
from pamal_core.paper import FOLDER, table

NAMES = [
    "authors_multimnist",
    "hypervolume",
    "multiforward_census",
    "multiforward_multimnist",
    "toy_claims",
]
SEEDS = ["seed_0", "seed_1", "seed_2"]
PRINTED_AS = {
    "ls": "LS",
    "uw": "UW",
    "mgda": "MGDA",
    "dwa": "DWA",
    "pcgrad": "PCGrad",
    "imtl": "IMTL",
    "nashmtl": "Nash-MTL",
    "rlw": "RLW",
    "graddrop": "Graddrop",
    "autol": "Auto-lambda",
    "rotograd": "RotoGrad",
}


def accuracies(method, split, index):
    rows = table("authors_multimnist").query(
        f"method == '{method}' and split == '{split}' and metric == 'accuracy'"
    )
    return rows.pivot(index=index, columns="task", values="value")


def hypervolume(points):
    return moocore.hypervolume(points.to_numpy(), ref=[0, 0], maximise=True)


def test_an_unknown_table_is_answered_by_the_known_ones():
    with pytest.raises(InputError, match=r"'toy_claims'\]\. Found 'toy'") as caught:
        table("toy")
    assert all(name in str(caught.value) for name in NAMES)


def test_every_table_and_every_column_is_explained():
    readme = (FOLDER / "README.md").read_text()
    assert sorted(path.stem for path in FOLDER.glob("*.csv")) == NAMES
    for name in NAMES:
        assert f"`{name}.csv`" in readme
        assert all(f"`{column}`" in readme for column in table(name).columns)


@pytest.mark.parametrize("name", ["multiforward_multimnist", "multiforward_census"])
def test_multi_forward_rows_are_complete_and_their_statistics_follow(name):
    rows = table(name)
    grid = [(W, lam) for W in (2, 3, 4, 5) for lam in (0, 2, 5, 10)]
    assert list(zip(rows.W, rows.lam, strict=True)) == grid
    seeds = rows[SEEDS].to_numpy()
    # The seeds are rounded to four digits, and so is the statistic: at most one unit apart.
    assert np.abs(seeds.mean(1) - rows["mean"]).max() <= 1.01e-4
    assert np.abs(seeds.std(1) - rows["std"]).max() <= 1.01e-4
    assert (seeds.max(1) == rows["max"]).all()


@pytest.mark.parametrize(
    ("name", "W", "lam", "values"),
    [
        ("multiforward_multimnist", 4, 0, [0.9220, 0.9187, 0.9143, 0.9184, 0.9220, 0.0032]),
        ("multiforward_multimnist", 2, 10, [0.8766, 0.8932, 0.8470, 0.8723, 0.8932, 0.0191]),
        ("multiforward_census", 2, 5, [0.6577, 0.6574, 0.6590, 0.6581, 0.6590, 0.0007]),
        ("multiforward_census", 5, 10, [0.6507, 0.6538, 0.6508, 0.6518, 0.6538, 0.0014]),
    ],
)
def test_settings_of_multi_forward_are_as_printed(name, W, lam, values):
    (row,) = table(name).query(f"W == {W} and lam == {lam}").to_numpy()
    assert row.tolist() == [W, lam, *values]
    best = table(name)["mean"].idxmax()
    assert lam == 10 or table(name).W[best] == W  # the paper's choice has the best mean


def test_hypervolume_rows_are_as_printed():
    rows = table("hypervolume")
    assert rows.groupby("dataset").size().to_dict() == {"multimnist": 14, "census": 14}
    keyed = rows[rows.seed.isna()].set_index(["dataset", "method"])
    assert keyed.loc[("multimnist", "LS"), "hypervolume"] == 0.907
    assert keyed.loc[("census", "Graddrop")].tolist()[1:] == [0.829, 0.786, 0.652]
    pml = rows[rows.method == "PML"]
    assert pml.seed.tolist() == [0, 1, 2, 0, 1, 2]
    assert pml.hypervolume.tolist() == [0.92, 0.916, 0.919, 0.655, 0.655, 0.653]


def test_no_hypervolume_exceeds_the_box_of_the_best_accuracies():
    pml = table("hypervolume").query("method == 'PML'")
    assert (pml.hypervolume <= pml.accuracy_1 * pml.accuracy_2 + 1e-3).all()


def test_the_toy_claims_contradict_each_other_only_where_the_paper_does():
    rows = table("toy_claims")
    counts = rows.groupby(["c", "balancing"]).failures.apply(lambda f: sorted(f.dropna()))
    assert counts.to_dict() == {
        (1.0, "none"): [3, 4],
        (0.1, "none"): [],
        (0.1, "gradient"): [0],
        (0.1, "loss"): [5],
    }
    assert (rows.pairs == 25).all()


def test_the_authors_results_are_complete():
    rows = table("authors_multimnist")
    sizes = rows.groupby("method").size()
    assert sizes.pop("pamal") == 2 * 2 * 2 * 3 * 11
    assert len(sizes) == 12 and (sizes == 2 * 2 * 2 * 3).all()
    assert not rows.duplicated(["method", "seed", "alpha_1", "split", "task", "metric"]).any()
    assert (rows.alpha_1.notna() == (rows.method == "pamal")).all()
    assert rows.value.between(0, 1).all()


def test_the_authors_validation_hypervolumes_are_those_of_the_multi_forward_table():
    printed = table("multiforward_multimnist").query("W == 4 and lam == 0")[SEEDS].to_numpy()[0]
    points = accuracies("pamal", "validation", ["seed", "alpha_1"])
    found = [hypervolume(points.loc[seed]) for seed in range(3)]
    assert found == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize(("method", "printed"), PRINTED_AS.items())
def test_the_hypervolume_printed_for_a_baseline_is_that_of_its_seeds_together(method, printed):
    row = table("hypervolume").query(f"dataset == 'multimnist' and method == '{printed}'").iloc[0]
    points = accuracies(method, "test", "seed")
    assert hypervolume(points) == pytest.approx(row.hypervolume, abs=6e-4)
    assert points.mean().tolist() == pytest.approx([row.accuracy_1, row.accuracy_2], abs=6e-4)
    mean_of_seeds = points.prod(axis=1).mean()
    assert row.hypervolume - mean_of_seeds > 2e-3
