"""UTKFace (sections 5.2, B3 and C1): the age, gender and ethnicity of a face.

The images are found in a zip or a folder, labelled by their names, and decoded once.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from PIL import Image

from pamal_companion.data.files import cached, data_root, expect, reading
from pamal_companion.data.images import Images
from pamal_companion.data.samples import faces as drawn_faces
from pamal_companion.data.splits import Splits, fingerprint, splits, takes_sample
from pamal_core.errors import InputError

# Tenths for training, validation and test; the paper leaves none for validation.
SHARES = {"70/10/20": (7, 1, 2), "paper": (8, 0, 2)}
FULL_SIZE, SAMPLE_SIZE = 64, 32
SAMPLE_NUM = 3_000  # 2,100 / 300 / 600
SAMPLE_SEED = 116
SITE = "https://susanqq.github.io/UTKFace/"
OLDEST = 116
# Of the originals one has a space in its date and one the letters "jpg"; three lack the ethnicity.
ENDING = r"(?:\.[a-z]+)*\.jpg"
LABELLED = re.compile(rf"(\d{{1,3}})_([01])_([0-4])_[\da-z ]+{ENDING}", re.ASCII | re.IGNORECASE)
UNLABELLED = re.compile(rf"\d{{1,3}}_[01]_\d{{17}}{ENDING}", re.ASCII | re.IGNORECASE)


class Faces(NamedTuple):
    """Images with the age in years, the gender and the ethnicity of each.

    `mark` tells apart data that differ. `num_unlabelled` counts the images that were left out.
    """

    images: UInt8[np.ndarray, "n 3 size size"]
    ages: Int64[np.ndarray, " n"]
    genders: Int64[np.ndarray, " n"]
    ethnicities: Int64[np.ndarray, " n"]
    mark: str
    num_unlabelled: int = 0


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

    The files are in `utkface/` under `root`, as `find` says; the sample is drawn faces. `size` is
    64 by default and 32 for the sample.

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
        faces = read(folder, size)
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
    """The rows of training, validation and test; rounded down as in the authors' code."""
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


def labels(path: Path) -> tuple[int, int, int] | None:
    """Age (0 to 116 years), gender (0 or 1) and ethnicity (0 to 4) by the name of an image.

    None for a name without the ethnicity, which has no usable label; InputError for any other name.
    """
    if (match := LABELLED.fullmatch(path.name)) and int(match[1]) <= OLDEST:
        return int(match[1]), int(match[2]), int(match[3])
    if UNLABELLED.fullmatch(path.name):
        return None
    raise InputError(
        "Expected the name of an image to be age_gender_ethnicity_date.jpg.chip.jpg, with an age "
        f"from 0 to {OLDEST}, a gender of 0 or 1 and an ethnicity from 0 to 4. Found {path}."
    )


def read(folder: Path, size: int) -> Faces:
    """The labelled images in `folder`, in the order of their names, where `find` finds them.

    Images are decoded to RGB and resized, bilinearly as by torchvision's Resize, to `size` x `size`
    pixels. They are kept by `cached`, under the names and contents of the files, so that a file
    that has changed is decoded again. Raises InputError as `find` does, and for an unreadable file.
    """
    source, contents, rows, num_unlabelled = find(folder)

    def make() -> dict[str, np.ndarray]:
        images = np.empty((len(rows), 3, size, size), np.uint8)
        for out, name in zip(images, rows, strict=True):
            with (
                reading("a whole JPEG image", f"{name!r} in {source}"),
                Image.open(io.BytesIO(contents[name]()), formats=["JPEG"]) as image,
            ):
                small = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
            out[:] = np.asarray(small).transpose(2, 0, 1)
        return {"images": images}

    digest = hashlib.sha256()  # of names and contents: the same whether they are zipped or not
    for name in rows:
        with reading("a whole file", f"{name!r} in {source}"):
            content = contents[name]()
        digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    mark = digest.hexdigest()
    images = cached(f"utkface-{size}", f"{mark} at {size}", make)["images"]
    ages, genders, ethnicities = np.array(list(rows.values()), np.int64).T
    return Faces(images, ages, genders, ethnicities, mark, num_unlabelled)


def find(
    folder: Path,
) -> tuple[Path, dict[str, Callable[[], bytes]], dict[str, tuple[int, int, int]], int]:
    """The one zip in `folder`, `folder` itself or the one folder in it; what reads each file there,
    by its name without folders; the labels of the images by name, in order; and the number of
    images without. Names that begin with a dot are passed over, and no image is opened.

    Raises InputError for a missing or misnamed file, for two places at once, and for an archive
    that is damaged or has a name twice.
    """
    entries = _entries(folder) if folder.exists() else []
    here = [folder] if any(path.suffix.lower() == ".jpg" for path in entries) else []
    places = here + [path for path in entries if path.suffix.lower() == ".zip" or path.is_dir()]
    if len(places) != 1:
        raise InputError(
            f"Expected UTKFace as one zip in {folder}, or unpacked in it or in one folder in it. "
            f"Found {[path.name for path in places or entries][:5] or 'nothing'}. It cannot be "
            "downloaded automatically: get the aligned and cropped faces "
            f"(age_gender_ethnicity_date.jpg.chip.jpg) from {SITE} and put them there, "
            'or name another data root ("data_root" or $PAMAL_DATA).'
        )
    (source,) = places
    contents: dict[str, Callable[[], bytes]] = {}
    if source.is_dir():
        contents = {path.name: path.read_bytes for path in _entries(source)}
    else:
        with reading("a whole zip", source):
            archive = zipfile.ZipFile(source)
        for info in archive.infolist():
            path = PureWindowsPath(info.filename)  # both kinds of slashes
            if not info.is_dir() and not path.name.startswith("."):
                is_new = path.name not in contents
                expect(is_new, f"each name once in {source}", f"{path.name!r} twice")
                contents[path.name] = partial(archive.read, info)
    known = {name: labels(source / name) for name in sorted(contents)}
    rows = {name: row for name, row in known.items() if row is not None}
    expect(rows, f"images in {source}", "none with a label")
    return source, contents, rows, len(known) - len(rows)


def _entries(folder: Path) -> list[Path]:
    with reading("a folder", folder):
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
