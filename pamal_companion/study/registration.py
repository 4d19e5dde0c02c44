"""The file of a registration: what is asked, of which runs, by which rule.

A file has its hypotheses in one of three ways. As `comparisons` of two settings each names its
measure, split and margin. As tables about recipes the file has the rest for all of them
(`per_pass`). In words they are computed by `hypotheses.IN_WORDS`. A grid has none, and is not
`judged`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.runs import grid
from pamal_companion.study import frame, measures, paper, per_pass
from pamal_companion.study.frame import Setting
from pamal_companion.study.per_pass import Measure
from pamal_companion.study.statistics import WITHIN
from pamal_core.errors import InputError, check_choice

PRIMARY = "primary"
"""The family of the hypotheses against the best other recipe of each problem."""
OF_ACCURACIES = ("multimnist", "census", "multimnist3")
"""The experiments whose objectives are accuracies alone, of which 0 is worth nothing."""
OF_RECIPES = {"points", "measure", "reference", "other", "limits", "base_rate", "constant_loss"}
"""The fields that only a file about recipes may have; a grid of these has the `reference`."""


def _different(values: list[Any]) -> list[Any]:
    if len({*values}) < len(values):
        raise ValueError("each must be there once")
    return values


Seeds = Annotated[
    list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(_different)
]
Margin = Annotated[FiniteFloat, Field(ge=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Limits = Annotated[list[Annotated[FiniteFloat, Field(ge=0)]], AfterValidator(_different)]


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

    def setting(self, seed: int) -> Setting:
        """Return what its run with a seed trains."""
        row = self.at(seed)
        made = OPTIONS[self.experiment].create(method=self.method, **row)
        # As a record has them: tasks may be written as one text.
        options = made.model_dump(mode="json", include={*row})
        return frame.of(grid.Run(self.experiment, self.method, options, seed, (), (), ()))

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        check_choice("experiment", self.experiment, [*OPTIONS])
        given = self.at(0)
        if own := given.keys() & {"seed", "method", "out"}:
            raise ValueError(f"`options` must be others. Found {', '.join(own)}.")
        made = OPTIONS[self.experiment].create(method=self.method, **given)
        if without := given.keys() - made.of_method().keys() - {"data"}:
            raise ValueError(
                f"`options` must be those that {self.method} is recorded with. Found "
                f"{', '.join(sorted(without))}."
            )
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

    Those in `OF_RECIPES` are for hypotheses that are tables. `reference` is that of a hypervolume,
    and `other` the best recipe that is not PaMaL, of each problem: theirs in the family "primary",
    with commas. These are plain texts and lists, as code that makes the runs may be older than code
    that judges them. `limits` are bounds of the second objective, of which the first is judged
    (`per_pass.Measure`) and the others stand beside; `base_rate` is what a constant answer has, and
    above the `constant_loss` a task counts as untrained. With the `rule` "beyond the margin" one is
    ahead or behind only if the estimate is beyond the margin, too.
    """

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, str]

    question: str
    seeds: Seeds
    settings: Annotated[list[RegisteredSetting], Field(min_length=1)]
    comparisons: list[Comparison] = []
    hypotheses: list[str] | list[Asked] = []
    measures: list[str] = []
    split: str = ""
    margin: Margin = WITHIN
    judged: bool = True
    points: str | None = None
    rule: Literal["beyond the margin"] | None = None
    measure: Literal["hypervolume", "average precision within a gap"] = "hypervolume"
    reference: list[FiniteFloat] = []
    other: str = ""
    limits: Limits = []
    base_rate: Share | None = None
    constant_loss: Margin | None = None

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
        self._check_settings()
        self._check_fields()
        for pair in self.comparisons:
            try:
                _check_comparison(pair, rows)
            except ValueError as error:
                raise ValueError(f"{error} It is in {pair!r}") from None
        if self.asked or self.reference:
            for setting in self.settings:
                _check_reference(setting, self.reference)
        _different([asked.text for asked in self.asked])
        for asked in self.asked:
            self._check_asked(asked, rows)
        others = {name.strip() for name in self.other.split(",")} - {""}
        if others != (primary := {row.theirs for row in self.asked if row.family == PRIMARY}):
            raise ValueError(
                "`other` must have the recipes that primary hypotheses are against. Found "
                f"{self.other!r}, and {', '.join(sorted(primary)) or 'no such hypothesis'}."
            )
        if self.limits and self.base_rate is None:
            raise ValueError("`base_rate` must be given with `limits`. Found none.")
        if bool(self.limits) != (self.measure != "hypervolume"):
            raise ValueError(
                "`limits` must be given for the measure 'average precision within a gap', and for "
                f"no other. Found limits {self.limits} and {self.measure!r}."
            )
        return self

    def _check_settings(self) -> None:
        """Raise ValueError if two settings are the same run under two names."""
        seen: dict[Setting, str] = {}
        for row in self.settings:
            seed = (row.seeds or self.seeds)[0]
            first = seen.setdefault(row.setting(seed), row.name)
            if first != row.name:
                raise ValueError(f"Settings must differ. Found {first} and {row.name} alike.")

    def _check_fields(self) -> None:
        """Raise ValueError for fields that nothing would read in a file of this kind."""
        given = self.model_fields_set
        if not self.judged:
            unread = given & ((OF_RECIPES - {"reference"}) | {"rule", "comparisons", "hypotheses"})
        elif self.asked:
            unread = set()
            if self.points != "four" or self.rule is None:
                raise ValueError(
                    'A file that compares recipes must have `points` "four" and `rule`.'
                )
            if self.split not in ("", "test"):
                raise ValueError(f'Recipes are judged on the split "test". Found {self.split!r}.')
        elif self.comparisons:
            unread = given & (OF_RECIPES | {"margin"})
            if self.split not in ("", *(pair.split for pair in self.comparisons)):
                raise ValueError(f"`split` must be that of a comparison. Found {self.split!r}.")
        else:
            unread = given & ((OF_RECIPES - {"points"}) | {"rule"})
        if unread:
            raise ValueError(
                f"Nothing reads {', '.join(f'`{name}`' for name in sorted(unread))} in a file of "
                "this kind."
            )

    def _check_asked(self, asked: Asked, rows: Mapping[str, RegisteredSetting]) -> None:
        """Raise InputError unless both recipes have the same data, seeds that are pairs, and as
        many passes."""
        seeds, data, passes = [], [], []
        for recipe in (asked.ours, asked.theirs):
            names = per_pass.settings_of(recipe, rows)
            own = [{*(rows[name].seeds or self.seeds)} for name in names]
            if any(one != own[0] for one in own):
                raise InputError(f"All networks of {recipe!r} must have the same seeds.")
            seeds.append(own[0])
            made = [rows[name].setting(min(own[0])) for name in names]
            # The seed of the draw is that of the run, whichever the first one is.
            data += [(one.experiment, str(one.of_data | {"draw": "seed"})) for one in made]
            passes.append(passes_of(made))
            for name in names:
                if grid.parameters(rows[name].options).get("draw") != "seed":
                    raise InputError(
                        "Recipes are compared seed by seed, so that each seed needs its own draw: "
                        f"draw=seed. Found {name!r} without it."
                    )
        if asked.ours == asked.theirs or len({*data}) > 1:
            raise InputError(f"Two recipes of the same data must be compared. Found {asked!r}.")
        if passes[0] != passes[1]:
            raise InputError(
                f"Recipes must make as many passes. Found {passes[0]:g} and {passes[1]:g} in "
                f"{asked!r}."
            )
        if len(set.intersection(*seeds)) < 2:
            raise InputError(f"Two seeds of both sides must be the same. Found fewer in {asked!r}.")
        if self.limits and data[0][0] != "fairness":
            raise InputError(f"Only fairness has a gap. Found {asked!r}.")


def passes_of(made: Sequence[Setting]) -> float:
    """Return how often the networks of a recipe see each training example, all together. A start
    that they share counts once."""
    shared = {one.values["shared_epochs"] or 0 for one in made}
    if len(shared) > 1:
        raise InputError(f"Networks of one recipe must share one start. Found {sorted(shared)}.")
    return sum(one.passes for one in made) - (len(made) - 1) * shared.pop()


def _check_comparison(pair: Comparison, rows: Mapping[str, RegisteredSetting]) -> None:
    """Raise ValueError unless two settings can be compared seed by seed."""
    for side in ("ours", "theirs"):
        check_choice(side, getattr(pair, side), [*rows])
    ours, theirs = rows[pair.ours], rows[pair.theirs]
    if ours is theirs or ours.experiment != theirs.experiment:
        raise ValueError("`theirs` must be another setting of the same experiment.")
    measures.check(pair.measure, [*paper.TASKS.get(ours.experiment, ())])
    if pair.measure.endswith("objectives"):
        raise ValueError("`measure` must be one number of a run.")
    both = {row.at(0).get("batch_norm") for row in (ours, theirs)} == {"both"}
    if pair.split not in ("validation", "test") and not both:
        raise ValueError(f"`split` must be measured. Found {pair.split}.")


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
