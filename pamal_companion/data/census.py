"""Census-Income (KDD), sections 5.1 and C1: yes-or-no questions about a person."""

import hashlib
import io
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch.utils.data import TensorDataset

from pamal_companion.data.files import complete
from pamal_companion.data.samples import people
from pamal_companion.data.splits import Home, Splits, full_folder, splits

FILES = {
    "census-income.data": (
        103_874_469,
        "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
    ),
    "census-income.test": (
        51_918_813,
        "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
    ),
}
HOW_TO_GET = (
    "Fetch UCI data set 117, https://doi.org/10.24432/C5N30T, unpack the zip, and put what is in "
    "it there."
)
VALIDATION_SHARE = 0.2
# The files have no header; these are the Census Bureau's short names in their order.
# fmt: off
COLUMNS = (
    "AAGE", "ACLSWKR", "ADTIND", "ADTOCC", "AHGA", "AHRSPAY", "AHSCOL", "AMARITL", "AMJIND",
    "AMJOCC", "ARACE", "AREORGN", "ASEX", "AUNMEM", "AUNTYPE", "AWKSTAT", "CAPGAIN", "CAPLOSS",
    "DIVVAL", "FILESTAT", "GRINREG", "GRINST", "HHDFMX", "HHDREL", "MARSUPWT", "MIGMTR1",
    "MIGMTR3", "MIGMTR4", "MIGSAME", "MIGSUN", "NOEMP", "PARENT", "PEFNTVTY", "PEMNTVTY",
    "PENATVTY", "PRCITSHP", "SEOTR", "VETQVA", "VETYN", "WKSWORK", "YEAR", "INCOME",
)
# fmt: on
NUMBERS = ("AAGE", "AHRSPAY", "CAPGAIN", "CAPLOSS", "DIVVAL", "MARSUPWT", "WKSWORK")
SEX = "ASEX"
# Half of the rows have no value in the first three; the authors leave out the year of the survey.
UNUSED = ("MIGMTR1", "MIGMTR3", "MIGMTR4", "YEAR")
# Two rows for training and none for test; the authors leave them out.
ODD_HOUSEHOLD = "Grandchild <18 ever marr not in subfamily"

HIGH = ("Bachelors", "Some", "Asso", "Masters", "Doctorate", "Prof")

# What a page shows of a person, in words.
SHOWN = {
    "AAGE": "age",
    "AHGA": "education",
    "AMARITL": "marital status",
    "AMJOCC": "occupation",
    "WKSWORK": "weeks worked",
    SEX: "sex",
    "INCOME": "income",
}

# Each task with the column it is read from, which is then no input, and what counts as yes. In the
# order of the alphabet; the paper has "age" and "education".
TASKS: dict[str, tuple[str, Callable[[pd.Series], pd.Series]]] = {
    "age": ("AAGE", lambda years: years >= 40),
    "dividends": ("DIVVAL", lambda dollars: dollars > 0),
    "education": ("AHGA", lambda degree: degree.str.startswith(HIGH)),
    "full-year": ("WKSWORK", lambda weeks: weeks == 52),
    "income": ("INCOME", lambda dollars: dollars != "- 50000."),
    "joint-filer": ("FILESTAT", lambda status: status.str.startswith("Joint")),
    "male": (SEX, lambda sex: sex == "Male"),
    "never-married": ("AMARITL", lambda status: status == "Never married"),
}


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    tasks: Collection[str] = ("age", "education"),
    masters: Literal["mended", "as_released"] = "mended",
    seed: int = 0,
    people_of: Callable[[Sequence[str]], tuple[bytes, bytes]] = people.texts,
) -> Splits:
    """Return features float32 [n, D] and one label int64 [n] per task, 1 for yes, in the order of
    `TASKS`.

    The questions are whether somebody is at least 40 years old ("age"), has been to college
    ("education"), earns more than 50,000 dollars a year ("income"), has "never-married", has
    "dividends", works the "full-year" of 52 weeks, is a "joint-filer" of taxes and is "male". Any
    of them are the tasks; the column behind one is no input, those of the others are. Age and
    education leave D = 468 features: six numbers, scaled to mean 0 and deviation 1, 461 categories
    as 0 or 1, and sex. The columns are those of the authors' code.

    Two deviations from it: the scales are those of the training rows alone, not of validation too;
    and "education" counts a Masters degree, which the code misspells and so leaves out
    (`masters="as_released"`).

    The files are in `census/` under `root`; the sample is made-up people, whose sex is chance, or
    those that `people_of` makes up for the columns of a file. `seed` draws the fifth of the
    training file that is for validation.
    """
    chosen_tasks = [task for task in TASKS if task in tasks]
    is_sample, contents = _contents(data, root, people_of)
    known, tested = map(parse, contents)
    order = np.random.default_rng(seed).permutation(len(known))
    held_out, rest = map(np.sort, np.split(order, [round(VALIDATION_SHARE * len(known))]))
    parts = []
    for frame in (known.iloc[rest], known.iloc[held_out], tested):
        inputs = features(frame, known, rest, chosen_tasks)
        arrays = inputs, *labels(frame, chosen_tasks, masters)
        parts.append(TensorDataset(*map(torch.from_numpy, arrays)))
    content = b"".join(hashlib.sha256(text).digest() for text in contents)
    content += held_out.astype("<i8").tobytes()
    options = "census", "+".join(chosen_tasks), masters, f"seed={seed}"
    source = "a small sample of made-up people" if is_sample else "Census-Income (KDD)"
    of = f"{', '.join(chosen_tasks)} from {source}"
    return splits(parts, is_sample, options, content, of)


def shown(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    number: int = 5,
    people_of: Callable[[Sequence[str]], tuple[bytes, bytes]] = people.texts,
) -> pd.DataFrame:
    """Return the first `number` people of the training file who worked in that year, in the columns
    and words of `SHOWN`. The other arguments are those of `load`."""
    _, contents = _contents(data, root, people_of)
    frame = parse(contents[0])
    few = frame[frame["WKSWORK"] > 0].head(number)
    few = few[[*SHOWN]].rename(columns=SHOWN).astype({"age": int, "weeks worked": int})
    few["income"] = TASKS["income"][1](few["income"].astype(str)).map(
        {True: "above 50,000", False: "up to 50,000"}
    )
    return few.reset_index(drop=True).rename_axis("person")


def _contents(
    data: str, root: str | Path | None, people_of: Callable[[Sequence[str]], tuple[bytes, bytes]]
) -> tuple[bool, Sequence[bytes]]:
    """Return whether the people are made up, and the contents of both files."""
    folder = full_folder(data, root, HOME)
    return folder is None, people_of(COLUMNS) if folder is None else texts(folder)


def texts(folder: Path) -> list[bytes]:
    """Return what is in the two files in `folder`, however packed; InputError as `complete`."""
    return complete(folder, FILES, HOW_TO_GET)


HOME = Home("census", ("census*.*",), texts)


def parse(text: bytes) -> pd.DataFrame:
    """Return the rows of a file with the content `text`, which its checksum has vouched for,
    without those of `ODD_HOUSEHOLD`: numbers as float64, the other columns as categories."""
    frame = pd.read_csv(
        io.BytesIO(text),
        names=COLUMNS,
        dtype={c: np.float64 if c in NUMBERS else "category" for c in COLUMNS},
        skipinitialspace=True,
        na_filter=False,  # "NA" is a category here
    )
    frame = frame[frame.HHDFMX != ODD_HOUSEHOLD]
    return frame.assign(HHDFMX=frame.HHDFMX.cat.remove_unused_categories())


def labels(
    frame: pd.DataFrame, tasks: Sequence[str], masters: str = "mended"
) -> list[Int[np.ndarray, " n"]]:
    """Return one array of 0 and 1 for each of `tasks`; `masters="as_released"` counts Masters as
    low."""
    answers = {task: TASKS[task][1](frame[TASKS[task][0]]) for task in tasks}
    if masters == "as_released" and "education" in tasks:
        answers["education"] &= ~frame.AHGA.str.startswith("Masters")
    return [answer.to_numpy().astype(np.int64) for answer in answers.values()]


def features(
    frame: pd.DataFrame, known: pd.DataFrame, rows: Int[np.ndarray, " n"], tasks: Sequence[str]
) -> Float[np.ndarray, "m D"]:
    """Return the features of all rows of `frame`, float32: scaled numbers, one column for each
    category, and sex (1 is male).

    Columns keep the order of the files, and categories are sorted as text. The scales are those of
    the `rows` of the training file `known` that are trained on, but the categories all of that
    file: five have at most three rows in it, and a split would otherwise decide how many features
    there are. A category without a row among `rows` is an input that is always 0.
    """
    left = [c for c in COLUMNS if c not in UNUSED and c not in {TASKS[t][0] for t in tasks}]
    numbers = [c for c in left if c in NUMBERS]
    trained = known[numbers].iloc[rows]
    std = trained.std(ddof=0)
    scaled = (frame[numbers] - trained.mean()) / std.where(std > 0, 1)
    blocks = [scaled.to_numpy(np.float32)]
    kinds = [c for c in left if c not in NUMBERS]
    for column in sorted(kinds, key=lambda column: column == SEX):  # sex last
        categories = sorted(map(str, known[column].cat.categories))
        codes = frame[column].cat.rename_categories(str).cat.set_categories(categories).cat.codes
        block = np.eye(len(categories), dtype=np.float32)[codes]
        blocks.append(block[:, 1:] if column == SEX else block)
    return np.hstack(blocks)
