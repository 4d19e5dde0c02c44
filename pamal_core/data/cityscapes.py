"""CityScapes, sections 5.3 and C1: what is in each pixel of a street scene, and how far away."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int, Int8, UInt8

from pamal_core.data import cityscapes_files
from pamal_core.data.augmentation import ZoomAndFlip
from pamal_core.data.cityscapes_files import Scene, Size, Source
from pamal_core.data.decoded import decoded
from pamal_core.data.files import data_root
from pamal_core.data.images import Images
from pamal_core.data.splits import Splits
from pamal_core.errors import InputError, check_choice

FULL_SIZE, SAMPLE_SIZE = (128, 256), (32, 64)
VALIDATION = 500  # of the 2,975 training scenes
SAMPLE_SCENES, SAMPLE_VALIDATION, SAMPLE_TEST = 300, 60, 60


class Scenes(NamedTuple):
    """The scenes of an official split, or made-up ones."""

    images: UInt8[np.ndarray, "n 3 H W"]
    labels: Int8[np.ndarray, "n H W"]
    depth: Float32[np.ndarray, "n 1 H W"]


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    setting: str = "II",
    augment: bool | None = None,
    depth_scaling: str = "multiply",
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

    Training batches are augmented by `ZoomAndFlip(depth_scaling)` if `augment`, by default those of
    the full data (the sample is trained on for too few steps to gain from it), the others never.

    `data` is "full" (`cityscapes/` under `root`, MTAN's arrays or else the official files, which
    give the same tensors), "sample" (made-up streets, no files) or "auto": full where that folder
    holds anything, otherwise the sample. `size` is the height and width, by default 128 x 256, of
    the sample 32 x 64. Decoded scenes are kept under $PAMAL_CACHE (1 GB; the first time takes
    minutes). `limit` keeps at most so many scenes of each part.

    Raises InputError for an unknown option, and for files that are missing, damaged or of another
    form.
    """
    _check(data, setting, size, validation, limit, seed)
    transform = ZoomAndFlip(depth_scaling)
    folder = data_root(root) / "cityscapes"
    is_found = folder.is_dir() and any(folder.iterdir())
    is_sample = data == "sample" or (data == "auto" and not is_found)
    train, test, digest = (
        _sample(size or SAMPLE_SIZE) if is_sample else _full(folder, size or FULL_SIZE)
    )
    augment = not is_sample if augment is None else augment
    if validation is None:
        validation = SAMPLE_VALIDATION if is_sample else VALIDATION
    held_out = None if setting == "I" else (validation, seed)
    rest, chosen = (rows[:limit] for rows in _divide(len(train.images), held_out))
    tested = np.arange(len(test.images))[:limit]
    parts = (
        _part(train, rest, transform if augment else None),
        _part(test, tested) if held_out is None else _part(train, chosen),
        _part(test, tested),
    )
    kind = "sample" if is_sample else "full"
    changes = depth_scaling if augment else "plain"
    mark = hashlib.sha256(digest.encode())
    for rows in (rest, chosen, tested):
        mark.update(repr(rows.tolist()).encode())
    height, width = train.labels.shape[1:]
    seeded = setting if held_out is None else f"{setting}/seed={seed}"
    data_id = f"cityscapes/{kind}/{seeded}/{height}x{width}/{changes}/{mark.hexdigest()[:12]}"
    return Splits(*parts, data_id, is_sample, _description(is_sample, parts))


def _check(
    data: str, setting: str, size: Size | None, validation: int | None, limit: int | None, seed: int
) -> None:
    check_choice("data", data, ("auto", "sample", "full"))
    if setting not in ("I", "II"):
        raise InputError(f'`setting` must be "I" or "II". Found {setting!r}.')
    if size is not None and min(size) < 1:
        raise InputError(f"`size` must be a height and a width of at least 1. Found {size}.")
    for name, value, least in (
        ("validation", validation, 1),
        ("limit", limit, 1),
        ("seed", seed, 0),
    ):
        if value is not None and value < least:
            raise InputError(f"`{name}` must be at least {least}. Found {value}.")


def _full(folder: Path, size: Size) -> tuple[Scenes, Scenes, str]:
    """The scenes for training and for test, and a digest of them."""
    source = cityscapes_files.find(folder)
    identity = f"{source.identity(folder)} at {size}, decoded in way 1"  # count up when it changes
    arrays = decoded("cityscapes", identity, lambda: _decode(source, size))
    train, test = (
        Scenes(*(arrays[f"{split}_{field}"] for field in Scenes._fields))
        for split in ("train", "test")
    )
    return train, test, str(arrays["digest"])


def _decode(source: Source, size: Size) -> dict[str, np.ndarray]:
    parts = [_read(source, scenes, size) for scenes in (source.train, source.val)]
    arrays = {
        f"{split}_{field}": values
        for split, part in zip(("train", "test"), parts, strict=True)
        for field, values in part._asdict().items()
    }
    return arrays | {"digest": np.array(_digest(parts))}


def _read(source: Source, scenes: Sequence[Scene], size: Size) -> Scenes:
    n = len(scenes)
    part = Scenes(
        np.empty((n, 3, *size), np.uint8),
        np.empty((n, *size), np.int8),
        np.empty((n, 1, *size), np.float32),
    )
    with ThreadPoolExecutor() as pool:  # what takes long, unpacking, leaves Python's lock alone
        for i, maps in enumerate(pool.map(lambda scene: source.read(scene, size), scenes)):
            for values, new in zip(part, maps, strict=True):
                values[i] = new
    return part


def _sample(size: Size) -> tuple[Scenes, Scenes, str]:
    """Made-up scenes, the same ones for every seed, in place of those for training and for test."""
    from pamal_core.data import street_sample  # only the sample needs it

    arrays = street_sample.scenes(SAMPLE_SCENES + SAMPLE_TEST, size, 0)
    train, test = (
        Scenes(*(values[rows] for values in arrays))
        for rows in (slice(SAMPLE_SCENES), slice(SAMPLE_SCENES, None))
    )
    return train, test, _digest((train, test))


def _digest(parts: Sequence[Scenes]) -> str:
    """A SHA-256 over all pixels; depth in the steps of the files, because the last bits of made-up
    depth may depend on the processor."""
    digest = hashlib.sha256()
    for images, labels, depth in parts:
        for values in (images, labels, np.rint(depth * 65535).astype("<u4")):
            digest.update(repr(values.shape).encode())
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def _divide(
    num: int, held_out: tuple[int, int] | None
) -> tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]:
    """The rows for training and those that the (number, seed) `held_out` takes for validation."""
    if held_out is None:
        return np.arange(num), np.arange(0)
    validation, seed = held_out
    if validation >= num:
        raise InputError(
            f"`validation` must leave some of the {num} training scenes. Found {validation}."
        )
    order = np.random.default_rng(seed).permutation(num)
    return np.sort(order[validation:]), np.sort(order[:validation])


def _part(
    scenes: Scenes, rows: Int[np.ndarray, "_"], transform: ZoomAndFlip | None = None
) -> Images:
    return Images(*(torch.from_numpy(values[rows]) for values in scenes), augment=transform)


def _description(is_sample: bool, parts: Sequence[Images]) -> str:
    source = "a small sample of made-up street scenes" if is_sample else "CityScapes"
    train, validation, test = map(len, parts)
    height, width = parts[0].tensors[1].shape[1:]
    return (
        f"Classes and inverse depth of pixels from {source} at {height}x{width}: "
        f"{train:,} for training, {validation:,} for validation, {test:,} for test."
    )
