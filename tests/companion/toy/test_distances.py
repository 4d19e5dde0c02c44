import numpy as np
import pytest

from pamal_companion.toy.outcomes import Distances, distances

FRONT = np.linspace((0.0, 1.0), (1.0, 0.0), 1001)


def test_a_front_covers_itself_exactly():
    found = distances(FRONT, FRONT)
    assert found == (0, 0)
    assert found.verdict(within=0.0) == "exact"


def test_half_a_front_leaves_a_gap_as_long_as_the_other_half():
    found = distances(FRONT, FRONT[:501])
    assert found.gap == pytest.approx(np.sqrt(0.5))
    assert found.excess == 0
    assert found.verdict(within=0.1) == "subset"


def test_a_front_that_goes_on_is_a_superset_by_the_length_of_what_is_added():
    found = distances(FRONT, np.concatenate([[(-3.0, 5.0)], FRONT]))
    assert found.gap == 0
    assert found.excess == pytest.approx(5)
    assert found.verdict(within=0.1) == "superset"
    assert found.verdict(within=5.1) == "exact"


def test_a_parallel_curve_covers_within_its_distance_and_not_below():
    found = distances(FRONT, FRONT + 0.3)
    assert found.gap == pytest.approx(np.sqrt(0.18), rel=0.25)
    inside = distances(FRONT[300:700], FRONT + 0.3)
    assert inside.gap == pytest.approx(np.sqrt(0.18))
    assert Distances(0.4, 0.4).verdict(within=0.39) == "off"
    assert Distances(0.4, 0.4).verdict(within=0.4) == "exact"


def test_a_single_point_leaves_the_rest_of_the_front_uncovered():
    found = distances(FRONT, FRONT[:1])
    assert found.gap == pytest.approx(np.sqrt(2))
    assert found.excess == 0


def test_distances_agree_with_a_double_loop():
    curve = np.random.default_rng(0).random((50, 2))
    far = [min(np.linalg.norm(a - b) for b in curve) for a in FRONT[::50]]
    assert distances(FRONT[::50], curve).gap == pytest.approx(max(far))


def test_a_curve_that_is_not_finite_covers_nothing():
    assert distances(FRONT, FRONT * np.nan) == (np.inf, np.inf)
