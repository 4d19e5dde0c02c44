"""MultiMNIST and MultiMNIST3 (appendices C1 and C3): two or three digits laid over each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch.nn import functional as F
from torch.utils.data import TensorDataset

from pamal_core.data import digits
from pamal_core.data.files import data_root
from pamal_core.data.splits import Splits, splits, takes_sample


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
    """Images float32 [n, 1, 28, 28] and one label tensor int64 [n] per digit, 0 to 9.

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
    folder = data_root(root) / digits.FOLDER
    is_sample = takes_sample(data, folder)
    pools = digits.sample() if is_sample else digits.mnist(folder, download=data == "full")
    if split == "released":
        train, validation, test = pools
        both = digits.Pool(*map(np.concatenate, zip(train, validation, strict=True)))
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
        else f"MNIST digits, others for {others}"
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
    pool: digits.Pool, draw: Int[np.ndarray, "n T"], layout: Layout, chunk: int = 4096
) -> TensorDataset:
    """Digits `draw` of `pool` laid out and resized, in chunks so that the canvases stay few."""
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
