import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps
from matplotlib.path import Path

from pamal_companion.plots import pictures, style, ternary
from pamal_companion.plots.fronts import front_figure
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

CORNERS = np.array([(0.5, np.sqrt(3) / 2), (0, 0), (1, 0)])  # top, left, right
RNG = np.random.default_rng(0)


def area(polygon):
    """By the shoelace formula, as a share of the triangle's."""
    (x, y), (u, v) = (polygon @ CORNERS).T, (np.roll(polygon, -1, axis=0) @ CORNERS).T
    return abs(np.sum(x * v - u * y)) / 2 / (np.sqrt(3) / 4)


def front(values=None, alphas=None, directions=(True, True, True), task_weights=None):
    """By default each task's objective is its own share of alpha."""
    alphas = lattice(3) if alphas is None else alphas
    values = alphas if values is None else values
    names = ["first/accuracy", "second/score", "third/loss"][: values.shape[1]]
    objectives = tuple(Objective(n, d) for n, d in zip(names, directions, strict=False))
    return Front(alphas, pd.DataFrame(values, columns=names), objectives, task_weights)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_points_that_are_not_finite_are_blank_and_off_the_scale(lost):
    alphas = lattice(3)
    values = alphas.copy()
    values[0, 0], values[30, 1] = lost, -lost
    for draw in (ternary.triangles_figure, ternary.pairwise_figure):
        with pytest.warns(UserWarning, match="2 of 66 points of the front are left out"):
            figure = draw(front(values), "made up")
        figure.canvas.draw()
        if draw is ternary.triangles_figure:
            first = panels(figure)[0].collections[0]
            blank = ~np.isfinite(first.get_array().filled(np.nan))
            assert np.flatnonzero(blank).tolist() == [0, 30]
            finite = np.delete(values[:, 0], 0)
            assert first.get_clim() == (np.quantile(finite, ternary.LOWEST), 0.9)


def title(ax):
    """On whichever side the style has it."""
    return ax.get_title(loc="left") + ax.get_title()


def panels(figure):
    """The axes of the triangles, without those of the colour bars."""
    return [ax for ax in figure.axes if ax.name == "ternary"]


@pytest.mark.parametrize("num_points", range(2, 13))
def test_the_cells_of_any_lattice_are_equal_hexagons_about_its_points(num_points):
    alphas = lattice(3, num_points)
    cells = ternary.cells(alphas)
    assert cells.shape == (len(alphas), 6, 3)
    np.testing.assert_allclose(cells.sum(-1), 1)
    np.testing.assert_allclose(cells.mean(1), alphas, atol=1e-12)
    # Each point of the lattice inside the triangle has two of its (n - 1)^2 small triangles.
    assert [area(cell) for cell in cells] == pytest.approx([2 / (num_points - 1) ** 2] * len(cells))


def test_nothing_of_a_cell_is_drawn_outside_the_triangle():
    for ax in panels(ternary.triangles_figure(front(), "made up")):
        path, transform = ax.collections[0].get_clip_path().get_transformed_path_and_affine()
        drawn = path.transformed(transform - ax.transAxes).vertices
        corners = np.unique(drawn.round(6) + 0.0, axis=0)
        np.testing.assert_allclose(corners, [[0, 0], [0.5, 1], [1, 0]], atol=1e-6)


def test_a_point_lies_in_the_cell_of_the_nearest_lattice_point():
    alphas = RNG.permutation(lattice(3, 5))
    points = RNG.dirichlet([1, 1, 1], size=500)
    distances = np.linalg.norm((points[:, None] - alphas) @ CORNERS, axis=2)
    inside = [Path(c @ CORNERS).contains_points(points @ CORNERS) for c in ternary.cells(alphas)]
    assert (np.sum(inside, axis=0) == 1).all()
    np.testing.assert_array_equal(np.argmax(inside, axis=0), distances.argmin(1))


@pytest.mark.parametrize(
    "alphas",
    [
        lattice(2),
        lattice(3)[:-1],
        np.vstack([lattice(3)[:-1], lattice(3)[:1]]),
        lattice(3) * 0.9 + 0.1 / 3,
        np.eye(3)[:1],
    ],
    ids=["two members", "one missing", "one twice", "shrunk", "one point"],
)
def test_anything_but_a_whole_lattice_of_three_members_is_refused(alphas):
    with pytest.raises(InputError, match=r"lattice of 3 members.*Found alphas of shape"):
        ternary.cells(alphas)


def test_the_first_member_is_on_top_the_second_left_and_the_third_right():
    figure = ternary.triangles_figure(front(), "made up")
    figure.canvas.draw()
    for t, ax in enumerate(panels(figure)):
        cells, kept, star = ax.collections
        centres = np.array([p.vertices[:-1].mean(0) for p in cells.get_paths()])
        members = [(front().alphas[:, k] == 1).argmax() for k in range(3)]
        top, left, right = centres[members]
        assert top[1] == centres[:, 1].max()
        assert left[0] == centres[:, 0].min() and right[0] == centres[:, 0].max()
        # The name of a corner stands nearer to it than to the others, on the screen, and that of a
        # side nearer to its middle than to the middles of others.
        places = ax.transData.transform(centres[members])
        middles = np.array([np.delete(places, k, axis=0).mean(0) for k in range(3)])
        for k in range(3):
            for label, ends in zip(ax.texts[2 * k : 2 * k + 2], (places, middles), strict=True):
                box = label.get_window_extent()
                at = np.array([box.x0 + box.width / 2, box.y0 + box.height / 2])
                assert np.linalg.norm(ends - at, axis=1).argmin() == k
        names = ["α₁ = 1\nfirst", "α₁ = 0", "α₂ = 1\nsecond", "α₂ = 0", "α₃ = 1\nthird", "α₃ = 0"]
        assert [label.get_text() for label in ax.texts] == names
        np.testing.assert_allclose(star.get_offsets(), ax.transProjection.transform(np.eye(3)[[t]]))
        assert len(kept.get_offsets()) == 66  # nothing is dominated where the shares compete


@pytest.mark.parametrize("maximise", [True, False])
def test_the_best_cell_is_yellow_and_starred_whatever_the_direction(maximise):
    alphas = RNG.permutation(lattice(3))
    values = RNG.normal(size=(66, 1))
    best = values.argmax() if maximise else values.argmin()
    made = front(values, alphas, (maximise,))
    (ax,) = panels(ternary.triangles_figure(made, "made up"))
    ax.figure.canvas.draw()
    cells, kept, star = ax.collections
    np.testing.assert_allclose(cells.get_facecolors()[best], colormaps[style.MAP](1.0))
    expected = ax.transProjection.transform(alphas[[best]])
    np.testing.assert_allclose(star.get_offsets(), expected)
    np.testing.assert_allclose(kept.get_offsets(), expected)  # one objective has one best point


def test_each_triangle_has_a_bar_with_its_quantity_direction_and_unit():
    figure = ternary.triangles_figure(front(directions=(True, True, False)), "made up")
    figure.canvas.draw()
    bars = [ax for ax in figure.axes if ax.name != "ternary"]
    assert [bar.get_xlabel() for bar in bars] == [
        "accuracy on first\n(higher is better →)",
        "score on second\n(higher is better →)",
        "loss on third\n(← lower is better)",
    ]
    ticks = [[label.get_text() for label in bar.get_xticklabels()] for bar in bars]
    assert ticks[0] and all(tick.endswith("%") for tick in ticks[0])
    assert not any("%" in tick for tick in ticks[1] + ticks[2])
    assert figure.get_label().endswith("made up")


def test_a_member_for_several_tasks_is_named_by_its_number_alone():
    weights = np.array([[1, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5]])
    figure = ternary.triangles_figure(front(task_weights=weights), "made up")
    names = [label.get_text() for label in panels(figure)[0].texts[::2]]
    assert names == ["α₁ = 1\nfirst", "α₂ = 1\nsecond", "α₃ = 1\nmember 3"]


def test_objectives_two_by_two_join_neighbours_and_mark_the_dominated():
    alphas = lattice(3)
    values = alphas.copy()
    values[alphas.min(1) == 0.3] -= 0.5  # three points near the centre, dominated
    figure = ternary.pairwise_figure(front(values, directions=(True, True, False)), "made up")
    figure.canvas.draw()
    for ax, pair in zip(figure.axes, ([0, 1], [0, 2], [1, 2]), strict=True):
        (mesh,) = ax.lines
        assert np.isnan(mesh.get_xdata()).sum() == 165  # 3 n (n - 1) / 2 edges
        _, _, *members = ax.collections
        at = [m.get_offsets()[0] for m in members]
        np.testing.assert_allclose(at, np.eye(3)[:, pair])
        names = np.array(["accuracy on first", "score on second", "loss on third ↓"])[pair]
        assert [ax.get_xlabel(), ax.get_ylabel()] == list(names)
    assert "Higher is better, but for loss on third." in figure.get_label()
    higher = ternary.pairwise_figure(front(values, directions=(True,) * 3), "made up").axes[0]
    counts = [len(dots.get_offsets()) for dots in higher.collections]
    assert counts == [66 - 3 - 3, 3, 1, 1, 1]


def test_each_line_of_the_mesh_is_one_step_of_the_lattice_long():
    figure = ternary.pairwise_figure(front(alphas=RNG.permutation(lattice(3, 6))), "made up")
    path = figure.axes[0].lines[0].get_xydata()
    start, end, gap = path[::3], path[1::3], path[2::3]
    assert np.isnan(gap).all()
    steps = np.abs(end - start).max(axis=1)
    np.testing.assert_allclose(steps, 1 / 5)


def test_pairs_of_other_than_three_objectives_are_refused():
    with pytest.raises(InputError, match=r"Pairs of 3 objectives are drawn\. Found 2"):
        ternary.pairwise_figure(front(lattice(3)[:, :2]), "made up")


def test_examples_fill_rows_and_leave_the_rest_of_the_last_one_empty():
    images = RNG.random((9, 1, 4, 4))
    labels = RNG.integers(10, size=(3, 9))
    figure = pictures.digits_figure(list(images), labels.tolist(), "made up")
    assert [len(ax.images) for ax in figure.axes] == [1] * 9 + [0] * 7
    assert [ax.get_title() for ax in figure.axes[:9]] == ["  ".join(map(str, c)) for c in labels.T]
    np.testing.assert_array_equal(figure.axes[8].images[0].get_array(), images[8, 0])
    assert not any(ax.axison for ax in figure.axes)


def test_the_figure_of_two_tasks_says_which_ones_draw_three():
    with pytest.raises(InputError, match="triangles_figure and pairwise_figure of"):
        front_figure(front())


def test_several_fronts_have_a_titled_row_each_with_equal_colours():
    weak = front(front().values / 2)
    figure = ternary.triangles_figure({"seed 3": front(), "seed 5": weak}, "made up")
    shown = panels(figure)
    assert len(shown) == 2 * 3
    assert [title(ax) for ax in shown] == ["seed 3", "", "", "seed 5", "", ""]
    assert len({ax.collections[0].get_clim() for ax in shown[::3]}) == 1
    upwards = {title: front(directions=(True,) * 3) for title in ("seed 3", "seed 5")}
    views = ternary.pairwise_figure(upwards, "made up").axes
    assert [title(ax) for ax in views] == ["seed 3", "", "", "seed 5", "", ""]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in views[::3]}) == 1


def test_several_fronts_of_two_tasks_have_a_column_each_on_equal_axes():
    two = front(lattice(3)[:, :2])
    weak = front(lattice(3)[:, :2] / 2)
    figure = front_figure({"seed 3": two, "seed 5": weak})
    one, other = figure.axes
    assert [title(one), title(other)] == ["seed 3", "seed 5"]
    assert one.get_xlim() == other.get_xlim() and one.get_ylim() == other.get_ylim()
    (part,) = figure.subfigs
    assert part.get_supxlabel() == "accuracy on first  (higher is better →)"


def mixed(num=40):
    """Points with an accuracy, a loss and an error to compare."""
    rng = np.random.default_rng(0)
    names = ("a/accuracy", "a/loss", "b/loss", "c/absolute error")
    table = pd.DataFrame(rng.random((num, 4)), columns=names)
    chosen = (Objective(n, n.endswith("accuracy")) for n in names if n != "a/loss")
    return Front(rng.dirichlet([1, 1, 1], size=num), table, tuple(chosen))


def test_upwards_negates_and_renames_what_is_minimised_and_nothing_else():
    before, after = mixed(), ternary.upwards(mixed())
    assert [o.name for o in after.objectives] == [
        "a/accuracy",
        "b/negative loss",
        "c/negative absolute error",
    ]
    assert after.maximise == [True] * 3
    np.testing.assert_array_equal(after.values, before.values * [1, -1, -1])
    np.testing.assert_array_equal(after.table["a/loss"], before.table["a/loss"])
    pd.testing.assert_frame_equal(before.table, mixed().table)


def test_upwards_changes_no_comparison_of_points():
    before, after = mixed(), ternary.upwards(mixed())
    np.testing.assert_array_equal(after.non_dominated(), before.non_dominated())
    assert after.choose().row == before.choose().row
    np.testing.assert_allclose(after.spearman(), before.spearman() * [1, -1, -1])
    assert after.task_correlation() == pytest.approx(before.task_correlation())
    assert after.hypervolume([0.0, -1.0, -1.0]) == pytest.approx(
        before.hypervolume([0.0, 1.0, 1.0])
    )
    pd.testing.assert_frame_equal(ternary.upwards(after).to_frame(), after.to_frame())
