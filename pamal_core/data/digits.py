"""Single handwritten digits to compose images from: MNIST, or those that scikit-learn brings."""

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from pamal_core.data.files import verified

# The mirror that torchvision uses, and the SHA-256 of the original files.
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
FOLDER = "MNIST/raw"  # under the data root, where torchvision keeps them, too
VALIDATION_DIGITS = 10_000  # the last of MNIST's 60,000 training digits


class Pool(NamedTuple):
    """The digits of one split: uint8 images [n, 28, 28] and labels [n]."""

    images: np.ndarray
    labels: np.ndarray


def mnist(folder: Path, *, download: bool = False) -> tuple[Pool, Pool, Pool]:
    """Disjoint pools of 50,000, 10,000 and 10,000 MNIST digits, from the files in `folder`."""
    arrays = [read_idx(packed) for packed in files(folder, download=download)]
    test, cut = Pool(*arrays[2:]), len(arrays[1]) - VALIDATION_DIGITS
    return Pool(*(a[:cut] for a in arrays[:2])), Pool(*(a[cut:] for a in arrays[:2])), test


def files(folder: Path, *, download: bool = False) -> list[bytes]:
    """What is in the files of MNIST in `folder`, in the order of `FILES`; InputError where one is
    missing or not the original."""
    names = [f"{name}-ubyte.gz" for name in FILES]
    return [
        verified(folder / name, sha256, url=MIRROR + name, download=download)
        for name, sha256 in zip(names, FILES.values(), strict=True)
    ]


def read_idx(packed: bytes) -> np.ndarray:
    """The uint8 array in a gzip-compressed IDX file, which its checksum has vouched for.

    The header is two zero bytes, the type (8 is uint8), the number of axes, and the length of each
    as a big-endian 32-bit integer. torchvision has a reader, too, whose import costs more than
    composing a whole data set here.
    """
    whole = gzip.decompress(packed)
    start = 4 + 4 * whole[3]
    shape = np.frombuffer(whole[4:start], ">u4")
    return np.frombuffer(whole, np.uint8, offset=start).reshape(shape)


def sample() -> tuple[Pool, Pool, Pool]:
    """Disjoint pools of 1,197, 300 and 300 real handwritten digits, made to look like MNIST.

    scikit-learn's are 8x8 with grey levels 0 to 16 and fill their frame; MNIST's fill the inner
    20x20 of 28x28. They are shuffled before they are cut because neighbours are by the same
    writers, and a few writers make a poor test set. The shuffle never changes, so no seed puts a
    test digit into training.
    """
    from sklearn.datasets import load_digits  # slow to import, and only the sample needs it

    bundle = load_digits()
    small = torch.from_numpy(bundle.images)[:, None] / 16
    large = F.interpolate(small, size=20, mode="bicubic", antialias=True).clamp(0, 1)
    images = (F.pad(large, [4] * 4) * 255).round().to(torch.uint8)[:, 0].numpy()
    order = np.random.default_rng(0).permutation(len(images))
    labels = bundle.target.astype(np.uint8)
    cuts = np.split(order, [1197, 1497])
    train, validation, test = (Pool(images[rows], labels[rows]) for rows in cuts)
    return train, validation, test
