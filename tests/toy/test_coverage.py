import numpy as np
import pytest

from pamal_core.toy.coverage import Coverage, coverage

FRONT = np.linspace((0.0, 1.0), (1.0, 0.0), 1001)


def test_a_front_covers_itself_exactly():
    found = coverage(FRONT, FRONT)
    assert found == (0, 0)
    assert found.verdict(within=0.0) == "exact"


def test_half_a_front_leaves_a_gap_as_long_as_the_other_half():
    found = coverage(FRONT, FRONT[:501])
    assert found.gap == pytest.approx(np.sqrt(0.5))
    assert found.excess == 0
    assert found.verdict(within=0.1) == "subset"


def test_a_front_that_goes_on_is_a_superset_by_the_length_of_what_is_added():
    found = coverage(FRONT, np.concatenate([[(-3.0, 5.0)], FRONT]))
    assert found.gap == 0
    assert found.excess == pytest.approx(5)
    assert found.verdict(within=0.1) == "superset"
    assert found.verdict(within=5.1) == "exact"


def test_a_parallel_curve_covers_within_its_distance_and_not_below():
    found = coverage(FRONT, FRONT + 0.3)
    assert found.gap == pytest.approx(np.sqrt(0.18), rel=0.25)
    inside = coverage(FRONT[300:700], FRONT + 0.3)
    assert inside.gap == pytest.approx(np.sqrt(0.18))
    assert Coverage(0.4, 0.4).verdict(within=0.39) == "off"
    assert Coverage(0.4, 0.4).verdict(within=0.4) == "exact"


def test_a_single_point_leaves_the_rest_of_the_front_uncovered():
    found = coverage(FRONT, FRONT[:1])
    assert found.gap == pytest.approx(np.sqrt(2))
    assert found.excess == 0


def test_distances_agree_with_a_double_loop():
    curve = np.random.default_rng(0).random((50, 2))
    far = [min(np.linalg.norm(a - b) for b in curve) for a in FRONT[::50]]
    assert coverage(FRONT[::50], curve).gap == pytest.approx(max(far))


def test_a_curve_that_is_not_finite_covers_nothing():
    assert coverage(FRONT, FRONT * np.nan) == (np.inf, np.inf)
