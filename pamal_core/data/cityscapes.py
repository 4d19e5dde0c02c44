"""CityScapes, sections 5.3 and C1: what is in each pixel of a street scene, and how far away."""

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from pamal_core.data import cityscapes_files
from pamal_core.data.cityscapes_files import Scene, Size
from pamal_core.data.files import cached, data_root, expect
from pamal_core.data.images import DepthScaling, Images, zoom_and_flip
from pamal_core.data.samples import streets
from pamal_core.data.splits import Splits, fingerprint, splits, takes_sample

FULL_SIZE, SAMPLE_SIZE = (128, 256), (32, 64)
VALIDATION = 500  # of the 2,975 training scenes
SAMPLE_SCENES, SAMPLE_VALIDATION, SAMPLE_TEST = 300, 60, 60
Scenes = Sequence[np.ndarray]  # images, labels and depth of several


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    setting: Literal["I", "II"] = "II",
    augment: bool | None = None,
    depth_scaling: DepthScaling = "multiply",
    size: Size | None = None,
    validation: int | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Splits:
    """Images float32 [n, 3, H, W] in [0, 1], classes int64 [n, H, W] and inverse depth float32
    [n, 1, H, W].

    Classes are those of `cityscapes_files.CLASSES`, -1 where a pixel is to be ignored; inverse
    depth is in the unit of `cityscapes_files.inverse_depth`, 0 where it was not measured. The
    official validation scenes are for test, as there are no others whose labels are public. In
    setting "I" all 2,975 training scenes are for training and, as in the authors' code, the test
    scenes are also those for validation; in setting "II" `validation` of them, drawn by `seed`, are
    held out: 500 as in the text (475 in the code), of the sample 60.

    Training batches are augmented by `zoom_and_flip` with `depth_scaling` if `augment`, by default
    those of the full data (the sample is trained on for too few steps to gain from it), the others
    never.

    The full data are in `cityscapes/` under `root`, MTAN's arrays or else the official files, which
    give the same tensors; the sample is drawn streets. `size` is the height and width, by default
    128 x 256, of the sample 32 x 64. Decoded scenes are kept under $PAMAL_CACHE (1 GB; the first
    time takes minutes). `limit` keeps at most so many scenes of each part.
    """
    folder = data_root(root) / "cityscapes"
    is_sample = takes_sample(data, folder)
    size = size or (SAMPLE_SIZE if is_sample else FULL_SIZE)
    if is_sample:  # the same scenes for every seed
        drawn = streets.scenes(SAMPLE_SCENES + SAMPLE_TEST, size, 0)
        train, test = zip(*(np.split(values, [SAMPLE_SCENES]) for values in drawn), strict=True)
        digest = _digest((train, test))
    else:
        train, test, digest = _full(folder, size)
    augment = not is_sample if augment is None else augment
    held_out = np.zeros(len(train[0]), bool)
    if setting == "II":
        num = validation or (SAMPLE_VALIDATION if is_sample else VALIDATION)
        left = f"`validation` to leave some of the {len(held_out)} training scenes"
        expect(num < len(held_out), left, num)
        held_out[np.random.default_rng(seed).permutation(len(held_out))[:num]] = True
    each = np.flatnonzero(~held_out), np.flatnonzero(held_out), np.arange(len(test[0]))
    rows = [some[:limit] for some in each]
    parts = [
        Images(*(torch.from_numpy(values[chosen]) for values in maps))
        for maps, chosen in zip((train, train, test), rows, strict=True)
    ]
    parts[0].augment = partial(zoom_and_flip, depth_scaling=depth_scaling) if augment else None
    if setting == "I":
        parts[1] = Images(*parts[2].tensors)  # another one, so that it is not said to come again
    content = "".join([digest, *(repr(chosen.tolist()) for chosen in rows)]).encode()
    shape = "x".join(map(str, train[1].shape[1:]))
    drawn_by = [f"seed={seed}"] if setting == "II" else []
    options = ["cityscapes", setting, *drawn_by, shape, depth_scaling if augment else "plain"]
    source = "a small sample of made-up street scenes" if is_sample else "CityScapes"
    of = f"Classes and inverse depth of pixels from {source} at {shape}"
    return splits(parts, is_sample, options, content, of)


def _full(folder: Path, size: Size) -> tuple[Scenes, Scenes, str]:
    """The scenes for training and for test, and a digest of them."""
    source = cityscapes_files.find(folder)
    parts = {"train": source.train, "test": source.val}
    shapes = {"image": ("u1", (3, *size)), "label": ("i1", size), "depth": ("f4", (1, *size))}
    kind = np.dtype([(name, *shape) for name, shape in shapes.items()])

    def decoded(scenes: Sequence[Scene]) -> np.ndarray:
        with ThreadPoolExecutor() as pool:  # unpacking takes long, and leaves Python's lock alone
            found = pool.map(lambda scene: source.read(scene, size), scenes)
            return np.fromiter(found, kind, len(scenes))

    def make() -> dict[str, np.ndarray]:
        arrays = {part: decoded(scenes) for part, scenes in parts.items()}
        digest = _digest([array[name] for name in shapes] for array in arrays.values())
        return arrays | {"digest": np.array(digest)}

    found = hashlib.sha256()  # changes when a file is added, taken away or written again
    for path in (path for scene in source.train + source.val for path in scene):
        status = path.stat()
        name = path.relative_to(folder).as_posix()
        found.update(repr((name, status.st_size, status.st_mtime_ns)).encode())
    identity = f"{found.hexdigest()} at {size}, decoded in way 2"  # count up when it changes
    arrays = cached("cityscapes", identity, make)
    train, test = ([arrays[part][name] for name in shapes] for part in parts)
    return train, test, str(arrays["digest"])


def _digest(parts: Iterable[Scenes]) -> str:
    """A SHA-256 over all pixels; depth in the steps of the files, because the last bits of drawn
    depth may depend on the processor."""
    return "".join(
        fingerprint(images, labels, np.rint(depth * 65535).astype("<u4"))
        for images, labels, depth in parts
    )
