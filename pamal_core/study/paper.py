"""The paper's own numbers, transcribed; README.md beside this file says what each column is."""

from pathlib import Path

import pandas as pd

from pamal_core.errors import check_choice

FOLDER = Path(__file__).parent / "printed"


def table(name: str) -> pd.DataFrame:
    """The table `name`, such as "hypervolume"; an empty cell is NaN. InputError for an unknown
    name."""
    check_choice("name", name, sorted(path.stem for path in FOLDER.glob("*.csv")))
    return pd.read_csv(FOLDER / f"{name}.csv")
