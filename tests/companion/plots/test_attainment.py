"""The figure of what a share of the seeds attains."""

import pytest
from made_up import front_of
from matplotlib.collections import PolyCollection

from pamal_companion.plots.studies import attainment_figure
from pamal_core.errors import InputError


def fronts_of(values):
    """A front for each [P, 2] of `values`."""
    return [front_of(v) for v in values]


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
