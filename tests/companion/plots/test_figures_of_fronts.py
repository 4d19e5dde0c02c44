"""What the figures of fronts do with other metrics, and with points that are not finite."""

from dataclasses import replace

import numpy as np
import pytest
from made_up import front_of
from matplotlib import pyplot as plt
from small_fronts import BROKEN

from pamal_companion.plots.fronts import draw_line, front_figure, seeds_figure
from pamal_companion.plots.studies import attainment_figure

FINITE = [1, 2, 5]


def front(values, **options):
    first = np.linspace(1, 0, len(values))
    return front_of(values, np.c_[first, 1 - first], **options)


def test_the_figure_of_a_front_has_losses_beside_where_they_are_others():
    losses = front([[0.9, 0.5], [0.7, 0.8]], maximise=(False, False), metric="loss")
    both = replace(
        losses, table=losses.table.assign(**{"a/rank": [1.0, 2.0], "b/rank": [2.0, 1.0]})
    ).on("rank", maximise=True)
    alone = replace(both, table=both.table[["a/rank", "b/rank"]])
    for shown, panels in ((losses, 1), (both, 2), (alone, 1)):
        figure = front_figure(shown)
        axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
        assert len(axes) == panels and len(axes[0].collections) == 2


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(front_figure, id="front_figure"),
        pytest.param(lambda it: seeds_figure({0: it}, {}, None, ""), id="seeds_figure"),
        pytest.param(
            lambda it: draw_line(plt.figure().add_subplot(), it, {"marker": "s"}), id="draw_line"
        ),
        pytest.param(lambda it: attainment_figure({"a": [it]}, ""), id="attainment_figure"),
    ],
)
def test_figures_leave_out_points_that_are_not_finite_and_say_so(draw, request):
    with pytest.warns(UserWarning, match="3 of 6 points of the front are left out") as found:
        draw(front(BROKEN))
    assert len(found) == 1
    plt.gcf().canvas.draw()
    if request.node.callspec.id != "attainment_figure":  # which draws a surface, no points
        shown = plt.gcf().axes[0].lines[0].get_xydata()
        np.testing.assert_array_equal(shown, np.array(BROKEN)[FINITE])
