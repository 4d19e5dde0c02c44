"""The form of the Census-Income (KDD) files: 42 columns, and the features that are made of them."""

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

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
BINARY = "ASEX"
# Half of the rows have no value in the first three; the authors leave out the year of the survey.
UNUSED = ("MIGMTR1", "MIGMTR3", "MIGMTR4", "YEAR")
# Two rows for training and none for test; the authors leave them out.
ODD_HOUSEHOLD = "Grandchild <18 ever marr not in subfamily"

HIGH = ("Bachelors", "Some", "Asso", "Doctorate", "Prof")

# Each task with the column it is read from, which is then no input, and what counts as yes.
TASKS: dict[str, tuple[str, Callable[[pd.Series], pd.Series]]] = {
    "age": ("AAGE", lambda years: years >= 40),
    "education": ("AHGA", lambda degree: degree.str.startswith((*HIGH, "Masters"))),
    "income": ("INCOME", lambda dollars: dollars != "- 50000."),
    "never-married": ("AMARITL", lambda status: status == "Never married"),
}


def parse(text: bytes) -> pd.DataFrame:
    """The rows of a file with the content `text`, which its checksum has vouched for, without those
    of `ODD_HOUSEHOLD`: numbers as float64, the other columns as categories."""
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
    """One array of 0 and 1 for each of `tasks`; `masters="as_released"` counts Masters as low."""
    answers = {task: TASKS[task][1](frame[TASKS[task][0]]) for task in tasks}
    if masters == "as_released" and "education" in tasks:
        answers["education"] &= ~frame.AHGA.str.startswith("Masters")
    return [answer.to_numpy().astype(np.int64) for answer in answers.values()]


class Encoder(NamedTuple):
    """How rows become features: scaled numbers, one column for each category, and sex (1 is male).

    Columns keep the order of the files, and categories are sorted as text.
    """

    mean: pd.Series
    std: pd.Series
    categories: dict[str, list[str]]

    @classmethod
    def fit(
        cls, frame: pd.DataFrame, rows: Int[np.ndarray, " n"], tasks: Sequence[str]
    ) -> "Encoder":
        """Scales of the `rows` that are trained on, and all categories of the training file.

        Five categories have at most three rows in it: a split would otherwise decide how many
        features there are. A category without a row among `rows` is an input that is always 0.
        """
        left = [c for c in COLUMNS if c not in UNUSED and c not in {TASKS[t][0] for t in tasks}]
        numbers = frame[[c for c in left if c in NUMBERS]].iloc[rows]
        std = numbers.std(ddof=0)
        kinds = [*(c for c in left if c not in (*NUMBERS, BINARY)), BINARY]
        categories = {c: sorted(map(str, frame[c].cat.categories)) for c in kinds}
        return cls(numbers.mean(), std.where(std > 0, 1), categories)

    def features(self, frame: pd.DataFrame) -> Float[np.ndarray, "n D"]:
        """The features of all rows of `frame`, float32."""
        blocks = [((frame[self.mean.index] - self.mean) / self.std).to_numpy(np.float32)]
        for column, known in self.categories.items():
            codes = frame[column].cat.rename_categories(str).cat.set_categories(known).cat.codes
            blocks.append(np.eye(len(known), dtype=np.float32)[codes])
        return np.hstack([*blocks[:-1], blocks[-1][:, 1:]])
