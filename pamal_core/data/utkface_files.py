"""The images of UTKFace: found in a zip or a folder, labelled by their names, decoded once."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image

from pamal_core.data.cache import cached
from pamal_core.data.files import reading
from pamal_core.errors import InputError

SITE = "https://susanqq.github.io/UTKFace/"
OLDEST = 116
# Of the originals one has a space in its date and one the letters "jpg"; three lack the ethnicity.
ENDING = r"(?:\.[a-z]+)*\.jpg"
LABELLED = re.compile(rf"(\d{{1,3}})_([01])_([0-4])_[\da-z ]+{ENDING}", re.ASCII | re.IGNORECASE)
UNLABELLED = re.compile(rf"\d{{1,3}}_[01]_\d{{17}}{ENDING}", re.ASCII | re.IGNORECASE)
Contents = Mapping[str, Callable[[], bytes]]


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

    They stand, with a date, between underscores before the first dot. None for a name without the
    ethnicity, which has no usable label. Raises InputError for any other name.
    """
    if (match := LABELLED.fullmatch(path.name)) and int(match[1]) <= OLDEST:
        return int(match[1]), int(match[2]), int(match[3])
    if UNLABELLED.fullmatch(path.name):
        return None
    raise InputError(
        "Expected the name of an image to be age_gender_ethnicity_date.jpg.chip.jpg, with an age "
        f"from 0 to {OLDEST}, a gender of 0 or 1 and an ethnicity from 0 to 4. Found {path}."
    )


def is_found(folder: Path) -> bool:
    """Whether there is anything in `folder`: an incomplete set is to be mended, not passed over."""
    return folder.exists() and bool(_entries(folder))


def count(folder: Path) -> tuple[int, int]:
    """The number of images in `folder` with a label and without, by their names alone.

    Raises InputError for what `read` refuses before it opens an image.
    """
    with _opened(folder) as (_, _, rows, others):
        return len(rows), others


def read(folder: Path, size: int) -> Faces:
    """The labelled images in `folder`, in the order of their names.

    They are in one zip in `folder`, in `folder` itself or in one folder in it; two of these at
    once are refused. Images are decoded to RGB and resized, bilinearly as by torchvision's Resize,
    to `size` x `size` pixels. They are kept by `cached`, under the names and contents of the
    files, so that a file that has changed is decoded again. Names that begin with a dot are passed
    over; images whose name lacks the ethnicity are left out and counted.

    Raises InputError for a missing, misnamed or unreadable file, and for an archive with a path
    that leads out of it or with a name twice.
    """
    with _opened(folder) as (source, contents, rows, others):

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
            digest.update(hashlib.sha256(name.encode()).digest())
            digest.update(hashlib.sha256(content).digest())
        mark = digest.hexdigest()
        images = cached(f"utkface-{size}", f"{mark} at {size}", make)["images"]
    ages, genders, ethnicities = np.array(list(rows.values()), np.int64).T
    return Faces(images, ages, genders, ethnicities, mark, others)


def fingerprint(*arrays: np.ndarray) -> str:
    """A SHA-256 of the content of `arrays`, one after the other."""
    each = (hashlib.sha256(np.ascontiguousarray(array).data).digest() for array in arrays)
    return hashlib.sha256(b"".join(each)).hexdigest()


def _entries(folder: Path) -> list[Path]:
    with reading("a folder", folder):
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _source(folder: Path) -> Path:
    """The one zip or folder in or at `folder` with the images."""
    entries = _entries(folder) if folder.exists() else []
    here = [folder] if any(path.suffix.lower() == ".jpg" for path in entries) else []
    found = here + [path for path in entries if path.suffix.lower() == ".zip" or path.is_dir()]
    if len(found) == 1:
        return found[0]
    names = [path.name for path in found or entries]
    raise InputError(
        f"Expected UTKFace as one zip in {folder}, or unpacked in it or in one folder in it. Found "
        f"{names[:5] or 'nothing'}. It cannot be downloaded automatically: get the aligned and "
        f"cropped faces (age_gender_ethnicity_date.jpg.chip.jpg) from {SITE} and put them there, "
        'or name another data root ("data_root" or $PAMAL_DATA).'
    )


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[Path, Contents, dict[str, tuple[int, int, int]], int]]:
    """The zip or folder in or at `folder`; what reads each file in it, by its name without folders;
    the labels of the images by name, in order; and the number of images without."""
    source = _source(folder)
    found: dict[str, Callable[[], bytes]] = {}
    with ExitStack() as stack:
        if source.is_dir():
            found |= {path.name: path.read_bytes for path in _entries(source)}
        else:
            with reading("a whole zip", source):
                archive = stack.enter_context(zipfile.ZipFile(source))
            for info in archive.infolist():
                path = PureWindowsPath(info.filename)  # both kinds of slashes, and drives
                if path.anchor or ".." in path.parts:
                    raise InputError(f"Expected paths inside {source}. Found {info.filename!r}.")
                if info.is_dir() or path.name.startswith("."):
                    continue
                if path.name in found:
                    raise InputError(
                        f"Expected each name once in {source}. Found {path.name!r} twice."
                    )
                found[path.name] = partial(archive.read, info)
        known = {name: labels(source / name) for name in sorted(found)}
        rows = {name: row for name, row in known.items() if row is not None}
        if not rows:
            raise InputError(f"Expected images in {source}. Found none with a label.")
        yield source, found, rows, len(known) - len(rows)
