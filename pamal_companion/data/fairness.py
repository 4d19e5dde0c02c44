"""Income and sex of the people of Census-Income (KDD): is a score of income fair?"""

from functools import partial
from pathlib import Path

import pandas as pd

from pamal_companion.data import census
from pamal_companion.data.samples import people
from pamal_companion.data.splits import Splits

GAP = 2.0
"""The extra that the men of the sample are paid for the same work."""
UNEQUAL = partial(people.texts, gap=GAP)


def load(data: str = "auto", root: str | Path | None = None, *, seed: int = 0) -> Splits:
    """Return features float32 [n, D], and int64 [n] labels of income (1 is above 50,000 dollars a
    year) and groups (1 is male). Neither column is an input; all others are those of `census.load`.

    The sample has people of its own, with a gap between women and men that we put in. `seed` draws
    the fifth of the training file that is for validation.
    """
    return census.load(data, root, tasks=("income", "male"), seed=seed, people_of=UNEQUAL)


def shown(data: str = "auto", root: str | Path | None = None, *, number: int = 5) -> pd.DataFrame:
    """Return a few people in words: `census.shown` of the people whom `load` has."""
    return census.shown(data, root, number=number, people_of=UNEQUAL)
