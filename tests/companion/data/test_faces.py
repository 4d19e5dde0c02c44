"""Made-up faces, and the figure that shows some."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from pamal_companion.data.samples.faces import SHARES, faces
from pamal_companion.plots.pictures import faces_figure

NUM, TRAIN = 2000, 1500


@pytest.fixture(scope="module")
def sample():
    return faces(NUM, 16, 0)


def halves(sample, labels):
    pixels = sample[0].reshape(NUM, -1) / 255 - 0.5
    return pixels[:TRAIN], labels[:TRAIN], pixels[TRAIN:], labels[TRAIN:]


def test_the_same_seed_gives_the_same_faces_and_another_one_others():
    first, again, other = faces(150, 16, 3), faces(150, 16, 3), faces(150, 16, 4)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("size", [16, 33, 64])
def test_images_and_labels_have_their_shapes_types_and_ranges(size):
    images, ages, genders, ethnicities = faces(40, size, 0)
    assert images.shape == (40, 3, size, size) and images.dtype == np.uint8
    assert images.min() < 60 and images.max() > 200
    for labels, low, high in ((ages, 1, 100), (genders, 0, 1), (ethnicities, 0, 4)):
        assert labels.shape == (40,) and labels.dtype == np.int64
        assert low <= labels.min() and labels.max() <= high


def test_labels_have_the_shares_and_the_ages_the_spread_that_are_asked_for(sample):
    _, ages, genders, ethnicities = sample
    # four standard errors of a share
    error = 4 * np.sqrt(0.25 / NUM)
    np.testing.assert_allclose(np.bincount(ethnicities) / NUM, SHARES, atol=error)
    assert abs(genders.mean() - 0.5) < error
    assert 30 < ages.mean() < 36 and 16 < ages.std() < 23
    years = np.bincount(ages, minlength=101)
    assert years[1:5].sum() > 3 * years[6:10].sum()  # small children are a bump of their own
    assert years[20:31].sum() > 2 * years[50:61].sum() > 4 * years[80:91].sum() > 0


@pytest.mark.parametrize(("task", "clear"), [(2, 0.15), (3, 0.2)], ids=["gender", "ethnicity"])
def test_a_linear_classifier_sees_a_class_in_the_pixels_but_not_always(sample, task, clear):
    x, y, x_test, y_test = halves(sample, sample[task])
    guess = np.bincount(y_test).max() / len(y_test)
    model = LogisticRegression(C=0.01, max_iter=300).fit(x, y)
    assert guess + clear < model.score(x_test, y_test) < 0.95


def test_a_linear_regression_sees_the_age_in_the_pixels_but_not_exactly(sample):
    x, y, x_test, y_test = halves(sample, sample[1])
    assert 0.35 < Ridge(alpha=10).fit(x, y).score(x_test, y_test) < 0.85


def test_a_face_looks_the_same_at_any_size():
    small, large = (faces(1, size, 5)[0].astype(float) for size in (16, 64))
    averaged = large.reshape(1, 3, 16, 4, 16, 4).mean((3, 5))
    # Noise and the anti-aliasing of thin lines differ; another face is much farther away.
    other = np.abs(small - faces(1, 16, 6)[0]).mean()
    assert np.abs(small - averaged).mean() < 15 < other


@pytest.mark.parametrize("as_floats", [False, True])
def test_the_figure_shows_every_face_over_its_labels(as_floats):
    images, ages, genders, ethnicities = faces(11, 16, 0)
    shown = images / 255 if as_floats else images
    years = (ages - 33) / 20 if as_floats else ages
    figure = faces_figure(shown, years, genders, ethnicities, "made up")
    assert len(figure.axes) == 16 and sum(ax.axison for ax in figure.axes) == 11
    texts = [ax.get_xlabel() for ax in figure.axes[:11]]
    age = f"{years[3]:+.1f}" if as_floats else str(ages[3])
    assert texts[3] == f"{age} · {genders[3]} · {'ABCDE'[ethnicities[3]]}"
    pixels = figure.axes[3].images[0].get_array()
    np.testing.assert_array_equal(pixels, shown[3].transpose(1, 2, 0))
    assert "made up" in figure.get_label()
