"""What a share of the seeds attains, and its figure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_up import front_of
from matplotlib.collections import PolyCollection

from pamal_companion.plots.studies import attainment_figure
from pamal_core.errors import InputError
from pamal_core.front import attained


def fronts_of(values, maximise=(True, True)):
    """A front for each [P, 2] of `values`."""
    return [front_of(v, maximise=maximise) for v in values]


def test_what_all_attain_and_what_one_does_of_two_crossing_fronts():
    fronts = fronts_of([[(3.0, 1.0)], [(2.0, 2.0)]])
    assert sorted(map(tuple, attained(fronts, 0.5))) == [(2.0, 2.0), (3.0, 1.0)]
    assert attained(fronts, 1.0).tolist() == [[2.0, 1.0]]
    losses = fronts_of([[(3.0, 1.0)], [(2.0, 2.0)]], maximise=(False, False))
    assert attained(losses, 1.0).tolist() == [[3.0, 2.0]]
    mixed = fronts_of([[(3.0, 1.0)], [(2.0, 2.0)]], maximise=(True, False))
    assert attained(mixed, 1.0).tolist() == [[2.0, 2.0]]


@settings(deadline=None)  # the first call loads a library
@given(
    values=arrays(float, (4, 5, 2), elements=st.integers(0, 20).map(float)),
    at=arrays(float, (30, 2), elements=st.integers(0, 20).map(float)),
    count=st.integers(1, 4),
)
def test_a_point_is_below_the_surface_where_so_many_fronts_reach_it(values, at, count):
    surface = attained(fronts_of(values), count / 4)
    reached = (values[:, :, None] >= at).all(-1).any(1).sum(0) >= count
    below = (surface[:, None] >= at).all(-1).any(0)
    np.testing.assert_array_equal(below, reached)


def test_the_figure_draws_the_surface_of_half_the_seeds_and_a_band():
    values = [[(0.9, 0.5), (0.6, 0.8)], [(0.8, 0.6)], [(0.85, 0.55), (0.5, 0.9)]]
    figure = attainment_figure({"PaMaL": fronts_of(values), "LS": fronts_of(values[:1])}, "here")
    (ax,) = figure.axes
    line = ax.lines[0]
    heights = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    for x, height in heights.items():
        reach = sorted(max([y for a, y in front if a >= x], default=-9) for front in values)
        assert height == (reach[1] if reach[1] > 0 else pytest.approx(ax.get_ylim()[0] - 1))
    assert heights[0.85] == 0.5 and heights[0.8] == 0.55
    bands = [artist for artist in ax.collections if isinstance(artist, PolyCollection)]
    fills, hatches = bands[::2], bands[1::2]
    assert len(fills) == len(hatches) == 2 and hatches[0].get_hatch() != hatches[1].get_hatch()
    assert all(
        len(fill.get_facecolor()) and not len(hatch.get_facecolor())
        for fill, hatch in zip(fills, hatches, strict=True)
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PaMaL", "LS"]


@pytest.mark.parametrize(("of_ls", "found"), [({}, "none"), ({"LS": []}, "0 of LS")])
def test_a_figure_without_fronts_is_refused(of_ls, found):
    with pytest.raises(InputError, match=rf"fronts of each method \(here\)\. Found {found}"):
        attainment_figure(of_ls, "here")
