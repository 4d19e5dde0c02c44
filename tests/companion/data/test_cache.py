"""What is decoded is kept, and taken again only while it is whole and of the same files."""

import pickle
import shutil
import warnings
import zlib

import numpy as np
import pytest
import torch

from pamal_companion.data.files import cache_root, cached

ARRAYS = {"a": np.arange(1000, dtype=np.float32), "b": np.ones((2, 3), np.int8)}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file in which the arrays are kept, of a cache that has nothing else."""
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "cache"))
    made()
    (path,) = (tmp_path / "cache").iterdir()
    return path


def made(identity="one"):
    """How often the arrays were made; whatever the cache says, they are the same."""
    calls = []
    found = cached("things", identity, lambda: (calls.append(1), ARRAYS)[1])
    assert found.keys() == ARRAYS.keys()
    assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)
    return len(calls)


def test_the_folder_for_what_is_made_is_not_the_one_of_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # who runs the tests may have none
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path))
    monkeypatch.setenv("PAMAL_DATA", "/shared")
    assert cache_root() == tmp_path
    monkeypatch.delenv("PAMAL_CACHE")
    assert cache_root() == tmp_path / "home" / ".cache" / "pamal" / "cache"


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def without_an_array(path):
    """As where a flipped bit makes the directory of the archive shorter."""
    with np.load(path) as archive:
        identity = archive["identity"]
    np.savez(path, identity=identity, a=ARRAYS["a"])


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "flipped bit": flipped,
    "no archive": lambda path: path.write_bytes(b"PK?"),
    "pickled": lambda path: path.write_bytes(pickle.dumps({"a": 1})),
    "torch's": lambda path: torch.save({"a": torch.zeros(2)}, path),
    "compressed": lambda path: path.write_bytes(zlib.compress(b"a")),
    "without an identity": lambda path: np.savez(path, **ARRAYS),
    "of something else": lambda path: np.savez(path, identity=np.array("two"), a=np.zeros(3)),
    "an array is missing": without_an_array,
    "would unpack to more": lambda path: np.savez_compressed(
        path, identity=["one", "a"], a=np.zeros(1 << 20)
    ),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_file_that_is_damaged_or_of_something_else_is_made_again(kept, how):
    whole = kept.read_bytes()
    assert made() == 0
    DAMAGE[how](kept)
    assert made() == 1
    assert kept.read_bytes() == whole and [*kept.parent.iterdir()] == [kept]
    assert made() == 0


def test_the_file_of_another_identity_is_not_taken_under_this_name(kept):
    whole = kept.read_bytes()
    assert made("two") == 1
    (other,) = {*kept.parent.iterdir()} - {kept}
    shutil.copy(other, kept)
    assert made() == 1 and kept.read_bytes() == whole


# Each is part of the header of the array `a`, a place in that part, and a bit. If one of these bits
# is flipped, the header still fits the first bytes of the array, and only the CRC tells.
HEADERS = {
    "length": (b"\1\0v\0{'descr': '<f4'", 2, 5),
    "first digit": (b"'shape': (1000,)", 10, 0),
    "last digit": (b"'shape': (1000,)", 13, 4),
}


@pytest.mark.parametrize("flip", HEADERS.values(), ids=HEADERS)
def test_no_flipped_bit_of_a_header_changes_an_array(kept, flip):
    part, offset, bit = flip
    content = bytearray(kept.read_bytes())
    content[content.index(part) + offset] ^= 1 << bit
    kept.write_bytes(content)
    made()


def test_a_folder_in_its_place_costs_no_data(kept):
    kept.unlink()
    kept.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it cannot be replaced by a file
        assert made() == 1


def test_a_cache_that_cannot_be_written_costs_a_warning_and_no_data(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "file" / "made"))
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"Could not keep the decoded data .* \$PAMAL_CACHE"):
            assert made() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
