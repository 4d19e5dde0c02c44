from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from pamal_core.front import Front, Objective
from pamal_core.runs.records import Record
from pamal_core.simplex import lattice
from pamal_core.study import utkface_tables as tables
from pamal_core.study.paper import table
from pamal_core.study.tables import PRINTED, read

OBJECTIVES = ("age/loss", "gender/accuracy", "ethnicity/accuracy")
FULL = "utkface/full/size=64/split=70/10/20/seed=0/c8d0f16788e0"
SAMPLE = "utkface/sample/size=32/split=70/10/20/seed=0/x"
AS_PRINTED = {"W": 3, "lam": 0.0, "p": 2.0, "balancing": "gradient", "epochs": 100}
BEST = (0.085, 0.905, 0.8)
OURS = [0.085, 90.5, 80.0]


def record(method="pamal", data=FULL, best=BEST, names=OBJECTIVES, seed=0, **options):
    return Record(
        experiment="utkface",
        method=method,
        options=options,
        seed=seed,
        data=data,
        objectives={n: "min" if n == "age/loss" else "max" for n in names},
        points=[],
        summary={"test": {"best": dict(zip(names, best, strict=True))}},
        cost={},
        versions={},
    )


def ours(records):
    """Our column of each task, a row per row of the paper: [16, 3]."""
    return tables.beside_the_paper(records).xs("ours", axis=1, level=1)


def filled(records):
    """The rows that have a number of ours."""
    found = ours(records)
    return list(found.index[found.map(lambda cell: isinstance(cell, float)).any(axis=1)])


def test_the_papers_numbers_are_those_of_its_table_in_its_order():
    found, printed = tables.beside_the_paper([]), table("utkface")
    assert [name.split(",")[0] for name in found.index] == printed["method"].tolist()
    for who, suffix in (("paper", ""), ("std", "_std")):
        columns = [f"{task}{suffix}" for task in ("age", "gender", "ethnicity")]
        np.testing.assert_array_equal(found.xs(who, axis=1, level=1), printed[columns])
    assert list(found.index[-3:]) == [
        "PaMaL, gradient balancing (W = 1, p = 1)",
        "PaMaL, loss balancing (W = 3, p = 2)",
        "PaMaL, gradient balancing (W = 3, p = 2)",
    ]


def test_every_task_says_its_unit_and_which_way_is_better():
    assert list(dict.fromkeys(tables.beside_the_paper([]).columns.get_level_values(0))) == [
        "age, Huber loss (lower is better)",
        "gender, % (higher is better)",
        "ethnicity, % (higher is better)",
    ]


def test_what_was_not_run_says_so_and_on_the_sample_that_it_needs_the_data():
    assert (ours([]) == "not run").all(axis=None)
    assert (ours([record(data=SAMPLE, **AS_PRINTED)]) == "needs the data").all(axis=None)
    both = ours([record(data=SAMPLE, **AS_PRINTED), record(**AS_PRINTED)])
    assert both.iloc[-1].tolist() == OURS
    assert (both.iloc[:-1] == "needs the data").all(axis=None)


@pytest.mark.parametrize(
    ("options", "row"),
    [
        (AS_PRINTED, -1),
        (AS_PRINTED | {"balancing": "loss"}, -2),
        (AS_PRINTED | {"W": 1, "p": 1.0}, -3),
        (AS_PRINTED | {"precision": "bfloat16", "size": 64}, -1),
    ],
)
def test_a_run_of_pamal_stands_in_its_row_and_in_no_other(options, row):
    found = ours([record(**options)])
    assert found.iloc[row].tolist() == OURS
    assert (found.drop(found.index[row]) == "not run").all(axis=None)


def test_every_row_is_filled_by_the_method_that_it_names():
    for method, name in PRINTED.items():
        expected = [name] if name in table("utkface")["method"].tolist() else []
        plain = {"balancing": "none"} if method in ("ls", "stl") else {"lam": 2.0, "p": 1.2}
        assert filled([record(method, **plain)]) == ([] if method == "pamal" else expected)


@pytest.mark.parametrize(
    "other",
    [
        {"lam": 1.0},
        {"balancing": "none"},
        {"W": 2},
        {"p": 1.5},
        {"p": [2.0, 2.0, 2.0]},
        {"epochs": 3},
        {"width": 16},
        {"size": 32},
        {"limit": 2000},
        {"stem": "torchvision"},
        {"lr": 1e-4},
        {"data": SAMPLE},
    ],
    ids=str,
)
def test_what_the_paper_does_not_have_stands_in_no_row(other):
    assert filled([record(**AS_PRINTED)]) == ["PaMaL, gradient balancing (W = 3, p = 2)"]
    assert filled([record(**AS_PRINTED | other)]) == []


@pytest.mark.parametrize("method", ["ls", "stl"])
def test_a_balanced_single_network_is_none_of_the_papers(method):
    assert filled([record(method, balancing="gradient")]) == []


def test_single_task_learning_is_a_record_for_each_task():
    runs = [
        record("stl", names=[name], best=[value], task=t, balancing="none")
        for t, (name, value) in enumerate(zip(OBJECTIVES, BEST, strict=True))
    ]
    assert ours(runs).loc["STL"].tolist() == OURS
    assert ours(runs[:2]).loc["STL"].tolist() == [*OURS[:2], "not run"]


def test_seeds_are_averaged_and_the_same_run_counts_once():
    first, second = (
        record(best=(a, 0.9, 0.8), seed=s, **AS_PRINTED) for s, a in ((0, 0.1), (1, 0.2))
    )
    assert ours([first, second, first]).iloc[-1].tolist() == [0.15, 90.0, 80.0]


def test_numbers_have_as_many_digits_as_the_papers():
    found = ours([record(best=(0.08349, 0.905555, 0.8), **AS_PRINTED)])
    assert found.iloc[-1].tolist() == [0.083, 90.56, 80.0]


def test_records_are_read_by_name_and_none_where_there_is_no_folder(tmp_path):
    assert read(tmp_path / "nothing") == [] == read(tmp_path)
    for name, seed in (("b", 0), ("a", 1)):
        record(seed=seed, **AS_PRINTED).write(tmp_path / f"{name}.json")
    assert [found.seed for found in read(tmp_path)] == [1, 0]


def front(values, alphas=None):
    """Points with a loss and two accuracies [P, 3], and losses that are one less accuracy."""
    table = pd.DataFrame(values, columns=list(OBJECTIVES))
    losses = {n.replace("accuracy", "loss"): 1 - table[n] for n in OBJECTIVES[1:]}
    objectives = tuple(Objective(name, name != "age/loss") for name in OBJECTIVES)
    alphas = np.full((len(values), 3), 1 / 3) if alphas is None else alphas
    return Front(alphas, table.assign(**losses), objectives)


def test_where_each_task_gets_what_it_weighs_an_edge_has_minus_one_and_the_triangle_half_as_much():
    weights = lattice(3)
    found = tables.pairs(front(weights * [-1, 1, 1], weights))
    assert list(found.index) == ["age and gender", "age and ethnicity", "gender and ethnicity"]
    np.testing.assert_allclose(found[["edge, metric", "edge, loss"]], -1)
    np.testing.assert_allclose(found[["all points, metric", "all points, loss"]], -0.468, atol=1e-3)


def test_tasks_that_gain_together_correlate_and_tasks_that_compete_do_the_opposite():
    weights = lattice(3)
    gain = weights[:, 0] + 0.01 * weights[:, 1]
    found = tables.pairs(front(np.c_[-gain, 1 - gain, gain], weights))
    for column in found:
        np.testing.assert_allclose(found[column], [-1, 1, -1])


def test_pairs_agree_with_scipy_and_their_mean_is_the_competition():
    rng, weights = np.random.default_rng(0), lattice(3)
    points = front(rng.random((66, 3)), weights)
    points = replace(points, table=points.table.assign(**{"gender/loss": np.arange(66.0) % 7}))
    found = tables.pairs(points)
    for name, view in (("metric", points), ("loss", points.on("loss"))):
        achieved = np.where(view.maximise, 1, -1) * view.values
        for row, (i, j, k) in enumerate([(0, 1, 2), (0, 2, 1), (1, 2, 0)]):
            edge = achieved[weights[:, k] == 0]
            assert len(edge) == 11
            for where, part in (("all points", achieved), ("edge", edge)):
                expected = spearmanr(part[:, i], part[:, j]).statistic
                assert found[f"{where}, {name}"].iloc[row] == pytest.approx(expected)
        assert found[f"all points, {name}"].mean() == pytest.approx(view.competition())


def test_a_single_network_has_no_correlations_and_a_single_task_no_pairs():
    points = front(np.array([[0.2, 0.9, 0.8]]), np.ones((1, 1)))
    found = tables.pairs(points)
    assert found.shape == (3, 4) and found.isna().all(axis=None)
    assert tables.pairs(replace(points, objectives=points.objectives[:1])).empty
