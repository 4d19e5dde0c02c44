"""Single handwritten digits to compose images from: MNIST, or those that scikit-learn brings."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from pamal_core.data.files import gunzip, verified
from pamal_core.errors import InputError

# The mirror that torchvision uses, and the SHA-256 of the original files.
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
VALIDATION_DIGITS = 10_000  # the last of MNIST's 60,000 training digits


class Pool(NamedTuple):
    """The digits of one split: uint8 images [n, 28, 28] and labels [n]."""

    images: np.ndarray
    labels: np.ndarray


def mnist(root: Path, *, download: bool = False) -> tuple[Pool, Pool, Pool]:
    """Disjoint pools of 50,000, 10,000 and 10,000 MNIST digits, from the files under `root`."""
    arrays = []
    for name, sha256 in FILES.items():
        path = mnist_path(root, name)
        arrays.append(read_idx(verified(path, sha256, url=MIRROR + path.name, download=download)))
    train, test = Pool(*arrays[:2]), Pool(*arrays[2:])
    cut = len(train.labels) - VALIDATION_DIGITS
    return Pool(*(a[:cut] for a in train)), Pool(*(a[cut:] for a in train)), test


def mnist_is_found(root: Path) -> bool:
    """Whether any of its files is there: an incomplete set is to be mended, not passed over."""
    return any(mnist_path(root, name).exists() for name in FILES)


def mnist_path(root: Path, name: str) -> Path:
    """Where the file `name` of `FILES` is expected; torchvision keeps it there too."""
    return root / "MNIST" / "raw" / f"{name}-ubyte.gz"


def read_idx(path: Path) -> np.ndarray:
    """The uint8 array, of any shape, in a gzip-compressed IDX file; InputError where it is anything
    else.

    The header is two zero bytes, the type (8 is uint8), the number of axes, and the length of each
    axis as a big-endian 32-bit integer; the bytes of the array follow, last axis fastest.
    torchvision has a reader, too, but it takes uncompressed files only, checks with assert, and its
    import costs more than composing a whole data set here.
    """
    content = gunzip(path)
    if len(content) < 4 or content[:3] != b"\0\0\x08" or len(content) < 4 + 4 * content[3]:
        raise InputError(
            f"Expected an IDX file of unsigned bytes. {path} starts with {content[:4].hex(' ')!r}."
        )
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], ">u4").tolist()
    if len(content) - start != math.prod(shape):
        raise InputError(
            f"{path} ought to hold {math.prod(shape)} bytes of shape {shape}. "
            f"Found {len(content) - start}."
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


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
    cuts = np.split(order, [1197, 1497])
    labels = bundle.target.astype(np.uint8)
    train, validation, test = (Pool(images[rows], labels[rows]) for rows in cuts)
    return train, validation, test
