"""Landmarks, competition and Claim 1 of a front."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import front_of
from scipy.stats import spearmanr

from pamal_companion.plots import demos as plots
from pamal_companion.study import fronts
from pamal_companion.study.frame import select
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

CLAIMED = {
    **{f"MultiMNIST, seed {n}": ("multimnist/pamal", "multimnist/ls", n) for n in range(3)},
    "Census, ordered": ("census/pamal", "census/ls", 0),
    "Census, printed": ("census/pamal penalty=printed; skip=as_released", "census/ls", 0),
}
"""Settings of PaMaL and of linear scalarisation, and the seed, on the page on theory."""


def two_tasks(values, maximise=False):
    alphas = lattice(2, len(values)) if len(values) > 1 else np.full((1, 2), 0.5)
    metric = "accuracy" if maximise else "loss"
    return front_of(values, alphas, maximise=(maximise, maximise), metric=metric)


# Claim 1.


@pytest.mark.parametrize("maximise", [False, True])
def test_domination_is_that_of_definition_1_by_loops(maximise):
    rng = np.random.default_rng(0)
    one, other = (rng.integers(3, size=(n, 2)) for n in (12, 9))
    found = fronts.dominates(two_tasks(one, maximise), two_tasks(other, maximise))
    sign = -1 if maximise else 1
    for p, a in enumerate(sign * one):
        for q, b in enumerate(sign * other):
            as_good = all(x <= y for x, y in zip(a, b, strict=True))
            assert found[p, q] == (as_good and a.tolist() != b.tolist())


def test_a_subspace_that_is_a_front_has_the_best_value_everywhere():
    found = fronts.claim_1(two_tasks(lattice(2, 6)[:, ::-1] ** 2), two_tasks([[1.0, 1.0]]))
    assert found == pytest.approx(
        {
            "points": 6,
            "non-dominated": 6,
            "span": 1,
            "by no neighbour": 6,
            "members among them": 2,
            "order, task 1": 1,
            "order, task 2": 1,
            "dominated by LS": 0,
        }
    )


def test_points_dominated_by_a_neighbour_or_from_afar_are_told_apart():
    # The third point is dominated by the last alone, the first by the second.
    losses = two_tasks([[1.0, 5.0], [0.9, 4.0], [4.0, 1.0], [6.0, 0.5], [3.0, 0.8]])
    found = fronts.claim_1(losses, two_tasks([[3.5, 0.9]]))
    assert found["non-dominated"] == 3
    assert found["by no neighbour"] == 4
    assert found["members among them"] == 1
    assert found["dominated by LS"] == 1
    assert fronts.dominated_by_a_neighbour(losses).tolist() == [True, False, False, False, False]


def test_undominated_points_are_counted_over_the_runs_of_a_setting():
    # Of the first all four points, of the second the middle two, by accuracy.
    whole, half = np.array([[1, 4], [2, 3], [3, 2], [4, 1.0]]), [[1, 1], [1, 3], [3, 1], [2, 0.5]]
    runs = []
    for values in (whole, half):
        front = two_tasks(values, maximise=True)
        losses = {f"{o.task}/loss": -front.table[o.name] for o in front.objectives}
        metrics = tuple(Objective(name, False) for name in losses)
        runs.append(replace(front, table=front.table.assign(**losses), metrics=metrics))
    for rows in fronts.undominated_table({("ours", "test"): runs}).to_dict("index").values():
        assert rows["share non-dominated"].startswith("0.75")
        assert rows["all"] == "in 1 of 2 runs" and rows["span"].startswith("2.5")


@pytest.fixture(scope="module")
def claimed(runs):
    """The runs of PaMaL and of its baseline, by row."""
    return {n: [runs[select(text)][seed] for text in both] for n, (*both, seed) in CLAIMED.items()}


@pytest.fixture(scope="module")
def table(claimed):
    splits = ("validation", "test")
    pairs = {n: {s: [one.front(s) for one in both] for s in splits} for n, both in claimed.items()}
    return fronts.claim_1_table(pairs)


def test_the_table_agrees_with_what_the_runs_wrote_down(table, claimed):
    assert len(table) == 5 * 2 * 2
    for name, (pamal, _) in claimed.items():
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
    printed, ordered = (
        table.index.get_level_values("run") == f"Census, {sign}" for sign in ("printed", "ordered")
    )
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
    assert (table.xs("loss", level="metric")["members among them"] == 0).all()
    assert table["members among them"].sum() == 1
    assert table[ordered]["dominated by LS"].tolist() == [0, 5, 0, 2]


def test_in_loss_the_front_is_unbroken_and_both_ends_lose(claimed):
    for pamal, _ in claimed.values():
        for split in ("validation", "test"):
            front = pamal.front(split).on("loss")
            (kept,) = np.nonzero(front.non_dominated())
            assert kept.tolist() == list(range(kept[0], kept[-1] + 1))
            best = front.values.argmin(0)
            assert best[0] != 0 and best[1] != 10


def test_the_figure_says_how_many_points_are_left(claimed):
    front = claimed["Census, printed"][0].front("test")
    figure = plots.claim_figure({"a run": (front, front)}, "made up")
    left, right, _ = figure.axes
    assert left.get_title() == right.get_title() == "a run: 3 of 11 non-dominated"
    named = [" ".join(text.split()) for text in (left.get_xlabel(), right.get_ylabel())]
    assert named == [
        "loss on age (← lower is better)",
        "accuracy on education (higher is better →)",
    ]


# How tasks compete.

FACES = ("age/loss", "gender/accuracy", "ethnicity/accuracy")


def faces(values, alphas=None):
    """Points with a loss and two accuracies [P, 3], and losses that are one less accuracy."""
    table = pd.DataFrame(values, columns=list(FACES))
    losses = {n.replace("accuracy", "loss"): 1 - table[n] for n in FACES[1:]}
    objectives = tuple(Objective(name, name != "age/loss") for name in FACES)
    alphas = np.full((len(values), 3), 1 / 3) if alphas is None else alphas
    metrics = (*objectives, *(Objective(name, False) for name in losses))
    return Front(alphas, table.assign(**losses), objectives, metrics=metrics)


def test_an_edge_has_minus_one_and_the_triangle_half_as_much():
    weights = lattice(3)
    found = fronts.competition(faces(weights * [-1, 1, 1], weights))
    assert list(found.index) == ["age and gender", "age and ethnicity", "gender and ethnicity"]
    np.testing.assert_allclose(found[["edge, metric", "edge, loss"]], -1)
    np.testing.assert_allclose(found[["all points, metric", "all points, loss"]], -0.468, atol=1e-3)


def test_pairs_agree_with_scipy_and_their_mean_is_the_competition():
    rng, weights = np.random.default_rng(0), lattice(3)
    points = faces(rng.random((66, 3)), weights)
    points = replace(points, table=points.table.assign(**{"gender/loss": np.arange(66.0) % 7}))
    found = fronts.competition(points)
    for name, view in (("metric", points), ("loss", points.on("loss"))):
        achieved = np.where(view.maximise, 1, -1) * view.values
        for row, (i, j, k) in enumerate([(0, 1, 2), (0, 2, 1), (1, 2, 0)]):
            edge = achieved[weights[:, k] == 0]
            assert len(edge) == 11
            for where, part in (("all points", achieved), ("edge", edge)):
                expected = spearmanr(part[:, i], part[:, j]).statistic
                assert found[f"{where}, {name}"].iloc[row] == pytest.approx(expected)
        assert found[f"all points, {name}"].mean() == pytest.approx(view.task_correlation())


def test_a_single_network_has_no_correlations_and_a_single_task_no_pairs():
    points = faces(np.array([[0.2, 0.9, 0.8]]), np.ones((1, 1)))
    found = fronts.competition(points)
    assert found.shape == (3, 4) and found.isna().all(axis=None)
    assert fronts.competition(replace(points, objectives=points.objectives[:1])).empty


def test_landmarks_are_members_centre_and_the_best_of_each_objective():
    weights = lattice(3)
    points = faces(np.c_[weights[:, 0], weights[:, 1:]], weights)
    found = fronts.landmarks(points)
    names = ["best loss on age", "best accuracy on gender", "best accuracy on ethnicity"]
    assert list(found.index) == ["member 1", "member 2", "member 3", "centre", *names]
    alphas = found[["alpha/age", "alpha/gender", "alpha/ethnicity"]].to_numpy()
    np.testing.assert_array_equal(alphas[:3], np.eye(3))
    assert np.abs(alphas[3] - 1 / 3).max() < 0.1 and alphas[4][0] == 0
    assert found.loc["best accuracy on gender", "gender/accuracy"] == 1
    assert not {"gender/loss", "ethnicity/loss"} & {*found}


# Order and middle.


def points_of(values, maximise=True, alphas=None):
    values = np.asarray(values, dtype=float)
    alphas = lattice(2, len(values)) if alphas is None else np.asarray(alphas)
    directions = (maximise,) * values.shape[1]
    return front_of(values, alphas, maximise=directions, metric="accuracy")


def test_ordered_pairs_are_all_of_a_front_in_order_and_none_of_the_reverse():
    up = np.linspace(0, 1, 5)
    ordered = np.c_[1 - up, up**3]
    np.testing.assert_array_equal(fronts.ordered_pairs(points_of(ordered)), [1, 1])
    np.testing.assert_array_equal(
        fronts.ordered_pairs(points_of(1 - ordered, maximise=False)), [1, 1]
    )
    np.testing.assert_array_equal(fronts.ordered_pairs(points_of(ordered[::-1])), [0, 0])
    # By hand: of the six pairs one is out of order, and one tied.
    losses = np.c_[[0.1, 0.2, 0.3, 0.25], [0.4, 0.3, 0.2, 0.2]]
    np.testing.assert_allclose(
        fronts.ordered_pairs(points_of(losses, maximise=False)), [5 / 6, 5 / 6]
    )


def test_ordered_pairs_agree_with_kendalls_tau_without_ties():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    for _ in range(10):
        points = points_of(rng.random((12, 3)), alphas=rng.dirichlet([1, 1, 1], size=12))
        tau = [
            kendalltau(a, v).statistic
            for a, v in zip(points.alphas.T, points.values.T, strict=True)
        ]
        np.testing.assert_allclose(fronts.ordered_pairs(points), (1 + np.array(tau)) / 2)


def test_the_middle_is_the_point_nearest_to_equal_shares():
    points = points_of([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=[[1, 0], [0.4, 0.6], [0, 1]])
    assert fronts.middle(points) == {"a/accuracy": 0.7, "b/accuracy": 0.6}


def test_points_that_care_alike_but_for_rounding_are_no_pair():
    """Three members with weights of tasks of which one is constant, but for the last bit."""
    alphas = np.random.default_rng(0).dirichlet([1, 1, 1], size=20)
    values = np.random.default_rng(1).random((20, 2))
    alike = replace(points_of(values, alphas=alphas), task_weights=np.array([[0.6, 0.4]] * 3))
    assert len({*alike.alphas @ alike.task_weights[:, 0]}) > 1
    assert np.isnan(fronts.ordered_pairs(alike)).all() and np.isnan(alike.spearman()).all()
