"""IDX files are read as written, and a damaged one is named."""

import gzip
import struct

import numpy as np
import pytest

from pamal_core.data.digits import read_idx
from pamal_core.errors import InputError


def write_idx(path, array, *, kind=8, shape=None):
    shape = array.shape if shape is None else shape
    header = struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))
    return path


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 5), (0, 28, 28)])
def test_an_array_of_any_shape_is_read_as_written(tmp_path, shape):
    array = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    got = read_idx(write_idx(tmp_path / "a.gz", array))
    assert got.dtype == np.uint8 and got.shape == shape
    assert np.array_equal(got, array)


def test_torchvisions_reader_gives_the_same(tmp_path):
    mnist = pytest.importorskip("torchvision.datasets.mnist")
    array = np.random.default_rng(0).integers(256, size=(4, 28, 28), dtype=np.uint8)
    path = write_idx(tmp_path / "a.gz", array)
    plain = tmp_path / "a"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert np.array_equal(mnist.read_sn3_pascalvincent_tensor(str(plain)).numpy(), read_idx(path))


@pytest.mark.parametrize("shape", [(2, 4), (2, 2), (2**31, 2**31)])
def test_a_length_other_than_the_headers_is_named(tmp_path, shape):
    path = write_idx(tmp_path / "short.gz", np.zeros(6, np.uint8), shape=shape)
    with pytest.raises(InputError, match=r"bytes of shape .* in .*short\.gz. Found 6"):
        read_idx(path)


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"\0\0\x08\x03\0\0", b"PK\3\4 a zip"])
def test_a_file_without_the_header_is_named(tmp_path, content):
    path = tmp_path / "odd.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(InputError, match=r"IDX file of unsigned bytes in .*odd\.gz\. Found"):
        read_idx(path)


def test_another_type_of_numbers_is_refused(tmp_path):
    path = write_idx(tmp_path / "floats.gz", np.zeros(3, np.float32), kind=0x0D)
    with pytest.raises(InputError, match=r"unsigned bytes.*'00 00 0d 01'"):
        read_idx(path)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-9], lambda b: b[:30] + b"\xff" * 9, lambda b: b"no"]
)
def test_a_damaged_gzip_file_is_named(tmp_path, damage):
    path = write_idx(tmp_path / "bad.gz", np.arange(200, dtype=np.uint8))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=r"whole gzip file\. .*bad\.gz"):
        read_idx(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.gz could not be read"):
        read_idx(tmp_path / "none.gz")
