"""Means over seeds: their intervals, and the words that these license.

A number beside the paper's `differs`, or there is no word (`differs`). Of two methods one is ahead,
behind or level, or it is open (`word`). All verdicts of the study come from `verdict`. No range of
three values is an interval here, and nothing follows from a difference alone.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

SIGNIFICANT = 0.05
"""The p below which a two-sided test is significant: the 95 % interval leaves the bound out."""
WITHIN = 0.002
"""The distance within which two accuracies or hypervolumes are level."""
MOST = 1000
"""The largest number of seeds that `seeds_to_decide` tries."""
Number = Any
"""A number, or an array of them; several broadcast."""
Values: TypeAlias = Sequence[float] | np.ndarray | pd.Series


class Sample(NamedTuple):
    """What some seeds measured: the mean, the standard deviation (divided by one less than their
    number; NaN where nobody knows it) and the number."""

    mean: Number
    deviation: Number
    number: Number

    @classmethod
    def of(cls, values: Values) -> "Sample":
        """Return the sample of `values`, one for each seed."""
        found = np.asarray(values, float)
        if not len(found):
            return cls(np.nan, np.nan, 0)
        away = found - found[0]  # all 0 where they are alike, in every digit
        deviation = float(np.std(away, ddof=1)) if len(found) > 1 else np.nan
        return cls(float(np.mean(found)), deviation, len(found))

    def minus(self, other: "Sample") -> "Estimate":
        """Return the difference of the two means, by Welch, whose degrees of freedom are at most
        those of equal deviations: three seeds that are alike by chance must not speak for twenty.
        Where one side has no deviation it is taken to have the other's, and that side has the only
        freedom."""
        known, other_known = np.isfinite(self.deviation), np.isfinite(other.deviation)
        spread: Any = np.where(known, self.deviation, other.deviation)
        others = np.where(other_known, other.deviation, spread)
        seeds, their_seeds = np.asarray(self.number, float), np.asarray(other.number, float)
        free = np.where(known, seeds - 1, 0), np.where(other_known, their_seeds - 1, 0)

        def freedom(one: Any, two: Any) -> Any:
            return (one + two) ** 2 / (one**2 / free[0] + two**2 / free[1])

        with np.errstate(divide="ignore", invalid="ignore"):
            one, two = spread**2 / seeds, others**2 / their_seeds
            welch = np.fmin(freedom(one, two), freedom(1 / seeds, 1 / their_seeds))
            welch = np.where(known & other_known, welch, free[0] + free[1])
        return Estimate(self.mean - other.mean, np.sqrt(one + two), welch)


class Estimate(NamedTuple):
    """A mean or a difference of two: its value, its standard error and the degrees of freedom of
    that. The error is NaN where nothing tells it."""

    value: Number
    error: Number
    freedom: Number

    @classmethod
    def of(cls, values: Values) -> "Estimate":
        """Return the mean of what `values` are drawn from."""
        mean, spread, number = Sample.of(values)
        return cls(mean, spread / np.sqrt(max(number, 1)), number - 1)

    def at(self, seeds: int, known: float) -> "Estimate":
        """Return what `seeds` seeds would estimate if value and deviation stayed as they are with
        the `known` number of seeds."""
        return Estimate(self.value, self.error * np.sqrt(known / seeds), seeds - 1)

    def interval(self, coverage: float = 0.95) -> tuple[Any, Any]:
        """Return Student's interval."""
        reach = stdtrit(self.freedom, (1 + coverage) / 2) * self.error
        return self.value - reach, self.value + reach

    def above(self, bound: Number) -> Any:
        """Return the one-sided p of what is estimated being `bound` or less: small where it is
        above."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return stdtr(self.freedom, (bound - np.asarray(self.value)) / self.error)

    def below(self, bound: Number) -> Any:
        """Return the p of its being `bound` or more."""
        return self._replace(value=-np.asarray(self.value)).above(-bound)

    @property
    def p(self) -> float:
        """Return the two-sided p of 0; 1 where nothing tells the error."""
        return float(np.nan_to_num(2 * min(self.above(0.0), self.below(0.0)), nan=1.0))

    def p_level(self, margin: float) -> float:
        """Return the p of `margin` or more on either side: below 5 % where the 90 % interval lies
        within it. Return 1 where nothing tells the error."""
        if self.error == 0:  # the interval is a point, which may lie on the margin
            return float(abs(self.value) > margin)
        return float(np.nan_to_num(max(self.above(-margin), self.below(margin)), nan=1.0))


def differs(away: Estimate, tolerance: Number) -> Any:
    """Return whether the 95 % interval of ours - theirs leaves out the whole tolerance, which was
    declared before, and not only 0."""
    return 2 * np.minimum(away.above(tolerance), away.below(-tolerance)) < SIGNIFICANT


def verdict(
    estimate: float,
    p: float,
    p_level: float = 1.0,
    words: tuple[str, str] = ("ahead", "behind"),
    within: float = 0.0,
) -> str:
    """Return the word on what was measured.

    - `estimate`: its sign chooses between the two `words`. No more than `within` away from 0 it is
      on neither side, however sure it is: a difference that is too small to matter is no lead.
    - `p`: two-sided, of there being nothing, with every correction that applies. Below 5 % the
      verdict is one of `words`.
    - `p_level`: of not being level. Below 5 %, and without one of `words`, it is "level".

    Otherwise it is "open".
    """
    if p < SIGNIFICANT and abs(estimate) > within:
        return words[0] if estimate > 0 else words[1]
    return "level" if p_level < SIGNIFICANT else "open"


def word(away: Estimate, within: float = WITHIN) -> str:
    """Return what ours - theirs says, the larger the better.

    "ahead" or "behind": the 95 % interval leaves out 0, and the estimate is more than `within` away
    from it. "level": the 90 % interval lies `within`, whatever it leaves out. Else "open".
    """
    return verdict(away.value, away.p, away.p_level(within), within=within)


def seeds_to_decide(
    estimates: Sequence[tuple[Estimate, float]], word: Callable[[list[Estimate]], str]
) -> str:
    """Return for a page the smallest number of seeds, two or more, that would decide what is open
    if values and deviations stayed as they are; "" beyond `MOST`.

    - `estimates`: each with the number of seeds that it rests on.
    - `word`: the verdict on such estimates.
    """

    def is_decided(seeds: int) -> bool:
        return word([estimate.at(seeds, known) for estimate, known in estimates]) != "open"

    needed = 2 + bisect_left(range(2, MOST + 1), True, key=is_decided)
    return str(needed) if needed <= MOST else ""


def minus(ours: "pd.Series[float]", theirs: "pd.Series[float]", paired: bool = False) -> Estimate:
    """Return the mean of ours minus that of theirs, from numbers by seed: `minus_with_counts`."""
    return minus_with_counts(ours, theirs, paired)[0]


def minus_with_counts(
    ours: "pd.Series[float]", theirs: "pd.Series[float]", paired: bool = False
) -> tuple[Estimate, tuple[int, ...]]:
    """Return the mean of ours minus that of theirs, from numbers by seed, and how many seeds it
    rests on: those of both where they are `paired`, else those of either side (Welch). Numbers that
    are alike at every seed are of the same networks, and their difference is exactly 0."""
    both = ours.index.intersection(theirs.index)
    is_same = len(both) == len(ours) == len(theirs) > 1 and ours[both].equals(theirs[both])
    if paired or is_same:
        return Estimate.of(ours[both] - theirs[both]), (len(both),)
    return Sample.of(ours).minus(Sample.of(theirs)), (len(ours), len(theirs))


def of_parts(p: Sequence[float] | np.ndarray, least: int) -> float:
    """Return the p of "at least so many of the parts are true", from the p of each: the partial
    conjunction of Benjamini and Heller (2008), the largest p for all, Bonferroni's for one."""
    ordered = np.sort(p)
    return float(min(1.0, (len(p) - least + 1) * ordered[least - 1]))


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return Holm's p of many tests: below 5 % where the test would stand among all of them."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return np.minimum(1.0, stepped)[np.argsort(order)]


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """Return a number for a page; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:{sign}.{digits}f}"


def spread(sample: Sample, digits: int = 4) -> str:
    """Return the mean of seeds for a page, and their standard deviation where it is known."""
    known = number(sample.deviation, digits)
    return number(sample.mean, digits) + (known and f" ± {known}")


def summary(values: "pd.Series[float]") -> str:
    """Return `spread` of the numbers that there are; "not run" of none."""
    return spread(Sample.of(values.dropna())) or "not run"


def with_minus(text: str) -> str:
    """Return `text` with each hyphen as a minus sign, as a sentence prints it."""
    return text.replace("-", "\N{MINUS SIGN}")


def bracket(estimate: Estimate, digits: int = 4, sign: str = "+") -> str:
    """Return an estimate for a page, with its 95 % interval where its error is known, and is not
    0."""
    value = number(estimate.value, digits, sign)
    if not estimate.error > 0:  # nor where it is NaN
        return value
    ends = ", ".join(number(end, digits, sign) for end in estimate.interval())
    return f"{value} [{ends}]"


def differences(
    pairs: Mapping[Any, Sequence["pd.Series[float]"]],
    names: tuple[str, str],
    is_better_high: bool = True,
    within: float = WITHIN,
) -> pd.DataFrame:
    """Return a row for each pair of numbers by seed: both means, called `names`, the second minus
    the first with its 95 % interval (Welch's), and whether the second is ahead (`word`)."""
    rows: dict[Any, dict[str, str]] = {}
    for label, pair in pairs.items():
        first, second = (numbers.dropna() for numbers in pair)
        means = [number(Sample.of(numbers).mean) for numbers in (first, second)]
        rows[label] = dict(zip(names, means, strict=True))
        if first.empty or second.empty:
            rows[label] |= {"difference [95 %]": "", "verdict": "not run", "seeds": ""}
            continue
        away, seeds = minus_with_counts(second, first)
        turned = away if is_better_high else away._replace(value=-away.value)
        rows[label] |= {
            "difference [95 %]": bracket(away),
            "verdict": word(turned, within),
            "seeds": " and ".join(map(str, seeds[::-1])),
        }
    return pd.DataFrame(rows).T
