"""The concave front: what each weighting finds, against what can be worked out by hand."""

import numpy as np
import pytest
from scipy.optimize import brentq

from pamal_companion.demos import concave
from pamal_companion.demos.tchebycheff import SmoothTchebycheff
from pamal_companion.toy.outcomes import distances
from pamal_core.balancing import Linear


def test_the_front_is_concave_and_nothing_dominates_it():
    front = concave.exact(101)
    ends = np.linspace(front[0], front[-1], 101)
    assert front[0] == pytest.approx([0, 1 - np.exp(-4)])
    inside = np.interp(ends[:, 0], front[:, 0], front[:, 1])[1:-1]
    assert (inside > ends[1:-1, 1]).all()
    some = concave.losses(np.random.default_rng(0).uniform(-2, 2, (4000, 2)))
    beaten = (some[:, None] < front - 1e-9).all(2)
    assert not beaten.any()


def test_linear_weights_find_an_end_the_smooth_maximum_its_point():
    alpha = 0.7
    linear = concave.found(concave.trained(Linear(), alpha=alpha))[0]
    assert linear == pytest.approx(concave.exact()[0], abs=0.03)
    smooth = concave.found(concave.trained(SmoothTchebycheff(0.005), alpha=alpha))[0]

    def gap(s):  # of the weighted losses, which are equal where their maximum is least
        first, second = concave.losses(np.array([s, 0.0]))
        return alpha * first - (1 - alpha) * second

    s = brentq(gap, -1, 1)
    assert smooth == pytest.approx(concave.losses(np.array([s, 0.0])), abs=0.02)


def test_the_line_of_the_smooth_maximum_is_the_front_a_linear_one_not():
    lines = [concave.found(concave.trained(rule)) for rule in (Linear(), SmoothTchebycheff(0.02))]
    linear, smooth = (distances(concave.exact(), line) for line in lines)
    assert smooth.excess < 0.01 < 0.04 < linear.excess
