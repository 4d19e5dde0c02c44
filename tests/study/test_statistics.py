"""Intervals over seeds, the deviation of many settings together, and the verdict."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pamal_core.study.statistics import deviation, differences, interval, pooled, verdict


@pytest.mark.parametrize("number", [2, 3, 10, 20])
@pytest.mark.parametrize("coverage", [0.9, 0.95])
def test_the_interval_is_students_as_scipy_has_it(number, coverage):
    values = np.random.default_rng(number).normal(size=number)
    error = stats.sem(values)
    expected = stats.t.interval(coverage, number - 1, loc=values.mean(), scale=error)
    assert interval(values, coverage) == pytest.approx(expected)


def test_the_interval_of_three_values_by_hand():
    # Their mean is 1 and their deviation the root of 3; Student's 0.975 quantile of 2 is 4.3027.
    assert interval([0.0, 0.0, 3.0]) == pytest.approx((1 - 4.3027, 1 + 4.3027), abs=1e-4)
    np.testing.assert_equal(interval([0.2]), (np.nan, np.nan))


@pytest.mark.parametrize("number", [2, 3, 10])
def test_the_interval_holds_the_mean_as_often_as_it_says(number):
    drawn = np.random.default_rng(0).normal(1.0, 0.5, size=(4000, number))
    held = [low <= 1.0 <= high for low, high in map(interval, drawn)]
    assert np.mean(held) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 4000))


def test_deviations_divide_by_one_less_than_the_number():
    assert deviation([0.9, 0.92]) == pytest.approx(0.02 / np.sqrt(2))
    assert np.isnan(deviation([0.9])) and np.isnan(deviation([]))


def test_the_deviation_of_a_group_weighs_each_row_by_its_seeds_less_one():
    table = pd.DataFrame(
        {
            "deviation": [0.1, 0.2, np.nan, 0.4, np.nan],
            "number": [2, 3, 1, 10, 3],
            "group": ["a", "a", "a", "b", "c"],
        }
    )
    found = pooled(table["deviation"], table["number"], table["group"])
    together = np.sqrt((1 * 0.1**2 + 2 * 0.2**2) / 3)
    np.testing.assert_allclose(found, [together, 0.4, np.nan])


def test_the_deviation_of_a_group_is_that_of_all_values_about_the_means_of_their_rows():
    rng = np.random.default_rng(1)
    rows = [rng.normal(mean, 1, size) for mean, size in ((0, 3), (5, 4), (-3, 2))]
    found = pooled(
        pd.Series([deviation(r) for r in rows]),
        pd.Series([len(r) for r in rows]),
        pd.Series(["one"] * 3),
    )
    squares = sum(((r - r.mean()) ** 2).sum() for r in rows)
    assert found.tolist() == pytest.approx([np.sqrt(squares / (9 - 3))])


def test_verdicts():
    far = [verdict(2, spreads) for spreads in (1.9, -1.9, 2.0, 2.1, -2.1, np.nan)]
    reproduced, not_reproduced = ["reproduced"] * 3, ["not reproduced"] * 2
    assert far == [*reproduced, *not_reproduced, "no spread"]
    assert verdict(0, np.nan) == verdict(0, 1.0) == "not run"


def test_differences_are_paired_by_seed_over_those_that_both_have():
    first = pd.Series({7: 0.8, 3: 0.81, 5: 0.49})
    second = pd.Series({3: 0.64, 5: 0.81, 9: 0.1})
    found = differences({"a": (first, second), "b": (first, second[[9]])}, ("without", "with"))
    row = found.loc["a"]
    assert (row["without"], row["with"]) == ("0.6500", "0.7250")
    assert (row["difference"], row["by seed"], row["seeds"]) == ("+0.0750", "-0.1700, +0.3200", 2)
    low, high = stats.t.interval(0.95, 1, loc=0.075, scale=stats.sem([-0.17, 0.32]))
    assert row["95 %"] == f"{low:+.4f} to {high:+.4f}"
    assert (found.loc["b", "without"], found.loc["b", "seeds"]) == ("not run", 0)


def test_one_seed_has_a_difference_and_no_interval():
    one = pd.Series({5: 0.5})
    row = differences({"a": (one, one + 0.25)}, ("without", "with")).loc["a"]
    assert (row["difference"], row["95 %"], row["seeds"]) == ("+0.2500", "", 1)


def test_without_pairs_there_is_no_row():
    assert differences({}, ("without", "with")).empty


def test_many_seeds_take_no_time():
    number = 20
    values = pd.Series(np.random.default_rng(0).normal(size=number))
    start = time.process_time()
    found = differences(dict.fromkeys(range(20), (values, values + 1)), ("one", "two"))
    assert time.process_time() - start < 1
    assert (found["seeds"] == number).all() and found["by seed"][0].count(",") == number - 1
