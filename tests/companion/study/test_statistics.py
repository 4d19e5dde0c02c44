"""Intervals over seeds, and how often what they license is wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pamal_companion.study.claim import Claim
from pamal_companion.study.statistics import (
    MOST,
    Estimate,
    Sample,
    differences,
    differs,
    holm,
    minus,
    minus_with_counts,
    of_parts,
    seeds_to_decide,
    verdict,
    word,
)


@pytest.mark.parametrize("number", [2, 3, 10, 20])
@pytest.mark.parametrize("coverage", [0.9, 0.95])
def test_the_interval_is_students_as_scipy_has_it(number, coverage):
    values = np.random.default_rng(number).normal(size=number)
    error = stats.sem(values)
    expected = stats.t.interval(coverage, number - 1, loc=values.mean(), scale=error)
    assert Estimate.of(values).interval(coverage) == pytest.approx(expected)


def test_deviations_divide_by_one_less_than_the_number():
    assert Sample.of([0.9, 0.92]).deviation == pytest.approx(0.02 / np.sqrt(2))
    assert np.isnan(Sample.of([0.9]).deviation) and np.isnan(Sample.of([]).deviation)
    np.testing.assert_equal(Estimate.of([0.2]).interval(), (np.nan, np.nan))


def test_a_difference_is_welchs_as_scipy_has_it():
    rng = np.random.default_rng(0)
    for sizes in ((3, 3), (7, 7), (20, 20)):  # as large as each other: never above equal spreads
        ours, theirs = (rng.normal(m, s, n) for m, s, n in zip((0, 1), (1, 3), sizes, strict=True))
        away = Sample.of(ours).minus(Sample.of(theirs))
        expected = stats.ttest_ind(ours, theirs, equal_var=False)
        assert away.interval() == pytest.approx(expected.confidence_interval(0.95))
        assert 2 * min(away.above(0.0), away.below(0.0)) == pytest.approx(expected.pvalue)


def test_a_side_without_a_deviation_has_the_others():
    ours, unknown = Sample(0.5, 0.2, 4), Sample(0.3, np.nan, 1)
    for away, sign in ((ours.minus(unknown), 1), (unknown.minus(ours), -1)):
        assert away.value == pytest.approx(0.2 * sign) and away.freedom == 3
        assert away.error == pytest.approx(0.2 * np.sqrt(1 / 4 + 1))
    neither = unknown.minus(unknown)
    assert np.isnan(neither.error) and word(neither) == "open" and not differs(neither, 0.1)
    # Student's interval for one more value holds it as often as it says.
    drawn = np.random.default_rng(1).normal(size=(4000, 4))
    held = [
        low <= 0 <= high
        for low, high in (
            Sample.of(row[:3]).minus(Sample(row[3], np.nan, 1)).interval() for row in drawn
        )
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 4000))


@pytest.mark.parametrize(
    ("value", "said"), [(0.0, False), (0.009, False), (0.0121, False), (0.0123, True)]
)
def test_a_number_differs_where_its_interval_leaves_the_tolerance_out(value, said):
    """With 10 degrees of freedom and an error of 0.001 the 95 % interval reaches 0.0022."""
    for sign in (1, -1):
        assert bool(differs(Estimate(sign * value, 0.001, 10), 0.01)) == said


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        *((0.0, 0.001, "level"), (0.0001, 0.001, "level"), (0.0003, 0.001, "open")),
        *((0.0021, 0.001, "open"), (0.0023, 0.001, "ahead"), (-0.0023, 0.001, "behind")),
        *((0.0019, 0.0005, "open"), (-0.0019, 0.0005, "open"), (0.0021, 0.0005, "ahead")),
        *((0.001, 0.0001, "level"), (0.0, 0.01, "open"), (0.0, 0.0, "level")),
        (0.001, np.nan, "open"),
    ],
)
def test_the_four_words_on_two_by_hand(value, error, said):
    """Of ten degrees of freedom the 90 % interval reaches 1.81 errors, the 95 % one 2.23."""
    assert word(Estimate(value, error, 10)) == said


@pytest.mark.parametrize(
    ("estimate", "p", "p_level", "said"),
    [
        *((0.1, 0.049, 1.0, "yes"), (-0.1, 0.049, 1.0, "no"), (0.1, 0.051, 1.0, "open")),
        *((0.1, 0.049, 0.049, "yes"), (0.1, 0.051, 0.049, "level"), (0.0, 0.0, 0.049, "level")),
        *((0.0, 0.0, 1.0, "open"), (np.nan, np.nan, np.nan, "open")),
    ],
)
def test_a_verdict_is_a_side_first_then_level_then_open(estimate, p, p_level, said):
    assert verdict(estimate, p, p_level, ("yes", "no")) == said


@pytest.mark.parametrize(
    ("estimate", "p_level", "said"),
    [
        *((0.3, 1.0, "yes"), (-0.3, 1.0, "no"), (0.2, 1.0, "open"), (-0.2, 0.049, "level")),
        *((0.1, 0.049, "level"), (0.1, 0.051, "open"), (np.nan, 1.0, "open")),
    ],
)
def test_a_verdict_has_a_side_only_beyond_the_margin(estimate, p_level, said):
    assert verdict(estimate, 0.001, p_level, ("yes", "no"), within=0.2) == said


@pytest.mark.parametrize("value", [0.0, 0.001, -0.004])
def test_the_p_of_an_estimate_are_those_of_its_intervals(value):
    """Each p is 5 % where the interval ends on the bound."""
    error = abs(value) / stats.t.isf(0.025, 7) or 1.0
    assert Estimate(value, error, 7).p == pytest.approx(0.05 if value else 1.0)
    away = Estimate(value, 0.002, 7)
    margin = max(map(abs, away.interval(0.9)))
    assert away.p_level(margin) == pytest.approx(0.05)
    assert away.p_level(margin + 1e-6) < 0.05 < away.p_level(margin - 1e-6)
    nothing = Estimate(value, np.nan, 0)
    assert nothing.p == nothing.p_level(1.0) == 1.0


def test_what_is_ahead_by_less_than_the_margin_is_level_or_open():
    """0 is outside of the interval of each, and the difference is too small to be a lead."""
    assert word(Estimate(0.0015, 0.0001, 20)) == "level"
    assert word(Estimate(0.0015, 0.0004, 20)) == "open"
    assert word(Estimate(0.002, 0.0001, 20)) == "open"  # on the margin, and no more than it
    assert word(Estimate(0.0015, 0.0001, 20), within=0.0) == "ahead"
    assert word(Estimate(0.0015, 0.0001, 20), within=0.001) == "ahead"
    assert word(Estimate(0.0, 0.0001, 20), within=0.0) == "open"  # of no unit that is known
    assert word(Estimate(0.0, 0.0, 20), within=0.0) == "level"  # the same numbers
    assert word(Estimate(0.002, 0.0, 20), within=0.0) == "ahead"


def test_three_seeds_that_are_alike_by_chance_do_not_lend_their_freedom():
    alike = Sample(0.5, 0.2, 20).minus(Sample(0.3, 0.001, 3))
    equal = Sample(0.5, 0.2, 20).minus(Sample(0.3, 0.2, 3))
    assert alike.freedom == equal.freedom == pytest.approx(2.64, abs=0.01)


def drawn(rng, mean, seeds, spread, number=4000):
    values = rng.normal(mean, spread, (number, seeds))
    unknown = np.full(number, np.nan)
    return Sample(values.mean(1), values.std(1, ddof=1) if seeds > 1 else unknown, seeds)


AT_MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.parametrize(("ours", "theirs"), [(3, 3), (10, 3), (20, 3), (3, 1)])
@pytest.mark.parametrize("spread", [0.002, 0.01])
@pytest.mark.parametrize("times", [1, 3])
def test_on_the_bound_of_the_tolerance_one_case_of_twenty_differs_at_most(
    ours, theirs, spread, times
):
    """Within it hardly ever, and far outside nearly always; the paper's seeds may spread three
    times as far as ours."""
    if theirs == 1 and times > 1:
        pytest.skip("nothing tells how far one value is from others")
    rng, tolerance = np.random.default_rng(0), 0.005

    def share(mean):
        paper = drawn(rng, 0.9, theirs, spread * times)
        return np.mean(differs(drawn(rng, mean, ours, spread).minus(paper), tolerance))

    assert share(0.9 + tolerance) <= AT_MOST and share(0.9 - tolerance) <= AT_MOST
    assert share(0.9) <= AT_MOST
    assert share(0.9 + tolerance + 15 * spread * times) > 0.75


@pytest.mark.parametrize(("ours", "theirs"), [(3, 3), (10, 3), (20, 20)])
@pytest.mark.parametrize("spread", [0.0005, 0.002, 0.01])
def test_words_on_two_are_wrong_on_bounds_in_one_case_of_twenty_at_most(ours, theirs, spread):
    """Ahead or behind where there is no difference; level where there is one of 0.002."""
    rng = np.random.default_rng(0)

    def words(mean):
        away = drawn(rng, mean, ours, spread).minus(drawn(rng, 0.9, theirs, spread))
        each = zip(away.value, away.error, np.broadcast_to(away.freedom, 4000), strict=True)
        return np.array([word(Estimate(*one)) for one in each])

    null = words(0.9)
    assert np.isin(null, ["ahead", "behind"]).mean() <= AT_MOST
    assert (words(0.902) == "level").mean() <= AT_MOST
    assert (words(0.898) == "level").mean() <= AT_MOST
    assert (words(0.9 + 20 * spread) == "ahead").mean() > 0.9
    if spread < 0.001:
        assert (null == "level").mean() > 0.5


def test_seeds_that_share_a_draw_are_compared_one_by_one_others_are_not():
    """What a seed brings to both goes away; two samples keep it, and are not misled by it."""
    rng = np.random.default_rng(0)
    of_seed = rng.normal(0, 0.01, 8)
    ours, theirs = pd.Series(0.904 + of_seed), pd.Series(0.9 + of_seed)
    ours += rng.normal(0, 1e-4, 8)
    assert word(minus(ours, theirs, paired=True)) == "ahead"
    away, seeds = minus_with_counts(ours, theirs)
    assert word(away) == "open" and seeds == (8, 8)
    assert away.error == pytest.approx(np.sqrt((ours.var() + theirs.var()) / 8))


def test_runs_that_are_alike_at_every_seed_have_no_difference():
    one = pd.Series({5: 0.5, 6: 0.6})
    assert minus_with_counts(one, one.copy()) == (Estimate(0.0, 0.0, 1), (2,))
    assert minus(one, one[::-1]) == Estimate(0.0, 0.0, 1)
    away, seeds = minus_with_counts(one, pd.Series({5: 0.5, 6: 0.6, 7: 0.6}))  # one has a seed more
    assert away.error > 0 and seeds == (2, 3)


def test_the_seeds_that_decide_do_and_one_less_does_not():
    for value, spread in ((0.004, 0.01), (0.02, 0.02), (0.0, 0.004)):

        def decides(seeds, value=value, spread=spread):
            return word(Estimate(value, spread / np.sqrt(seeds), seeds - 1)) != "open"

        known = Estimate(value, spread / np.sqrt(3), 2)
        needed = int(seeds_to_decide([(known, 3)], lambda more: word(*more)))
        assert decides(needed) and (needed == 2 or not decides(needed - 1))
    known = [(Estimate(0.0, 1.0, 2), 3)]
    assert seeds_to_decide(known, lambda more: "open") == ""
    assert seeds_to_decide(known, lambda more: "level") == "2"

    def decided_at(last):
        return lambda more: "level" if more[0].freedom >= last - 1 else "open"

    assert seeds_to_decide(known, decided_at(MOST)) == str(MOST)
    assert seeds_to_decide(known, decided_at(MOST + 1)) == ""


@pytest.mark.parametrize(
    ("low", "high", "words", "errors"),
    [
        (1, np.inf, "> 1", (2.5, -2.5)),
        (-np.inf, 1, "< 1", (-2.5, 2.5)),
        (1, 2, "1 to 2", (2.5, -2.5)),
        (1, 1.2, "1 to 1.2", (-1.5, 1.5)),
        (1.8, 9, "1.8 to 9", (-1.5, 1.5)),
    ],
)
def test_a_condition_holds_and_fails_by_one_sided_p(low, high, words, errors):
    """Of 1.5 with an error of 0.2: how many errors it is inside, or outside, a bound."""
    claim = Claim("5.1", [], low=low, high=high)
    found = claim.tested([Estimate(1.5, 0.2, 1e9)])
    assert found == pytest.approx(stats.norm.sf(errors), rel=1e-4)
    assert claim.condition == f"{words} (the bound is ours)"
    assert claim.tested([Estimate(1.5, np.nan, 0)]) == (1.0, 1.0)


def test_a_condition_of_a_ratio_is_of_its_logarithm():
    double = [Estimate(np.log(2.0), 0.05, 20)]
    for bounds, at, p in (((-np.inf, 3), 0, 0), ((-np.inf, 1.5), 1, 0), ((1.9, np.inf), 0, 0.2)):
        claim = Claim("5.1", [], low=bounds[0], high=bounds[1], of_ratio=True)
        assert claim.tested(double)[at] == pytest.approx(p, abs=0.1)


def test_the_p_of_parts():
    p = [0.01, 0.2, 0.03]
    assert of_parts(p, 3) == 0.2 and of_parts(p, 1) == pytest.approx(0.03)
    assert of_parts(p, 2) == pytest.approx(2 * 0.03) and of_parts([0.9, 0.8], 1) == 1.0


@pytest.mark.parametrize(("parts", "true"), [(5, 4), (5, 0), (12, 6)])
def test_some_of_the_parts_are_wrongly_true_in_one_of_forty_at_most(parts, true):
    """One fewer are true than are asked for, and those by far."""
    rng = np.random.default_rng(2)
    p = rng.uniform(size=(4000, parts))
    p[:, :true] = 0.0
    wrong = [of_parts(row, true + 1) < 0.025 for row in p]
    assert np.mean(wrong) <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 4000)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0]) and len(holm([])) == 0


def test_a_table_of_differences_is_of_two_samples():
    first = pd.Series({7: 0.8, 3: 0.81, 5: 0.49})
    second = pd.Series({3: 0.64, 5: 0.81, 9: 0.1})
    found = differences({"a": (first, second), "b": (first, second[:0])}, ("without", "with"))
    row = found.loc["a"]
    assert (row["without"], row["with"]) == (f"{first.mean():.4f}", f"{second.mean():.4f}")
    expected = stats.ttest_ind(second, first, equal_var=False)
    low, high = expected.confidence_interval(0.95)
    away = second.mean() - first.mean()
    assert row["difference [95 %]"] == f"{away:+.4f} [{low:+.4f}, {high:+.4f}]"
    assert (row["verdict"], row["seeds"]) == ("open", "3 and 3")
    assert found.loc["b"].tolist() == ["0.7000", "", "", "not run", ""]
    unmeasured = pd.Series({7: 0.8, 3: 0.81, 5: 0.49, 6: np.nan})  # as a pivot table has it
    assert differences({"a": (unmeasured, second)}, ("without", "with")).loc["a"].equals(row)


@pytest.mark.parametrize("is_better_high", [True, False])
def test_the_second_is_ahead_where_it_is_better(is_better_high):
    one = pd.Series({5: 0.5, 6: 0.501, 7: 0.499})
    pairs = {"up": (one, one + 0.1), "down": (one + 0.1, one), "same": (one, one)}
    found = differences(pairs, ("without", "with"), is_better_high)["verdict"].tolist()
    assert found == (
        ["ahead", "behind", "level"] if is_better_high else ["behind", "ahead", "level"]
    )


def test_one_seed_has_a_difference_and_no_interval():
    one = pd.Series({5: 0.5})
    row = differences({"a": (one, one + 0.25)}, ("without", "with")).loc["a"]
    assert (row["difference [95 %]"], row["seeds"]) == ("+0.2500", "1 and 1")
    assert row["verdict"] == "open" and differences({}, ("without", "with")).empty
