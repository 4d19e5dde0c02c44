"""Several fronts as one."""

from dataclasses import replace

import numpy as np
import pytest
from small_fronts import front

from pamal_companion.fronts import union
from pamal_core.errors import InputError


def test_a_union_has_all_points_and_says_of_which_front_they_are():
    one, other = front([[0.9, 0.3], [0.1, 0.1]]), front([[0.2, 0.8]])
    for both, runs in ((union(one, other), [0, 0, 1]), (union(other, one), [0, 1, 1])):
        assert both.table.run.tolist() == runs and len(both) == 3
        assert both.hypervolume([0.0, 0.0]) == pytest.approx(0.27 + 0.5 * 0.2)
    assert union(one, other, one).table.run.tolist() == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("alphas", "task_weights", "expected"),
    [
        ([[0.3, 0.7]], None, [0.3, 0.7]),
        ([[0.3, 0.7]], np.eye(2), [0.3, 0.7]),
        ([[1.0]], [[0.2, 0.8]], [0.2, 0.8]),  # a run of linear scalarisation
        ([[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]], [0.6, 0.4]),
        ([[0.2, 0.3, 0.5]], [[1, 0], [0, 1], [0.5, 0.5]], [0.45, 0.55]),
    ],
    ids=["no matrix", "the identity", "one member", "another matrix", "three members"],
)
def test_the_alphas_of_a_union_say_how_much_each_point_cares(alphas, task_weights, expected):
    one = front([[0.9, 0.3], [0.1, 0.9]], alphas=[[0.8, 0.2], [0.1, 0.9]])
    weights = None if task_weights is None else np.array(task_weights, dtype=float)
    other = replace(front([[0.2, 0.8]], alphas=alphas), task_weights=weights)
    for both, rows in ((union(one, other), [0, 1, 2]), (union(other, one), [1, 2, 0])):
        np.testing.assert_allclose(both.preferences[rows], [[0.8, 0.2], [0.1, 0.9], expected])
        assert both.spearman().tolist() == pytest.approx([1, 1])
    # Runs of one matrix keep their alphas.
    again = union(other, other)
    np.testing.assert_array_equal(again.alphas, np.repeat(np.array(alphas), 2, axis=0))
    np.testing.assert_allclose(again.preferences, [expected, expected])


def test_a_union_of_unions_counts_on():
    one = front([[1, 2], [2, 1]])
    two = union(one, one)
    assert union(two, two).table["run"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert union(two, one, two).table["run"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_no_line_is_drawn_through_the_points_of_a_union():
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the `plots` extra")
    one, other = front([[0.9, 0.3], [0.1, 0.8]]), front([[0.2, 0.7]])
    both = union(one, other)
    assert both.is_union and both[[0, 2]].is_union and not one.is_union
    for points, styles in ((one, ["-", "None"]), (both, ["None"]), (both[:2], ["None"])):
        assert [line.get_linestyle() for line in points.plot().lines] == styles
    plt.close("all")


def test_unlike_fronts_and_none_are_refused():
    with pytest.raises(InputError, match="the same objectives"):
        union(front([[1, 2]]), front([[1, 2]], maximise=False))
    with pytest.raises(InputError, match="needs a front or more"):
        union()


@pytest.mark.parametrize("runs", [["x", "y"], [float("nan"), 0.0], [None, 1], [-1, 0], [0.5, 1]])
def test_a_column_run_that_counts_nothing_is_refused(runs):
    first = front([[0.9, 0.5], [0.8, 0.8]])
    other = replace(first, table=first.table.assign(run=runs))
    with pytest.raises(InputError, match="column `run` of a front in a union must count"):
        union(first, other)
