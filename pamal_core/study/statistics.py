"""Means over seeds: their intervals, and when they agree with the paper's."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

FAR = 2.0
"""A number is reproduced where it lies within so many spreads over seeds of the paper's."""


def deviation(values: Sequence[float] | np.ndarray) -> float:
    """The standard deviation over seeds, divided by one less than their number; NaN of one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def beside(
    name: str, mean: float, spread: float, values: Sequence[float] | np.ndarray
) -> dict[str, float]:
    """Cells of a table: the `mean` and deviation of others, by their `name`, beside those of our
    `values`, one for each seed."""
    ours = float(np.mean(values)) if len(values) else np.nan
    return {
        name: mean,
        f"{name} ±": spread,
        "ours": ours,
        "ours ±": deviation(values),
        "seeds": len(values),
        "difference": ours - mean,
    }


def interval(values: Sequence[float] | np.ndarray, coverage: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of what `values` are drawn from; NaN of one."""
    number, mean = len(values), float(np.mean(values))
    if number < 2:
        return np.nan, np.nan
    reach = stdtrit(number - 1, (1 + coverage) / 2) * deviation(values) / np.sqrt(number)
    return mean - reach, mean + reach


def pooled(deviations: pd.Series, numbers: pd.Series, groups: pd.Series) -> "pd.Series[float]":
    """For each group the deviation over seeds of all its rows together: that of two or three seeds
    is often small by chance. NaN where no row of the group has two."""
    freedom = (numbers - 1).where(deviations.notna(), 0)
    squares = (freedom * deviations.fillna(0) ** 2).groupby(groups).sum()
    return np.sqrt(squares / freedom.groupby(groups).sum().replace(0, np.nan))


def verdict(seeds: int, spreads: float) -> str:
    """ "reproduced" or "not reproduced"; "not run" without seeds, and "no spread" for NaN."""
    if seeds == 0:
        return "not run"
    if np.isnan(spreads):
        return "no spread"
    return "reproduced" if abs(spreads) <= FAR else "not reproduced"


def differences(
    pairs: Mapping[Any, tuple["pd.Series[float]", "pd.Series[float]"]], names: tuple[str, str]
) -> pd.DataFrame:
    """A row for each pair of numbers by seed: both means, called `names`, over the seeds that both
    have, the mean of second minus first, its 95 % interval (Student's, of the paired differences),
    and the difference with each seed; "not run" where they have none in common."""
    return pd.DataFrame({label: _difference(*pair, names) for label, pair in pairs.items()}).T


def _difference(
    first: "pd.Series[float]", second: "pd.Series[float]", names: tuple[str, str]
) -> dict[str, Any]:
    both = pd.concat([first, second], axis=1, keys=names, join="inner").sort_index()
    if both.empty:
        return {names[0]: "not run", "seeds": 0}
    found = both[names[1]] - both[names[0]]
    low, high = interval(found.to_numpy())
    return {
        **{name: f"{mean:.4f}" for name, mean in both.mean().items()},
        "difference": f"{found.mean():+.4f}",
        "95 %": f"{low:+.4f} to {high:+.4f}" if len(both) > 1 else "",
        "by seed": ", ".join(f"{one:+.4f}" for one in found),
        "seeds": len(both),
    }
