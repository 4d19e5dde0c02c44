import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from pamal_core.errors import InputError
from pamal_core.front import Front, Objective
from pamal_core.plots import theory as plots
from pamal_core.simplex import lattice
from pamal_core.study import claim

matplotlib.use("Agg")
RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    return claim.table(claim.read_runs(RESULTS))


def make(values, maximise=False):
    metric = "accuracy" if maximise else "loss"
    names = [f"{task}/{metric}" for task in ("a", "b")]
    frame = pd.DataFrame(values, columns=names, dtype=float)
    objectives = tuple(Objective(name, maximise) for name in names)
    alphas = lattice(2, len(values)) if len(values) > 1 else np.full((1, 2), 0.5)
    return Front(alphas, frame, objectives)


@pytest.mark.parametrize("maximise", [False, True])
def test_domination_is_that_of_definition_1_by_loops(maximise):
    rng = np.random.default_rng(0)
    one, other = (rng.integers(3, size=(n, 2)) for n in (12, 9))
    found = claim.dominates(make(one, maximise), make(other, maximise))
    sign = -1 if maximise else 1
    for p, a in enumerate(sign * one):
        for q, b in enumerate(sign * other):
            as_good = all(x <= y for x, y in zip(a, b, strict=True))
            assert found[p, q] == (as_good and a.tolist() != b.tolist())


def test_a_subspace_that_is_a_front_has_the_best_value_everywhere():
    alphas = lattice(2, 6)
    found = claim.measure(make(alphas[:, ::-1] ** 2), make([[1.0, 1.0]]))
    assert found == pytest.approx(
        {
            "points": 6,
            "non-dominated": 6,
            "by no neighbour": 6,
            "members among them": 2,
            "order, task 1": 1,
            "order, task 2": 1,
            "dominated by LS": 0,
        }
    )


def test_points_that_are_dominated_by_a_neighbour_or_from_afar_are_told_apart():
    # The third point is dominated by the last alone, the first by the second.
    losses = [[1.0, 5.0], [0.9, 4.0], [4.0, 1.0], [6.0, 0.5], [3.0, 0.8]]
    found = claim.measure(make(losses), make([[3.5, 0.9]]))
    assert found["non-dominated"] == 3
    assert found["by no neighbour"] == 4
    assert found["members among them"] == 1
    assert found["dominated by LS"] == 1


def test_the_order_of_a_reversed_front_is_minus_one_for_losses_and_for_accuracies():
    alphas = lattice(2, 6)
    for front in (make(alphas), make(alphas[:, ::-1], maximise=True)):
        found = claim.measure(front, front)
        assert (found["order, task 1"], found["order, task 2"]) == pytest.approx((-1, -1))


def test_the_table_agrees_with_what_the_runs_wrote_down(table):
    for name, (pamal, _) in claim.read_runs(RESULTS).items():
        for split in ("validation", "test"):
            summary = pamal.summary[split]
            rows = {metric: table.loc[(name, split, metric)] for metric in ("loss", "accuracy")}
            assert rows["accuracy"]["non-dominated"] == summary["non_dominated"]
            for metric, sign in (("loss", -1), ("accuracy", 1)):
                found = rows[metric][["order, task 1", "order, task 2"]]
                names = [o.name for o in pamal.front(split).on(metric).objectives]
                expected = [sign * summary["spearman"][name] for name in names]
                assert found.tolist() == pytest.approx(expected)


def test_the_claim_fails_and_holds_where_the_notebook_says(table):
    digits = table.index.get_level_values("run").str.startswith("MultiMNIST")
    printed = table.index.get_level_values("run") == "Census, printed"
    ordered = table.index.get_level_values("run") == "Census, ordered"
    order = table[["order, task 1", "order, task 2"]].round(2)
    assert (table["points"] == 11).all()
    for rows, column, low, high in (
        (digits, "non-dominated", 6, 9),
        (ordered | printed, "non-dominated", 3, 6),
        (digits, "dominated by LS", 0, 0),
        (printed, "dominated by LS", 2, 5),
    ):
        found = table.loc[rows, column]
        assert (found.min(), found.max()) == (low, high)
    for rows, low, high in ((digits, 0.68, 1), (ordered, 0.61, 0.94), (printed, -0.69, 0.03)):
        assert (order[rows].min(axis=None), order[rows].max(axis=None)) == (low, high)
    assert (table["non-dominated"] == table["by no neighbour"]).all()
    losses = table.xs("loss", level="metric")
    assert (losses["members among them"] == 0).all()
    assert table["members among them"].sum() == 1
    assert table[ordered]["dominated by LS"].tolist() == [0, 5, 0, 2]


def test_in_loss_the_front_is_an_unbroken_stretch_and_both_ends_lose_on_their_own_task():
    for pamal, _ in claim.read_runs(RESULTS).values():
        for split in ("validation", "test"):
            front = pamal.front(split).on("loss")
            (kept,) = np.nonzero(front.non_dominated())
            assert kept.tolist() == list(range(kept[0], kept[-1] + 1))
            best = front.values.argmin(0)
            assert best[0] != 0 and best[1] != 10


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(InputError, match=r"Could not read the record .*pamal_seed_0\.json"):
        claim.read_runs(tmp_path)


def test_the_figure_says_how_many_points_are_left():
    front = claim.read_runs(RESULTS)["Census, printed"][0].front("test")
    figure = plots.claim_figure({"a run": (front, front)}, "made up")
    left, right, _ = figure.axes
    assert left.get_title() == right.get_title() == "a run: 3 of 11 non-dominated"
    assert left.get_xlabel() == "age loss  (← lower is better)"
    assert right.get_ylabel() == "education accuracy  (higher is better →)"


def test_the_claim_is_read_without_torch():
    code = "import sys, pamal_core.study.claim; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
