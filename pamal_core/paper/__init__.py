"""The paper's own numbers, transcribed; README.md beside this file says what each column is."""

from pathlib import Path

import pandas as pd

from pamal_core.errors import InputError

FOLDER = Path(__file__).parent


def table(name: str) -> pd.DataFrame:
    """The table `name`, such as "hypervolume"; an empty cell is NaN. InputError for an unknown
    name."""
    names = sorted(path.stem for path in FOLDER.glob("*.csv"))
    if name not in names:
        raise InputError(f"`name` must be one of {names}. Found {name!r}.")
    return pd.read_csv(FOLDER / f"{name}.csv")
