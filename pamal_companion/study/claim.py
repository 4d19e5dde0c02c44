"""A claim on what runs measured, and its verdict by the records.

By Student's interval over seeds a comparison meets what is claimed, fails it or leaves it open, and
so does the claim by the partial conjunction of its comparisons (`statistics.of_parts`): it is said
to hold wrongly, or to fail wrongly, in one case of forty at most. Two methods are compared as two
samples; seed by seed only where each seed has its own draw of the data (`frame.are_paired`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from pamal_companion.experiments.options import OPTIONS
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import NOT_IDENTITY
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Away, Measure, Near, OfSeeds, Runs, Setting
from pamal_companion.study.measures import check as check_measure
from pamal_companion.study.measures import is_better_high, margin
from pamal_companion.study.statistics import (
    Estimate,
    bracket,
    minus_with_counts,
    number,
    of_parts,
    seeds_to_decide,
    verdict,
)
from pamal_core.errors import InputError, check_choice, check_number

SHARES = ("non-dominated", "non-dominated in loss", "dominated by no neighbour in loss")
"""Copies of one network have all of them, so that the span stands beside each."""


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
    - `of_two`: it does not say who is better. The word is ours, ahead, behind or level.
    - `in_print`: what the paper's own numbers say of it, where that is something else.
    """

    where: str
    ours: Sequence[Setting]
    theirs: Sequence[Setting] | Callable[["Claim"], list[Setting]] = ()
    measures: Sequence[Measure] = ("hypervolume",)
    split: str = "test"
    their_measure: Measure | None = None
    low: float = 0.0
    high: float = np.inf
    of_ratio: bool = False
    need: str = "all"
    of_two: bool = False
    in_print: str = ""

    @property
    def is_compared(self) -> bool:
        """Return whether there are others beside ours."""
        return bool(self.theirs)

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
        if self.of_ratio:
            text += " times"
        has_margin = any(isinstance(measure, Near) for measure in self.measures)
        is_ours = has_margin or 0 not in (self.low, self.high)
        return f"{text} (the bound is ours)" if is_ours else text

    def tested(self, parts: Sequence[Estimate]) -> tuple[float, float]:
        """Return the p of its holding and of its failing, from estimates of all its parts; those of
        a part are 1 where nothing tells its spread."""
        low, high = self.bounds
        ends = [(e.above(low), e.below(high), e.below(low), e.above(high)) for e in parts]
        above, below, too_low, too_high = np.nan_to_num(ends, nan=1.0).T
        count, least = len(parts), self._least(len(parts))
        holds = of_parts(np.maximum(above, below), least)
        return holds, of_parts(np.minimum(too_low, too_high), count - least + 1)

    def _least(self, count: int) -> int:
        """Return how many of `count` parts must be as claimed."""
        return {"all": count, "any": 1, "most": count // 2 + 1}[self.need]

    def word(self, parts: Sequence[Estimate]) -> str:
        """Return the verdict on estimates of all its parts."""
        holds, fails = self.tested(parts)
        p, side = 2 * min(holds, fails), fails - holds
        if not self.of_two:
            return verdict(side, p, words=("holds", "fails"))
        within = min(margin(str(measure)) for measure in self.measures)
        # As many parts as it takes are above this one or below it, so that it tells how far ahead
        # or behind all of these are. A part that is not run is on neither side.
        values = np.sort(np.nan_to_num([float(part.value) for part in parts]))
        decisive = values[len(parts) - self._least(len(parts))]
        p_level = max(part.p_level(within) for part in parts)
        return verdict(decisive, p, p_level, within=within)

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
    check_choice("need", claim.need, ["all", "any", "most"])
    are_numbers = isinstance(claim.low, int | float) and isinstance(claim.high, int | float)
    if not are_numbers or not claim.low < claim.high:
        found = f"low={claim.low!r}, high={claim.high!r}"
        raise InputError(f"`low` must be a number below `high`. Found {found}.")
    needs_theirs = claim.of_ratio or claim.of_two
    if not claim.ours or not claim.measures or (needs_theirs and not claim.is_compared):
        said = "and theirs if `of_ratio` or `of_two`"
        raise InputError(f"It must have settings of ours and measures, {said}.")
    if claim.of_two and (claim.of_ratio or (claim.low, claim.high) != (0, np.inf)):
        raise InputError("With `of_two` the margin is that of the measure: no bound, no ratio.")
    measures = [m for m in (*claim.measures, claim.their_measure) if m is not None]
    nearest = [measure.baseline for measure in measures if isinstance(measure, Near)]
    others = () if callable(claim.theirs) else claim.theirs
    for setting in (*claim.ours, *others, *nearest):
        check_choice("experiment", setting.experiment, [*OPTIONS])
        options = dict(setting.options)
        OPTIONS[setting.experiment].create(method=setting.method, **options)
        written = frame.setting(setting.experiment, setting.method, **options)
        ignored = [n for n in options if n != "data" and not affects(n, setting.method)]
        if ignored or options.keys() & NOT_IDENTITY - {"data"} or written != setting:
            raise InputError(f"No record would have the options of {setting}.")
    if claim.is_compared and not callable(claim.theirs):
        for one, two in claim.pairs():
            if two is None or one.method == two.method or one.experiment != two.experiment:
                continue  # alone, or a claim on what the data do
            if one.of_data != two.of_data:
                raise InputError(f"Two methods must have the same data. Found {one} and {two}.")
    experiment = claim.ours[0].experiment
    for measure in measures:
        if isinstance(measure, OfSeeds):
            check_choice("name", measure.name, [*frame.GROUPS])
            check_number("number", measure.number, 2, whole=True)
        elif isinstance(measure, Near):
            check_number("margin", measure.margin, 0)
        elif measure not in frame.COUNTED:
            name = measure.name if isinstance(measure, Away) else measure
            check_measure(name, [*paper.TASKS.get(experiment, ())])
    if experiment != "toy":
        check_choice("split", claim.split, frame.SPLITS)


def baselines(claim: Claim) -> list[Setting]:
    """Return every method of the grid that ends with one network, but for ours."""
    ours = claim.ours[0]
    settings = [Setting(ours.experiment, m) for m in paper.ONE_NETWORK if m != ours.method]
    return [setting for setting in settings if setting in frame.planned(ours.experiment)]


class ClaimPart(NamedTuple):
    """What is estimated of two settings, or of one, by one measure; NaN without records. `seeds`
    are those that are compared one by one, or those of either side; `each` says what is counted on
    the last; `span` is that of the fronts of a share."""

    name: str
    estimate: Estimate = Estimate(np.nan, np.nan, 0)
    seeds: tuple[int, ...] = ()
    each: str = "seed{}"
    span: float = np.nan

    @property
    def in_seeds(self) -> str:
        """Return how many seeds it rests on, in words; of a part with records."""
        counted = self.each.format("s" if self.seeds[-1] > 1 else "")
        alike = ", all alike" if self.estimate.error == 0 else ""
        return f"{' against '.join(map(str, self.seeds))} {counted}{alike}"


class Judged(NamedTuple):
    """What becomes of a claim: its word, and the parts that it rests on, those with records first,
    from the least."""

    claim: Claim
    word: str
    parts: list[ClaimPart]

    def number(self, part: ClaimPart) -> str:
        """Return what was measured, with its 95 % interval; nothing without records."""
        if not part.seeds or not self.claim.of_ratio:
            span = f", span {number(part.span)}" if np.isfinite(part.span) else ""
            return bracket(part.estimate, sign="+" if self.claim.is_compared else "") + span
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
        if self.claim.in_print:
            lines.append(f"In print: {self.claim.in_print}")
        missing = len(self.parts) - len(measured)
        return [*lines, f"{missing} not run"] if missing else lines

    @property
    def to_decide(self) -> str:
        """Return how many seeds would decide an open claim if all its estimates and deviations
        stayed as they are; "" of another, and where no number of seeds would."""
        if self.word != "open" or any(p.seeds and np.isnan(p.estimate.error) for p in self.parts):
            return ""
        known = [(part.estimate, min(part.seeds, default=0)) for part in self.parts]
        return seeds_to_decide(known, self.claim.word)


def judge(claim: Claim, runs: Runs) -> Judged:
    """Return what becomes of a claim."""
    parts = [*_parts(claim, runs)]
    measured = sorted((p for p in parts if p.seeds), key=lambda p: float(p.estimate.value))
    parts = measured + [part for part in parts if not part.seeds]
    word = claim.word([part.estimate for part in parts]) if measured else "not run"
    return Judged(claim, word, parts)


def _parts(claim: Claim, runs: Runs) -> Iterator[ClaimPart]:
    pairs = claim.pairs()
    several = len({one for one, _ in pairs}) > 1
    for (one, two), measure in product(pairs, claim.measures):
        sides = " against ".join(s.name() for s in (one if several else None, two) if s)
        for each in _of_objectives(measure, runs, one, two):
            if two and two.method == "stl" and not str(each).startswith(two.task):
                continue
            numbers, counted = [frame.measured(runs, one, each, claim.split)], "seed{}"
            if two:
                theirs = claim.their_measure or each
                if isinstance(theirs, OfSeeds):
                    counted = f"group{{}} of {theirs.number} seeds"
                numbers.append(frame.measured(runs, two, theirs, claim.split))
            if claim.of_ratio:
                numbers = [np.log(number) for number in numbers]
            elif two and (isinstance(each, Away) or not is_better_high(str(each))):
                numbers = [-number for number in numbers]
            is_clear = sides and len(claim.measures) == 1 and each is measure
            name = sides if is_clear else ", ".join(filter(None, (str(each), sides)))
            if any(its.empty for its in numbers):
                yield ClaimPart(name)
            elif not two:
                reach = frame.measured(runs, one, "span", claim.split).mean()
                span = reach if each in SHARES else np.nan
                yield ClaimPart(name, Estimate.of(numbers[0]), (len(numbers[0]),), span=span)
            else:
                away = minus_with_counts(numbers[0], numbers[1], frame.are_paired(runs, one, two))
                yield ClaimPart(name, *away, each=counted)


def _of_objectives(measure: Measure, runs: Runs, *settings: Setting | None) -> list[Measure]:
    """Return the measure, or if it ends with "objectives" one for each objective of the runs."""
    if not isinstance(measure, str) or not measure.endswith("objectives"):
        return [measure]
    made = [run for setting in settings if setting for run in runs.get(setting, {}).values()]
    prefix = measure.removesuffix("objectives")
    return [prefix + name for name in made[0].objectives] if made else [measure]
