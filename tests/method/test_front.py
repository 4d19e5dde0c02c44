from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from pamal_core.errors import InputError
from pamal_core.front import Front, Objective
from pamal_core.plots.fronts import front_figure


def front(values, maximise=True, alphas=None, names=("a", "b", "c")):
    values = np.asarray(values, dtype=float)
    names = names[: values.shape[1]]
    metric = "accuracy" if maximise else "loss"
    table = pd.DataFrame(values, columns=[f"{n}/{metric}" for n in names])
    if alphas is None:
        first = np.linspace(1, 0, len(values))
        alphas = np.c_[first, 1 - first]
    return Front(np.asarray(alphas), table, tuple(Objective(c, maximise) for c in table))


@pytest.mark.parametrize("maximise", [True, False])
def test_non_dominated_points_are_those_no_other_point_dominates(maximise):
    values = np.random.default_rng(0).random((60, 3)).round(1)
    alphas = np.tile([0.5, 0.5], (60, 1))
    sign = 1 if maximise else -1
    better = [
        not any((sign * (v - u) >= 0).all() and (v != u).any() for v in values) for u in values
    ]
    np.testing.assert_array_equal(front(values, maximise, alphas).non_dominated(), better)


@pytest.mark.parametrize(("maximise", "reference"), [(True, 0.0), (False, 1.0)])
@pytest.mark.parametrize("num_tasks", [2, 3])
def test_hypervolume_agrees_with_monte_carlo(maximise, reference, num_tasks):
    rng = np.random.default_rng(0)
    values = rng.random((8, num_tasks))
    samples = rng.random((400_000, 1, num_tasks))
    covered = (samples <= values if maximise else samples >= values).all(2).any(1).mean()
    got = front(values, maximise, np.tile([0.5, 0.5], (8, 1))).hypervolume([reference] * num_tasks)
    assert got == pytest.approx(covered, abs=4 * 0.5 / np.sqrt(400_000))


def test_hypervolume_of_one_point_is_a_box_and_of_a_dominated_point_nothing():
    assert front([[0.9, 0.8]]).hypervolume([0.0, 0.0]) == pytest.approx(0.72)
    assert front([[0.9, 0.8], [0.5, 0.8]]).hypervolume([0.0, 0.0]) == pytest.approx(0.72)
    assert front([[0.9, 0.8]]).hypervolume([0.95, 0.0]) == 0


def test_hypervolume_wants_a_reference_of_the_right_length():
    with pytest.raises(InputError, match="2 entries"):
        front([[0.9, 0.8]]).hypervolume([0.0, 0.0, 0.0])


def test_spearman_is_one_where_more_weight_means_more_accuracy_and_minus_one_for_less_loss():
    up = np.linspace(0, 1, 5)
    ordered = np.c_[1 - up, up**3]
    np.testing.assert_allclose(front(ordered).spearman(), [1, 1])
    np.testing.assert_allclose(front(1 - ordered, maximise=False).spearman(), [-1, -1])
    np.testing.assert_allclose(front(ordered[::-1]).spearman(), [-1, -1])


def test_spearman_agrees_with_scipy_on_random_fronts_with_ties():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    for _ in range(20):
        values, alphas = rng.random((12, 2)).round(1), rng.dirichlet([1, 1], size=12).round(1)
        expected = [spearmanr(alphas[:, t], values[:, t]).statistic for t in (0, 1)]
        np.testing.assert_allclose(front(values, alphas=alphas).spearman(), expected, atol=1e-12)


def test_competition_is_minus_one_on_a_strict_trade_off_and_one_without():
    up = np.linspace(0, 1, 5)
    assert front(np.c_[up, 1 - up]).competition() == pytest.approx(-1)
    assert front(np.c_[up, up]).competition() == pytest.approx(1)


def test_correlations_of_a_single_point_are_not_defined():
    single = front([[0.9, 0.8]])
    assert np.isnan(single.spearman()).all()
    assert np.isnan(single.competition())


def test_spearman_follows_the_task_weights_of_the_members():
    up = np.linspace(0, 1, 5)
    swapped = front(np.c_[up, 1 - up])
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    mended = Front(swapped.alphas, swapped.table, swapped.objectives, matrix)
    np.testing.assert_allclose(swapped.spearman(), [-1, -1])
    np.testing.assert_allclose(mended.spearman(), [1, 1])


def test_best_is_taken_per_objective_in_its_direction():
    assert front([[0.9, 0.5], [0.7, 0.8]]).best() == {"a/accuracy": 0.9, "b/accuracy": 0.8}
    assert front([[0.9, 0.5], [0.7, 0.8]], maximise=False).best() == {"a/loss": 0.7, "b/loss": 0.5}


def test_choose_takes_the_best_compromise_that_meets_the_bounds():
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=np.eye(3))
    assert points.choose().tolist() == [0, 1, 0]
    assert points.choose(at_least={"a/accuracy": 0.8}).tolist() == [1, 0, 0]
    costs = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], maximise=False, alphas=np.eye(3))
    assert costs.choose(at_least={"b/loss": 0.7, "a/loss": 0.8}).tolist() == [0, 1, 0]


def test_choose_does_not_depend_on_units():
    values = np.random.default_rng(0).random((20, 2))
    alphas = np.random.default_rng(1).dirichlet([1, 1], size=20)
    scaled = front(values * [1, 1000] + [0, 5], alphas=alphas)
    np.testing.assert_array_equal(scaled.choose(), front(values, alphas=alphas).choose())


def test_choose_says_what_was_found_where_no_point_qualifies():
    with pytest.raises(InputError, match=r"No point of the front meets .*Best found"):
        front([[0.9, 0.5]]).choose(at_least={"a/accuracy": 0.95})
    with pytest.raises(InputError, match=r"A bound must name one of .*'d'"):
        front([[0.9, 0.5]]).choose(at_least={"d": 0.95})


@pytest.mark.parametrize(
    ("metric", "maximise"),
    [
        ("loss", False),
        ("absolute error", False),
        ("relative error", False),
        ("accuracy", True),
        ("mIoU", True),
    ],
)
def test_another_metric_is_compared_in_its_own_direction(metric, maximise):
    metrics = ("accuracy", "loss", "mIoU", "absolute error", "relative error")
    table = pd.DataFrame(
        np.random.default_rng(0).random((6, 5)), columns=[f"a/{m}" for m in metrics]
    )
    points = Front(np.ones((6, 1)), table, (Objective("a/accuracy", True),)).on(metric)
    assert points.objectives == (Objective(f"a/{metric}", maximise),)
    values = table[f"a/{metric}"]
    assert points.best() == {f"a/{metric}": values.max() if maximise else values.min()}


def mixed(num=40):
    """Points with an accuracy, a loss and an error to compare."""
    rng = np.random.default_rng(0)
    names = ("a/accuracy", "a/loss", "b/loss", "c/absolute error")
    table = pd.DataFrame(rng.random((num, 4)), columns=names)
    chosen = (Objective(n, n.endswith("accuracy")) for n in names if n != "a/loss")
    return Front(rng.dirichlet([1, 1, 1], size=num), table, tuple(chosen))


def test_upwards_negates_and_renames_what_is_minimised_and_nothing_else():
    before, after = mixed(), mixed().upwards()
    assert [o.name for o in after.objectives] == [
        "a/accuracy",
        "b/negative loss",
        "c/negative absolute error",
    ]
    assert after.maximise == [True] * 3
    np.testing.assert_array_equal(after.values, before.values * [1, -1, -1])
    np.testing.assert_array_equal(after.table["a/loss"], before.table["a/loss"])
    pd.testing.assert_frame_equal(before.table, mixed().table)


def test_upwards_changes_no_comparison_of_points():
    before, after = mixed(), mixed().upwards()
    np.testing.assert_array_equal(after.non_dominated(), before.non_dominated())
    np.testing.assert_array_equal(after.choose(), before.choose())
    np.testing.assert_allclose(after.spearman(), before.spearman() * [1, -1, -1])
    assert after.competition() == pytest.approx(before.competition())
    assert after.hypervolume([0.0, -1.0, -1.0]) == pytest.approx(
        before.hypervolume([0.0, 1.0, 1.0])
    )
    pd.testing.assert_frame_equal(after.upwards().to_frame(), after.to_frame())


def test_points_survive_the_way_through_a_record():
    before = front([[0.9, 0.5], [0.7, 0.8]])
    points = before.to_points("test") + front([[0, 0]]).to_points("validation")
    after = Front.from_points(points, before.objectives, "test")
    pd.testing.assert_frame_equal(after.to_frame(), before.to_frame())


def test_the_frame_has_alphas_metrics_and_dominance():
    frame = front([[0.9, 0.5], [0.7, 0.4]]).to_frame()
    assert list(frame) == ["alpha_1", "alpha_2", "a/accuracy", "b/accuracy", "non_dominated"]
    assert frame.non_dominated.tolist() == [True, False]


def test_a_front_without_points_or_columns_is_refused():
    with pytest.raises(InputError, match="Found 0 alphas"):
        Front(np.zeros((0, 2)), pd.DataFrame(), ())
    with pytest.raises(InputError, match="missing"):
        Front(np.ones((1, 1)), pd.DataFrame({"a": [1]}), (Objective("b", True),))


def test_spearman_needs_task_weights_where_members_are_not_tasks():
    single = front([[0.9, 0.5], [0.7, 0.8]], alphas=np.ones((2, 1)))
    with pytest.raises(InputError, match="`task_weights` must have 2 columns"):
        single.spearman()


def test_ordered_pairs_are_all_of_a_front_in_order_and_none_of_a_reversed_one():
    up = np.linspace(0, 1, 5)
    ordered = np.c_[1 - up, up**3]
    np.testing.assert_array_equal(front(ordered).ordered_pairs(), [1, 1])
    np.testing.assert_array_equal(front(1 - ordered, maximise=False).ordered_pairs(), [1, 1])
    np.testing.assert_array_equal(front(ordered[::-1]).ordered_pairs(), [0, 0])
    # By hand: of the six pairs one is out of order, and one tied.
    losses = np.c_[[0.1, 0.2, 0.3, 0.25], [0.4, 0.3, 0.2, 0.2]]
    np.testing.assert_allclose(front(losses, maximise=False).ordered_pairs(), [5 / 6, 5 / 6])


def test_ordered_pairs_agree_with_kendalls_tau_without_ties():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    for _ in range(10):
        points = front(rng.random((12, 3)), alphas=rng.dirichlet([1, 1, 1], size=12))
        tau = [
            kendalltau(a, v).statistic
            for a, v in zip(points.alphas.T, points.values.T, strict=True)
        ]
        np.testing.assert_allclose(points.ordered_pairs(), (1 + np.array(tau)) / 2)


def test_points_that_care_alike_are_no_pair():
    alike = front([[0.9, 0.5], [0.7, 0.8]], alphas=np.full((2, 2), 0.5))
    assert np.isnan(alike.ordered_pairs()).all()


def test_the_middle_is_the_point_nearest_to_equal_shares():
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=[[1, 0], [0.4, 0.6], [0, 1]])
    assert points.middle() == {"a/accuracy": 0.7, "b/accuracy": 0.6}


def test_points_that_care_alike_but_for_rounding_are_no_pair():
    """Three members with weights of tasks of which one is constant, but for the last bit."""
    alphas = np.random.default_rng(0).dirichlet([1, 1, 1], size=20)
    values = np.random.default_rng(1).random((20, 2))
    alike = replace(front(values, alphas=alphas), task_weights=np.array([[0.6, 0.4]] * 3))
    assert len({*alike.alphas @ alike.task_weights[:, 0]}) > 1
    assert np.isnan(alike.ordered_pairs()).all() and np.isnan(alike.spearman()).all()


def test_another_metric_is_better_in_the_direction_that_is_given():
    points = front([[0.9, 0.5], [0.7, 0.8]], names=("a", "b"))
    named = points.table.assign(**{"a/rmse": [2.0, 1.0], "b/rmse": [3.0, 4.0]})
    points = replace(points, table=named)
    assert points.on("rmse", maximise=False).best() == {"a/rmse": 1.0, "b/rmse": 3.0}
    with pytest.raises(InputError, match=r"`maximise` must say .* Found rmse"):
        points.on("rmse")
    assert points.on("accuracy", maximise=False).maximise == [False, False]


def test_the_figure_of_a_front_has_losses_beside_where_they_are_others():
    losses = front([[0.9, 0.5], [0.7, 0.8]], maximise=False, names=("a", "b"))
    both = replace(
        losses,
        table=losses.table.assign(**{"a/rank": [1.0, 2.0], "b/rank": [2.0, 1.0]}),
    ).on("rank", maximise=True)
    alone = replace(both, table=both.table[["a/rank", "b/rank"]])
    for shown, panels in ((losses, 1), (both, 2), (alone, 1)):
        figure = front_figure(shown)
        axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
        assert len(axes) == panels and len(axes[0].collections) == 2
        plt.close(figure)
