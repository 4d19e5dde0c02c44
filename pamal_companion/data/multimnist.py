"""MultiMNIST and MultiMNIST3 (appendices C1 and C3): two or three digits laid over each other, of
MNIST or of those that scikit-learn brings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch.nn import functional as F
from torch.utils.data import TensorDataset

from pamal_companion.data.files import complete, fetch
from pamal_companion.data.splits import Home, Splits, full_folder, splits

# The mirror that torchvision uses, and size and SHA-256 of its files, whose names end in
# "-ubyte.gz" there.
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
PACKED = {
    "train-images-idx3": (
        9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "train-labels-idx1": (
        28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "t10k-images-idx3": (
        1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "t10k-labels-idx1": (4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
}
SUMS = (
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
FILES = dict(
    zip(PACKED, zip((47_040_016, 60_008, 7_840_016, 10_008), SUMS, strict=True), strict=True)
)
HOW_TO_GET = f"Download it: python -m pamal_companion data --get mnist (from {MIRROR})."
VALIDATION_DIGITS = 10_000  # the last of MNIST's 60,000 training digits


class Pool(NamedTuple):
    """The digits of one split: uint8 images [n, 28, 28] and labels [n]."""

    images: np.ndarray
    labels: np.ndarray


class Layout(NamedTuple):
    """Where the digits lie, and how the canvas becomes 28x28.

    `corners` has the (row, column) of the top-left pixel of each digit on a square of `canvas`
    pixels, in the order of the tasks. `mode` and `antialias` are those of
    `torch.nn.functional.interpolate`.
    """

    canvas: int
    corners: tuple[tuple[int, int], ...]
    mode: str = "bicubic"
    antialias: bool = True  # bicubic with it is what Pillow does


# By (number of digits, offset of the last corner); the first of each number is what the authors'
# code does. For two digits the paper's text, "bottom-right", is offset 8; the code leaves two rows
# and columns empty instead, so its digits overlap more and are harder to tell apart. For three
# digits the code takes the bottom one second; what it resizes with (torchvision 0.15 on tensors)
# does not smooth.
LAYOUTS = {
    (2, 6): Layout(36, ((0, 0), (6, 6))),
    (2, 8): Layout(36, ((0, 0), (8, 8))),
    (3, 14): Layout(42, ((0, 0), (14, 7), (0, 14)), mode="bilinear", antialias=False),
}
# By split the images for training, validation and test; those of the sample are a tenth.
SIZES = {"disjoint": (60_000, 10_000, 10_000), "released": (50_000, 10_000, 10_000)}


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    num_digits: int = 2,
    offset: int | None = None,
    antialias: bool | None = None,
    split: Literal["disjoint", "released"] = "disjoint",
    seed: int = 0,
    sizes: Sequence[int] | None = None,
) -> Splits:
    """Return images float32 [n, 1, 28, 28] and one label tensor int64 [n] per digit, 0 to 9.

    As in appendices C1 and C3, with the authors' code where the text leaves a choice: digits are
    drawn with replacement, pasted on an empty canvas at the places of `LAYOUTS`, the brighter pixel
    winning, and the canvas is resized. Pixels are MNIST's divided by 255, not normalised further;
    the bicubic resize overshoots [0, 1] by up to 0.15, and like the authors we do not clip. Two
    deviations: a validation image has no digit in common with a training image, and an image may
    show the same digit twice, once in 50,000. With the `split` "released" the first is as in the
    authors' code: 60,000 composed images, of which 50,000 are for training, so that a digit can be
    in both parts.

    The full data are MNIST in `MNIST/raw` under `root`, downloaded for "full" where they are
    missing; the sample is scikit-learn's digits. `offset` picks the layout, by default that of the
    authors' code; `antialias` says whether the resize smooths, by default as the layout says.
    `seed` draws the digits; the pools they are drawn from are fixed. `sizes` counts the images for
    training, validation and test.
    """
    offset = offset or next(o for n, o in LAYOUTS if n == num_digits)
    layout = LAYOUTS[num_digits, offset]
    if antialias is not None:
        layout = layout._replace(antialias=antialias)
    folder = full_folder(data, root, HOME)
    is_sample = folder is None
    pools = sample() if folder is None else mnist(folder, download=data == "full")
    if split == "released":
        train, validation, test = pools
        both = Pool(*map(np.concatenate, zip(train, validation, strict=True)))
        pools = both, both, test
    sizes = tuple(sizes or (size // (10 if is_sample else 1) for size in SIZES[split]))
    # One stream for each split, so that the size of one changes nothing in the others.
    streams = np.random.SeedSequence(seed).spawn(len(sizes))
    draws = [
        np.random.default_rng(stream).integers(len(pool.labels), size=(size, num_digits))
        for stream, pool, size in zip(streams, pools, sizes, strict=True)
    ]
    parts = [_compose(pool, draw, layout) for pool, draw in zip(pools, draws, strict=True)]
    others = "training, validation and test" if split == "disjoint" else "test"
    source = (
        "a small sample, scikit-learn's 1,797 handwritten digits in place of MNIST"
        if is_sample
        else f"MNIST, with different digits for {others}"
    )
    name = "multimnist" if num_digits == 2 else f"multimnist{num_digits}"
    options = name, f"offset={offset}", f"seed={seed}"
    of = f"Images of {num_digits} overlapping digits from {source}"
    # What the images follow from, not the images: their last bits depend on the processor, and a
    # run would not be found again on another machine. Checksums pin MNIST's own pixels.
    content = repr(tuple(layout)).encode() + b"".join(
        pool.labels.tobytes() + draw.astype("<i8").tobytes()
        for pool, draw in zip(pools, draws, strict=True)
    )
    return splits(parts, is_sample, options, content, of)


def _compose(
    pool: Pool, draw: Int[np.ndarray, "n T"], layout: Layout, chunk: int = 4096
) -> TensorDataset:
    """Return digits `draw` of `pool` laid out and resized, in chunks so that the canvases stay
    few."""
    images = torch.empty(len(draw), 1, 28, 28)
    for start in range(0, len(draw), chunk):
        rows = draw[start : start + chunk]
        canvas = np.zeros((len(rows), layout.canvas, layout.canvas), np.uint8)
        for digit, (top, left) in zip(rows.T, layout.corners, strict=True):
            window = canvas[:, top : top + 28, left : left + 28]
            np.maximum(window, pool.images[digit], out=window)
        grey = torch.from_numpy(canvas)[:, None].float() / 255
        images[start : start + chunk] = F.interpolate(
            grey, size=28, mode=layout.mode, antialias=layout.antialias
        )
    labels = torch.from_numpy(pool.labels[draw].astype(np.int64))
    return TensorDataset(images, *labels.T.contiguous())


def mnist(folder: Path, *, download: bool = False) -> tuple[Pool, Pool, Pool]:
    """Return disjoint pools of 50,000, 10,000 and 10,000 MNIST digits, from the files in
    `folder`."""
    arrays = [read_idx(whole) for whole in files(folder, download=download)]
    test, cut = Pool(*arrays[2:]), len(arrays[1]) - VALIDATION_DIGITS
    return Pool(*(a[:cut] for a in arrays[:2])), Pool(*(a[cut:] for a in arrays[:2])), test


def files(folder: Path, *, download: bool = False) -> list[bytes]:
    """Return what is in the files of MNIST in `folder`, in the order of `FILES` and however packed,
    with `download` once those that are missing have been fetched; InputError as `complete`."""

    def get(name: str) -> None:
        fetch(f"{MIRROR}{name}-ubyte.gz", *PACKED[name], folder / f"{name}-ubyte.gz")

    return complete(folder, FILES, HOW_TO_GET, get if download else None)


# Where torchvision keeps them, too.
HOME = Home("MNIST/raw", ("t10k-images*", "*.zip"), files)


def read_idx(whole: bytes) -> np.ndarray:
    """Return the uint8 array in an IDX file, which its checksum has vouched for.

    The header is two zero bytes, the type (8 is uint8), the number of axes, and the length of each
    as a big-endian 32-bit integer. torchvision has a reader, too, whose import costs more than
    composing a whole data set here.
    """
    start = 4 + 4 * whole[3]
    shape = np.frombuffer(whole[4:start], ">u4")
    return np.frombuffer(whole, np.uint8, offset=start).reshape(shape)


def sample() -> tuple[Pool, Pool, Pool]:
    """Return disjoint pools of 1,197, 300 and 300 real handwritten digits, made to look like MNIST.

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
