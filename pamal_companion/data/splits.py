"""Hand over every data set in one form, and hold what all loaders have in common."""

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch.utils.data import TensorDataset

from pamal_companion.data.files import data_root, entries
from pamal_companion.data.places import NoHomeError
from pamal_core.errors import InputError, check_choice


@dataclass(frozen=True)
class Splits:
    """Training, validation and test examples: tensors (inputs, target_1, ..., target_T), example by
    example.

    `id` names the data and how they were made; equal ids mean equal data, on any machine.
    `is_sample` is True for a built-in sample, whose results never mix with those of the full data.
    `description` is one sentence that a figure can be stamped with.
    """

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset
    id: str
    is_sample: bool
    description: str


class Home(NamedTuple):
    """Where a data set belongs: its folder under the data root, names by which it is noticed in
    another folder (small letters, * is anything), and what finds it in a folder or raises."""

    folder: str
    signs: tuple[str, ...]
    find: Callable[[Path], object]


def full_folder(data: str, root: str | Path | None, home: Home) -> Path | None:
    """Return the folder of the full data under the data root `root`, None for the sample: if `data`
    is "sample", or "auto" and nothing is in the folder.

    Where nothing is there but the data are in another folder of the root, "auto" warns and "full"
    raises InputError. So it is for a user without a home folder who names no root.
    """
    check_choice("data", data, ("auto", "sample", "full"))
    if data == "sample":
        return None
    try:
        place = data_root(root)
    except NoHomeError as error:
        if data == "full" or root:
            raise
        warnings.warn(f"{error} The sample is taken.", stacklevel=3)
        return None
    folder = place / home.folder
    # An incomplete set is to be mended, not passed over.
    if entries(folder):
        return folder
    if said := elsewhere(place, home):
        if data == "full":
            raise InputError(said)
        warnings.warn(f"{said} Until then the sample is taken.", stacklevel=3)
    elif data == "auto" and not place.is_dir() and (root or os.environ.get("PAMAL_DATA")):
        warnings.warn(f"Found no folder {place} of data: the sample is taken.", stacklevel=3)
    return folder if data == "full" else None


def elsewhere(root: Path, home: Home) -> str:
    """Return a sentence that says in which other folder under `root` the data are, three levels
    deep, and where they belong; "" where they are in none."""
    folder = root / home.folder
    folders = [root]
    for here in folders:  # which grows
        with suppress(InputError, OSError):
            inner = entries(here) if folder not in (here, *here.parents) else []
            if len(here.relative_to(root).parts) < 3:
                folders += [path for path in inner if path.is_dir()]
            signs = [p for p in inner if any(fnmatch(p.name.lower(), s) for s in home.signs)]
            zips = [path for path in signs if path.suffix.lower() == ".zip"]
            for place in zips + ([here] if len(signs) > len(zips) else []):
                with suppress(InputError):
                    home.find(place)
                    return f"The data are in {place}. They belong in {folder}: move them there."
    return ""


def splits(
    parts: Sequence[TensorDataset], is_sample: bool, options: Sequence[str], content: bytes, of: str
) -> Splits:
    """Return `parts` with their id, made of the name of the data set, its `options` and a SHA-256
    of the `content` that they follow from, and the sentence that says what they are."""
    train, validation, test = parts
    name, *others = options
    mark = hashlib.sha256(content).hexdigest()[:12]
    data_id = "/".join([name, "sample" if is_sample else "full", *others, mark])
    again = "and again " if validation is test else ""
    description = (
        f"{of}: {len(train):,} for training, {len(validation):,} for validation, "
        f"{again}{len(test):,} for test."
    )
    return Splits(train, validation, test, data_id, is_sample, description)


def fingerprint(*arrays: np.ndarray) -> str:
    """Return a SHA-256 of the content of `arrays`, one after the other."""
    each = (hashlib.sha256(np.ascontiguousarray(array).data).digest() for array in arrays)
    return hashlib.sha256(b"".join(each)).hexdigest()
