"""Registered questions: what was decided before the first run, and what came of it after the last.

A question is results/registered/NAME.toml, a `Registration`, and its records are in the folder NAME
beside it. Until the last run of a question its numbers are not read. What it asks in words is
computed in `hypotheses`. Holm's correction is over all hypotheses of a family; a question that
names none is one.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from pamal_companion.runs import folder, grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, measures, per_pass
from pamal_companion.study.constant import unlearnt
from pamal_companion.study.frame import Setting
from pamal_companion.study.hypotheses import IN_WORDS, Hypothesis, of_estimate
from pamal_companion.study.per_pass import Chosen, Measure, Records
from pamal_companion.study.registration import Asked, Comparison, RegisteredSetting, Registration
from pamal_companion.study.statistics import Estimate, bracket, holm, minus, seeds_to_decide
from pamal_core.errors import InputError

FOLDER = grid.RESULTS / folder.REGISTERED
COUNTED_ON_PAGES = ("dial-of-conflict", "dial-at-fresh-seeds")
"""Questions in whose runs many tasks are not learnt: the page of the dial counts them."""


@dataclass(frozen=True)
class Question:
    """A registration that can be run and judged.

    - `name`, and `asked`: the whole file.
    - `rows`: its settings by name.
    - `paths`: of its records, by the name of their setting and by seed.
    """

    name: str
    asked: Registration
    rows: Mapping[str, RegisteredSetting]
    paths: Mapping[str, Mapping[int, Path]]

    @property
    def progress(self) -> str:
        """Return "complete", or how many of its runs are made: "running, 12 of 20"."""
        made = [path.exists() for by_seed in self.paths.values() for path in by_seed.values()]
        return "complete" if all(made) else f"running, {sum(made)} of {len(made)}"

    def check_complete(self) -> None:
        """Raise InputError until the last run is made, with a run that is not."""
        if self.progress == "complete":
            return
        every = (path for by_seed in self.paths.values() for path in by_seed.values())
        missing = next(path for path in every if not path.exists())
        raise InputError(
            f"{self.name} must be complete. Found it {self.progress}; {missing} is missing."
        )

    def record(self, name: str, seed: int) -> Record:
        """Return the record of a setting and a seed; InputError where it is that of another run."""
        path = self.paths[name][seed]
        record = Record.read(path)
        wanted, found = self.rows[name].setting(seed), frame.of(record)
        if (found, record.seed) != (wanted, seed):
            raise InputError(
                f"{path} must have the run of its name: {wanted.experiment}, {wanted.name()}, seed "
                f"{seed}. Found {found.experiment}, {found.name()}, seed {record.seed}."
            )
        return record

    @property
    def recipes(self) -> list[str]:
        """Return the recipes that its hypotheses compare, each once."""
        pairs = [(row.ours, row.theirs) for row in self.asked.asked]
        return [*dict.fromkeys(recipe for pair in pairs for recipe in pair)]

    @cached_property
    def records(self) -> Records:
        """Return its records, by the name of their setting and by seed. They are read once. Raise
        InputError, with the path, for one that is damaged, that no run of the question makes, or
        that cannot be compared with the others."""
        self.check_complete()
        paths = {path for by_seed in self.paths.values() for path in by_seed.values()}
        parents = {path.parent for path in paths}
        others = {path for parent in parents for path in parent.glob("*.json")} - paths
        if others:
            raise InputError(f"{min(others)} is no run of {self.name}: move it, or delete it.")
        found = {
            name: {seed: self.record(name, seed) for seed in by_seed}
            for name, by_seed in self.paths.items()
        }
        for name, by_seed in found.items():
            for seed, record in by_seed.items():
                _check_points(self.paths[name][seed], record)
            self._check_alike(name, by_seed)
        self._check_data(found)
        return found

    def _check_alike(self, name: str, by_seed: Mapping[int, Record]) -> None:
        """Raise InputError unless all seeds of a setting have as many points, of the same
        objectives."""
        first, *_ = by_seed.values()
        for seed, record in by_seed.items():
            if len(record.points) != len(first.points):
                what = f"{len(record.points)} points, and seed {first.seed} {len(first.points)}"
            elif [*record.objectives.items()] != [*first.objectives.items()]:
                what = f"{record.objectives}, and seed {first.seed} {first.objectives}"
            else:
                continue
            raise InputError(f"{self.paths[name][seed]} is not like the other seeds. Found {what}.")

    def _check_data(self, found: Records) -> None:
        """Raise InputError unless runs of a seed on one data set have the same draw of it."""
        seen: dict[tuple[str, str, int], str] = {}
        for name, by_seed in found.items():
            for seed, record in by_seed.items():
                setting = frame.of(record)
                draw = setting.experiment, str(setting.of_data), seed
                data = seen.setdefault(draw, record.data)
                if data != record.data:
                    raise InputError(
                        f"{self.paths[name][seed]} must have the data of the other runs of its "
                        f"seed, {data}. Found {record.data}."
                    )

    @cached_property
    def chosen(self) -> Mapping[str, Chosen]:
        """Return the networks of each recipe. Four of them are chosen once."""
        measure = self.asked.measured
        return {name: per_pass.chosen(self.records, name, measure) for name in self.recipes}

    @cached_property
    def judged(self) -> list[tuple[Hypothesis, str]]:
        """Return what it asks in numbers, each with its word among its family. They are judged
        once. Raise InputError for a question that judges nothing, such as a grid."""
        if not self.asked.judged:
            raise InputError(f"{self.name} judges nothing.")
        self._check_learnt()
        family = hypotheses(self)
        return [*zip(family, words(family), strict=True)]

    def _check_learnt(self) -> None:
        """Raise InputError for a run that has learnt a task no better than a constant answer,
        unless such tasks are counted."""
        if self.asked.constant_loss is not None or self.name in COUNTED_ON_PAGES:
            return
        for name, by_seed in self.records.items():
            if self.rows[name].method == "stl":  # which no hypothesis is about
                continue
            for seed, record in by_seed.items():
                if tasks := unlearnt(record):
                    raise InputError(
                        f"{self.paths[name][seed]}: no network is better than a constant answer on "
                        f"{tasks[0]}. Count such tasks by `constant_loss`, or on the page of the "
                        "question, and name it in `registered.COUNTED_ON_PAGES`."
                    )

    def values(self, recipe: str) -> "pd.Series[float]":
        """Return, by seed, what is measured of the four points of a recipe."""
        measure, four = self.asked.measured, self.chosen[recipe].four
        return pd.Series({seed: measure.value(pair) for seed, pair in four.items()})

    def away(self, ours: str, theirs: str) -> Estimate:
        """Return the measure of our recipe minus that of theirs, seed by seed."""
        return minus(self.values(ours), self.values(theirs), paired=True)


def _check_points(path: Path, record: Record) -> None:
    """Raise InputError unless each split has the same networks in the same order, and some of their
    numbers can be compared."""
    alphas: dict[str, list[Any]] = {}
    for point in record.points:
        alphas.setdefault(point["split"], []).append(point["alpha"])
        for name in record.objectives:
            value = point["metrics"].get(name)
            if name.endswith("/accuracy") and value is not None and not 0 <= value <= 1:
                raise InputError(f"{path}: {name} must be a share of 1. Found {value}.")
    if len({str(its) for its in alphas.values()}) > 1:
        raise InputError(f"{path} must have the same networks on {' and '.join(alphas)}.")
    for split in alphas:
        objectives = [*record.objectives]
        rows = [point["metrics"] for point in record.points if point["split"] == split]
        if any(name not in row for row in rows for name in objectives):
            raise InputError(f"{path} has a point on {split} without an objective.")
        values = np.array([[row[name] for name in objectives] for row in rows], dtype=float)
        if not np.isfinite(values).all(axis=1).any():
            raise InputError(f"{path}: each network diverged, on {split}. It cannot be compared.")


def read(name: str, folder: Path = FOLDER) -> Question:
    """Return the registration `name`; InputError where it is not the one whose hash is in HASHES,
    and, with the row, where it asks for what there is not."""
    file, hashes = folder / f"{name}.toml", folder / "HASHES"
    if not re.fullmatch(r"[\w.-]+", name) or not file.exists() or not hashes.exists():
        raise InputError(f"A registration needs a file and its hash. Found no {file} or {hashes}.")
    content = file.read_bytes()
    line = f"{hashlib.sha256(content).hexdigest()}  {file.name}"
    lines = _lines(hashes)
    if line not in lines:
        raise InputError(f"{file} is not the one that was registered. {hashes} lacks: {line}")
    if len(same := [one for one in lines if one.endswith(f"  {file.name}")]) > 1:
        raise InputError(f"A question is registered once. {hashes} has {' and '.join(same)}.")
    found: dict[str, Any] = {}
    try:
        found = tomllib.loads(content.decode())
        asked = Registration.model_validate(found)
    except ValidationError as error:
        # Of the kinds of a list the one that the file comes nearest to is the one it should be.
        first = max(error.errors(), key=lambda one: len(one["loc"]))
        place = [part for part in first["loc"] if not str(part).startswith("list[")]
        what = ": ".join([".".join(map(str, place)), first["msg"]]).removeprefix(": ")
        with suppress(LookupError, TypeError):
            what += f", in {found[str(place[0])][place[1]]}"
        raise InputError(f"The registration {name} cannot be read: {what}.") from None
    except ValueError as error:  # of the text, or of TOML
        raise InputError(f"The registration {name} cannot be read: {error}.") from None
    ways = [bool(asked.comparisons), bool(asked.asked), name in IN_WORDS]
    if asked.judged and sum(ways) != 1:
        raise InputError(
            f"The registration {name} must have comparisons, or hypotheses in words that "
            "`study.hypotheses` computes. Found both or none."
        )
    if asked.comparisons and asked.hypotheses:
        raise InputError(f"The registration {name} must have no hypotheses beside comparisons.")
    rows = {row.name: row for row in asked.settings}
    paths = {
        row.name: {
            seed: folder / name / f"{row.name}_seed_{seed}.json"
            for seed in row.seeds or asked.seeds
        }
        for row in asked.settings
    }
    return Question(name, asked, rows, paths)


def _lines(hashes: Path) -> list[str]:
    """Return the lines of HASHES; raise InputError for one that is not a hash and a file."""
    lines = hashes.read_text("utf-8", errors="replace").splitlines()
    for line in lines:
        if not re.fullmatch(r"[0-9a-f]{64}  [\w.-]+\.toml", line):
            raise InputError(f"A line of {hashes} must be a hash and a file. Found {line!r}.")
    return lines


@cache
def known(name: str, folder: Path = FOLDER) -> Question:
    """Return the registration `name`, which is read and judged once for all sentences of a
    process."""
    return read(name, folder)


def every(folder: Path = FOLDER) -> list[Question]:
    """Return all registrations that HASHES lists, in the order of their names, so that none can be
    taken away. Raise InputError if one is not there."""
    names = [line.split("  ")[1].removesuffix(".toml") for line in _lines(folder / "HASHES")]
    return [known(name, folder) for name in sorted(names)]


def compared(question: Question) -> list[Hypothesis]:
    """Return the comparisons of a question in numbers. Raise InputError, with its path, for a
    record that has none."""
    family = []
    for row in question.asked.comparisons:
        ours, theirs = (_numbers(question, name, row) for name in (row.ours, row.theirs))
        sign = 1 if measures.is_better_high(row.measure) else -1
        away = minus(sign * ours, sign * theirs, paired=True)
        one = of_estimate(_text(row), away, row.margin)
        family.append(one._replace(beyond=question.asked.rule is not None))
    return family


def _numbers(question: Question, name: str, row: Comparison) -> "pd.Series[float]":
    """Return what a comparison measures of a setting, by seed."""
    # Under its registered name: seeds with draws of their own are one setting.
    setting = Setting("", name)
    runs = {setting: question.records[name]}
    found = frame.measured(runs, setting, row.measure, row.split)
    for seed, path in question.paths[name].items():
        if seed not in found:
            raise InputError(f"{path} has no {row.measure} on {row.split}.")
    return found


def recipes_compared(question: Question) -> list[Hypothesis]:
    """Return the hypotheses of a question about recipes."""
    asked, family = question.asked, []
    for row in asked.asked:
        one = of_estimate(row.text, question.away(row.ours, row.theirs), asked.margin)
        family.append(one._replace(family=row.family, beyond=asked.rule is not None))
    return family


def beside(question: Question) -> pd.DataFrame:
    """Return what stands beside the verdicts about recipes: `per_pass.beside`. Raise InputError
    until the last run is made."""
    question.check_complete()
    asked = question.asked
    return per_pass.beside(question.chosen, asked.measured, asked.limits, asked.constant_loss)


def best(questions: Sequence[Question]) -> pd.DataFrame:
    """Return the best rate of each recipe of a grid, in one file or more: `per_pass.best`. Raise
    InputError until the last run is made, for files that are judged, and for none."""
    if not questions:
        raise InputError("A grid needs at least one file. Found none.")
    records: dict[str, Mapping[int, Record]] = {}
    for question in questions:
        if question.asked.judged or question.progress != "complete":
            state = "judged" if question.asked.judged else question.progress
            raise InputError(
                f"A grid must be complete, and not judged. Found {question.name} {state}."
            )
        if twice := records.keys() & question.records.keys():
            raise InputError(f"Grids must have settings of their own. Found {min(twice)!r} twice.")
        records |= question.records
    # Else they would be compared in silence.
    reference, *others = {question.asked.measured.reference for question in questions}
    if others:
        raise InputError(f"Grids must have one `reference`. Found {reference} and {others[0]}.")
    seeds, *more = {(*question.asked.seeds,) for question in questions}
    if more:
        raise InputError(f"Grids must have the same seeds. Found {seeds} and {more[0]}.")
    return per_pass.best(records, Measure(reference))


MEASURED = {"hypervolume": "the front", "chosen hypervolume": "the network you would choose"}
"""The words in the name of a comparison for what was measured, if that is a hypervolume."""
SPOKEN = {
    "pamal": "PaMaL",
    "ls": "LS",
    "-W=": ", W = ",
    "-lam=": ", \N{GREEK SMALL LETTER LAMDA} = ",
}
"""The words in the name of a comparison for the parts of the name of a setting."""


def _text(row: Comparison | Asked | str) -> str:
    """Return the name of what is asked for readers."""
    if isinstance(row, Asked):
        return row.text
    if isinstance(row, str):
        return row
    ours, theirs = row.ours, row.theirs
    for part, text in SPOKEN.items():
        ours, theirs = ours.replace(part, text), theirs.replace(part, text)
    return f"{ours} - {theirs}: {MEASURED.get(row.measure, row.measure)}, {row.split}"


def verdicts(question: Question) -> pd.DataFrame:
    """Return a row for each hypothesis: its estimate, the word that it has among all of the family,
    and for an open one how many seeds would decide it if means and deviations stayed. Without
    numbers, and with the progress in place of words, until the last run."""
    if question.progress != "complete":
        asked = question.asked.comparisons or question.asked.asked or question.asked.hypotheses
        texts = [*map(_text, asked)]
        blank = {"estimate": "", "verdict": question.progress, "seeds to decide": ""}
        return pd.DataFrame(blank, index=pd.Index(texts, name="hypothesis"))
    sizes = Counter(one.family for one, _ in question.judged)
    rows = [
        {
            "hypothesis": one.text,
            "estimate": bracket(one.away),
            "verdict": word,
            "by less than": _margin(one, word),
            "seeds to decide": to_decide(one, sizes[one.family]) if word == "open" else "",
        }
        for one, word in question.judged
    ]
    found = pd.DataFrame(rows).set_index("hypothesis")
    return found if found["by less than"].any() else found.drop(columns="by less than")


def estimate(question: Question, hypothesis: str, written: str) -> str:
    """Return the estimate of a hypothesis, with its interval. Raise ValueError unless it has the
    word that a sentence is `written` for."""
    row = verdicts(question).loc[hypothesis]
    if row["verdict"] != written:
        raise ValueError(
            f"A sentence on {question.name} is written for {hypothesis!r} being {written}. Found "
            f"{row['verdict']}."
        )
    return str(row["estimate"])


def hypotheses(question: Question) -> list[Hypothesis]:
    """Return what a question asks, in numbers. Raise InputError where it asks in words with another
    margin than the one that is computed with."""
    asked = question.asked
    if asked.asked:
        return recipes_compared(question)
    if asked.comparisons:
        return compared(question)
    family = IN_WORDS[question.name](question.records)
    margins = {one.margin for one in family}
    if "margin" in asked.model_fields_set and asked.margin not in margins:
        raise InputError(
            f"{question.name} is computed with the margin {max(margins):g}. Found {asked.margin:g}."
        )
    return family


def _margin(one: Hypothesis, word: str) -> str:
    """Return the margin if a difference was found that is smaller: a margin is what we would call
    level."""
    is_small = word in one.words and abs(one.away.value) < one.margin
    return f"the margin, {one.margin:g}" if is_small else ""


class Whole(NamedTuple):
    """All judged questions as one family: the number of hypotheses and of questions, and by the
    question's name the words that would then be others, by the text of their hypothesis."""

    hypotheses: int
    questions: int
    changed: dict[str, dict[str, str]]


def as_one_family(questions: Sequence[Question]) -> Whole:
    """Return what Holm's correction over all judged and complete `questions` would change."""
    judged = [q for q in questions if q.asked.judged and q.progress == "complete"]
    if not judged:
        return Whole(0, 0, {})
    rows = [(q.name, one, word) for q in judged for one, word in q.judged]
    together = words([one._replace(family="") for _, one, _ in rows])
    changed: dict[str, dict[str, str]] = {}
    for (name, one, word), other in zip(rows, together, strict=True):
        if other != word:
            changed.setdefault(name, {})[one.text] = other
    return Whole(len(rows), len(judged), changed)


def words(asked: list[Hypothesis]) -> list[str]:
    """Return the word of each hypothesis, by Holm's p of it in its family."""
    p = pd.DataFrame([{"differs": one.p, "level": one.p_level} for one in asked])
    corrected = p.groupby([one.family for one in asked]).transform(holm)
    return [one.word(*both) for one, both in zip(asked, corrected.to_numpy(), strict=True)]


def to_decide(one: Hypothesis, number: int) -> str:
    """Return how many seeds would decide an open one of so many, if it were the first of them."""

    def word(more: list[Estimate]) -> str:
        (away,) = more
        return one._replace(away=away).word(number * away.p, number * away.p_level(one.margin))

    return seeds_to_decide([(one.away, one.away.freedom + 1)], word)
