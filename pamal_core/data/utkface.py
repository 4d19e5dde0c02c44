"""UTKFace (sections 5.2, B3 and C1): the age, gender and ethnicity of a face."""

import hashlib
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64

from pamal_core.data import utkface_files
from pamal_core.data.files import data_root
from pamal_core.data.images import Images
from pamal_core.data.splits import Splits
from pamal_core.data.utkface_files import Faces
from pamal_core.errors import InputError, check_choice

# Tenths for training, validation and test; the paper leaves none for validation.
SHARES = {"70/10/20": (7, 1, 2), "paper": (8, 0, 2)}
FULL_SIZE, SAMPLE_SIZE = 64, 32
SAMPLE_NUM = 3_000  # 2,100 / 300 / 600
SAMPLE_SEED = 116


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    size: int | None = None,
    split: str = "70/10/20",
    limit: int | None = None,
    seed: int = 0,
) -> Splits:
    """Images uint8 [n, 3, size, size] (out as floats in [0, 1]), ages float32 [n], genders int64
    [n], 0 or 1, and ethnicities int64 [n], 0 to 4.

    `split` is "70/10/20", training, validation and test as in the authors' code, with ages
    standardised by the mean and deviation of the training part; or "paper", its 80/20 with ages
    standardised on all data, as the code does for either. The paper has no validation part, so
    "paper" gives the test part for that too: what is chosen on it is chosen on test. `seed` draws
    the split; the authors have one for all their runs. `limit` keeps the first so many training
    examples, and of the other parts as large a share, at least one each.

    `data` is "full" (in `utkface/` under `root`, as `utkface_files.read` says), "sample" (drawn
    faces, no files) or "auto": full where anything is in that folder, otherwise the sample. `size`
    is 64 by default and 32 for the sample.

    Of the 23,705 labelled images 390 are exact copies of another; the 765 in question come in 375
    groups, of which 259 disagree about a label, mostly the age. They stay, as with the authors: of
    the 4,742 test images about 110 (98 to 127 over 20 seeds) are in the training part too.

    Raises InputError for an unknown option, for files that are missing, misnamed or unreadable,
    and where too few are left to split or all ages are equal.
    """
    _check(data, split, size, limit, seed)
    folder = data_root(root) / "utkface"
    is_sample = data == "sample" or (data == "auto" and not utkface_files.is_found(folder))
    size = size or (SAMPLE_SIZE if is_sample else FULL_SIZE)
    faces = _sample(size) if is_sample else utkface_files.read(folder, size)
    parts = _parts(len(faces.ages), split, limit, seed)
    mean, deviation = _scale(faces.ages if split == "paper" else faces.ages[parts[0]])
    train, validation, test = (_images(faces, rows, mean, deviation) for rows in parts)
    mark = hashlib.sha256((faces.mark + utkface_files.fingerprint(*parts)).encode()).hexdigest()
    kind, of = ("sample" if is_sample else "full"), ("" if limit is None else f"limit={limit}/")
    data_id = f"utkface/{kind}/size={size}/split={split}/seed={seed}/{of}{mark[:12]}"
    description = _description(faces, split, is_sample, parts)
    return Splits(train, validation, test, data_id, is_sample, description)


def _check(data: str, split: str, size: int | None, limit: int | None, seed: int) -> None:
    check_choice("data", data, ("auto", "sample", "full"))
    check_choice("split", split, [*SHARES])
    if size is not None and size < 1:
        raise InputError(f"`size` must be at least 1 pixel. Found size={size}.")
    if limit is not None and limit < 2:
        raise InputError(f"`limit` must be at least 2 examples. Found limit={limit}.")
    if seed < 0:
        raise InputError(f"`seed` must be at least 0. Found seed={seed}.")


def _sample(size: int) -> Faces:
    """Drawn faces, always the same."""
    from pamal_core.data import face_sample  # here, as only the sample needs it

    drawn = face_sample.faces(SAMPLE_NUM, size, SAMPLE_SEED)
    return Faces(*drawn, utkface_files.fingerprint(*drawn))


def _parts(num: int, split: str, limit: int | None, seed: int) -> list[Int64[np.ndarray, " _"]]:
    """The rows of training, validation and test; rounded down as in the authors' code, with what
    is left over for test."""
    train, validation, _ = SHARES[split]
    order = np.random.default_rng(seed).permutation(num)
    cuts = [num * train // 10, num * train // 10 + num * validation // 10]
    parts = np.split(order, cuts)
    if not validation:
        parts[1] = parts[2]
    if min(map(len, parts)) < 1:
        raise InputError(
            "Expected enough images for training, validation and test to have one each. "
            f"Found {num}."
        )
    if limit is None or limit >= len(parts[0]):
        return parts
    # The product first: no part loses an example to rounding of the share.
    return [rows[: max(1, len(rows) * limit // len(parts[0]))] for rows in parts]


def _scale(ages: Int64[np.ndarray, " n"]) -> tuple[float, float]:
    """Mean and deviation; the latter with n - 1, as torch's and so the authors'."""
    if len(set(ages.tolist())) < 2:
        raise InputError(f"Expected different ages to standardise by. Found only {ages[0]}.")
    return float(ages.mean()), float(ages.std(ddof=1))


def _images(faces: Faces, rows: Int64[np.ndarray, " n"], mean: float, deviation: float) -> Images:
    ages = ((faces.ages[rows] - mean) / deviation).astype(np.float32)
    arrays = faces.images[rows], ages, faces.genders[rows], faces.ethnicities[rows]
    return Images(*map(torch.from_numpy, arrays))


def _description(
    faces: Faces, split: str, is_sample: bool, parts: list[Int64[np.ndarray, " _"]]
) -> str:
    left_out = f" ({faces.num_unlabelled} images without a label left out)"
    source = "a small sample of drawn faces" if is_sample else "UTKFace"
    train, validation, test = map(len, parts)
    also = "and again " if split == "paper" else ""
    return (
        f"Age, gender and ethnicity from {source}{left_out if faces.num_unlabelled else ''}: "
        f"{train:,} for training, {validation:,} for validation, {also}{test:,} for test."
    )
