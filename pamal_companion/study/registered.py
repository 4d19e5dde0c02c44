"""Registered questions: what was decided before the first run, and what came of it after the last.

A question is results/registered/NAME.toml. Of its fields this reads `question`, `seeds`, the list
`settings` and the list `comparisons`: `ours` and `theirs` are names of settings, `measure` and
`split` say what is compared, and within `margin` two are level. The comparisons of a file are one
family, which Holm's correction is over. Until the last run of a question its numbers are not read.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.runs import folder, grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, measures, paper
from pamal_companion.study.frame import Setting
from pamal_companion.study.statistics import WITHIN, bracket, holm, minus
from pamal_core.errors import InputError, check_choice, check_number

FOLDER = grid.ROOT / "results" / folder.REGISTERED
LEVEL = 0.05


def registered(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return the registration `name`; InputError if it is not the one whose hash is in HASHES."""
    file = folder / f"{name}.toml"
    hashes = folder / "HASHES"
    if not file.exists() or not hashes.exists():
        raise InputError(f"A registration needs a file and its hash. Found no {file} or {hashes}.")
    content = file.read_bytes()
    line = f"{hashlib.sha256(content).hexdigest()}  {file.name}"
    if line not in hashes.read_text("utf-8").splitlines():
        raise InputError(f"{file} is not the one that was registered. {hashes} lacks: {line}")
    return tomllib.loads(content.decode())


class Question(NamedTuple):
    """A registration: what is asked, the paths of the records of each setting by seed, and its
    comparisons as they are written."""

    text: str
    records: Mapping[str, Mapping[int, Path]]
    comparisons: list[dict[str, Any]]

    @property
    def progress(self) -> str:
        """Return "complete", or how many of its runs are made: "running, 12 of 20"."""
        made = [path.exists() for by_seed in self.records.values() for path in by_seed.values()]
        return "complete" if all(made) else f"running, {sum(made)} of {len(made)}"


def read(name: str, folder: Path = FOLDER) -> Question:
    """Return a registration. InputError, which names the row, for a setting, measure, split, seed
    or margin that is none."""
    found = registered(name, folder)
    records: dict[str, dict[int, Path]] = {}
    try:
        for row in found["settings"]:
            check_choice("experiment", row["experiment"], [*OPTIONS])
            options = grid.parameters(row.get("options", ""))
            given = {key: value for key, value in options.items() if value != "seed"}
            OPTIONS[row["experiment"]].create(method=row["method"], **given)
            seeds = row.get("seeds", found["seeds"])
            for seed in seeds:
                check_number("seed", seed, 0, whole=True)
            label = row["name"]
            records[label] = {n: folder / name / f"{label}_seed_{n}.json" for n in seeds}
        experiments = {row["name"]: row["experiment"] for row in found["settings"]}
        for row in found.get("comparisons", []):
            for side in ("ours", "theirs"):
                check_choice(side, row[side], [*records])
            measures.check(row["measure"], [*paper.TASKS[experiments[row["ours"]]]])
            check_choice("split", row["split"], frame.SPLITS)
            check_number("margin", row.get("margin", WITHIN), 0)
    except InputError as error:
        raise InputError(f"The registration {name} cannot be read: {row}. {error}") from None
    except KeyError as error:
        raise InputError(f"The registration {name} lacks {error} in {row}.") from None
    return Question(found["question"], records, found.get("comparisons", []))


def verdicts(question: Question) -> pd.DataFrame:
    """Return a row for each comparison: its estimate, and the word that it has among all of the
    family; without numbers, and with the progress in place of words, until the last run."""
    names = ("ours", "theirs", "measure", "split")
    rows = [{name: row[name] for name in names} for row in question.comparisons]
    if question.progress != "complete":
        return pd.DataFrame(rows).assign(**{"estimate": "", "verdict": question.progress})
    runs = {  # under their registered names: seeds with draws of their own are one setting
        Setting("", label): {seed: Record.read(path) for seed, path in by_seed.items()}
        for label, by_seed in question.records.items()
    }
    estimates, p = [], np.ones((2, len(rows)))
    for k, row in enumerate(question.comparisons):
        pair = Setting("", row["ours"]), Setting("", row["theirs"])
        sign = 1 if measures.is_better_high(row["measure"]) else -1
        ours, theirs = (
            sign * frame.measured(runs, one, row["measure"], row["split"]) for one in pair
        )
        away, _ = minus(ours, theirs, frame.are_paired(runs, *pair))
        margin = row.get("margin", WITHIN)
        p[:, k] = (
            2 * min(away.above(0.0), away.below(0.0)),
            max(away.above(-margin), away.below(margin)),
        )
        estimates.append(away)
    differ, level = (holm(np.nan_to_num(one, nan=1.0)) < LEVEL for one in p)
    for k, (row, away) in enumerate(zip(rows, estimates, strict=True)):
        side = "ahead" if away.value > 0 else "behind"
        word = side if differ[k] else "level" if level[k] else "open"
        row |= {"estimate": bracket(away), "verdict": word}
    return pd.DataFrame(rows)
