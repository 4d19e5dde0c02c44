"""Decide whether our runs put the rows of a table into the paper's order.

A table whose rows lie closer together than seeds do has no order that another set of seeds would
show. So there are three words (`of_order`), and the numbers are judged together.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri
from scipy.stats import rankdata

from pamal_companion.study.statistics import SIGNIFICANT, Sample

DRAWS = 2000
SURE = 0.025
"""The chance of our order, were the paper's the true one, below which it is not reproduced."""


class Order(NamedTuple):
    """Spearman's correlation of our column with the paper's, its one-sided permutation p, and the
    word."""

    correlation: float
    p: float
    word: str


def of_order(ours: Sample, theirs: Sample) -> Order:
    """Return how our means are ordered beside theirs; arrays with a number for each row.

    "reproduced": of the orders that the rows could have, fewer than 5 % are as near to the paper's.
    "not reproduced": not so, and if the paper's rows were as far apart as its seeds make sure that
    they are, ours would come as far from its order in fewer than 2.5 % of cases. Else it "cannot be
    told".
    """
    rng = np.random.default_rng(0)
    ranks = _ranks(theirs.mean)
    found = float(_ranks(ours.mean) @ ranks)
    shuffled = rng.permuted(np.tile(_ranks(ours.mean), (DRAWS, 1)), axis=1) @ ranks
    p = float((1 + (shuffled >= found - 1e-9).sum()) / (1 + DRAWS))
    if p < SIGNIFICANT:
        return Order(found, p, "reproduced")
    again = _drawn_again(ours, theirs, rng)
    if np.isnan(again).any():
        return Order(found, p, "cannot be told")
    again = _ranks(again) @ ranks
    would = (1 + (again <= found + 1e-9).sum()) / (1 + DRAWS)
    return Order(found, p, "not reproduced" if would < SURE else "cannot be told")


def _ranks(numbers: np.ndarray) -> np.ndarray:
    """Return ranks whose products with others are correlations; 0 where all numbers are alike."""
    ranks = rankdata(numbers, axis=-1)
    ranks = ranks - ranks.mean(-1, keepdims=True)
    length = np.linalg.norm(ranks, axis=-1, keepdims=True)
    return np.asarray(ranks / np.where(length > 0, length, 1.0))


def _drawn_again(ours: Sample, theirs: Sample, rng: np.random.Generator) -> np.ndarray:
    """Return what our means would be if the paper's were right but for the noise of its seeds:
    [DRAWS, rows]. The printed spread of the rows is shrunk by the share that is noise (James and
    Stein), with the spread at its 95 % lower bound. NaN where nobody knows the noise."""
    own = _pooled(ours)
    their = _pooled(theirs)
    noise = (own if np.isnan(their) else their) / theirs.number + _step(theirs.mean) ** 2 / 12
    noise = np.broadcast_to(noise, theirs.mean.shape)
    free = len(theirs.mean) - 1
    least = theirs.mean.var(ddof=1) * free / chdtri(free, 0.05)
    kept = max(0.0, 1 - noise.mean() / max(least, 1e-300))
    middle = theirs.mean.mean()
    drawn = rng.normal(size=(2, DRAWS, len(theirs.mean)))
    truth = middle + kept * (theirs.mean - middle) + np.sqrt(kept * noise) * drawn[0]
    return np.asarray(truth + np.sqrt(own / ours.number) * drawn[1])


def _step(numbers: np.ndarray) -> float:
    """Return the last digit that is printed of most numbers: 0.001 of 0.827 and 0.785."""
    scaled = numbers * 10.0 ** np.arange(1, 7)[:, None]
    whole = np.median(np.abs(scaled - scaled.round()), axis=1) < 1e-4
    return float(0.1 ** (1 + whole.argmax())) if whole.any() else 0.0


def _pooled(sample: Sample) -> float:
    """Return the variance of a seed, over all rows that tell it."""
    known = np.isfinite(sample.deviation)
    free = np.broadcast_to(sample.number, sample.deviation.shape)[known] - 1
    squares = (free * sample.deviation[known] ** 2).sum()
    return float(squares / free.sum()) if free.sum() > 0 else np.nan
