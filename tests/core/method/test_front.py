import warnings
from dataclasses import replace

import jaxtyping
import moocore
import numpy as np
import pandas as pd
import pytest

from pamal_core.errors import InputError
from pamal_core.front import Front, Objective, attained


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


def test_hypervolume_of_a_point_is_a_box_and_of_a_dominated_one_nothing():
    assert front([[0.9, 0.8]]).hypervolume([0.0, 0.0]) == pytest.approx(0.72)
    assert front([[0.9, 0.8], [0.5, 0.8]]).hypervolume([0.0, 0.0]) == pytest.approx(0.72)
    assert front([[0.9, 0.8]]).hypervolume([0.95, 0.0]) == 0


def test_hypervolume_wants_a_reference_of_the_right_length():
    with pytest.raises(InputError, match="2 entries"):
        front([[0.9, 0.8]]).hypervolume([0.0, 0.0, 0.0])


def test_spearman_is_one_where_more_weight_is_better_and_else_minus_one():
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
    assert points.choose().row == 1
    choice = points.choose(at_least={"a/accuracy": 0.8})
    assert choice.alpha.tolist() == [1, 0, 0] and choice.row == 0
    assert choice.metrics == {"a/accuracy": 0.9, "b/accuracy": 0.1}
    costs = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], maximise=False, alphas=np.eye(3))
    assert costs.choose(at_most={"b/loss": 0.7, "a/loss": 0.8}).row == 1


def test_bounds_are_literal_and_may_name_any_column():
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=np.eye(3))
    points = replace(points, table=points.table.assign(**{"a/loss": [0.1, np.nan, 0.5]}))
    assert points.choose().row == 1  # a NaN that is not compared discards nothing
    assert points.choose(at_most={"a/loss": 0.3}).row == 0
    with pytest.warns(UserWarning, match="`at_least` bounds a/loss from below"):
        assert points.choose(at_least={"a/loss": 0.3}).row == 2
    assert points.choose(at_most={"a/loss": 9.0}).row != 1  # but it meets no bound
    assert points.choose(at_least={"a/accuracy": 0.7}, at_most={"a/accuracy": 0.7}).row == 1


def test_a_bound_on_the_side_that_is_better_warns_and_is_kept_all_the_same():
    costs = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], maximise=False, alphas=np.eye(3))
    with pytest.warns(UserWarning) as found:
        assert costs.choose(at_least={"a/loss": 0.8}).row == 0
    assert [str(one.message) for one in found] == [
        "`at_least` bounds a/loss from below, where lower is better: `at_most` is the bound that "
        "keeps it good."
    ]
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=np.eye(3))
    with pytest.warns(UserWarning, match="`at_most` bounds b/accuracy from above, where higher"):
        assert points.choose(at_most={"b/accuracy": 0.2}).row == 0
    # A direction that nobody knows, and a column with both bounds, give no warning: an error here.
    unknown = replace(points, table=points.table.assign(**{"a/time": [1.0, 2.0, 3.0]}))
    assert unknown.choose(at_least={"a/time": 2.5}).row == 2
    assert unknown.choose(at_most={"a/time": 1.5}).row == 0
    assert costs.choose(at_least={"a/loss": 0.5}, at_most={"a/loss": 0.8}).row == 1


def test_weights_choose_by_their_mean_whether_by_name_or_in_order():
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = front(rng.random((15, 3)), alphas=rng.dirichlet([1, 1, 1], size=15))
        weights = rng.random(3)
        kept = points.values[points.non_dominated()]
        scores = (points.values - kept.min(0)) / np.ptp(kept, axis=0) @ weights
        assert points.choose(weights=weights).row == scores.argmax()
        named = dict(zip(points.table, weights.tolist(), strict=True))
        assert points.choose(weights=named).row == scores.argmax()
    assert points.choose(weights=[0, 1, 0]).row == points.values[:, 1].argmax()


def test_the_better_of_two_points_is_chosen_where_weights_see_no_other():
    assert front([[0.9, 0.1], [0.9, 0.5], [0.1, 0.6]]).choose(weights=[1, 0]).row == 1


def test_the_knee_is_where_every_move_costs_most_per_unit_gained():
    #                  a bend that is far from even: the mean prefers a point of the steep part
    bent = front([[1.0, 0.0], [0.9, 0.5], [0.8, 0.7], [0.6, 0.75], [0.0, 1.0]])
    values, costs = bent.values, []
    for v in values:
        gains = [(w - v).clip(0).sum() for w in values]
        losses = [(v - w).clip(0).sum() for w in values]
        costs.append(min(x / y for x, y in zip(losses, gains, strict=True) if y))
    assert bent.choose(knee=True).row == int(np.argmax(costs)) == 2
    three = front([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.7, 0.7, 0.7]], alphas=np.eye(4))
    assert three.choose(knee=True).row == 3
    assert three.choose(knee=True, at_least={"a/accuracy": 0.8}).row == 0
    assert front([[0.4, 0.5]]).choose(knee=True).row == 0


@pytest.mark.parametrize("options", [{}, {"knee": True}, {"weights": [2, 1, 1]}])
def test_neither_outliers_nor_units_nor_the_order_change_the_choice(options):
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.random((20, 3))
        points = front(values, alphas=rng.dirichlet([1, 1, 1], size=20))
        expected = points.choose(**options)
        outliers = np.vstack([values.min(0) - [0, 50, 0], values.min(0) - [9, 0, 0], values])
        alphas = np.vstack([np.eye(3)[:2], points.alphas])
        assert front(outliers, alphas=alphas).choose(**options).row == expected.row + 2
        scaled = front(values * [1, 1000, 2] + [0, 5, 0], alphas=points.alphas)
        np.testing.assert_array_equal(scaled.choose(**options).alpha, expected.alpha)
        turned = front(-values[::-1], False, points.alphas[::-1])
        np.testing.assert_array_equal(turned.choose(**options).alpha, expected.alpha)


def test_choose_says_which_bounds_conflict_and_which_point_is_nearest():
    points = front([[0.9123456, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=np.eye(3))
    with pytest.raises(InputError) as error:
        points.choose(at_least={"a/accuracy": 0.95, "b/accuracy": 0.05})
    assert str(error.value) == (
        "No point of the front meets a/accuracy at least 0.95. The nearest is row 0, with "
        "{'a/accuracy': 0.9123, 'b/accuracy': 0.1}."
    )
    with pytest.raises(
        InputError, match=r"a/accuracy at least 0\.8 and b/accuracy at least 0\.5\. "
    ):
        points.choose(at_least={"a/accuracy": 0.8, "b/accuracy": 0.5})
    # The nearest by shares of the extent of a column, not by its unit.
    unlike = front([[0.9, 100.0], [0.5, 190.0], [0.0, 0.0]], alphas=np.eye(3))
    with pytest.raises(InputError, match="The nearest is row 1"):
        unlike.choose(at_least={"a/accuracy": 0.55, "b/accuracy": 200.0})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_least": {"d": 0.95}}, r"A bound must .* name one of .*'d'"),
        ({"at_most": {"a/accuracy": float("nan")}}, r"must be a finite number.* nan for 'a/"),
        ({"at_most": {"a/accuracy": "0.3"}}, "Found '0.3' for 'a/accuracy'"),
        ({"at_least": 0.9}, r"`at_least` must be a dict of columns and bounds. Found 0.9"),
        ({"weights": [1.0]}, "one for each of"),
        ({"weights": [1.0, -1.0]}, "finite numbers >= 0"),
        ({"weights": {"a/accuracy": 1.0}}, "one for each of"),
        ({"weights": [0, 0]}, "not all 0"),
        ({"weights": 3}, "Found 3"),
    ],
)
def test_bounds_and_weights_that_make_no_sense_are_refused(options, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        front([[0.9, 0.5], [0.5, 0.6]]).choose(**options)


BROKEN = [[np.nan, 0.99], [0.9, 0.1], [0.5, 0.6], [np.inf, 0.2], [0.3, -np.inf], [0.2, 0.9]]


def left_out(call):
    """What `call` returns, and that it warns once of points that are left out."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    (warning,) = found
    assert "3 of 6 points of the front are left out" in str(warning.message)
    return result


def test_points_that_are_not_finite_count_nowhere_and_a_warning_says_so():
    alphas = np.c_[np.linspace(1, 0, 6), np.linspace(0, 1, 6)]
    broken, rows = front(BROKEN, alphas=alphas), [1, 2, 5]
    whole = front(np.array(BROKEN)[rows], alphas=alphas[rows])
    assert left_out(broken.non_dominated).tolist() == [False, True, True, False, False, True]
    assert left_out(lambda: broken.hypervolume([0.0, 0.0])) == whole.hypervolume([0.0, 0.0])
    for name in ("best", "middle", "competition"):
        assert left_out(getattr(broken, name)) == getattr(whole, name)()
    for name in ("spearman", "ordered_pairs"):
        np.testing.assert_array_equal(left_out(getattr(broken, name)), getattr(whole, name)())
    np.testing.assert_array_equal(left_out(lambda: attained([broken], 1.0)), attained([whole], 1.0))
    for options in ({}, {"knee": True}, {"at_least": {"a/accuracy": 0.3}}):
        choice = left_out(lambda options=options: broken.choose(**options))
        assert choice.row == rows[whole.choose(**options).row]
    assert left_out(lambda: broken.compare(whole)).equals(whole.compare(whole))
    assert broken.to_frame().non_dominated.sum() == 3 and len(broken.to_frame()) == 6


def test_a_front_without_a_finite_point_is_refused():
    lost = front(np.full((3, 2), np.nan))
    calls = ("choose", "non_dominated", "best", "middle", "spearman", "ordered_pairs")
    for call in (*(getattr(lost, name) for name in calls), lambda: lost.hypervolume([0.0, 0.0])):
        with pytest.raises(InputError, match="a/accuracy, b/accuracy are finite"):
            call()


def test_a_front_is_loaded_exactly_as_it_was_saved(tmp_path):
    table = mixed().table.assign(seen=range(40), **{"größe/精度": np.float32(np.pi)})
    table.iloc[3, 0], table.iloc[4, 1] = np.nan, -np.inf
    for index, weights in ((table.index, None), (table.index[::-1] * 2, np.eye(3) * 0.1)):
        before = replace(mixed(), table=table.set_index(index), task_weights=weights)
        before.save(tmp_path / "front")
        after = Front.load(str(tmp_path / "front"))
        assert after.objectives == before.objectives
        pd.testing.assert_frame_equal(after.table, before.table, check_exact=True)
        np.testing.assert_array_equal(after.alphas, before.alphas)
        np.testing.assert_array_equal(after.task_weights, weights)
    assert [*tmp_path.iterdir()] == [tmp_path / "front"]


def test_a_damaged_file_is_an_input_error_or_the_same_front(tmp_path):
    path, before = tmp_path / "front.npz", front([[0.9, 0.5], [0.7, 0.8]])
    before.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(whole) * 8, size=300):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        try:
            assert Front.load(path).to_frame().equals(before.to_frame())
        except InputError:
            refused += 1
    assert refused > 100
    for content in (b"", whole[:100], whole[:-30], b"alpha,loss", np.arange(3).tobytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"front\.npz is not a whole front"):
            Front.load(path)
    np.savez(path, alphas=np.ones(3))
    with pytest.raises(InputError, match="not a whole front"):
        Front.load(path)
    for call in (Front.load, before.save):
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "nowhere" / "front.npz")


def test_a_comparison_has_each_front_judged_against_the_other():
    ours, theirs = front([[0.9, 0.3], [0.6, 0.6], [0.1, 0.1]]), front([[0.8, 0.2], [0.5, 0.8]])
    found = ours.compare(theirs, [0.0, 0.0])
    assert found["hypervolume"].tolist() == pytest.approx([0.27 + 0.18, 0.16 + 0.30])
    # (0.6, 0.6) needs 0.2 more of b to reach (0.5, 0.8); (0.8, 0.2) 0.1 of both, then (0.6, 0.6)
    assert found["additive epsilon"].tolist() == pytest.approx([0.2, 0.1])
    assert found["IGD+"].tolist() == pytest.approx([0.2 / 2, (np.hypot(0.1, 0.1) + 0.1) / 2])
    assert found["attained"].tolist() == [0.5, 0]
    same = ours.compare(ours)
    assert (same[["additive epsilon", "IGD+"]] == 0).all(axis=None) and (same.attained == 1).all()
    assert (same["hypervolume"] == 0).all()  # the worst of two points are their two corners
    turned = [front(-f.values, maximise=False) for f in (ours, theirs)]
    np.testing.assert_allclose(turned[0].compare(turned[1], [0.0, 0.0]), found)
    with pytest.raises(InputError, match="the same objectives"):
        ours.compare(turned[1])


def sphere(num_points, num_tasks):
    """Points none of which dominates another."""
    values = np.abs(np.random.default_rng(0).normal(size=(num_points, num_tasks)))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return front(values, names=[f"t{t}" for t in range(num_tasks)])


def test_a_hypervolume_that_takes_long_is_approximate_and_says_so():
    few, many = sphere(60, 8), sphere(90, 8)
    for exact in (None, True):
        assert few.hypervolume(np.zeros(8), exact=exact) == moocore.hypervolume(
            few.values, ref=np.zeros(8), maximise=True
        )
    with pytest.warns(UserWarning, match="90 points in 8 objectives is approximate"):
        near = many.hypervolume(np.zeros(8))
    assert near == many.hypervolume(np.zeros(8), exact=False)
    assert near == pytest.approx(many.hypervolume(np.zeros(8), exact=True), rel=0.01)
    # Units do not matter: one objective is counted in thousands, one in thousandths, one is a loss.
    units = np.array([1, 1e3, 1e-3, 1, 1, 1, 1, -1])
    table = many.table * units + 5
    objectives = tuple(Objective(name, bool(u > 0)) for name, u in zip(table, units, strict=True))
    scaled = replace(many, table=table, objectives=objectives)
    assert scaled.hypervolume(np.full(8, 5.0), exact=False) == pytest.approx(near)
    # Points that add nothing are not counted.
    assert many.hypervolume(np.full(8, 1.5)) == many.hypervolume(np.full(8, 1.5), exact=False) == 0
    padded = np.vstack([few.values, few.values * 0.5])
    assert front(padded, names=[f"t{t}" for t in range(8)]).hypervolume(np.zeros(8)) == (
        pytest.approx(few.hypervolume(np.zeros(8)))
    )


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
    assert after.choose().row == before.choose().row
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


def test_ordered_pairs_are_all_of_a_front_in_order_and_none_of_the_reverse():
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
