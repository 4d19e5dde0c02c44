"""Made-up streets obey the geometry of a pinhole camera, and can be learnt but not solved."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from pamal_companion.data.samples import streets
from pamal_companion.data.samples.streets import KINDS, METRES, WALL, Street, scenes
from pamal_companion.plots import pictures

CONSTRUCTION, SKY, VOID = 1, 4, -1


@pytest.fixture(scope="module")
def sample():
    return scenes(120, (32, 64), seed=0)


def street(*placed, seed=0, size=(120, 120)):
    """A street with the things that are given, (kind, metres ahead, metres to the right)."""
    things = [(kind, x, z, np.full((3, 1, 1), 0.5)) for kind, z, x in placed]
    return Street(size, np.random.default_rng(seed), things)


def test_shapes_types_and_ranges_are_those_of_the_real_data(sample):
    images, labels, depths = sample
    assert images.shape == (120, 3, 32, 64) and images.dtype == np.uint8
    assert labels.shape == (120, 32, 64) and labels.dtype == np.int8
    assert depths.shape == (120, 1, 32, 64) and depths.dtype == np.float32
    assert set(np.unique(labels)) == set(range(-1, 7))
    assert depths.min() == 0 and 0.35 < depths.max() <= 0.4922


def test_a_street_depends_on_the_seed_and_its_number_alone(sample):
    first = scenes(5, (32, 64), seed=0)
    for ours, others in zip(first, sample, strict=True):
        assert ours.tobytes() == others[:5].tobytes()
    assert not np.array_equal(scenes(5, (32, 64), seed=1)[1], first[1])
    assert len({label.tobytes() for label in sample[1]}) == 120


def test_a_larger_picture_shows_the_same_streets(sample):
    large = scenes(10, (96, 192), seed=0)
    same = large[1][:, 1::3, 1::3] == sample[1][:10]  # the pixel in the middle of three by three
    assert same.mean() > 0.97  # but for thin poles, which are a pixel wide at any size


def test_no_class_is_missing_or_everywhere(sample):
    share = np.bincount(sample[1].ravel() + 1, minlength=8) / sample[1].size
    assert (share[1:] > 0.005).all() and share.max() < 0.5
    assert share[0] < 0.05
    assert (np.stack([(sample[1] == k).any((1, 2)) for k in range(7)]).mean(1) > 0.8).all()


@pytest.mark.parametrize("seed", range(8))
def test_walls_and_ground_are_where_a_ray_meets_them_first(seed):
    """March along rays in steps of 2 cm until one is below the road or beyond a wall; roofs, over
    which it may go on, are between 5 and 14 metres high."""
    drawn = street(seed=seed, size=(24, 40))
    rng = np.random.default_rng(seed)
    for i, j in zip(rng.integers(24, size=60), rng.integers(40, size=60), strict=True):
        z = np.arange(1, drawn.end, 0.02)
        x, y = drawn.a[j] * z, drawn.height + drawn.b[i, 0] * z
        inside = (y < 0) | (abs(x) > WALL)
        if drawn.label[i, j] == VOID:
            continue
        beyond = drawn.label[i, j] == SKY or drawn.inverse[i, j] == METRES / drawn.end
        if not inside.any() or y[inside][0] > 14:
            assert beyond
        elif y[inside][0] < 5 or not beyond:
            assert METRES / drawn.inverse[i, j] == pytest.approx(z[inside][0], abs=0.03)
            assert (drawn.label[i, j] == CONSTRUCTION) == (y[inside][0] > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_thing_has_one_class_and_the_inverse_depth_of_its_foot(kind):
    empty, full = street(), street((kind, 11.0, 0.5))
    drawn = full.inverse != empty.inverse
    assert drawn.sum() > 20
    np.testing.assert_allclose(full.inverse[drawn], METRES / 11)
    assert (full.label[drawn] == KINDS[kind][0]).all()
    assert (full.label[~drawn] == empty.label[~drawn]).all()


def test_the_nearer_of_two_things_hides_the_farther_whatever_their_order():
    near, far = ("car", 9.0, 0.0), ("person", 12.0, 1.1)
    car = street(near).label == 6
    hers = street(far).label == 5
    assert (hers & car).any() and (hers & ~car).any()
    for things in ([near, far], [far, near]):
        both = street(*things).label
        assert (both[car] == 6).all() and (both[hers & ~car] == 5).all()


def test_a_depth_is_unknown_where_the_right_camera_sees_something_nearer():
    things = ("car", 8.0, 1.0), ("person", 6.0, -1.0), ("lamp", 9.0, -3.0)
    inverse = street(*things, size=(40, 160)).inverse
    shift = 160 / 8 * inverse
    theirs = [
        [any(k - shift[i, k] <= j - shift[i, j] for k in range(j + 1, 160)) for j in range(160)]
        for i in range(40)
    ]
    assert np.sum(theirs) > 20
    assert np.array_equal(streets.hidden(inverse), theirs)


def features(images, rng, per_image=150):
    """Colour, that of the neighbours, and position of some pixels."""
    n, _, height, width = images.shape
    scene = np.repeat(np.arange(n), per_image)
    row, column = rng.integers(height, size=len(scene)), rng.integers(width, size=len(scene))
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    near = [padded[scene, :, row + i, column + j] for i, j in np.ndindex(3, 3)]
    return np.column_stack([*near, row, column]), (scene, row, column)


def test_classes_and_depths_can_be_learnt_but_not_by_colour_and_place(sample):
    images, labels, depths = sample
    rng = np.random.default_rng(0)
    (x, at), (x_new, at_new) = (features(images[part], rng) for part in (slice(80), slice(80, 120)))
    y, y_new = labels[:80][at], labels[80:][at_new]
    forest = ExtraTreesClassifier(30, min_samples_leaf=3, random_state=0)
    right = forest.fit(x[y >= 0], y[y >= 0]).predict(x_new) == y_new
    most = (y_new == np.bincount(y[y >= 0]).argmax()).mean()
    assert most + 0.2 < right.mean() < 0.9
    d, d_new = depths[:80, 0][at], depths[80:, 0][at_new]
    known = d_new > 0
    forest = ExtraTreesRegressor(30, min_samples_leaf=3, random_state=0)
    error = abs(forest.fit(x[d > 0], d[d > 0]).predict(x_new) - d_new)[known].mean()
    counts = (depths[:80, 0] > 0).sum(0)
    mean_map = depths[:80, 0].sum(0) / np.maximum(counts, 1)
    assert 0.01 < error < abs(mean_map[at_new[1:]] - d_new)[known].mean()


def test_a_figure_of_scenes_has_three_columns_a_legend_and_a_scale(sample):
    figure = pictures.scenes_figure(*(part[:4] for part in sample), "made up")
    assert len(figure.axes) == 3 * 4 + 1  # the scale is one of them
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [*pictures.CLASSES, "void, unknown"]
    assert "disparity" in figure.axes[-1].get_xlabel()
    classes, depths = (figure.axes[i].images[0].get_array() for i in (1, 2))
    assert np.array_equal(np.ma.getmaskarray(classes), sample[1][0] < 0)
    assert np.array_equal(np.ma.getmaskarray(depths), sample[2][0, 0] == 0)
    colours = figure.axes[1].images[0].cmap
    assert [to_hex(colours(k)).upper() for k in range(7)] == list(pictures.CLASSES.values())


def test_a_figure_of_predictions_has_a_titled_row_for_each(sample):
    images, labels, depths = sample
    figure = pictures.prediction_figure(
        images[0], labels[0], depths[0], labels[1:4], depths[1:4] - 0.01, "abc", "made up"
    )
    titles = [ax.get_ylabel() for ax in figure.axes[:10:2]]
    assert titles == ["picture", "truth", "a", "b", "c"] and len(figure.axes) == 2 * 5 + 1
    scales = {ax.images[0].get_clim() for ax in figure.axes[3:10:2]}
    assert scales == {(0, float(depths[0].max()))}
    assert not np.ma.getmaskarray(figure.axes[9].images[0].get_array()).any()
