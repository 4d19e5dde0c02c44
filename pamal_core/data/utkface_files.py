"""The images of UTKFace: found in a zip or a folder, labelled by their names, decoded once."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image

from pamal_core.data.files import cached, expect, reading
from pamal_core.errors import InputError

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
    that is damaged, or has a path that leads out of it or a name twice.
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
            path = PureWindowsPath(info.filename)  # both kinds of slashes, and drives
            inside = not path.anchor and ".." not in path.parts
            expect(inside, f"paths inside {source}", repr(info.filename))
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
