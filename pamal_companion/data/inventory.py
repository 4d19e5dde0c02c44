"""Say which data sets are there, and what to do about those that are not."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pamal_companion.data import census, cityscapes, multimnist, utkface
from pamal_companion.data.files import entries
from pamal_companion.data.splits import Home, elsewhere
from pamal_core.errors import InputError


class DataSet(NamedTuple):
    """Where it belongs, what checks a folder and says what is in it, how it is had, and what
    downloads it to the folder if something may."""

    home: Home
    check: Callable[[Path], str]
    how_to_get: str
    fetch: Callable[[Path], object] | None = None


def _faces(folder: Path) -> str:
    place, _, rows, others = utkface.find(folder)
    inner = place.relative_to(folder)  # which of several folders
    where = f" in {inner}" if len(inner.parts) > 1 else ""
    return f"{len(rows):,} images labelled by their names{where}, {others:,} without a label"


def _streets(folder: Path) -> str:
    form, train, val, _ = cityscapes.find(folder)
    return f"{form}, {len(train):,} scenes for training and {len(val):,} for test"


DATA_SETS = {
    "mnist": DataSet(
        multimnist.HOME,
        lambda folder: f"{len(multimnist.files(folder))} files with the right SHA-256",
        multimnist.HOW_TO_GET,
        partial(multimnist.files, download=True),
    ),
    "census": DataSet(
        census.HOME,
        lambda folder: f"{len(census.texts(folder))} files whose texts have the right SHA-256",
        census.HOW_TO_GET,
    ),
    "utkface": DataSet(utkface.HOME, _faces, utkface.HOW_TO_GET),
    "cityscapes": DataSet(
        cityscapes.HOME,
        _streets,
        "Register at https://www.cityscapes-dataset.com and unpack leftImg8bit, gtFine and "
        "disparity, or MTAN's train and val.",
    ),
}
"""The data sets by name."""


def status(name: str, root: Path, *, download: bool = False) -> dict[str, Any]:
    """Return what there is of data set `name`, one of `DATA_SETS`, under `root`; with `download`
    once what is missing has been fetched, where it may be.

    Its state is "ready", "missing" or "damaged"; "what" says what there is or what is wrong with
    it, "bytes" is the size of all files in its "place", and "advice" makes it ready, "" where it
    is or where "what" says that. Checksums are computed where there are any to compare with; images
    are counted and their names read, but none is opened.
    """
    data = DATA_SETS[name]
    place = root / data.home.folder
    state, what, advice = "missing", "nothing there", data.how_to_get
    try:
        if download and data.fetch:
            data.fetch(place)
        if entries(place):
            what, state, advice = data.check(place), "ready", ""
    except InputError as error:
        what, advice = str(error).replace(cityscapes.HOW_TO_GET, data.how_to_get), ""
        state = "damaged" if place.exists() else "missing"
    if state != "ready":
        advice = elsewhere(root, data.home) or advice
    size = sum(path.lstat().st_size for path in place.rglob("*") if path.is_file())
    said = {"name": name, "state": state, "what": what, "place": place}
    return said | {"bytes": size, "advice": advice}
