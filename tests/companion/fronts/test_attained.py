"""What a share of the seeds attains, by hand and by counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_fronts import front, left_out, with_and_without_broken

from pamal_companion.fronts import attained
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective


def mixed(points):
    """A front of an accuracy and a loss."""
    objectives = Objective("a/accuracy", True), Objective("b/loss", False)
    table = front(points).table.set_axis([o.name for o in objectives], axis=1)
    return Front(np.ones((len(points), 1)), table, objectives)


def test_what_all_attain_and_what_one_does_of_two_crossing_fronts():
    points = [[(3.0, 1.0)], [(2.0, 2.0)]]
    fronts = [front(one) for one in points]
    assert sorted(map(tuple, attained(fronts, 0.5))) == [(2.0, 2.0), (3.0, 1.0)]
    assert attained(fronts, 1.0).tolist() == [[2.0, 1.0]]
    assert attained([front(one, maximise=False) for one in points], 1.0).tolist() == [[3.0, 2.0]]
    assert attained([mixed(one) for one in points], 1.0).tolist() == [[2.0, 2.0]]


@settings(deadline=None)  # the first call loads a library
@given(
    values=arrays(float, (4, 5, 2), elements=st.integers(0, 20).map(float)),
    at=arrays(float, (30, 2), elements=st.integers(0, 20).map(float)),
    count=st.integers(1, 4),
)
def test_a_point_is_below_the_surface_if_so_many_fronts_reach_it(values, at, count):
    surface = attained([front(points) for points in values], count / 4)
    reached = (values[:, :, None] >= at).all(-1).any(1).sum(0) >= count
    below = (surface[:, None] >= at).all(-1).any(0)
    np.testing.assert_array_equal(below, reached)


def test_a_seed_with_one_point_counts_as_much_as_one_with_three():
    """What half of two seeds reach is what either does; what both reach is the lesser."""
    three = front([(0.9, 0.1), (0.5, 0.5), (0.1, 0.9)])
    one = front([(0.6, 0.6)])
    either = {tuple(point) for point in attained([three, one], 0.5).round(6).tolist()}
    assert either == {(0.9, 0.1), (0.6, 0.6), (0.1, 0.9)}
    both = {tuple(point) for point in attained([three, one], 1.0).round(6).tolist()}
    assert both == {(0.6, 0.1), (0.5, 0.5), (0.1, 0.6)}


def test_points_that_are_not_finite_are_left_out():
    broken, whole, _ = with_and_without_broken()
    surface = left_out(lambda: attained([broken], 1.0))
    np.testing.assert_array_equal(surface, attained([whole], 1.0))


def test_no_front_and_unlike_objectives_are_refused():
    with pytest.raises(InputError, match="needs a front or more"):
        attained([], 0.5)
    with pytest.raises(InputError, match="the same objectives"):
        attained([front([(0.9, 0.1)]), front([(0.9, 0.1)], maximise=False)], 0.5)
