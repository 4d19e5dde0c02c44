import sys
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import jaxtyping
import moocore
import numpy as np
import pandas as pd
import pytest
import torch
from small_fronts import front, left_out, sphere, with_and_without_broken

from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective


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


def test_the_correlation_of_tasks_is_minus_one_on_a_strict_trade_off():
    up = np.linspace(0, 1, 5)
    assert front(np.c_[up, 1 - up]).task_correlation() == pytest.approx(-1)
    assert front(np.c_[up, up]).task_correlation() == pytest.approx(1)


def test_correlations_of_a_single_point_are_not_defined():
    single = front([[0.9, 0.8]])
    assert np.isnan(single.spearman()).all()
    assert np.isnan(single.task_correlation())


def test_spearman_follows_the_task_weights_of_the_members():
    up = np.linspace(0, 1, 5)
    swapped = front(np.c_[up, 1 - up])
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    mended = Front(swapped.alphas, swapped.table, swapped.objectives, matrix)
    np.testing.assert_allclose(swapped.spearman(), [-1, -1])
    np.testing.assert_allclose(mended.spearman(), [1, 1])


def test_best_is_taken_per_objective_in_its_direction():
    assert front([[0.9, 0.5], [0.7, 0.8]]).ideal_point() == {"a/accuracy": 0.9, "b/accuracy": 0.8}
    assert front([[0.9, 0.5], [0.7, 0.8]], maximise=False).ideal_point() == {
        "a/loss": 0.7,
        "b/loss": 0.5,
    }


def test_choose_takes_the_point_whose_worst_scaled_objective_is_best():
    """By a loop; as the second worst, of equal worst ones."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        points = front(rng.integers(5, size=(9, 3)), rng.random() < 0.5, np.full((9, 1), 1.0))
        kept = points.better[points.non_dominated()]
        low, high = kept.min(0), kept.max(0)
        ranks = [
            sorted((v[t] - low[t]) / (high[t] - low[t]) for t in range(3) if high[t] > low[t])
            for v in kept
        ]
        assert points.pareto.choose().row == ranks.index(max(ranks))


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ([[0.95, 0.70], [0.80, 0.81], [0.70, 0.82]], 1),  # the highest mean is that of an end
        ([[1, 0, 0], [0.4, 0.4, 0], [0, 1, 0], [0, 0, 1]], 1),
        ([[1, 0], [0, 1]], 0),
        ([[0.5, 0.2, 0.1], [0.5, 0.1, 0.3], [0.5, 0.15, 0.2]], 2),  # the first counts for nothing
        ([[0.5, 0.5], [0.5, 0.5]], 0),
    ],
)
def test_an_end_is_chosen_only_where_nothing_lies_between(values, row):
    assert front(values, alphas=np.eye(len(values))).choose().row == row


def test_the_best_of_a_task_is_among_those_that_meet_the_bounds():
    rng = np.random.default_rng(0)
    for maximise in (True, False):
        points = front(rng.random((30, 2)).round(1), maximise)
        for bound in (0.2, 0.5, 0.8):
            side = "at_least" if maximise else "at_most"
            chosen = points.choose(best="a", **{side: {"b": bound}}).row
            meets = [bound <= v if maximise else v <= bound for v in points.values[:, 1]]
            best = max(
                (b[0], b[1]) for b, met in zip(points.better.tolist(), meets, strict=True) if met
            )
            assert tuple(points.better[chosen]) == best
    assert points.choose(best=points.objectives[0].name).row == points.choose(best="a").row


def test_the_name_of_a_task_means_its_objective():
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=np.eye(3))
    choice = points.choose(at_least={"a": 0.8})
    assert choice.alpha.tolist() == [1, 0, 0] and choice.row == 0
    assert choice.metrics == {"a/accuracy": 0.9, "b/accuracy": 0.1}
    assert points.choose(at_least={"b": 0.8}, at_most={"b": 0.9}).row == 2
    assert points.choose(weights={"a": 1, "b/accuracy": 5}).row == 2
    assert points.choose(weights=pd.Series({"b": 5, "a": 1})).row == 2
    assert points.choose(at_least=pd.Series({"b": 0.8}), at_most=pd.Series({"b": 0.9})).row == 2


def test_bounds_are_literal_and_may_name_any_column():
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.9]], alphas=np.eye(3))
    table = points.table.assign(**{"a/loss": [0.1, np.nan, 0.5]})
    points = replace(points, table=table, metrics=(Objective("a/loss", False),))
    assert points.choose().row == 1  # a NaN that is not compared discards nothing
    assert points.choose(at_most={"a/loss": 0.3}).row == 0
    with pytest.warns(UserWarning, match="`at_least` bounds a/loss from below"):
        assert points.choose(at_least={"a/loss": 0.3}).row == 2
    assert points.choose(at_most={"a/loss": 9.0}).row != 1  # but it meets no bound
    assert points.choose(at_least={"a/accuracy": 0.7}, at_most={"a/accuracy": 0.7}).row == 1


def test_two_bounds_that_are_printed_alike_both_count():
    points = front([[0.9, 0.6], [0.900008, 0.1]])
    bounds = {"a": 0.900004, "a/accuracy": 0.899996}
    assert points.choose(at_least=bounds).row == 1
    assert points.choose(at_least=dict(reversed(bounds.items()))).row == 1


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


@pytest.mark.parametrize("options", [{}, {"best": "b"}, {"weights": [2, 1, 1]}])
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
    named = replace(unlike, table=unlike.table.assign(name=["one", "two", "three"]))
    with pytest.raises(InputError, match=r"The nearest is row 1, with .*'name': 'two'"):
        named.choose(at_least={"a/accuracy": 0.55, "b/accuracy": 200.0})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_least": {"d": 0.95}}, r"A bound must .* name one of .*'d'"),
        ({"at_most": {"a/accuracy": float("nan")}}, r"must be a finite number.* nan for 'a/"),
        ({"at_most": {"a/accuracy": "0.3"}}, "Found '0.3' for 'a/accuracy'"),
        ({"weights": [1.0]}, "one for each of"),
        ({"weights": [1.0, -1.0]}, r"numbers >= 0, not all 0\. Found \[1.0, -1.0\]"),
        ({"weights": {"a/accuracy": 1.0}}, "one for each of"),
        ({"weights": [0, 0]}, "not all 0"),
        ({"weights": 3}, "Found 3"),
    ],
)
def test_bounds_and_weights_that_make_no_sense_are_refused(options, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=message):
        front([[0.9, 0.5], [0.5, 0.6]]).choose(**options)


def test_points_that_are_not_finite_count_nowhere_and_a_warning_says_so():
    broken, whole, rows = with_and_without_broken()
    assert left_out(broken.non_dominated).tolist() == [False, True, True, False, False, True]
    assert left_out(lambda: broken.hypervolume([0.0, 0.0])) == whole.hypervolume([0.0, 0.0])
    for name in ("ideal_point", "task_correlation"):
        assert left_out(getattr(broken, name)) == getattr(whole, name)()
    np.testing.assert_array_equal(left_out(broken.spearman), whole.spearman())
    for options in ({}, {"best": "b"}, {"at_least": {"a/accuracy": 0.3}}):
        choice = left_out(lambda options=options: broken.choose(**options))
        assert choice.row == rows[whole.choose(**options).row]
    np.testing.assert_array_equal(left_out(lambda: broken.pareto).alphas, whole.pareto.alphas)
    assert broken.to_frame().non_dominated.sum() == 3 and len(broken.to_frame()) == 6


def test_a_front_without_a_finite_point_is_refused():
    lost = front(np.full((3, 2), np.nan))
    calls = ["choose", "non_dominated", "ideal_point", "spearman", "task_correlation"]
    if find_spec("matplotlib"):  # of the extra `plots`
        calls.append("plot")
    for call in (*(getattr(lost, name) for name in calls), lambda: lost.hypervolume([0.0, 0.0])):
        with pytest.raises(InputError, match="a/accuracy, b/accuracy are finite"):
            call()


def test_a_hypervolume_is_exact_and_dominated_points_add_nothing():
    few = sphere(60, 8)
    exact = moocore.hypervolume(few.values, ref=np.zeros(8), maximise=True)
    assert few.hypervolume(np.zeros(8)) == exact
    assert few.hypervolume(np.full(8, 1.5)) == 0
    padded = np.vstack([few.values, few.values * 0.5])
    names = [objective.task for objective in few.objectives]
    assert front(padded, names=names).hypervolume(np.zeros(8)) == exact


MIXED = Front(
    np.ones((2, 1)),
    pd.DataFrame({"price/loss": [1.0, 2.0], "sold/accuracy": [0.9, 0.95]}),
    (Objective("price/loss", False), Objective("sold/accuracy", True)),
)


@pytest.mark.parametrize(
    "reference",
    [
        [3.0, 0.0],
        (3, 0),
        np.array([3.0, 0.0]),
        torch.tensor([3.0, 0.0], requires_grad=True),
        {"price": 3.0, "sold": 0.0},
        {"sold": 0.0, "price/loss": np.float32(3.0)},
        pd.Series({"sold": 0.0, "price": 3.0}),
        pd.Series({"sold/accuracy": 0, "price/loss": 3}),
    ],
    ids=str,
)
def test_a_reference_goes_by_names_or_by_the_order_of_the_objectives(reference, monkeypatch):
    """By hand: (3 - 1) 0.9 + (3 - 2) (0.95 - 0.9)."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a tensor will do
    assert MIXED.hypervolume(reference) == pytest.approx(1.85)


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ({"price": 3.0}, r"\{'price': 3.0\}"),
        ({"price": 3.0, "solt": 0.0}, r"\{'price': 3.0, 'solt': 0.0\}"),
        ({"price": 3.0, "sold": 0.0, "age": 1.0}, "'age': 1.0"),
        ({"price": 3.0, "price/loss": 3.0}, "'price/loss': 3.0"),
        ({"price": 3.0, "sold": np.nan}, "'sold': nan"),
        ({"price": 3.0, "sold": "0"}, "'sold': '0'"),
        (pd.Series([3.0, 0.0]), r"\{0: 3.0, 1: 0.0\}"),  # of numbers for names
        (pd.Series([3.0, 3.0, 0.0], ["price", "price", "sold"]), "'price': 3.0, 'sold': 0.0"),
        (pd.Series([3.0, 3.0], ["price", "price"]), r"\{'price': 3.0\}"),
        ([3.0], r"\[3.0\]"),
        ([[3.0, 0.0]], r"\[\[3.0, 0.0\]\]"),
        ([3.0, None], r"\[3.0, None\]"),
        ("30", "'30'"),
        (3.0, "3.0"),
        (np.float64(3.0), "3.0"),
        ({3.0, 0.0}, r"\{0.0, 3.0\}"),
    ],
)
def test_a_reference_by_wrong_names_or_of_too_few_is_refused(reference, found, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    expected = r"`reference` must be 2 finite numbers, one for each of price/loss, sold/accuracy, "
    with pytest.raises(InputError, match=expected + rf"by name or in this order\. Found .*{found}"):
        MIXED.hypervolume(reference)


def test_a_front_without_points_or_columns_is_refused():
    with pytest.raises(InputError, match="Found 0 alphas"):
        Front(np.zeros((0, 2)), pd.DataFrame(), ())
    with pytest.raises(InputError, match="missing"):
        Front(np.ones((1, 1)), pd.DataFrame({"a": [1]}), (Objective("b", True),))


def test_a_front_is_a_sequence_of_points():
    points = front([[0.9, 0.1], [0.7, 0.6], [0.2, 0.5]])
    assert len(points) == 3 and [point.row for point in points] == [0, 1, 2]
    assert points[-1].row == points[np.int64(2)].row == 2
    assert points[1].metrics == {"a/accuracy": 0.7, "b/accuracy": 0.6}
    assert points[1].alpha.tolist() == [0.5, 0.5]
    for rows in (slice(1, None), [1, 2], np.array([False, True, True])):
        assert points[rows].alphas.tolist() == [[0.5, 0.5], [0, 1]]
        assert points[rows][0].metrics == points[1].metrics
    assert points.pareto.values.tolist() == [[0.9, 0.1], [0.7, 0.6]]
    with pytest.raises(IndexError):
        points[3]
    with pytest.raises(InputError, match="Found 0 alphas"):
        points[points.values[:, 0] > 1]


def test_a_front_shows_itself_on_one_screen():
    many = front(np.random.default_rng(0).random((200, 2)), names=("<a>", "b"))
    text, html = repr(many), many._repr_html_()
    lines = text.splitlines()
    assert len(lines) < 15 and max(map(len, lines)) < 130
    kept = many.non_dominated().sum()
    assert lines[0] == (
        f"200 points of 2 members, {kept} not dominated, by accuracy on <a> (higher is better), "
        "accuracy on b (higher is better)"
    )
    assert "accuracy on &lt;a&gt;" in html and "<table" in html and html.count("<tr") < 15


def test_the_frame_has_alphas_metrics_and_dominance():
    frame = front([[0.9, 0.5], [0.7, 0.4]]).to_frame()
    assert list(frame) == ["alpha/a", "alpha/b", "a/accuracy", "b/accuracy", "non_dominated"]
    assert frame.non_dominated.tolist() == [True, False]


@pytest.mark.parametrize(
    ("alphas", "task_weights", "names"),
    [
        (np.eye(2), np.eye(2), ["alpha/a", "alpha/b"]),
        (np.eye(2), np.eye(2)[::-1], ["alpha_1", "alpha_2"]),
        (np.ones((2, 1)), None, ["alpha_1"]),
        (np.eye(3)[:2], np.array([[1, 0], [0, 1], [0.5, 0.5]]), ["alpha_1", "alpha_2", "alpha_3"]),
    ],
)
def test_an_alpha_is_named_after_the_task_that_its_member_is_trained_on(
    alphas, task_weights, names
):
    points = replace(front([[0.9, 0.5], [0.7, 0.4]], alphas=alphas), task_weights=task_weights)
    assert [name for name in points.to_frame() if name.startswith("alpha")] == names


@pytest.mark.parametrize(("maximise", "reference"), [(True, 0.0), (False, 1.0)])
def test_a_hypervolume_is_from_the_references_unless_one_is_missing(maximise, reference):
    points = front(np.random.default_rng(0).random((8, 2)), maximise)
    one, other = points.objectives
    known = replace(points, objectives=(replace(one, reference=reference), other))
    with pytest.raises(InputError, match=r"`reference` must be 2 .* Found \{.*'b/\w+': None\}"):
        known.hypervolume()
    every = tuple(replace(o, reference=reference) for o in points.objectives)
    assert replace(points, objectives=every).hypervolume() == points.hypervolume([reference] * 2)


def test_another_metric_has_the_direction_that_is_known_or_given():
    table = pd.DataFrame({"a/accuracy": [0.9, 0.5], "a/rank": [2.0, 1.0]})
    known = Objective("a/accuracy", True, 0.0), Objective("a/rank", False)
    points = Front(np.ones((2, 1)), table, known[:1], metrics=known)
    assert points.on("rank").ideal_point() == {"a/rank": 1.0}
    assert points.on("rank").on("accuracy").objectives[0].reference == 0
    assert points.on("rank", maximise=True).ideal_point() == {"a/rank": 2.0}
    with pytest.raises(InputError, match=r"must be one of a/accuracy\. Found 'a/rank'"):
        replace(points, metrics=()).on("rank")
    with pytest.raises(InputError, match=r"must be one of a/accuracy, a/rank\. Found 'a/size'"):
        points.on("size", maximise=True)


@pytest.mark.parametrize("num_tasks", [2, 3, 4])
def test_a_plot_has_every_point_in_every_pair_of_tasks(num_tasks, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    rng = np.random.default_rng(0)
    points = front(
        rng.random((12, num_tasks)), maximise=False, alphas=rng.dirichlet([1] * num_tasks, size=12)
    )
    other = front(rng.random((3, num_tasks)), maximise=False, alphas=np.ones((3, 1)))
    with pytest.raises(InputError, match=r"`beside` must be of type Mapping, such .* Found list"):
        points.plot(beside=[other])
    first = points.plot(beside={"LS": other})
    axes = first.figure.axes[: num_tasks * (num_tasks - 1) // 2]
    drawn = {line.get_label(): line.get_xydata() for line in axes[-1].lines}
    pair, kept = (num_tasks - 2, num_tasks - 1), points.non_dominated()
    for label, values in (
        ("not dominated", points.values[kept]),
        ("dominated", points.values[~kept]),
        ("LS", other.values),
    ):
        np.testing.assert_array_equal(drawn[label], values[:, pair])
    assert first is axes[0] and first.get_xlabel() == "loss on a (lower is better)"
    assert points.plot(ax=axes) is axes[0]
    plt.close("all")


def simplex(num_members, num_points=66):
    rng = np.random.default_rng(0)
    return {"alphas": rng.dirichlet([1] * num_members, num_points), "maximise": True}


@pytest.mark.parametrize("has_mpltern", [True, False])
def test_three_tasks_have_a_triangle_where_mpltern_is(has_mpltern, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    if has_mpltern:
        pytest.importorskip("mpltern", reason="needs mpltern")
    else:
        monkeypatch.setitem(sys.modules, "mpltern", None)
    points = front(np.random.default_rng(1).random((66, 3)), **simplex(3))
    figure = points.plot().figure
    triangles = [ax for ax in figure.axes if ax.name == "ternary"]
    assert len(triangles) == has_mpltern and len(figure.axes) == 3 + 2 * has_mpltern
    if has_mpltern:  # the star is where `choose` is
        star = triangles[0].collections[1].get_offsets()[0]
        dots = triangles[0].collections[0].get_offsets()
        np.testing.assert_allclose(star, dots[points.choose().row])
    plt.close("all")


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        ([], "Found list"),
        (None, "Found NoneType"),
        ({"LS": None}, "A front must be one, .* Found None"),
        ({"LS": pd.DataFrame({"a/accuracy": [0.5]})}, "A front must be one.* Found a DataFrame"),
        ({"LS": SimpleNamespace(front=1)}, "A front must be one.* Found namespace"),
        ({"LS": [1.0, 2.0]}, r"A front must be one, .* Found \[1.0, 2.0\]"),
        ({"LS": front([[0.5, 0.5, 0.5]])}, "Fronts must have the same objectives"),
        ({"LS": front([[0.5, 0.5]], maximise=False)}, "Fronts must have the same objectives"),
        ({"": front([[0.5, 0.5]])}, r"must have a text as its name. Found \[''\]"),
        ({3: front([[0.5, 0.5]])}, r"must have a text as its name. Found \[3\]"),
        ({None: front([[0.5, 0.5]])}, r"must have a text as its name. Found \[None\]"),
    ],
    ids=str,
)
def test_what_is_drawn_beside_a_front_is_fronts_by_name(beside, found, monkeypatch):
    """A front without a name would be drawn in the place of the first."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    with pytest.raises(InputError, match=found):
        front([[0.9, 0.1], [0.1, 0.9]]).plot(beside=beside)
    plt.close("all")


@pytest.mark.parametrize(
    ("num_tasks", "make", "found"),
    [
        (2, lambda plt: plt.figure(), "one for each panel: 1. Found <Figure"),
        (2, lambda plt: plt, "Found a module"),
        (2, lambda plt: "ax", "Found 'ax'"),
        (2, lambda plt: [], r"Found \[\]"),
        (3, lambda plt: plt.gca(), "one for each panel: 3. Found <Axes"),
        (3, lambda plt: plt.subplots(1, 2)[1], "one for each panel: 3. Found "),
        (4, lambda plt: plt.subplots(5)[1], "one for each panel: 6. Found "),
        (6, lambda plt: 6, "one for each panel: 1. Found 6"),
    ],
)
def test_axes_are_one_for_each_panel(num_tasks, make, found):
    """With fewer, pairs of tasks would be left out."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    values = np.random.default_rng(0).random((5, num_tasks))
    points = front(values, alphas=np.ones((5, 1)), names="abcdef")
    with pytest.raises(InputError, match=f"`ax` must be matplotlib's axes, .*{found}"):
        points.plot(ax=make(plt))
    plt.close("all")


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 2), (3, 2)])
def test_axes_may_lie_in_rows_and_some_may_be_left(shape):
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    panels = plt.subplots(*shape)[1]
    points = front(np.random.default_rng(0).random((5, 3)), alphas=np.ones((5, 1)))
    assert points.plot(ax=panels) is np.ravel(panels)[0]
    assert [bool(panel.lines) for panel in np.ravel(panels)] == [True] * 3 + [False] * (
        np.size(panels) - 3
    )
    plt.close("all")


def test_more_than_four_tasks_have_a_line_for_each_front():
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    values = np.random.default_rng(2).random((30, 6))
    points = front(values, **simplex(6, 30), names="abcdef")
    ls = front([[0.5] * 6], alphas=[[1.0]], names="abcdef")
    (panel,) = points.plot(beside={"LS": ls}).figure.axes
    lines = {line.get_label(): line.get_ydata() for line in panel.lines}
    kept = np.vstack([values[points.non_dominated()], ls.values])
    low, high = kept.min(0), kept.max(0)
    np.testing.assert_allclose(lines["best of each task"], (values.max(0) - low) / (high - low))
    np.testing.assert_allclose(lines["LS"], (0.5 - low) / (high - low))
    chosen = values[points.choose().row]
    np.testing.assert_allclose(lines["the point of choose()"], (chosen - low) / (high - low))
    plt.close("all")


@pytest.mark.parametrize("num_tasks", [2, 3, 6])
def test_a_dollar_in_a_name_is_no_mathematics(num_tasks):
    """Between two dollars matplotlib reads mathematics, and these would be malformed."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    names = ["$a_{$", "cost $b_{$", "c", "d", "e", "f"][:num_tasks]
    table = pd.DataFrame(np.random.default_rng(3).random((20, num_tasks)), columns=names)
    table = table.add_suffix("/loss")
    objectives = tuple(Objective(name, False) for name in table)
    points = Front(simplex(num_tasks, 20)["alphas"], table, objectives)
    figure = points.plot(beside={"$LS_{$": points[:1]}).figure
    figure.canvas.draw()  # fails at the first of them that is read as mathematics
    plt.close("all")


def test_many_points_are_printed_spread_with_the_chosen_one():
    values = np.random.default_rng(4).random((66, 3))
    values /= np.linalg.norm(values, axis=1, keepdims=True)  # no point dominates another
    values[:6] *= 0.3
    points = front(values, **simplex(3))
    lines = repr(points).splitlines()
    rows = [int(line.split()[0]) for line in lines[2:-1]]
    kept, chosen = points.non_dominated(), points.choose().row
    assert len(rows) == 11 == len({*rows}) and kept[rows].all() and chosen in rows
    assert {*values.argmax(0)} <= {*rows}
    left = kept.sum() - 11
    assert lines[-1] == (
        f"55 points are left out, {left} of them not dominated. Row {chosen} is the one of "
        "choose()."
    )
    assert lines[-1] in points._repr_html_()
    gaps = np.linalg.norm(values[rows][:, None] - values[rows], axis=2) + 9 * np.eye(11)
    random = np.random.default_rng(5)
    others = [random.choice(np.flatnonzero(kept), 11, replace=False) for _ in range(50)]
    nearest = [
        (np.linalg.norm(values[o][:, None] - values[o], axis=2) + 9 * np.eye(11)).min()
        for o in others
    ]
    assert gaps.min() > max(nearest)  # farther apart than any of fifty draws


def test_few_points_are_all_printed():
    points = front(np.random.default_rng(6).random((11, 2)))
    assert len(repr(points).splitlines()) == 13 and "left out" not in repr(points)


def test_small_numbers_are_printed_with_three_digits_at_least():
    table = pd.DataFrame({"a/loss": [3.14159e-5, 2.5e-5], "b/loss": [0.0512345, 0.1]})
    objectives = Objective("a/loss", False), Objective("b/loss", False)
    text = repr(Front(np.eye(2), table, objectives))
    assert "3.14e-05" in text and "2.5e-05" in text
    assert "0.0512 " in text and "0.05123" not in text
    table["a/loss"] = [1e-310, 5e-324]
    assert "NaN" not in repr(Front(np.eye(2), table, objectives))


def test_a_line_is_drawn_through_a_front_of_two_members_or_of_one_network():
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    segment = front([[0.9, 0.1], [0.6, 0.7], [0.5, 0.6]])
    for points, num_lines in ((segment, 1), (replace(segment, is_union=True), 0)):
        drawn = [line for line in points.plot().lines if line.get_linestyle() == "-"]
        assert len(drawn) == num_lines
    assert replace(segment, is_union=True)[:2].plot().lines[0].get_linestyle() != "-"
    plt.close("all")


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="extra `plots` brings it"):
        front([[0.9, 0.1], [0.7, 0.6]]).plot()


def test_a_mask_of_sorted_rows_means_these_rows():
    found = front([[1, 9], [5, 5], [3, 6]])
    frame = found.to_frame().sort_values("b/accuracy")
    kept = found[frame["b/accuracy"] > 5.5]
    assert kept.alphas[:, 0].tolist() == [1, 0] and kept.values[:, 1].tolist() == [9, 6]
    assert kept[1].metrics == kept.table.iloc[1].to_dict() == found[2].metrics


def test_a_bound_that_leaves_out_the_best_point_leaves_a_choice():
    values = np.array([[0.9, 0.1], [0.8, 0.6], [0.6, 0.8], [0.1, 0.9], [0.95, 0.95]])
    alphas = [[1, 0], [0.7, 0.3], [0.3, 0.7], [0, 1], [0.5, 0.5]]
    found = front(values, alphas=alphas)
    bound = {"a/loss": 0.5}
    found = replace(found, table=found.table.assign(**{"a/loss": [0.1] * 4 + [0.9]}))
    assert found.choose(at_most=bound).row in (1, 2)
    assert found.choose(at_most=bound, weights=[0, 1]).row == 3
    assert found.choose(at_most=bound, weights=[1, 0]).row == 0
