"""Bands over seeds, their table, and names with a dollar in figures of fronts."""

import numpy as np
import pytest
from matplotlib.text import Text
from small_fronts import front

from pamal_companion.fronts import over_seeds
from pamal_companion.plots.fronts import band_figure, front_figure, seeds_figure
from pamal_core.errors import InputError


def several(shape, seed=0):
    points = np.random.default_rng(seed).random(shape)
    return over_seeds([front(values) for values in points])


@pytest.mark.parametrize("points", [2, 5, 11])
def test_a_band_holds_the_intervals_of_a_front_and_ls_has_a_cross(points):
    ours, ls = several((4, points, 2)), several((4, 1, 2), 1)
    ax = band_figure({"PaMaL": ours, "LS": ls}).axes[0]
    names = [objective.name for objective in ours.mean.objectives]
    widths = ours.half_width[names].to_numpy()
    drawn = np.concatenate([patch.get_xy() for patch in ax.patches])
    assert len(ax.patches) == points - 1
    np.testing.assert_allclose(drawn.min(0), (ours.mean.values - widths).min(0))
    np.testing.assert_allclose(drawn.max(0), (ours.mean.values + widths).max(0))
    (cross,) = ax.containers
    across = cross.lines[2][0].get_segments()[0]
    assert np.ptp(across[:, 0]) == pytest.approx(2 * ls.half_width[names[0]][0])
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"PaMaL", "LS"}


def test_runs_that_agree_have_a_band_without_area():
    same = front([[0.1, 0.9], [0.5, 0.5]])
    figure = band_figure({"ours": over_seeds([same, same])})
    figure.canvas.draw()
    (patch,) = figure.axes[0].patches
    x, y = patch.get_xy().T
    assert x @ np.roll(y, 1) - y @ np.roll(x, 1) == pytest.approx(0, abs=1e-12)  # twice its area
    assert (np.ptp(x), np.ptp(y)) == pytest.approx((0.4, 0.4))


def test_a_band_is_of_two_objectives():
    with pytest.raises(InputError, match="has two objectives"):
        band_figure({"ours": several((3, 4, 3))})


@pytest.mark.parametrize("digits", [2, 4])
def test_a_table_over_seeds_goes_into_a_paper(digits):
    pytest.importorskip("jinja2", reason="needs the `book` extra")
    over = several((5, 3, 2))
    table = over.table(digits)
    name = over.mean.objectives[0].name
    value, _, width = table[name][1].partition(" ± ")
    assert float(value) == pytest.approx(over.mean.table[name][1], abs=0.5 * 10**-digits)
    assert float(width) == pytest.approx(over.half_width[name][1], abs=0.5 * 10**-digits)
    assert len(value.partition(".")[2]) == digits
    written = table.to_latex(index=False)
    assert written.count("±") == 6 and written.count(r"\\") == 4


def costs():
    points = [[0.1, 0.9], [0.5, 0.5], [0.9, 0.1]]
    return front(points, maximise=False, names=["$a_1$", "b"])


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda it: front_figure(it), id="one"),
        pytest.param(lambda it: front_figure({"$x$": it, "y": it}), id="several"),
        pytest.param(lambda it: seeds_figure({0: it}, {}, None, ""), id="seeds"),
        pytest.param(lambda it: band_figure({"$x$": over_seeds([it, it])}), id="band"),
    ],
)
def test_a_dollar_in_a_name_is_no_mathematics(draw):
    figure = draw(costs())
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if "a_1" in text.get_text()]
    assert texts
    for text in texts:
        shown, is_math = text._preprocess_math(text.get_text().partition("\n")[0])
        assert "$a_1$" in shown and not is_math
