import numpy as np
import pytest

from pamal_companion.toy.outcomes import Distances, distances

FRONT = np.linspace((0.0, 1.0), (1.0, 0.0), 1001)
BEYOND = np.concatenate([[(-3.0, 5.0)], FRONT])
# A curve; how far the front reaches from it, and it from the front; a tolerance and the verdict.
CURVES = {
    "the front": (FRONT, 0, 0, 0.0, "exact"),
    "half of it": (FRONT[:501], 0.5**0.5, 0, 0.1, "subset"),
    "a single point": (FRONT[:1], 2**0.5, 0, 0.1, "subset"),
    "one that goes on": (BEYOND, 0, 5, 0.1, "superset"),
    "within its length": (BEYOND, 0, 5, 5.1, "exact"),
    "not finite": (FRONT * np.nan, np.inf, np.inf, 0.1, "off"),
}


@pytest.mark.parametrize("name", CURVES)
def test_distances_and_verdict_are_those_of_the_curve(name):
    curve, gap, excess, within, verdict = CURVES[name]
    found = distances(FRONT, curve)
    assert found == pytest.approx((gap, excess))
    assert found.verdict(within=within) == verdict


def test_a_parallel_curve_covers_within_its_distance_and_not_below():
    assert distances(FRONT[300:700], FRONT + 0.3).gap == pytest.approx(np.sqrt(0.18))
    assert Distances(0.4, 0.4).verdict(within=0.39) == "off"
    assert Distances(0.4, 0.4).verdict(within=0.4) == "exact"


def test_distances_agree_with_a_double_loop():
    curve = np.random.default_rng(0).random((50, 2))
    far = [min(np.linalg.norm(a - b) for b in curve) for a in FRONT[::50]]
    assert distances(FRONT[::50], curve).gap == pytest.approx(max(far))
