"""The word on the order of a table, and how often it is wrong."""

import numpy as np
import pytest
from scipy import stats

from pamal_companion.study import order
from pamal_companion.study.order import of_order
from pamal_companion.study.statistics import Sample


def seen(rng, truth, spread, number=3, digits=6):
    """Means and deviations of so many seeds of rows with these true means."""
    values = truth[:, None] + rng.normal(0, spread, (len(truth), number))
    mean = values.mean(1).round(digits)
    return Sample(mean, values.std(1, ddof=1), np.full(len(truth), float(number)))


def words(truth, other, spread, cases=200, **options):
    rng = np.random.default_rng(1)
    pairs = ((seen(rng, other, spread), seen(rng, truth, spread, **options)) for _ in range(cases))
    return [of_order(*pair).word for pair in pairs]


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    monkeypatch.setattr(order, "DRAWS", 400)


AT_MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
ROWS = np.linspace(0.9, 0.92, 12)


def test_the_correlation_and_its_p_are_scipys():
    rng = np.random.default_rng(0)
    pair = seen(rng, ROWS, 0.01), seen(rng, ROWS, 0.01)
    found = of_order(*pair)
    expected = stats.spearmanr(pair[0].mean, pair[1].mean, alternative="greater")
    assert found.correlation == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, abs=0.03)


def test_an_order_that_is_there_is_reproduced_and_one_that_is_not_is_not():
    assert set(words(ROWS, ROWS, 0.0005, cases=20)) == {"reproduced"}
    other = np.random.default_rng(3).permutation(ROWS)
    assert stats.spearmanr(ROWS, other).statistic < 0.3
    assert set(words(ROWS, other, 0.0005, cases=20)) == {"not reproduced"}


@pytest.mark.parametrize("spread", [0.0005, 0.005, 0.02])
def test_rows_in_any_order_are_reproduced_in_one_case_of_twenty_at_most(spread):
    rng, found = np.random.default_rng(2), []
    for _ in range(200):
        ours = seen(rng, rng.permutation(ROWS), spread)
        found.append(of_order(ours, seen(rng, ROWS, spread)).word)
    assert found.count("reproduced") / 200 <= AT_MOST


@pytest.mark.parametrize("spread", [0.0005, 0.005, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("digits", [6, 3])
def test_a_true_order_is_not_reproduced_in_one_case_of_twenty_at_most(spread, digits):
    """Whether the rows are far apart, as far as the seeds, or alike for all that these tell."""
    found = words(ROWS, ROWS, spread, digits=digits)
    assert found.count("not reproduced") / 200 <= AT_MOST


@pytest.mark.parametrize("gap", [0.0, 0.0005])
def test_rows_that_are_alike_have_an_order_that_cannot_be_told(gap):
    found = words(0.9 + gap * np.arange(12), 0.9 + gap * np.arange(12), 0.02)
    assert found.count("not reproduced") / 200 <= AT_MOST
    assert found.count("cannot be told") > 120


def test_a_table_without_any_deviation_is_never_said_to_have_another_order():
    alone = np.full(12, np.nan)
    one = Sample(ROWS, alone, np.ones(12))
    assert of_order(one, one).word == "reproduced"
    other = one._replace(mean=np.random.default_rng(3).permutation(ROWS))
    assert of_order(other, one).word == "cannot be told"
    constant = one._replace(mean=np.full(12, 0.9))
    assert of_order(constant, one).correlation == 0
