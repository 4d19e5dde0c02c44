"""Means over seeds, their intervals and what half of the runs attain."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest
from small_fronts import front

from pamal_companion.fronts import attained, over_seeds, union
from pamal_core.errors import InputError


def test_means_over_seeds_have_an_interval_and_an_attained_surface():
    from scipy.stats import t, ttest_1samp

    rng = np.random.default_rng(0)
    runs = [front(values) for values in rng.random((5, 4, 2))]
    mean, half_width, surface = over_seeds(runs)
    for p in range(4):
        sample = np.array([run.values[p, 0] for run in runs])
        low, high = ttest_1samp(sample, 0).confidence_interval()
        at = mean.table["a/accuracy"][p], half_width["a/accuracy"][p]
        assert (at[0] - at[1], at[0] + at[1]) == pytest.approx((low, high))
    np.testing.assert_array_equal(surface, attained(runs, 0.5))
    assert t.ppf(0.975, 4) > 2 and mean.alphas.tolist() == runs[0].alphas.tolist()
    for wrong in (runs[:1], [runs[0], runs[1][:3]]):
        with pytest.raises(InputError, match="two fronts or more, all with the same alphas"):
            over_seeds(wrong)


@pytest.mark.parametrize("number", [1, 4])
def test_means_over_seeds_need_no_surface(number):
    points = np.random.default_rng(0).random((2, 3, number))
    fronts = [front(one) for one in points]
    found = over_seeds(fronts)
    assert found.attained.shape == (0, number)
    np.testing.assert_allclose(found.mean.values, points.mean(0))
    with pytest.raises(InputError, match="need two fronts or more"):
        over_seeds([])


def test_runs_of_unlike_tasks_have_no_mean():
    one, other = front([[0.9, 0.1]]), front([[0.9, 0.1]], maximise=False)
    with pytest.raises(InputError, match="the same objectives"):
        over_seeds([one, other])


def test_unlike_columns_are_named_and_texts_have_no_mean():
    first = front([[0.9, 0.5], [0.8, 0.8]])
    more = replace(first, table=first.table.assign(**{"a/loss": 0.1}))
    for pair in ([first, more], [more, first]):
        with pytest.raises(InputError, match=r"the same columns\. Found a/loss in some"):
            over_seeds(pair)
    named = replace(first, table=first.table.assign(run=["x", "y"]))
    assert "run" not in over_seeds([named, named]).mean.table
    expected = over_seeds([first, first]).mean.table
    assert over_seeds(one for one in (first, first)).mean.table.equals(expected)


def gap(value, row=1, column=0, number=2):
    """A front of three points, one value of which is another."""
    values = np.linspace(0.5, 0.9, 3 * number).reshape(3, number)
    values[row, column] = value
    return front(values)


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_point_that_one_seed_has_no_value_of_is_named(number, value, seed):
    fronts = [gap(0.7, number=number) for _ in range(3)]
    fronts[seed] = gap(value, number=number)
    with pytest.warns(UserWarning, match=r"1 of 3 points .* at alpha \[0.5, 0.5\]") as caught:
        found = over_seeds(fronts)
    assert {warning.category for warning in caught} == {UserWarning}
    assert found.mean.is_finite.tolist() == [True, False, True]
    whole = over_seeds([gap(0.7, number=number) for _ in range(3)])
    np.testing.assert_allclose(found.mean.values[[0, 2]], whole.mean.values[[0, 2]])
    np.testing.assert_allclose(found.half_width.iloc[[0, 2]], whole.half_width.iloc[[0, 2]])


def test_seeds_without_a_point_of_all_have_no_mean():
    with pytest.raises(InputError, match=r"are finite\. Found none"):
        over_seeds([gap(0.7), front([[np.nan, 0.5]] * 3)])


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_is_text_in_one_seed_has_no_mean(first):
    fronts = [gap(0.7), gap(0.8)]
    for front_, values in zip(fronts, ([1.0, 2.0, 3.0], ["x", "y", "z"]), strict=True):
        front_.table["note"] = values
    assert [*over_seeds([fronts[first], fronts[1 - first]]).mean.table] == [
        "a/accuracy",
        "b/accuracy",
    ]


def test_the_order_of_columns_and_rows_by_another_index_change_nothing():
    one, other = gap(0.7), gap(0.8)
    turned = replace(other, table=other.table[["b/accuracy", "a/accuracy"]].set_axis([7, 8, 9]))
    assert over_seeds([one, turned]).mean.table.equals(over_seeds([one, other]).mean.table)


@pytest.mark.parametrize("wrong", [{"a": gap(0.7)}, [gap(0.7), gap(0.7).table], [None, gap(0.7)]])
@pytest.mark.parametrize("join", [over_seeds, lambda fronts: union(*fronts)])
def test_what_is_no_front_is_named(join, wrong, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match=r"A front must be one, .* Found ('a'|a DataFrame|None)"):
        join(wrong)
