"""UTKFace (sections 5.2, B3 and C1): the age, gender and ethnicity of a face."""

from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int64

from pamal_core.data import utkface_files
from pamal_core.data.files import data_root, expect
from pamal_core.data.images import Images
from pamal_core.data.samples import faces as drawn_faces
from pamal_core.data.splits import Splits, fingerprint, splits, takes_sample
from pamal_core.data.utkface_files import Faces

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
    split: Literal["70/10/20", "paper"] = "70/10/20",
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

    The files are in `utkface/` under `root`, as `utkface_files.find` says; the sample is drawn
    faces. `size` is 64 by default and 32 for the sample.

    Of the 23,705 labelled images 390 are exact copies of another; the 765 in question come in 375
    groups, of which 259 disagree about a label, mostly the age. They stay, as with the authors: of
    the 4,742 test images about 110 (98 to 127 over 20 seeds) are in the training part too.

    InputError also where too few images are left to split or all ages are equal.
    """
    folder = data_root(root) / "utkface"
    is_sample = takes_sample(data, folder)
    size = size or (SAMPLE_SIZE if is_sample else FULL_SIZE)
    if is_sample:
        drawn = drawn_faces.faces(SAMPLE_NUM, size, SAMPLE_SEED)
        faces = Faces(*drawn, fingerprint(*drawn))
    else:
        faces = utkface_files.read(folder, size)
    rows = _rows(len(faces.ages), split, limit, seed)
    known = faces.ages if split == "paper" else faces.ages[rows[0]]
    expect(len({*known}) > 1, "different ages to standardise by", f"only {known[0]}")
    # The deviation with n - 1, as torch's and so the authors'.
    ages = ((faces.ages - known.mean()) / known.std(ddof=1)).astype(np.float32)
    tensors = [*map(torch.from_numpy, (faces.images, ages, faces.genders, faces.ethnicities))]
    train, validation, test = (Images(*(t[part] for t in tensors)) for part in rows)
    parts = train, test if split == "paper" else validation, test
    content = (faces.mark + fingerprint(*rows)).encode()
    options = ["utkface", f"size={size}", f"split={split}", f"seed={seed}"]
    options += [] if limit is None else [f"limit={limit}"]
    source = "a small sample of drawn faces" if is_sample else "UTKFace"
    if faces.num_unlabelled:
        source += f" ({faces.num_unlabelled} images without a label left out)"
    of = f"Age, gender and ethnicity from {source}"
    return splits(parts, is_sample, options, content, of)


def _rows(num: int, split: str, limit: int | None, seed: int) -> list[Int64[np.ndarray, " _"]]:
    """The rows of training, validation and test; rounded down as in the authors' code, with what
    is left over for test."""
    train, validation, _ = SHARES[split]
    order = np.random.default_rng(seed).permutation(num)
    cuts = [num * train // 10, num * train // 10 + num * validation // 10]
    parts = np.split(order, cuts)
    if not validation:
        parts[1] = parts[2]
    enough = "enough images for training, validation and test to have one each"
    expect(min(map(len, parts)) > 0, enough, num)
    if limit is None or limit >= len(parts[0]):
        return parts
    # The product first: no part loses an example to rounding of the share.
    return [rows[: max(1, len(rows) * limit // len(parts[0]))] for rows in parts]
