"""The images of UTKFace are decoded once; `test_cache` has what may happen to the file."""

import numpy as np
import pytest
from faces_on_disk import faces
from packed import put
from PIL import Image

from pamal_companion.data.utkface import read


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Five faces; what is made from them goes to another folder."""
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "made"))
    return put(tmp_path / "utkface", faces(5))


@pytest.fixture
def decoded(monkeypatch):
    """Counts the images that are decoded."""
    count, opened = [], Image.open

    def counting(*args, **options):
        count.append(1)
        return opened(*args, **options)

    monkeypatch.setattr(Image, "open", counting)
    return count


def test_images_are_decoded_once_and_nothing_is_written_beside_them(folder, decoded):
    before = sorted(folder.iterdir())
    first = read(folder, 8)
    assert len(decoded) == 5
    again = read(folder, 8)
    assert len(decoded) == 5
    np.testing.assert_array_equal(again.images, first.images)
    assert sorted(folder.iterdir()) == before


def test_another_size_is_decoded_and_the_first_one_stays(folder, decoded):
    for size in (8, 6, 8):
        assert read(folder, size).images.shape == (5, 3, size, size)
    assert len(decoded) == 10


def test_changed_files_of_equal_names_and_sizes_are_decoded_again(folder):
    first, second, *_ = sorted(folder.iterdir())
    contents = [path.read_bytes().ljust(4000, b"\0") for path in (first, second)]
    for one, other in (contents, contents[::-1]):
        first.write_bytes(one)
        second.write_bytes(other)
        found = read(folder, 8)
        with Image.open(first) as image:
            expected = np.array(image.resize((8, 8), Image.Resampling.BILINEAR))
        np.testing.assert_array_equal(found.images[0], expected.transpose(2, 0, 1))
