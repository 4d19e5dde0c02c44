"""The paper's claims, each beside what the records say of it. No torch here.

A check reads records and returns evidence, in words with numbers, and whether it bears the claim
out: True, False, or "in part". What needs a record that is not there is "not run". The order is the
paper's.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from pamal_core.errors import InputError
from pamal_core.runs.records import Record
from pamal_core.study.tables import read

Verdict = bool | Literal["in part"]
WORDS: dict[Verdict, str] = {True: "holds", False: "does not hold", "in part": "holds in part"}


class Results(NamedTuple):
    """The records in a folder."""

    folder: Path

    def one(self, name: str) -> Record:
        """The record NAME.json; NotRunError where it is not there."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            raise NotRunError(name)
        return Record.read(path)

    def seeds(self, name: str) -> list[Record]:
        """The records of every seed that is there, in order; NotRunError where none is."""
        if not (found := read(self.folder, f"{name}_seed_*.json")):
            raise NotRunError(name)
        return found


class NotRunError(InputError):
    """There is no record for a claim."""


Check = Callable[[Results], tuple[str, Verdict]]


class Claim(NamedTuple):
    """What the paper says, in our words, where, and what looks it up."""

    text: str
    where: str
    check: Check


CLAIMS: list[Claim] = []


def claim(text: str, where: str) -> Callable[[Check], Check]:
    """Adds the function below it to `CLAIMS`."""

    def add(check: Check) -> Check:
        CLAIMS.append(Claim(text, where, check))
        return check

    return add


def table(folder: Path) -> pd.DataFrame:
    """A row for each claim: what it says, where, our evidence from the records in `folder`, and the
    verdict."""
    # They add themselves; here, as they import this module.
    from pamal_core.study import claims_ablations, claims_fronts  # noqa: F401

    rows = []
    for text, where, check in CLAIMS:
        try:
            evidence, verdict = check(Results(folder))
            rows.append((text, where, evidence, WORDS[verdict]))
        except NotRunError as error:
            rows.append((text, where, f"no record of {error}", "not run"))
    columns = ["claim", "where", "evidence", "verdict"]
    return pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1), columns)


def listed(values: list[float], digits: int = 4) -> str:
    """Numbers as text, one per seed."""
    return ", ".join(f"{value:.{digits}f}" for value in values)
