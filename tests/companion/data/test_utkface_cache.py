"""The decoded images of UTKFace are kept, and used only while they are what the files hold."""

import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from faces_on_disk import faces, write_folder, write_zip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pamal_companion.data.files import cache_root
from pamal_companion.data.utkface import read


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Five faces; what is made from them goes to another folder."""
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "made"))
    return write_folder(tmp_path / "utkface", faces(5))


@pytest.fixture
def zipped(tmp_path):
    """The same faces in a zip."""
    return write_zip(tmp_path / "zipped" / "a.zip", faces(5)).parent


@pytest.fixture
def decoded(monkeypatch):
    """Counts the images that are decoded."""
    count, opened = [], Image.open

    def counting(*args, **options):
        count.append(1)
        return opened(*args, **options)

    monkeypatch.setattr(Image, "open", counting)
    return count


def the_file():
    (path,) = cache_root().iterdir()
    return path


def test_the_folder_for_what_is_made_is_not_the_one_of_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path))
    monkeypatch.setenv("PAMAL_DATA", "/shared")
    assert cache_root() == tmp_path
    monkeypatch.delenv("PAMAL_CACHE")
    assert cache_root() == Path.home() / ".cache" / "pamal" / "cache"


def test_images_are_decoded_once_and_nothing_is_written_beside_them(folder, decoded):
    before = sorted(folder.iterdir())
    first = read(folder, 8)
    assert len(decoded) == 5
    again = read(folder, 8)
    assert len(decoded) == 5
    np.testing.assert_array_equal(again.images, first.images)
    assert sorted(folder.iterdir()) == before


def test_a_zip_of_the_same_files_needs_no_decoding_either(folder, zipped, decoded):
    expected = read(folder, 8).images
    np.testing.assert_array_equal(read(zipped, 8).images, expected)
    assert len(decoded) == 5


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


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(pickle.dumps({"images": 1})),
        lambda path: torch.save({"images": torch.zeros(2)}, path),
        lambda path: np.savez(path, images=np.zeros((5, 3, 8, 8), np.uint8)),
        lambda path: np.savez(path, identity=np.array("another"), images=np.zeros(5)),
        lambda path: path.write_bytes(zlib.compress(b"images")),
    ],
)
def test_a_damaged_or_foreign_file_is_made_again(folder, decoded, damage):
    expected = read(folder, 8).images
    whole = the_file().read_bytes()
    damage(the_file())
    np.testing.assert_array_equal(read(folder, 8).images, expected)
    assert len(decoded) == 10
    assert the_file().read_bytes() == whole


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_flipped_bit_in_it_changes_an_image(folder, data):
    expected = read(folder, 8).images
    content = bytearray(the_file().read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    the_file().write_bytes(content)
    np.testing.assert_array_equal(read(folder, 8).images, expected)


def test_a_file_in_which_an_array_is_missing_is_made_again(folder):
    """As where a flipped bit makes the directory of the archive shorter."""
    expected = read(folder, 8).images
    with np.load(the_file()) as archive:
        identity = archive["identity"]
    np.savez(the_file(), identity=identity)
    np.testing.assert_array_equal(read(folder, 8).images, expected)


def test_the_file_of_other_images_is_not_taken_under_this_name(folder, tmp_path):
    expected = read(folder, 8).images
    mine = the_file()
    other = write_folder(
        tmp_path / "other", dict(zip(faces(5), reversed(faces(5).values()), strict=True))
    )
    read(other, 8)
    (theirs,) = set(cache_root().iterdir()) - {mine}
    theirs.replace(mine)
    np.testing.assert_array_equal(read(folder, 8).images, expected)


def test_where_nothing_can_be_kept_the_images_are_decoded_each_time(folder, monkeypatch, decoded):
    (folder.parent / "file").write_bytes(b"")
    monkeypatch.setenv("PAMAL_CACHE", str(folder.parent / "file" / "made"))
    for _ in range(2):
        with pytest.warns(UserWarning, match="Could not keep the decoded data"):
            found = read(folder, 8)
        assert found.images.shape == (5, 3, 8, 8)
    assert len(decoded) == 10
    assert sorted(p.name for p in folder.parent.iterdir()) == ["file", "utkface"]
