"""Which data sets are there, and what to do about those that are not."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from pamal_core.data import census, cityscapes_files, digits, utkface_files
from pamal_core.data.files import unpacked, verified
from pamal_core.errors import InputError


class Status(NamedTuple):
    """What was found of a data set.

    `what` says what there is or what is wrong with it, `bytes` is the size of all files in `place`,
    and `advice` is what makes the data ready, empty where they are.
    """

    name: str
    state: Literal["ready", "missing", "damaged"]
    what: str
    place: Path
    bytes: int
    advice: str


class _DataSet(NamedTuple):
    """Where it lies under the root, what checks it there, how it is had, and what downloads it to
    the root if something may."""

    folder: str
    check: Callable[[Path], str]
    advice: str
    fetch: Callable[[Path], object] | None = None


def _digits(folder: Path) -> str:
    for name, sha256 in digits.FILES.items():
        path = digits.mnist_path(folder.parent, name)
        verified(path, sha256, url=digits.MIRROR + path.name)
    return f"{len(digits.FILES)} files with the right SHA-256"


def _people(folder: Path) -> str:
    for name, sha256 in census.FILES.items():
        unpacked(folder / name, sha256, url=census.SOURCE)
    return f"{len(census.FILES)} files whose texts have the right SHA-256"


def _faces(folder: Path) -> str:
    labelled, others = utkface_files.count(folder)
    return f"{labelled:,} images labelled by their names, {others:,} without a label"


def _streets(folder: Path) -> str:
    source = cityscapes_files.find(folder)
    mtan = source.read is cityscapes_files.read_mtan
    layout = "MTAN's arrays" if mtan else "the official files"
    return f"{layout}, {len(source.train):,} scenes for training and {len(source.val):,} for test"


DATA_SETS = {
    "mnist": _DataSet(
        "MNIST",
        _digits,
        "Download it: python -m pamal_core data --get mnist",
        lambda root: digits.mnist(root, download=True),
    ),
    "census": _DataSet(
        "census", _people, f"Fetch {' and '.join(census.FILES)} from {census.SOURCE}."
    ),
    "utkface": _DataSet(
        "utkface",
        _faces,
        f"Get the aligned and cropped faces from {utkface_files.SITE}, as one zip or unpacked.",
    ),
    "cityscapes": _DataSet(
        "cityscapes",
        _streets,
        "Register at https://www.cityscapes-dataset.com and unpack leftImg8bit, gtFine and "
        "disparity, or MTAN's train and val.",
    ),
}
"""The data sets by name."""


def status(name: str, root: Path, *, download: bool = False) -> Status:
    """What there is of data set `name`, one of `DATA_SETS`, under `root`; with `download` once what
    is missing has been fetched, where it may be.

    Checksums are computed where there are any to compare with; images are counted and their names
    read, but none is opened.
    """
    data = DATA_SETS[name]
    if download and data.fetch:
        try:
            data.fetch(root)
        except InputError as error:
            return status(name, root)._replace(what=str(error))
    place = root / data.folder
    try:
        size = sum(path.lstat().st_size for path in place.rglob("*") if path.is_file())
        if not place.exists() or not any(place.iterdir()):
            return Status(name, "missing", "nothing there", place, size, data.advice)
        return Status(name, "ready", data.check(place), place, size, "")
    except InputError as error:
        what = str(error).replace(cityscapes_files.HOW_TO_GET, "").strip()
    except OSError as error:
        what, size = f"{place} could not be read: {error.strerror or error}.", 0
    return Status(name, "damaged", what, place, size, data.advice)
