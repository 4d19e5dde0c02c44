"""Means over seeds, their intervals and what half of the runs attain."""

from dataclasses import replace

import numpy as np
import pytest
from small_fronts import front

from pamal_companion.fronts import attained, over_seeds
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
