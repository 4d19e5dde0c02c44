"""Hypervolumes in many objectives."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_fronts import front, left_out, sphere, with_and_without_broken

from pamal_companion.fronts import approximate_hypervolume, hypervolume
from pamal_core.errors import InputError
from pamal_core.objectives import Objective


def test_a_hypervolume_that_takes_long_is_approximate_and_says_so():
    few, many = sphere(60, 8), sphere(90, 8)
    assert hypervolume(few, np.zeros(8)) == few.hypervolume(np.zeros(8))
    with pytest.warns(UserWarning, match="90 points in 8 objectives is approximate"):
        near = hypervolume(many, np.zeros(8))
    assert near == approximate_hypervolume(many, np.zeros(8))
    assert near == pytest.approx(many.hypervolume(np.zeros(8)), rel=0.01)


def test_neither_units_nor_directions_change_an_approximation():
    """One objective is counted in thousands, one in thousandths, one is a loss."""
    many = sphere(90, 8)
    units = np.array([1, 1e3, 1e-3, 1, 1, 1, 1, -1])
    table = many.table * units + 5
    objectives = tuple(Objective(name, bool(u > 0)) for name, u in zip(table, units, strict=True))
    scaled = replace(many, table=table, objectives=objectives)
    near = approximate_hypervolume(many, np.zeros(8))
    assert approximate_hypervolume(scaled, np.full(8, 5.0)) == pytest.approx(near)


def test_points_that_add_nothing_are_not_counted():
    few, many = sphere(60, 8), sphere(90, 8)
    assert hypervolume(many, np.full(8, 1.5)) == 0
    assert approximate_hypervolume(many, np.full(8, 1.5)) == 0
    padded = np.vstack([few.values, few.values * 0.5])
    doubled = front(padded, names=[objective.task for objective in few.objectives])
    assert hypervolume(doubled, np.zeros(8)) == few.hypervolume(np.zeros(8))  # no warning


@pytest.mark.parametrize("volume", [hypervolume, approximate_hypervolume])
def test_the_reference_is_the_objectives_own_or_goes_by_names(volume):
    points = front([[0.9, 0.3], [0.6, 0.6]])
    expected = volume(points, [0.05, 0.1])
    assert expected == pytest.approx(0.17 + 0.55 * 0.3, rel=0.01)
    assert volume(points, pd.Series({"b": 0.1, "a": 0.05})) == expected
    references = zip(points.objectives, (0.05, 0.1), strict=True)
    known = replace(points, objectives=tuple(replace(o, reference=r) for o, r in references))
    assert volume(known) == expected
    with pytest.raises(InputError, match="must be 2 finite numbers"):
        volume(points)


@pytest.mark.parametrize("volume", [hypervolume, approximate_hypervolume])
def test_points_that_are_not_finite_are_left_out(volume):
    broken, whole, _ = with_and_without_broken()
    assert left_out(lambda: volume(broken, [0.0, 0.0])) == volume(whole, [0.0, 0.0])
