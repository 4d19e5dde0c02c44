"""Which data sets are there, and what to do about those that are not."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pamal_companion.data import census, cityscapes, multimnist, utkface
from pamal_companion.data.splits import is_there
from pamal_core.errors import InputError


class DataSet(NamedTuple):
    """Its folder under the root, what checks the folder and says what is in it, how it is had, and
    what downloads it to the folder if something may."""

    folder: str
    check: Callable[[Path], str]
    advice: str
    fetch: Callable[[Path], object] | None = None


def _faces(folder: Path) -> str:
    _, _, rows, others = utkface.find(folder)
    return f"{len(rows):,} images labelled by their names, {others:,} without a label"


def _streets(folder: Path) -> str:
    source = cityscapes.find(folder)
    form = "MTAN's arrays" if source.read is cityscapes.read_mtan else "the official files"
    return f"{form}, {len(source.train):,} scenes for training and {len(source.val):,} for test"


DATA_SETS = {
    "mnist": DataSet(
        multimnist.FOLDER,
        lambda folder: f"{len(multimnist.files(folder))} files with the right SHA-256",
        "Download it: python -m pamal_companion data --get mnist",
        partial(multimnist.files, download=True),
    ),
    "census": DataSet(
        "census",
        lambda folder: f"{len(census.texts(folder))} files whose texts have the right SHA-256",
        f"Fetch {' and '.join(census.FILES)} from {census.SOURCE}.",
    ),
    "utkface": DataSet(
        "utkface",
        _faces,
        f"Get the aligned and cropped faces from {utkface.SITE}, as one zip or unpacked.",
    ),
    "cityscapes": DataSet(
        "cityscapes",
        _streets,
        "Register at https://www.cityscapes-dataset.com and unpack leftImg8bit, gtFine and "
        "disparity, or MTAN's train and val.",
    ),
}
"""The data sets by name."""


def status(name: str, root: Path, *, download: bool = False) -> dict[str, Any]:
    """What there is of data set `name`, one of `DATA_SETS`, under `root`; with `download` once what
    is missing has been fetched, where it may be.

    Its state is "ready", "missing" or "damaged"; "what" says what there is or what is wrong with
    it, "bytes" is the size of all files in its "place", and "advice" makes it ready, "" where it
    is. Checksums are computed where there are any to compare with; images are counted and their
    names read, but none is opened.
    """
    data = DATA_SETS[name]
    place = root / data.folder
    state = "missing"
    try:
        if download and data.fetch:
            data.fetch(place)
        what = "nothing there"
        if is_there(place):
            what, state = data.check(place), "ready"
    except InputError as error:
        what = str(error).replace(cityscapes.HOW_TO_GET, "").strip()
        state = "damaged" if place.exists() else "missing"
    size = sum(path.lstat().st_size for path in place.rglob("*") if path.is_file())
    advice = "" if state == "ready" else data.advice
    said = {"name": name, "state": state, "what": what, "place": place}
    return said | {"bytes": size, "advice": advice}
