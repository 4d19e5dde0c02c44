"""Fronts of a few points, by hand, for tests of the core and of the companion."""

import warnings

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.objectives import Objective


def front(values, maximise=True, alphas=None, names="abcd"):
    """A front of the objectives `values` [P, T], by default along a segment of two members."""
    values = np.asarray(values, dtype=float)
    names = names[: values.shape[1]]
    metric = "accuracy" if maximise else "loss"
    table = pd.DataFrame(values, columns=[f"{n}/{metric}" for n in names])
    if alphas is None:
        first = np.linspace(1, 0, len(values))
        alphas = np.c_[first, 1 - first]
    return Front(np.asarray(alphas), table, tuple(Objective(c, maximise) for c in table))


def sphere(num_points, num_tasks):
    """Points none of which dominates another."""
    values = np.abs(np.random.default_rng(0).normal(size=(num_points, num_tasks)))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return front(values, names=[f"t{t}" for t in range(num_tasks)])


BROKEN = [[np.nan, 0.99], [0.9, 0.1], [0.5, 0.6], [np.inf, 0.2], [0.3, -np.inf], [0.2, 0.9]]


def with_and_without_broken():
    """The points of `BROKEN`, those of them that are finite, and the rows of these."""
    alphas, rows = np.c_[np.linspace(1, 0, 6), np.linspace(0, 1, 6)], [1, 2, 5]
    broken = front(BROKEN, alphas=alphas)
    return broken, front(np.array(BROKEN)[rows], alphas=alphas[rows]), rows


def left_out(call):
    """What `call` returns, and that it warns once of points that are left out."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = call()
    (warning,) = told
    assert "3 of 6 points of the front are left out" in str(warning.message)
    return result
