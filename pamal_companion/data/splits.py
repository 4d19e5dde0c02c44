"""What every data set is handed over as, and what all loaders have in common."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch.utils.data import TensorDataset

from pamal_companion.data.files import reading
from pamal_core.errors import check_choice


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


def takes_sample(data: str, folder: Path) -> bool:
    """Whether `data` asks for the sample: "sample", or "auto" where nothing is in `folder`; else
    "full" does not."""
    check_choice("data", data, ("auto", "sample", "full"))
    return data == "sample" or (data == "auto" and not is_there(folder))


def is_there(folder: Path) -> bool:
    """Whether anything but hidden files is in `folder`: an incomplete set is to be mended, not
    passed over."""
    with reading("a folder", folder):
        return folder.exists() and any(not p.name.startswith(".") for p in folder.iterdir())


def splits(
    parts: Sequence[TensorDataset], is_sample: bool, options: Sequence[str], content: bytes, of: str
) -> Splits:
    """`parts` with their id, made of the name of the data set, its `options` and a SHA-256 of the
    `content` that they follow from, and the sentence that says what they are."""
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
    """A SHA-256 of the content of `arrays`, one after the other."""
    each = (hashlib.sha256(np.ascontiguousarray(array).data).digest() for array in arrays)
    return hashlib.sha256(b"".join(each)).hexdigest()
