"""Differences between two settings, seed by seed. No torch here."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

BySeed = Mapping[int, float]
"""A number for each seed."""


def differences(pairs: Mapping[Any, tuple[BySeed, BySeed]], names: tuple[str, str]) -> pd.DataFrame:
    """A row for each pair: both means, called `names`, over the seeds that both have, the mean of
    second minus first, its 95 % bootstrap interval, and the difference with each seed; "not run"
    where they have none."""
    return pd.DataFrame({label: _difference(*pair, names) for label, pair in pairs.items()}).T


def _difference(first: BySeed, second: BySeed, names: tuple[str, str]) -> dict[str, Any]:
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return {names[0]: "not run", "seeds": 0}
    one, two = (np.array([of[seed] for seed in seeds]) for of in (first, second))
    low, high = interval(two - one)
    return {
        names[0]: f"{one.mean():.4f}",
        names[1]: f"{two.mean():.4f}",
        "difference": f"{(two - one).mean():+.4f}",
        "95 %": f"{low:+.4f} to {high:+.4f}" if len(seeds) > 1 else "",
        "by seed": ", ".join(f"{difference:+.4f}" for difference in two - one),
        "seeds": len(seeds),
    }


def interval(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean of a few `values`, from every resample
    instead of a draw of them: n^n for n values. Of three values it is their range."""
    means = [np.mean(resample) for resample in product(values, repeat=len(values))]
    low, high = np.quantile(means, (0.025, 0.975), method="inverted_cdf")
    return float(low), float(high)
