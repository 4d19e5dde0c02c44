"""A claim on what runs measured, and its verdict by the records.

The numbers of a comparison are of seeds, one by one where both sides have the same. By Student's
interval it meets what is claimed, fails it or is undecided, and the claim by the partial
conjunction of its comparisons (`statistics.of_parts`): it is said to hold wrongly, or to fail
wrongly, in one case of forty at most. At equal cost each of `theirs` is trained for as many passes
over the data as ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Measure, Near, OfSeeds, Runs, Setting
from pamal_companion.study.measures import check as check_measure
from pamal_companion.study.measures import is_better_high
from pamal_companion.study.statistics import (
    LEVEL,
    Estimate,
    Sample,
    bracket,
    of_parts,
    seeds_needed,
)
from pamal_core.errors import InputError, check_choice, check_number

NEED: dict[str, Callable[[int], int]] = {
    "all": lambda parts: parts,
    "any": lambda parts: 1,
    "most": lambda parts: parts // 2 + 1,
}
"""How many of so many comparisons must be as claimed."""
Rivals = Callable[["Claim"], list[Setting]]


@dataclass(frozen=True)
class Claim:
    """Say what runs measure: `ours` alone, or beside others, `theirs`.

    - `where`: its place in the paper, or the section of our page.
    - `measures`: what is measured on `split`, of theirs `their_measure` if that is another; one
      that ends with "objectives" stands for one of each objective.
    - `low`, `high`: between which the number must lie: of ours minus theirs, turned so that larger
      is better, or with `of_ratio` of ours / theirs.
    - `need`: how many must be so where several settings or measures are several comparisons. As
      many settings on both sides are compared one by one, others each with each.
    """

    where: str
    ours: Sequence[Setting]
    theirs: Sequence[Setting] | Rivals = ()
    measures: Sequence[Measure] = ("hypervolume",)
    split: str = "test"
    their_measure: Measure | None = None
    low: float = 0.0
    high: float = np.inf
    of_ratio: bool = False
    need: str = "all"

    @property
    def is_compared(self) -> bool:
        """Return whether there are others beside ours."""
        return callable(self.theirs) or len(self.theirs) > 0

    @property
    def bounds(self) -> tuple[float, float]:
        """Return where an estimate must lie, of a ratio that of its logarithm."""
        if not self.of_ratio:
            return self.low, self.high
        return float(np.log(max(self.low, 0.0) or 1e-300)), float(np.log(self.high))

    @property
    def condition(self) -> str:
        """Return what is asked, as "> 0.5", "< 1.5 times" or "19 to 23"."""
        if np.isinf(self.high):
            text = f"> {self.low:g}"
        elif np.isinf(self.low):
            text = f"< {self.high:g}"
        else:
            text = f"{self.low:g} to {self.high:g}"
        return f"{text} times" if self.of_ratio else text

    def tested(self, parts: Sequence[Estimate]) -> tuple[float, float]:
        """Return the p of its holding and of its failing, from estimates of all its parts; those of
        a part are 1 where nothing tells its spread."""
        low, high = self.bounds
        ends = [(e.above(low), e.below(high), e.below(low), e.above(high)) for e in parts]
        above, below, too_low, too_high = np.nan_to_num(ends, nan=1.0).T
        least = NEED[self.need](len(parts))
        return (
            of_parts(np.maximum(above, below), least),
            of_parts(np.minimum(too_low, too_high), len(parts) - least + 1),
        )

    def pairs(self) -> list[tuple[Setting, Setting | None]]:
        """Return the settings that are compared."""
        others = self.theirs(self) if callable(self.theirs) else self.theirs
        if not others:
            return [(setting, None) for setting in self.ours]
        if len(self.ours) == len(others):
            return [*zip(self.ours, others, strict=True)]
        return [*product(self.ours, others)]


def check(claims: Mapping[str, Claim]) -> None:
    """Raise InputError, which names the claim, for a setting, measure, split, bound or number of
    seeds that is none."""
    for text, claim in claims.items():
        try:
            _check(claim)
        except InputError as error:
            raise InputError(f"The claim {text!r} cannot be judged. {error}") from None


def _check(claim: Claim) -> None:
    check_choice("need", claim.need, [*NEED])
    are_numbers = isinstance(claim.low, int | float) and isinstance(claim.high, int | float)
    if not are_numbers or not claim.low < claim.high:
        found = f"low={claim.low!r}, high={claim.high!r}"
        raise InputError(f"`low` must be a number below `high`. Found {found}.")
    if not claim.ours or not claim.measures or (claim.of_ratio and not claim.is_compared):
        raise InputError("It must have settings of ours and measures, and theirs if `of_ratio`.")
    measures = [m for m in (*claim.measures, claim.their_measure) if m is not None]
    rivals = [measure.rival for measure in measures if isinstance(measure, Near)]
    others = () if callable(claim.theirs) else claim.theirs
    for setting in (*claim.ours, *others, *rivals):
        check_choice("experiment", setting.experiment, [*OPTIONS])
        OPTIONS[setting.experiment].create(method=setting.method, **dict(setting.options))
    experiment = claim.ours[0].experiment
    for measure in measures:
        if isinstance(measure, str):
            check_measure(measure, [*paper.TASKS.get(experiment, ())])
        elif isinstance(measure, OfSeeds):
            check_choice("name", measure.name, ["hypervolume", "distance"])
            check_number("number", measure.number, 2, whole=True)
        else:
            check_number("margin", measure.margin, 0)
    if experiment != "toy":
        check_choice("split", claim.split, frame.SPLITS)


def baselines(claim: Claim) -> list[Setting]:
    """Return every method of the grid that ends with one network, but for ours."""
    ours = claim.ours[0]
    rivals = [Setting(ours.experiment, m) for m in paper.ONE_NETWORK if m != ours.method]
    return [setting for setting in rivals if setting in frame.planned(ours.experiment)]


class Part(NamedTuple):
    """What is estimated of two settings, or of one, by one measure; NaN without records. `seeds`
    are those that are compared one by one, or those of either side; `each` says what is counted on
    the last."""

    name: str
    estimate: Estimate = Estimate(np.nan, np.nan, 0)
    seeds: tuple[int, ...] = ()
    each: str = "seed{}"

    @property
    def in_seeds(self) -> str:
        """Return how many seeds it rests on, in words; of a part with records."""
        counted = self.each.format("s" if self.seeds[-1] > 1 else "")
        alike = ", all alike" if self.estimate.error == 0 else ""
        return f"{' against '.join(map(str, self.seeds))} {counted}{alike}"


class Judged(NamedTuple):
    """What becomes of a claim: its word, the two p of its holding and of its failing, and the parts
    that it rests on, those with records first, from the least."""

    claim: Claim
    word: str
    p: tuple[float, float]
    parts: list[Part]

    @property
    def two_sided(self) -> float:
        """Return the p of the word; NaN of what is not run, and of numbers that are alike at every
        seed: where nothing is drawn there is nothing to test."""
        errors = {part.estimate.error for part in self.parts if part.seeds}
        return min(1.0, 2 * min(self.p)) if errors - {0.0} else np.nan

    def number(self, part: Part) -> str:
        """Return what was measured, with its 95 % interval; nothing without records."""
        if not part.seeds or not self.claim.of_ratio:
            return bracket(part.estimate, sign="+" if self.claim.is_compared else "")
        value, low, high = np.exp([part.estimate.value, *part.estimate.interval()])
        return f"{value:.2f} times" + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")

    @property
    def estimate(self) -> str:
        """Return what was measured, in short: of several parts the least and the most."""
        texts = [*filter(None, map(self.number, self.parts))]
        if len(texts) < 2:
            return "".join(texts)
        return " to ".join(texts[end].split(" [")[0] for end in (0, -1))

    @property
    def asked(self) -> str:
        """Return what is measured, of which setting where it is one, and what it must be."""
        claim, about = self.claim, []
        if len(claim.ours) == 1:
            about.append(claim.ours[0].name())
        if len(self.parts) > 1:
            about.append(f"{claim.need} parts")
        asked = f"Asked of {', '.join(about)}" if about else "Asked"
        measured = "; ".join(map(str, claim.measures))
        if claim.their_measure:
            measured += f" against {claim.their_measure}"
        way = ""
        if claim.is_compared:
            way = "ours / theirs " if claim.of_ratio else "ours ahead by "
        return f"{asked}: {measured}, {claim.split}, {way}{claim.condition}"

    @property
    def evidence(self) -> list[str]:
        """Return a line for each part, with its interval and its seeds."""
        measured = [part for part in self.parts if part.seeds]
        lines = [f"{part.name}: {self.number(part)}, {part.in_seeds}" for part in measured]
        missing = len(self.parts) - len(measured)
        return [*lines, f"{missing} not run"] if missing else lines

    @property
    def to_decide(self) -> str:
        """Return how many seeds would decide an undecided claim if all its estimates and deviations
        stayed as they are; "" of another, and where no number of seeds would."""
        if self.word != "undecided" or any(
            p.seeds and np.isnan(p.estimate.error) for p in self.parts
        ):
            return ""

        def decides(seeds: int) -> bool:
            scaled = [
                Estimate(value, error * np.sqrt(min(measured, default=0) / seeds), seeds - 1)
                for _, (value, error, _), measured, _ in self.parts
            ]
            return min(self.claim.tested(scaled)) < LEVEL

        needed = seeds_needed(decides)
        return f"{needed:g}" if np.isfinite(needed) else ""


def judge(claim: Claim, runs: Runs, equal_cost: bool = False) -> Judged:
    """Return what becomes of a claim; `equal_cost` gives each of theirs the passes of ours."""
    parts = [*_parts(claim, runs, equal_cost)]
    measured = sorted((p for p in parts if p.seeds), key=lambda p: float(p.estimate.value))
    parts = measured + [part for part in parts if not part.seeds]
    if not measured:
        return Judged(claim, "not run", (1.0, 1.0), parts)
    p = holds, fails = claim.tested([part.estimate for part in parts])
    word = "holds" if holds < LEVEL else "fails" if fails < LEVEL else "undecided"
    return Judged(claim, word, p, parts)


def at_equal_cost(judged: Judged, runs: Runs) -> Judged | None:
    """Return the verdict where both sides see the data equally often: `judged`, that at equal
    epochs, where they do so anyway. None where nothing is compared, or the cost itself is."""
    pairs = [(one, two) for one, two in judged.claim.pairs() if two]
    if all(one.passes == two.passes for one, two in pairs):
        return judged if pairs else None
    of_cost = any(two.with_passes(one.passes) == one for one, two in pairs)
    if of_cost or "training time" in judged.claim.measures:
        return None
    return judge(judged.claim, runs, equal_cost=True)


def _parts(claim: Claim, runs: Runs, equal_cost: bool) -> Iterator[Part]:
    pairs = claim.pairs()
    if equal_cost:
        pairs = [(one, two and two.with_passes(one.passes)) for one, two in pairs]
    several = len({one for one, _ in pairs}) > 1
    for (one, two), measure in product(pairs, claim.measures):
        sides = " against ".join(s.name() for s in (one if several else None, two) if s)
        for each in _of_objectives(measure, runs, one, two):
            if two and two.method == "stl" and not str(each).startswith(two.task):
                continue
            numbers = [frame.measured(runs, one, each, claim.split)]
            if two:
                theirs = claim.their_measure or each
                numbers.append(frame.measured(runs, two, theirs, claim.split))
            if claim.of_ratio:
                numbers = [np.log(number) for number in numbers]
            elif two and isinstance(each, str) and not is_better_high(each):
                numbers = [-number for number in numbers]
            is_clear = sides and len(claim.measures) == 1 and each is measure
            name = sides if is_clear else ", ".join(filter(None, (str(each), sides)))
            yield _part(name, claim.their_measure, *numbers)


def _of_objectives(measure: Measure, runs: Runs, *settings: Setting | None) -> list[Measure]:
    """Return the measure, or if it ends with "objectives" one for each objective of the runs."""
    if not isinstance(measure, str) or not measure.endswith("objectives"):
        return [measure]
    made = [run for setting in settings if setting for run in runs.get(setting, {}).values()]
    prefix = measure.removesuffix("objectives")
    return [prefix + name for name in made[0].objectives] if made else [measure]


def _part(name: str, their_measure: Measure | None, *numbers: "pd.Series[float]") -> Part:
    """Return ours, or ours minus theirs: seed by seed where they have two in common, else by
    Welch."""
    if any(its.empty for its in numbers):
        return Part(name)
    seeds = set.intersection(*({*its.index} for its in numbers))
    if len(numbers) == 1 or len(seeds) > 1:
        ours, *theirs = (its[sorted(seeds)].to_numpy() for its in numbers)
        return Part(name, Estimate.of(ours - sum(theirs)), (len(seeds),))
    away = Sample.of(numbers[0].to_numpy()).minus(Sample.of(numbers[1].to_numpy()))
    each = "seed{}"
    if isinstance(their_measure, OfSeeds):
        each = f"group{{}} of {their_measure.number} seeds"
    return Part(name, away, tuple(map(len, numbers)), each)
