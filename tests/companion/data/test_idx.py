"""IDX files are read as written."""

import struct

import numpy as np
import pytest

from pamal_companion.data.multimnist import read_idx


def idx(array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 5), (0, 28, 28)])
def test_an_array_of_any_shape_is_read_as_written(shape):
    array = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    got = read_idx(idx(array))
    assert got.dtype == np.uint8 and got.shape == shape
    assert np.array_equal(got, array)


def test_torchvisions_reader_gives_the_same(tmp_path):
    mnist = pytest.importorskip("torchvision.datasets.mnist")
    array = np.random.default_rng(0).integers(256, size=(4, 28, 28), dtype=np.uint8)
    plain = tmp_path / "a"
    plain.write_bytes(idx(array))
    theirs = mnist.read_sn3_pascalvincent_tensor(str(plain)).numpy()
    assert np.array_equal(theirs, read_idx(idx(array)))
