"""Census-Income (KDD), sections 5.1 and C1: two or three yes-or-no questions about a person."""

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch.utils.data import TensorDataset

from pamal_core.data.census_table import TASKS, Encoder, labels, parse
from pamal_core.data.files import data_root, verified
from pamal_core.data.samples import people
from pamal_core.data.splits import Splits, splits, takes_sample

# Of the text inside: two archives of one text may differ.
FILES = {
    "census-income.data.gz": "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
    "census-income.test.gz": "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
}
SOURCE = "https://doi.org/10.24432/C5N30T (UCI data set 117, in its archive)"
VALIDATION_SHARE = 0.2


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    tasks: Collection[str] = ("age", "education"),
    masters: Literal["mended", "as_released"] = "mended",
    seed: int = 0,
) -> Splits:
    """Features float32 [n, D] and one label int64 [n] per task, 1 for yes, in the order of `TASKS`.

    The questions are whether somebody is at least 40 years old ("age"), has been to college
    ("education"), earns more than 50,000 dollars a year ("income") and has "never-married". Any two
    or three are the tasks; the column behind one is no input, those of the others are. Age and
    education leave D = 468 features: six numbers, scaled to mean 0 and deviation 1, 461 categories
    as 0 or 1, and sex. The columns are those of the authors' code.

    Two deviations from it: the scales are those of the training rows alone, not of validation too;
    and "education" counts a Masters degree, which the code misspells and so leaves out
    (`masters="as_released"`).

    The files are in `census/` under `root`; the sample is made-up people. `seed` draws the fifth of
    the training file that is for validation.
    """
    chosen_tasks = [task for task in TASKS if task in tasks]
    folder = data_root(root) / "census"
    is_sample = takes_sample(data, folder)
    contents = people.texts() if is_sample else texts(folder)
    known, tested = map(parse, contents)
    order = np.random.default_rng(seed).permutation(len(known))
    held_out, rest = map(np.sort, np.split(order, [round(VALIDATION_SHARE * len(known))]))
    encoder = Encoder.fit(known, rest, chosen_tasks)
    frames = known.iloc[rest], known.iloc[held_out], tested
    arrays = ([encoder.features(f), *labels(f, chosen_tasks, masters)] for f in frames)
    parts = [TensorDataset(*map(torch.from_numpy, each)) for each in arrays]
    content = b"".join(hashlib.sha256(text).digest() for text in contents)
    content += held_out.astype("<i8").tobytes()
    options = "census", "+".join(chosen_tasks), masters, f"seed={seed}"
    source = "a small sample of made-up people" if is_sample else "Census-Income (KDD)"
    of = f"{', '.join(chosen_tasks)} from {source}"
    return splits(parts, is_sample, options, content, of)


def texts(folder: Path) -> list[bytes]:
    """What is in the files in `folder`; InputError where one is missing or not the original."""
    return [verified(folder / n, sha, url=SOURCE, unpack=True) for n, sha in FILES.items()]
