"""Registered questions: what was decided before the first run, and what came of it after the last.

A question is results/registered/NAME.toml. Of its fields this reads `question`, `seeds`, the list
`settings` and the list `comparisons`: `ours` and `theirs` are names of settings, `measure` and
`split` say what is compared, and within `margin` two are level. What it asks in words, in the list
`hypotheses`, is computed in `hypotheses`. All of a file are one family, which Holm's correction is
over. Until the last run of a question its numbers are not read.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.runs import folder, grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, measures, paper
from pamal_companion.study.frame import Setting
from pamal_companion.study.hypotheses import IN_WORDS, Hypothesis, Records, of_estimate
from pamal_companion.study.statistics import WITHIN, Estimate, bracket, holm, minus, seeds_needed
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


@dataclass(frozen=True)
class Question:
    """A registration.

    - `name`, and `text`: what is asked.
    - `paths`: of its records, by the name of their setting and by seed.
    - `comparisons` as they are written, and `hypotheses` in words.
    """

    name: str
    text: str
    paths: Mapping[str, Mapping[int, Path]]
    comparisons: list[dict[str, Any]]
    hypotheses: list[str]

    @property
    def progress(self) -> str:
        """Return "complete", or how many of its runs are made: "running, 12 of 20"."""
        made = [path.exists() for by_seed in self.paths.values() for path in by_seed.values()]
        return "complete" if all(made) else f"running, {sum(made)} of {len(made)}"

    @cached_property
    def records(self) -> Records:
        """Return its records, by the name of their setting and by seed. They are read once."""
        return {
            name: {seed: Record.read(path) for seed, path in by_seed.items()}
            for name, by_seed in self.paths.items()
        }


def read(name: str, folder: Path = FOLDER) -> Question:
    """Return a registration. InputError, which names the row, for a setting, measure, split, seed
    or margin that is none."""
    found = registered(name, folder)
    paths: dict[str, dict[int, Path]] = {}
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
            paths[label] = {n: folder / name / f"{label}_seed_{n}.json" for n in seeds}
        experiments = {row["name"]: row["experiment"] for row in found["settings"]}
        for row in found.get("comparisons", []):
            for side in ("ours", "theirs"):
                check_choice(side, row[side], [*paths])
            measures.check(row["measure"], [*paper.TASKS[experiments[row["ours"]]]])
            check_choice("split", row["split"], frame.SPLITS)
            check_number("margin", row.get("margin", WITHIN), 0)
    except InputError as error:
        raise InputError(f"The registration {name} cannot be read: {row}. {error}") from None
    except KeyError as error:
        raise InputError(f"The registration {name} lacks {error} in {row}.") from None
    rest = (found.get(part, []) for part in ("comparisons", "hypotheses"))
    return Question(name, found["question"], paths, *rest)


def compared(question: Question) -> list[Hypothesis]:
    """Return the comparisons of a question in numbers."""
    # Under their registered names: seeds with draws of their own are one setting.
    runs = {Setting("", name): by_seed for name, by_seed in question.records.items()}
    family = []
    for row in question.comparisons:
        pair = Setting("", row["ours"]), Setting("", row["theirs"])
        sign = 1 if measures.is_better_high(row["measure"]) else -1
        ours, theirs = (
            sign * frame.measured(runs, one, row["measure"], row["split"]) for one in pair
        )
        away, _ = minus(ours, theirs, frame.are_paired(runs, *pair))
        family.append(of_estimate(_text(row), away, row.get("margin", WITHIN)))
    return family


def _text(row: Mapping[str, Any]) -> str:
    return f"{row['ours']} - {row['theirs']}: {row['measure']}, {row['split']}"


def verdicts(question: Question) -> pd.DataFrame:
    """Return a row for each hypothesis: its estimate, the word that it has among all of the family,
    and for an open one how many seeds would decide it if means and deviations stayed. Without
    numbers, and with the progress in place of words, until the last run."""
    if question.progress != "complete":
        texts = [*map(_text, question.comparisons)] or question.hypotheses
        blank = {"estimate": "", "verdict": question.progress, "seeds to decide": ""}
        return pd.DataFrame([{"hypothesis": text} | blank for text in texts])
    in_words = IN_WORDS.get(question.name)
    family = in_words(question.records) if in_words else compared(question)
    rows = [
        {
            "hypothesis": one.text,
            "estimate": bracket(one.away),
            "verdict": word,
            "seeds to decide": to_decide(one, len(family)) if word == "open" else "",
        }
        for one, word in zip(family, words(family), strict=True)
    ]
    return pd.DataFrame(rows)


def words(family: list[Hypothesis]) -> list[str]:
    """Return the word of each hypothesis of a family, by Holm's p of it."""
    differ, level = (
        holm(p) < LEVEL for p in ([one.p for one in family], [one.p_level for one in family])
    )
    found = []
    for k, one in enumerate(family):
        if differ[k]:
            found.append(one.words[0 if one.away.value > 0 else 1])
        else:
            found.append("level" if level[k] else "open")
    return found


def to_decide(one: Hypothesis, number: int) -> str:
    """Return how many seeds would decide an open one of so many, if it were the first of them."""

    def decides(seeds: int) -> bool:
        error = one.away.error * np.sqrt((one.away.freedom + 1) / seeds)
        more = of_estimate("", Estimate(one.away.value, error, seeds - 1), one.margin)
        return number * min(more.p, more.p_level) < LEVEL

    needed = seeds_needed(decides)
    return f"{needed:g}" if np.isfinite(needed) else ""
