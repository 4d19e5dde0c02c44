"""The transcribed tables hold together, and agree with each other where they ought to."""

from itertools import product

import moocore
import numpy as np
import pytest
from made_up import EXPERIMENTS

from pamal_companion.study import paper, tables
from pamal_companion.study.frame import Setting
from pamal_companion.study.layout import TABLES
from pamal_companion.study.paper import FOLDER, table
from pamal_core.errors import InputError

NAMES = [
    "authors_multimnist",
    "cityscapes",
    "cosmos_census",
    "cosmos_multimnist",
    "hypervolume",
    "multiforward_census",
    "multiforward_multimnist",
    "multimnist3",
    "phn_census",
    "phn_multimnist",
    "settings",
    "toy_claims",
    "utkface",
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
    with pytest.raises(InputError, match=r", utkface\. Found 'toy'") as caught:
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


AS_PRINTED = {
    "multiforward_multimnist": [
        [4, 0, 0.9220, 0.9187, 0.9143, 0.9184, 0.9220, 0.0032],
        [2, 10, 0.8766, 0.8932, 0.8470, 0.8723, 0.8932, 0.0191],
    ],
    "multiforward_census": [
        [2, 5, 0.6577, 0.6574, 0.6590, 0.6581, 0.6590, 0.0007],
        [5, 10, 0.6507, 0.6538, 0.6508, 0.6518, 0.6538, 0.0014],
    ],
    "hypervolume": [["census", "Graddrop", 0.829, 0.786, 0.652]],
    "cosmos_census": [
        [0.01, 0.1, 0.001, 0.8284, 0.7902, 0.6546, 0.3204],
        [0.1, 2, 0.0001, 0.8181, 0.7883, 0.6441, -0.9677],
        [2, 5, 0.0001, 0.8234, 0.7870, 0.6441, -0.8061],
    ],
    "cosmos_multimnist": [
        [1, 8, 0.001, 0.9293, 0.9059, 0.8395, -0.9636],
        [2, 1, 0.001, 0.9422, 0.9277, 0.8741, -0.1328],
    ],
    "phn_census": [
        [0.01, "linear", 0.001, 0.8268, 0.7874, 0.6510, -0.5617],
        [0.5, "epo", 0.001, 0.8274, 0.7856, 0.6501, -0.1058],
        [2, "epo", 0.0001, 0.8297, 0.7876, 0.6535, -0.5062],
    ],
    "phn_multimnist": [[0.01, "linear", 0.001, 0.9587, 0.9381, 0.8978, -1.0]],
    "utkface": [
        ["STL", 0.091, 0.001, 89.80, 0.38, 81.23, 0.22],
        ["Graddrop", 0.140, 0.059, 89.43, 2.59, 77.59, 5.75],
        ["PHN", 0.106, 0.001, 90.49, 0.34, 79.99, 0.23],
        ["PaMaL", "gradient", 1, 1, 0.094, 0.001, 90.65, 0.20, 80.03, 0.27],
        ["PaMaL", "loss", 3, 2, 0.099, 0.003, 90.62, 0.27, 80.82, 0.97],
        ["PaMaL", "gradient", 3, 2, 0.083, 0.001, 90.93, 0.25, 80.78, 0.29],
    ],
    "multimnist3": [
        ["STL", 96.97, 0.06, 96.10, 0.17, 96.40, 0.22],
        ["Nash-MTL", 96.85, 0.08, 95.25, 0.23, 96.18, 0.13],
        ["PaMaL", 96.85, 0.43, 95.72, 0.22, 96.27, 0.32],
    ],
    "cityscapes": [
        [1, "STL", 71.79, 92.60, 0.0135, 32.786],
        [1, "RotoGrad", 70.41, 92.03, 0.0134, 48.366],
        [2, "Nash-MTL", 71.13, 92.23, 0.0157, 78.499],
        [2, "PaMaL", 70.35, 91.99, 0.0141, 54.520],
    ],
}
"""Some rows of each table, in its order of columns, empty cells left out."""
SIZES = {"hypervolume": 28, "utkface": 16, "multimnist3": 13, "cityscapes": 30}


@pytest.mark.parametrize("name", AS_PRINTED)
def test_rows_are_as_printed(name):
    found = [[v for v in row if v == v] for row in table(name).values.tolist()]
    for row in AS_PRINTED[name]:
        assert found.count(row) == 1, row
    assert len(found) == SIZES.get(name, len(found))


def test_every_method_has_one_row_but_for_pamals_settings_and_seeds():
    for name, keys in {
        "hypervolume": ["dataset"], "utkface": [], "multimnist3": [], "cityscapes": ["setting"],
    }.items():  # fmt: skip
        rows = table(name)
        others = rows[~rows.method.isin(["PML"] if name == "hypervolume" else ["PaMaL"])]
        assert not others.duplicated([*keys, "method"]).any(), name
    assert (table("cityscapes").groupby("setting").size() == 15).all()
    assert table("cityscapes").notna().all(axis=None)
    assert table("utkface").method.nunique() == 14
    assert (table("hypervolume").groupby("dataset").size() == 14).all()


def test_seeds_of_pamal_in_the_table_of_hypervolumes():
    pml = table("hypervolume").query("method == 'PML'")
    assert pml.seed.tolist() == [0, 1, 2, 0, 1, 2]
    assert pml.hypervolume.tolist() == [0.92, 0.916, 0.919, 0.655, 0.655, 0.653]
    ls = table("hypervolume").query("dataset == 'multimnist' and method == 'LS'")
    assert ls.hypervolume.item() == 0.907


def test_the_second_task_of_multimnist3_is_the_hardest():
    rows = table("multimnist3")
    assert (rows.accuracy_2 < rows[["accuracy_1", "accuracy_3"]].min(axis=1)).all()


@pytest.mark.parametrize(("data", "W", "lam"), [("multimnist", 4, 0), ("census", 2, 5)])
def test_the_papers_choice_has_the_best_mean(data, W, lam):
    rows = table(f"multiforward_{data}")
    assert rows.loc[rows["mean"].idxmax(), ["W", "lam"]].tolist() == [W, lam]


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


def test_the_authors_hypervolumes_are_those_of_the_penaltys_table():
    printed = table("multiforward_multimnist").query("W == 4 and lam == 0")[SEEDS].to_numpy()[0]
    points = accuracies("pamal", "validation", ["seed", "alpha_1"])
    found = [hypervolume(points.loc[seed]) for seed in range(3)]
    assert found == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize(("method", "printed"), PRINTED_AS.items())
def test_the_hypervolume_printed_for_a_baseline_is_of_all_its_seeds(method, printed):
    row = table("hypervolume").query(f"dataset == 'multimnist' and method == '{printed}'").iloc[0]
    points = accuracies(method, "test", "seed")
    assert hypervolume(points) == pytest.approx(row.hypervolume, abs=6e-4)
    assert points.mean().tolist() == pytest.approx([row.accuracy_1, row.accuracy_2], abs=6e-4)
    mean_of_seeds = points.prod(axis=1).mean()
    assert row.hypervolume - mean_of_seeds > 2e-3


def test_the_sweeps_are_complete_grids_but_for_phn_on_census():
    P = [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2]
    grids = {
        "cosmos_census": product(P[1:], [0.1, 1, 2, 5], [0.001, 0.0001]),
        "cosmos_multimnist": product([0.1, 1, 2, 5], [1, 2, 5, 8], [0.001]),
        "phn_multimnist": product(P, ["epo", "linear"], [0.001]),
    }
    for name, grid in grids.items():
        keys = table(name).iloc[:, :3].itertuples(index=False, name=None)
        assert sorted(keys) == sorted(grid), name
    census = table("phn_census")
    assert not census.duplicated(["p", "solver", "lr"]).any()
    assert census.groupby("p").size().to_dict() == dict(zip(P, [4, 3, 3, 2, 3, 3, 2], strict=True))


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("phn", "cosmos"))])
def test_a_sweeps_hypervolume_lies_under_its_best_accuracies(name):
    rows = table(name)
    box = rows.accuracy_1 * rows.accuracy_2
    assert (rows.hypervolume <= box + 3e-4).all()
    assert (box - rows.hypervolume).max() < 0.02
    assert rows.spearman.between(-1, 1).all()


# The tables in our columns.


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_csv_is_one_of_ours_with_its_numbers(name):
    of, rows = TABLES[name], tables.rows(name)
    printed = table(of.csv).query(of.rows or "index >= 0")
    together = (
        printed.drop_duplicates(["method", *({*of.keys} & {*printed})])
        if "method" in printed
        else printed
    )
    assert len(rows) == len(together)
    for (setting, row), (_, expected) in zip(rows.items(), together.iterrows(), strict=True):
        assert {*row.numbers} == {*of.columns}
        for column, (mean, deviation, number) in row.numbers.items():
            if column == "authors":  # which are not printed
                continue
            if setting.method != "pamal" or "seed" not in printed:
                assert mean == expected[column] and number == 3
                theirs = of.columns[column].deviation
                assert not theirs or theirs in printed
                if theirs:
                    factor = np.sqrt(of.divisor / 2)
                    assert deviation == pytest.approx(expected[theirs] * factor)
                else:  # the authors' seeds have accuracies of MultiMNIST alone
                    assert np.isnan(deviation) == (name != "multimnist" or column == "hypervolume")


def test_rows_of_seeds_are_taken_together_by_hand():
    row = tables.rows("multimnist")[Setting("multimnist", "pamal")]
    volumes = [0.92, 0.916, 0.919]
    assert row.numbers["hypervolume"] == pytest.approx(
        (np.mean(volumes), np.std(volumes, ddof=1), 3)
    )


@pytest.mark.parametrize("name", TABLES)
def test_every_option_that_a_table_names_is_one_of_its_experiments(name):
    of = TABLES[name]
    known = EXPERIMENTS[of.experiment].options.model_fields
    for option in (*of.keys, *of.free, *of.fixed):
        assert option in known, option
    for measure in of.columns.values():
        assert measure.task in ("", *paper.TASKS[of.experiment])
