"""Fronts of three objectives in space."""

import numpy as np
import pandas as pd
import pytest

from pamal_companion.plots import style
from pamal_companion.plots.space import space_figure
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

NAMES = ("left/accuracy", "middle/accuracy", "age/negative loss")


def front(shift=0.0, upwards=True):
    alphas = lattice(3, 5)
    values = np.sqrt(alphas) + shift
    values[1] = values.min() - 0.3  # worse than all others
    objectives = tuple(Objective(name, upwards) for name in NAMES)
    return Front(alphas, pd.DataFrame(values, columns=[*NAMES]), objectives)


def points(collection):
    return np.stack(collection._offsets3d, axis=1)


def test_every_network_is_a_point_in_space_and_the_members_have_marks():
    fronts = {"seed 0": front(), "seed 1": front(0.1)}
    figure = space_figure(fronts, "made up")
    figure.canvas.draw()
    for ax, (title, its) in zip(figure.axes, fronts.items(), strict=False):
        kept, dominated, *members = map(points, ax.collections)
        member = its.alphas.max(1) == 1
        assert ax.get_title() == title
        for drawn, mask in ((kept, its.non_dominated()), (dominated, ~its.non_dominated())):
            np.testing.assert_allclose(drawn, its.values[mask & ~member])
        expected = [its.values[(its.alphas == corner).all(1)] for corner in np.eye(3)]
        np.testing.assert_allclose(members, expected)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][2:] == [
        f"member of {task}" for task in ("left", "middle", "age")
    ]
    assert "accuracy on left" in figure.get_label() and "made up" in figure.get_label()


def test_all_panels_have_the_same_axes_and_hold_every_point():
    fronts = {"one": front(), "two": front(0.3), "three": front(), "four": front()}
    figure = space_figure(fronts, "")
    drawn = [ax for ax in figure.axes if ax.has_data()]
    limits = {(*ax.get_xlim(), *ax.get_ylim(), *ax.get_zlim()) for ax in drawn}
    assert len(drawn) == 4 and len(figure.axes) == 6 and len(limits) == 1
    ((*ends,),) = limits
    low, high = np.array(ends).reshape(3, 2).T
    every = np.concatenate([front().values, front(0.3).values])
    assert (low < every.min(0)).all() and (every.max(0) < high).all()
    assert {ax.get_xlabel() for ax in drawn} == {"left"}
    # Nothing of one panel lies in another one, or is cut.
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in drawn[:3]]
    assert boxes[0].x0 >= 0 and boxes[-1].x1 <= figure.bbox.x1
    assert figure.get_size_inches()[0] == style.WIDTH


def test_fronts_of_which_lower_is_better_are_refused():
    with pytest.raises(InputError, match=r"higher is better\. Found left/accuracy"):
        space_figure({"": front(upwards=False)}, "")
