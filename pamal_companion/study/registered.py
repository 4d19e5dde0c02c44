"""Registered questions: what was decided before the first run, and what came of it after the last.

A question is results/registered/NAME.toml. Of its fields this reads `question`, `seeds`, the list
`settings` and the list `comparisons`: `ours` and `theirs` are names of settings, `measure` and
`split` say what is compared, and within `margin` two are level. What it asks in words, in the list
`hypotheses`, is computed in `hypotheses`. All of such a file are one family, which Holm's
correction is over. Until the last run of a question its numbers are not read.

Where the `hypotheses` are tables, recipes are compared at equal passes (`per_pass`): `ours` and
`theirs` are recipes, each hypothesis has its `family`, and the file says the `points` ("four"),
the `reference` of a hypervolume, and the `rule`. With "beyond the margin" one is ahead or behind
only if the estimate is beyond the margin, too, and level where the interval lies within it,
whatever 0 does.
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
from typing import Annotated, Any, Literal, NamedTuple, Self

import pandas as pd
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.runs import folder, grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, measures, paper, per_pass
from pamal_companion.study.frame import Setting
from pamal_companion.study.hypotheses import IN_WORDS, Hypothesis, of_estimate
from pamal_companion.study.per_pass import Chosen, Measure, Records
from pamal_companion.study.statistics import WITHIN, Estimate, bracket, holm, minus, seeds_to_decide
from pamal_core.errors import InputError, check_choice

FOLDER = grid.RESULTS / folder.REGISTERED
PRIMARY = "primary"
"""The family of the hypotheses against the best other recipe of each problem."""
OF_ACCURACIES = ("multimnist", "census", "multimnist3")
"""The experiments whose objectives are accuracies alone, of which 0 is worth nothing."""


def _different(values: list[Any]) -> list[Any]:
    if len({*values}) < len(values):
        raise ValueError("each must be there once")
    return values


Seeds = Annotated[
    list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(_different)
]
Margin = Annotated[FiniteFloat, Field(ge=0)]


class Written(BaseModel):
    """A part of a registration, which has its fields and no other."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RegisteredSetting(Written):
    """A setting: what is trained, with each of `seeds`, or with those of the registration."""

    name: Annotated[str, Field(pattern=r"^[\w.=+@-]+$")]
    experiment: str
    method: str
    options: str = ""
    seeds: Seeds | None = None

    def at(self, seed: int) -> dict[str, Any]:
        """Return its options where `seed` stands for that of the run."""
        given = grid.parameters(self.options)
        return {name: seed if value == "seed" else value for name, value in given.items()}

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        check_choice("experiment", self.experiment, [*OPTIONS])
        given = self.at(0)
        if own := given.keys() & {"seed", "method", "out"}:
            raise ValueError(f"`options` must be others. Found {', '.join(own)}.")
        OPTIONS[self.experiment].create(method=self.method, **given)
        return self


class Comparison(Written):
    """Two settings, by their names, and what of them is compared; within `margin` they are
    level."""

    ours: str
    theirs: str
    measure: str
    split: Literal[frame.SPLITS]  # type: ignore[valid-type]
    margin: Margin = WITHIN


class Asked(Written):
    """A hypothesis about two recipes."""

    text: str
    family: str
    ours: str
    theirs: str


class Registration(BaseModel):
    """A file: beside these fields it has texts.

    Those from `points` on are for hypotheses that are tables. `reference` is that of a hypervolume,
    and `other` the best recipe that is not PaMaL, of each problem: theirs in the family "primary",
    with commas. These are plain texts and lists, as code that makes the runs may be older than code
    that judges them. `limits` are bounds of the second objective, of which the first is judged
    (`per_pass.Measure`) and the others stand beside; `base_rate` is what a constant answer has, and
    above the `constant_loss` a task counts as untrained.
    """

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, str]

    question: str
    seeds: Seeds
    settings: Annotated[list[RegisteredSetting], Field(min_length=1)]
    comparisons: list[Comparison] = []
    hypotheses: list[str] | list[Asked] = []
    measures: list[str] = []
    margin: Margin = WITHIN
    judged: bool = True
    points: str | None = None
    rule: Literal["beyond the margin"] | None = None
    measure: Literal["hypervolume", "average precision within a gap"] = "hypervolume"
    reference: list[FiniteFloat] = []
    other: str = ""
    limits: list[FiniteFloat] = []
    base_rate: FiniteFloat | None = None
    constant_loss: FiniteFloat | None = None

    @property
    def asked(self) -> list[Asked]:
        """Return the hypotheses about recipes."""
        return [row for row in self.hypotheses if isinstance(row, Asked)]

    @property
    def measured(self) -> Measure:
        """Return what is measured of the points of a recipe."""
        limit = self.limits[0] if self.limits else None
        rate = float("nan") if self.base_rate is None else self.base_rate
        return Measure(tuple(self.reference), limit, rate)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        rows = {row.name: row for row in self.settings}
        _different([row.name for row in self.settings])
        for pair in self.comparisons:
            try:
                for side in ("ours", "theirs"):
                    check_choice(side, getattr(pair, side), [*rows])
                ours, theirs = rows[pair.ours], rows[pair.theirs]
                if ours is theirs or ours.experiment != theirs.experiment:
                    raise ValueError("`theirs` must be another setting of the same experiment.")
                measures.check(pair.measure, [*paper.TASKS.get(ours.experiment, ())])
                both = {row.at(0).get("batch_norm") for row in (ours, theirs)} == {"both"}
                if pair.split not in ("validation", "test") and not both:
                    raise ValueError(f"`split` must be measured. Found {pair.split}.")
            except ValueError as error:
                raise ValueError(f"{error} It is in {pair!r}") from None
        if self.asked or self.reference:
            for setting in self.settings:
                _check_reference(setting, self.reference)
        for asked in self.asked:
            self._check(asked, rows)
        others = {name.strip() for name in self.other.split(",")} - {""}
        if others != (primary := {row.theirs for row in self.asked if row.family == PRIMARY}):
            raise ValueError(
                "`other` must have the recipes that primary hypotheses are against. Found "
                f"{self.other!r}, and {', '.join(sorted(primary)) or 'no such hypothesis'}."
            )
        if self.asked and (self.points != "four" or self.rule is None):
            raise ValueError('A file that compares recipes must have `points` "four" and `rule`.')
        if self.limits and self.base_rate is None:
            raise ValueError("`base_rate` must be given with `limits`. Found none.")
        if bool(self.limits) != (self.measure != "hypervolume"):
            raise ValueError(
                "`limits` must be given for the measure 'average precision within a gap', and for "
                f"no other. Found limits {self.limits} and {self.measure!r}."
            )
        return self

    def _check(self, asked: Asked, rows: Mapping[str, RegisteredSetting]) -> None:
        """Raise InputError unless both recipes are settings whose seeds are pairs."""
        seeds = []
        for recipe in (asked.ours, asked.theirs):
            names = per_pass.settings_of(recipe, rows)
            seeds += [{*(rows[name].seeds or self.seeds)} for name in names]
            for name in names:
                if grid.parameters(rows[name].options).get("draw") != "seed":
                    raise InputError(
                        "Recipes are compared seed by seed, so that each seed needs its own draw: "
                        f"draw=seed. Found {name!r} without it."
                    )
        if len(set.intersection(*seeds)) < 2:
            raise InputError(f"Two seeds of both sides must be the same. Found fewer in {asked!r}.")


def _check_reference(row: RegisteredSetting, reference: Sequence[float]) -> None:
    """Raise InputError unless a reference has a number for each task of a setting, or is left out
    where all are accuracies."""
    made = OPTIONS[row.experiment].create(method=row.method, **row.at(0))
    number = len(getattr(made, "tasks", made.task_names))
    if not reference and row.experiment not in OF_ACCURACIES:
        raise InputError(f"`reference` must be given for {row.experiment}. Found none.")
    if reference and len(reference) != number:
        raise InputError(
            f"`reference` must have {number} numbers, one for each task of {row.name}. Found "
            f"{[*reference]}."
        )


@dataclass(frozen=True)
class Question:
    """A registration that can be run and judged.

    - `name`, and `text`: what is asked.
    - `rows`: its settings by name.
    - `paths`: of its records, by the name of their setting and by seed.
    - `comparisons`, and `hypotheses` in words.
    - `asked`: the whole file.
    """

    name: str
    text: str
    rows: Mapping[str, RegisteredSetting]
    paths: Mapping[str, Mapping[int, Path]]
    comparisons: list[Comparison]
    hypotheses: list[str]
    asked: Registration

    @property
    def progress(self) -> str:
        """Return "complete", or how many of its runs are made: "running, 12 of 20"."""
        made = [path.exists() for by_seed in self.paths.values() for path in by_seed.values()]
        return "complete" if all(made) else f"running, {sum(made)} of {len(made)}"

    def record(self, name: str, seed: int) -> Record:
        """Return the record of a setting and a seed; InputError where it is that of another run."""
        row, path = self.rows[name], self.paths[name][seed]
        record = Record.read(path)
        given = row.at(seed)
        made = OPTIONS[row.experiment].create(method=row.method, **given)
        # As a record has them: tasks may be written as one text.
        options = made.model_dump(mode="json", include={*given})
        planned = grid.Run(row.experiment, row.method, options, seed, (), (), ())
        if (frame.of(record), record.seed) != (wanted := frame.of(planned), seed):
            found = f"{frame.of(record).name()}, seed {record.seed}"
            raise InputError(
                f"{path} must have the run of its name: {wanted.name()}, seed {seed}. "
                f"Found {found}."
            )
        return record

    @property
    def recipes(self) -> list[str]:
        """Return the recipes that its hypotheses compare, each once."""
        pairs = [(row.ours, row.theirs) for row in self.asked.asked]
        return [*dict.fromkeys(recipe for pair in pairs for recipe in pair)]

    @cached_property
    def records(self) -> Records:
        """Return its records, by the name of their setting and by seed. They are read once."""
        return {
            name: {seed: self.record(name, seed) for seed in by_seed}
            for name, by_seed in self.paths.items()
        }

    @cached_property
    def chosen(self) -> Mapping[str, Chosen]:
        """Return the networks of each recipe. Four of them are chosen once."""
        measure = self.asked.measured
        return {name: per_pass.chosen(self.records, name, measure) for name in self.recipes}

    @cached_property
    def judged(self) -> list[tuple[Hypothesis, str]]:
        """Return what it asks in numbers, each with its word among its family. They are judged
        once."""
        family = hypotheses(self)
        return [*zip(family, words(family), strict=True)]

    def values(self, recipe: str) -> "pd.Series[float]":
        """Return, by seed, what is measured of the four points of a recipe."""
        measure, four = self.asked.measured, self.chosen[recipe].four
        return pd.Series({seed: measure.value(pair) for seed, pair in four.items()})


def read(name: str, folder: Path = FOLDER) -> Question:
    """Return the registration `name`; InputError where it is not the one whose hash is in HASHES,
    and, with the row, where it asks for what there is not."""
    file, hashes = folder / f"{name}.toml", folder / "HASHES"
    if not re.fullmatch(r"[\w.-]+", name) or not file.exists() or not hashes.exists():
        raise InputError(f"A registration needs a file and its hash. Found no {file} or {hashes}.")
    content = file.read_bytes()
    line = f"{hashlib.sha256(content).hexdigest()}  {file.name}"
    if line not in hashes.read_text("utf-8").splitlines():
        raise InputError(f"{file} is not the one that was registered. {hashes} lacks: {line}")
    found: dict[str, Any] = {}
    try:
        found = tomllib.loads(content.decode())
        asked = Registration.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join([".".join(map(str, first["loc"])), first["msg"]]).removeprefix(": ")
        with suppress(LookupError, TypeError):
            what += f", in {found[str(first['loc'][0])][first['loc'][1]]}"
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
    texts = [row.text if isinstance(row, Asked) else row for row in asked.hypotheses]
    return Question(name, asked.question, rows, paths, asked.comparisons, texts, asked)


@cache
def known(name: str) -> Question:
    """Return the registration `name` of this repository, which is read and judged once for all
    sentences of a process."""
    return read(name)


def compared(question: Question) -> list[Hypothesis]:
    """Return the comparisons of a question in numbers."""
    # Under their registered names: seeds with draws of their own are one setting.
    runs = {Setting("", name): by_seed for name, by_seed in question.records.items()}
    family = []
    for row in question.comparisons:
        pair = Setting("", row.ours), Setting("", row.theirs)
        sign = 1 if measures.is_better_high(row.measure) else -1
        ours, theirs = (sign * frame.measured(runs, one, row.measure, row.split) for one in pair)
        away, _ = minus(ours, theirs, frame.are_paired(runs, *pair))
        family.append(of_estimate(_text(row), away, row.margin))
    return family


def recipes_compared(question: Question) -> list[Hypothesis]:
    """Return the hypotheses of a question about recipes."""
    asked, family = question.asked, []
    for row in asked.asked:
        away, _ = minus(question.values(row.ours), question.values(row.theirs), paired=True)
        one = of_estimate(row.text, away, asked.margin)
        family.append(one._replace(family=row.family, beyond=asked.rule is not None))
    return family


def beside(question: Question) -> pd.DataFrame:
    """Return what stands beside the verdicts about recipes: `per_pass.beside`. Raise InputError
    until the last run is made."""
    if question.progress != "complete":
        raise InputError(f"{question.name} must be complete. Found it {question.progress}.")
    asked = question.asked
    return per_pass.beside(question.chosen, asked.measured, asked.limits, asked.constant_loss)


def best(questions: Sequence[Question]) -> pd.DataFrame:
    """Return the best rate of each recipe of a grid, in one file or more: `per_pass.best`. Raise
    InputError until the last run is made, and for files that are judged."""
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
    reference, *others = {question.asked.measured.reference for question in questions}
    if others:  # they would be compared in silence
        raise InputError(f"Grids must have one `reference`. Found {reference} and {others[0]}.")
    return per_pass.best(records, Measure(reference))


MEASURED = {"hypervolume": "the front", "chosen hypervolume": "the network you would choose"}
"""How the name of a comparison says what was measured, where that is a hypervolume."""
SPOKEN = {
    "pamal": "PaMaL",
    "ls": "LS",
    "-W=": ", W = ",
    "-lam=": ", \N{GREEK SMALL LETTER LAMDA} = ",
}
"""How the name of a comparison says the parts of the name of a setting."""


def _text(row: Comparison) -> str:
    """Return the name of a comparison for readers."""
    ours, theirs = row.ours, row.theirs
    for part, text in SPOKEN.items():
        ours, theirs = ours.replace(part, text), theirs.replace(part, text)
    return f"{ours} - {theirs}: {MEASURED.get(row.measure, row.measure)}, {row.split}"


def verdicts(question: Question) -> pd.DataFrame:
    """Return a row for each hypothesis: its estimate, the word that it has among all of the family,
    and for an open one how many seeds would decide it if means and deviations stayed. Without
    numbers, and with the progress in place of words, until the last run."""
    if question.progress != "complete":
        texts = [*map(_text, question.comparisons)] or question.hypotheses
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
    """Return what a question asks, in numbers."""
    if in_words := IN_WORDS.get(question.name):
        return in_words(question.records)
    return recipes_compared(question) if question.asked.asked else compared(question)


def _margin(one: Hypothesis, word: str) -> str:
    """Return the margin if a difference was found that is smaller: a margin is what we would call
    level."""
    is_small = word in one.words and abs(one.away.value) < one.margin
    return f"the margin, {one.margin:g}" if is_small else ""


class Whole(NamedTuple):
    """All judged questions as one family: the number of hypotheses and of questions, and the
    hypotheses whose word would then be another, by the question's name."""

    hypotheses: int
    questions: int
    changed: dict[str, list[Hypothesis]]


def as_one_family(questions: Sequence[Question]) -> Whole:
    """Return what Holm's correction over all judged and complete `questions` would change."""
    judged = [q for q in questions if q.asked.judged and q.progress == "complete"]
    every = [(q.name, one, word) for q in judged for one, word in q.judged]
    together = words([one._replace(family="") for _, one, _ in every])
    changed: dict[str, list[Hypothesis]] = {}
    for (name, one, word), other in zip(every, together, strict=True):
        if other != word:
            changed.setdefault(name, []).append(one)
    return Whole(len(every), len(judged), changed)


def words(every: list[Hypothesis]) -> list[str]:
    """Return the word of each hypothesis, by Holm's p of it in its family."""
    p = pd.DataFrame([{"differs": one.p, "level": one.p_level} for one in every])
    corrected = p.groupby([one.family for one in every]).transform(holm)
    return [one.word(*both) for one, both in zip(every, corrected.to_numpy(), strict=True)]


def to_decide(one: Hypothesis, number: int) -> str:
    """Return how many seeds would decide an open one of so many, if it were the first of them."""

    def word(more: list[Estimate]) -> str:
        (away,) = more
        return one._replace(away=away).word(number * away.p, number * away.p_level(one.margin))

    return seeds_to_decide([(one.away, one.away.freedom + 1)], word)
