"""UTKFace (sections 5.2, B3 and C1): the age, gender and ethnicity of a face.

The images are found in an archive or a folder, labelled by their names, and decoded once.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from PIL import Image

from pamal_companion.data.files import File, cached, expect, inside, reading, shown, walk
from pamal_companion.data.images import Images
from pamal_companion.data.samples import faces as drawn_faces
from pamal_companion.data.splits import Home, Splits, fingerprint, full_folder, splits
from pamal_core.errors import InputError

# Tenths for training, validation and test; the paper leaves none for validation.
SHARES = {"70/10/20": (7, 1, 2), "paper": (8, 0, 2)}
FULL_SIZE, SAMPLE_SIZE = 64, 32
SAMPLE_NUM = 3_000  # 2,100 / 300 / 600
SAMPLE_SEED = 116
HOW_TO_GET = (
    "Get the aligned and cropped faces, such as 25_0_2_20170116174525125.jpg.chip.jpg, and put "
    "them there, as a zip or tar or unpacked. The authors' link "
    "(https://susanqq.github.io/UTKFace/) is reported dead; a copy is at "
    "https://www.kaggle.com/datasets/jangedoo/utkface-new."
)
OLDEST = 116
LARGEST = 1 << 25  # bytes of a face
# Of the originals one has a space in its date and one the letters "jpg"; three lack the ethnicity.
LABELLED = re.compile(
    r"(\d{1,3})_([01])_([0-4])_[\da-z ]+(?:\.[a-z]+)*\.jpg", re.ASCII | re.IGNORECASE
)
IMAGES = (".jpg", ".jpeg", ".png")


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
    """Return images uint8 [n, 3, size, size] (out as floats in [0, 1]), ages float32 [n], genders
    int64 [n], 0 or 1, and ethnicities int64 [n], 0 to 4.

    `split` is "70/10/20", training, validation and test as in the authors' code, with ages
    standardised by the mean and deviation of the training part; or "paper", its 80/20 with ages
    standardised on all data, as the code does for either. The paper has no validation part, so
    "paper" gives the test part for that too: what is chosen on it is chosen on test. `seed` draws
    the split; the authors have one for all their runs. `limit` keeps the first so many training
    examples, and of the other parts as large a share, at least one each.

    The files are in `utkface/` under `root`, as `find` says; the sample is drawn faces. `size` is
    64 by default and 32 for the sample.

    Images that are there twice stay, as with the authors: of the 4,742 test images about 110 are in
    the training part too (`book/discrepancies`).

    InputError also where too few images are left to split or all ages are equal.
    """
    folder = full_folder(data, root, HOME)
    is_sample = folder is None
    size = size or (SAMPLE_SIZE if is_sample else FULL_SIZE)
    if folder is None:
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
    """Return the rows of training, validation and test; rounded down as in the authors' code."""
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


def labels(name: str) -> tuple[int, int, int] | None:
    """Return age (0 to 116 years), gender (0 or 1) and ethnicity (0 to 4) by the name of an image,
    age_gender_ethnicity_date.jpg.chip.jpg; None for a name that does not say them, as of three of
    the originals."""
    if (match := LABELLED.fullmatch(name)) and int(match[1]) <= OLDEST:
        return int(match[1]), int(match[2]), int(match[3])
    return None


def read(folder: Path, size: int) -> Faces:
    """Return the labelled images in `folder`, in the order of their names, where `find` finds them.

    Images are decoded to RGB and resized, bilinearly as by torchvision's Resize, to `size` x `size`
    pixels. They are kept by `cached`, under the names and contents of the files, so that a file
    that has changed is decoded again. Raises InputError as `find` does, and for an unreadable file.
    """

    def checksum(file: File) -> bytes:
        return hashlib.sha256(file.read(LARGEST)).digest()

    place, sums, rows, num_unlabelled = find(folder, checksum)

    def make() -> dict[str, np.ndarray]:
        position = {name: i for i, name in enumerate(rows)}
        images = np.empty((len(rows), 3, size, size), np.uint8)
        for file in files(folder):  # in the order in which they lie, as a tar is read
            path = Path(file.path)
            if path.parent != place or path.name not in rows:
                continue
            content = file.read(LARGEST)
            with (
                reading("a whole JPEG image", file.path),
                Image.open(io.BytesIO(content), formats=["JPEG"]) as image,
            ):
                small = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
            images[position[path.name]] = np.asarray(small).transpose(2, 0, 1)
        return {"images": images}

    digest = hashlib.sha256()  # of names and contents: the same however they are packed
    for name in rows:
        digest.update(hashlib.sha256(name.encode()).digest() + sums[name])
    mark = digest.hexdigest()
    images = cached(f"utkface-{size}", f"{mark} at {size}", make)["images"]
    ages, genders, ethnicities = np.array(list(rows.values()), np.int64).T
    return Faces(images, ages, genders, ethnicities, mark, num_unlabelled)


def files(folder: Path) -> Iterator[File]:
    """Yield the images in `folder`, in archives or not, with a label or without."""
    every = (file for found in walk(folder) for file in inside(found))
    return (file for file in every if file.path.lower().endswith(IMAGES))


def find(
    folder: Path, look: Callable[[File], Any] = lambda file: None
) -> tuple[Path, dict[str, Any], dict[str, tuple[int, int, int]], int]:
    """Return the folder below `folder` in which the images lie, as if archives were folders; by
    name what `look` returns for each; the labels by name, in order; and the number of images whose
    name has none. Only `look` opens images.

    Of several folders, in archives or not, copies (by the names, sizes and `look`) count once, and
    otherwise the one named UTKFace is taken if each other has fewer images, as in the copy on
    Kaggle. Raises InputError for no images or several such folders, and for an archive that is
    damaged or has a name twice.
    """
    every: dict[str, dict[str, tuple[int | None, Any]]] = {}
    for file in files(folder):
        place, _, name = file.path.rpartition("/")
        group = every.setdefault(place, {})
        if name in group:
            raise InputError(f"Expected each name once. Found {file.path} twice.")
        group[name] = file.size, look(file)
    groups = {Path(place): group for place, group in every.items() if any(map(labels, group))}
    deepest_first = sorted(groups, key=lambda place: (-len(place.parts), place))
    by_content = {frozenset(groups[place].items()): place for place in deepest_first}
    places = sorted(by_content.values(), key=lambda place: place.stem.lower() != "utkface")
    if not places:
        what = f"the faces of UTKFace in {folder}, named age_gender_ethnicity_date.jpg"
        raise InputError(f"Expected {what}. Found {shown(folder)}. {HOW_TO_GET}")
    chosen, *others = places
    is_whole = all(len(groups[other]) < len(groups[chosen]) for other in others)
    if others and not (is_whole and chosen.stem.lower() == "utkface"):
        counts = [f"{len(groups[p]):,} images in {p.relative_to(folder)}" for p in places]
        counts[5:] = ["others"] if counts[5:] else []
        raise InputError(
            f"Expected the faces of UTKFace in one folder or archive in {folder}. Found "
            f"{', '.join(counts)}. Leave only the one that has them all, or put all into one."
        )
    known = {name: labels(name) for name in sorted(groups[chosen])}
    rows = {name: row for name, row in known.items() if row is not None}
    looks = {name: look for name, (_, look) in groups[chosen].items()}
    return chosen, looks, rows, len(known) - len(rows)


HOME = Home("utkface", ("*.chip.jpg", "utkface*.*", "*.zip"), find)
