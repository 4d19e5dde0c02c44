"""Recipes at equal passes: four points of each, chosen on validation and judged on test.

A recipe is a setting of a registration, such as `k=3-pamal`, or several whose networks are one
front: those of a sweep are `k=3-sweep-1` to `k=3-sweep-4`. In a grid the settings of a recipe are
`RECIPE@RATE`, and those of a sweep `RECIPE@RATE.1` to `RECIPE@RATE.4`, with Adam's rate.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import moocore
import numpy as np
import pandas as pd
from jaxtyping import Float

from pamal_companion.runs.records import Record
from pamal_companion.study.frame import of as of_run
from pamal_companion.study.frame import united
from pamal_core.errors import InputError
from pamal_core.front import Front

Records = Mapping[str, Mapping[int, Record]]
POINTS = 4
"""Of each front: as many as a sweep of four networks has."""


class Pair(NamedTuple):
    """The points of a recipe and of a seed, on validation and on test, row by row the same
    networks."""

    validation: Front
    test: Front

    def at(self, rows: Iterable[int]) -> "Pair":
        """Return these points alone."""
        kept = [*rows]
        return Pair(self.validation[kept], self.test[kept])


@dataclass(frozen=True)
class Measure:
    """What is measured of a front, larger is better.

    - `reference`: that of a hypervolume, in the units of the objectives; none is 0 of accuracies.
    - `limit`: None, or the largest value on validation of the second objective, lower is better.
      What is measured is then the first objective, on test, of that point within the limit that
      has the highest on validation.
    - `base_rate`: what that is where no point is within the limit: the value of a constant answer.
    """

    reference: tuple[float, ...] = ()
    limit: float | None = None
    base_rate: float = float("nan")

    def volume(self, front: Front) -> float:
        """Return the hypervolume of a front from the reference."""
        return front.hypervolume([*self.reference_of(front)])

    def reference_of(self, front: Front) -> tuple[float, ...]:
        """Return the reference; raise InputError where it does not fit the objectives."""
        names = ", ".join(o.name for o in front.objectives)
        if self.reference and len(self.reference) != len(front.objectives):
            raise InputError(
                f"`reference` must have a number for each of {names}. Found {[*self.reference]}."
            )
        if not self.reference and not all(front.maximise):
            raise InputError(f"`reference` must be given, as lower is better of some of {names}.")
        return self.reference or (0.0,) * len(front.objectives)

    def four(self, pair: Pair) -> Pair:
        """Return those four points whose hypervolume on validation is the largest; all of them
        where there are no more."""
        front = pair.validation
        # A network that diverged has no number to be chosen by.
        rows = np.flatnonzero(front.is_finite)
        if len(rows) <= POINTS:
            return pair.at(rows) if len(rows) else pair
        better = front.better
        signs = np.where(front.maximise, 1, -1)
        reference = signs * np.array(self.reference_of(front))

        def their_volume(rows: Iterable[int]) -> float:
            # Of a Front it would take ten times as long.
            return float(moocore.hypervolume(better[[*rows]], ref=reference, maximise=True))

        choices = np.array([*combinations(rows.tolist(), POINTS)])
        if len(reference) == 2:  # hundreds of choices at once, and then one by one the few that tie
            volumes = areas(better[choices] - reference)
            choices = choices[volumes >= volumes.max() * (1 - 1e-9)]
        return pair.at(max(choices.tolist(), key=their_volume))

    def value(self, pair: Pair) -> float:
        """Return what is measured on test."""
        if self.limit is None:
            return self.volume(pair.test)
        row = self.within(pair.validation, self.limit)
        return self.base_rate if row is None else float(pair.test.values[row, 0])

    def of_four(self, pair: Pair) -> float:
        """Return what is measured on test of the four points that validation chooses."""
        return self.value(self.four(pair))

    @staticmethod
    def within(validation: Front, limit: float) -> int | None:
        """Return the row of the point that is best in the first objective among those whose second
        is at most `limit`; None where none is."""
        first, second = validation.better[:, 0], validation.values[:, 1]
        rows = np.flatnonzero((second <= limit) & np.isfinite(first))
        return int(rows[first[rows].argmax()]) if len(rows) else None


def areas(points: Float[np.ndarray, "C P 2"]) -> Float[np.ndarray, " C"]:
    """Return the hypervolume from (0, 0) of each of C sets of P points, larger is better."""
    points = points.clip(0)
    order = points[..., :1].argsort(axis=1)[:, ::-1]
    lengths, heights = np.moveaxis(np.take_along_axis(points, order, axis=1), -1, 0)
    widths = -np.diff(lengths, axis=1, append=0)
    return (widths * np.maximum.accumulate(heights, axis=1)).sum(axis=1)


def settings_of(recipe: str, names: Iterable[str]) -> list[str]:
    """Return the settings of a recipe among `names`; raise InputError where there is none."""
    names = [*names]
    if recipe in names:
        return [recipe]
    pattern = re.compile(rf"{re.escape(recipe)}-\d+")
    found = [name for name in names if pattern.fullmatch(name)]
    if not found:
        raise InputError(f"A hypothesis must name a recipe of the settings. Found {recipe!r}.")
    if {*found} != {f"{recipe}-{place}" for place in range(1, POINTS + 1)}:
        raise InputError(
            f"A sweep must have {POINTS} settings, {recipe}-1 to {recipe}-{POINTS}. "
            f"Found {', '.join(found)}."
        )
    return found


def check_known(names: Iterable[str], records: Records) -> list[str]:
    """Return `names`; raise InputError unless each is a setting of the records."""
    names = [*names]
    if unknown := [name for name in names if name not in records]:
        raise InputError(f"A question is about its own settings. Found {unknown[0]!r}.")
    return names


def pairs(records: Records, names: Iterable[str]) -> dict[int, Pair]:
    """Return, by seed, the networks of all settings `names` together."""
    names = check_known(names, records)
    parts = [united(records, names, split) for split in ("validation", "test")]
    return {seed: Pair(parts[0][seed], parts[1][seed]) for seed in parts[0]}


class Chosen(NamedTuple):
    """The networks of a recipe by seed: all of them, and the four that validation chooses."""

    every: dict[int, Pair]
    four: dict[int, Pair]


def chosen(records: Records, recipe: str, measure: Measure) -> Chosen:
    """Return the networks of a recipe. To choose four of them takes long."""
    every = pairs(records, settings_of(recipe, records))
    return Chosen(every, {seed: measure.four(pair) for seed, pair in every.items()})


def beside(
    recipes: Mapping[str, Chosen],
    measure: Measure,
    limits: Sequence[float] = (),
    constant_loss: float | None = None,
) -> pd.DataFrame:
    """Return what stands beside the verdicts, a row for each recipe, means over seeds on test.

    - "four points", "all points": their hypervolumes; "best ..." of each objective over all points.
    - For each of `limits`, the first objective within it, by `Measure`, and what the second is
      there on test, which may be above the limit; NaN where no seed has a point within it.
    - "none within ...": in how many seeds that is.
    - "as a constant": how many tasks, of all seeds, are `untrained`; "as a constant, of four" the
      same at the four points; "tasks": of how many.
    """
    rows = {}
    for recipe, (by_seed, fours) in recipes.items():
        row: dict[str, float] = {
            "four points": mean(measure.volume(pair.test) for pair in fours.values()),
            "all points": mean(measure.volume(pair.test) for pair in by_seed.values()),
        }
        best = pd.DataFrame([pair.test.ideal_point() for pair in by_seed.values()]).mean()
        row |= {f"best {name}": value for name, value in best.items()}
        for limit in limits:
            within = Measure(measure.reference, limit, measure.base_rate)
            row[f"within {limit:g}"] = mean(within.value(pair) for pair in fours.values())
            found = [(pair.test, within.within(pair.validation, limit)) for pair in fours.values()]
            second = [test.values[k, 1] for test, k in found if k is not None]
            row[f"on test, within {limit:g}"] = mean(second)
            row[f"none within {limit:g}"] = len(found) - len(second)
        if constant_loss is not None:
            for column, points in (("", by_seed), (", of four", fours)):
                row[f"as a constant{column}"] = sum(
                    untrained(pair.test, constant_loss) for pair in points.values()
                )
            row["tasks"] = sum(len(pair.test.objectives) for pair in by_seed.values())
        rows[recipe] = row
    return pd.DataFrame(rows).T.rename_axis("recipe")


def mean(numbers: Iterable[float]) -> float:
    """Return the mean of numbers, NaN of none."""
    found = [*numbers]
    return float(np.mean(found)) if found else float("nan")


def untrained(front: Front, constant_loss: float) -> int:
    """Return how many tasks have at no point a loss of at most `constant_loss`: it is above, or no
    number. Raise InputError for a task without losses."""
    losses = [f"{objective.task}/loss" for objective in front.objectives]
    if missing := [name for name in losses if name not in front.table]:
        raise InputError(f"A task that may be untrained needs its loss. Found no {missing[0]}.")
    return int((~(front.table[losses].min() <= constant_loss)).sum())


# Grids

AT = re.compile(r"(?P<recipe>.+)@(?P<rate>\d+(?:\.\d+)?)(?:\.[1-9])?")


def best(records: Records, measure: Measure) -> pd.DataFrame:
    """Return, for each recipe of a grid, the rate with the largest hypervolume of four points on
    validation in the mean over seeds, and whether it is at an "edge" of the rates that were tried:
    "lowest" or "highest". Raise InputError for a setting that is not named as in a grid, or whose
    rate is another one, and for a recipe that has not as many networks at each rate."""
    settings: dict[str, dict[str, list[str]]] = {}
    for name, by_seed in records.items():
        match = AT.fullmatch(name)
        if match is None:
            raise InputError(f"A setting of a grid must be named RECIPE@RATE. Found {name!r}.")
        in_adam = of_run(next(iter(by_seed.values()))).rate
        if not np.isclose(in_adam, float(match["rate"])):
            raise InputError(
                f"A setting of a grid must have the rate of its name: {name}. Found {in_adam:g}."
            )
        settings.setdefault(match["recipe"], {}).setdefault(match["rate"], []).append(name)
    rows = {}
    for recipe, by_rate in settings.items():
        if len({len(names) for names in by_rate.values()}) > 1:
            raise InputError(f"{recipe} must have as many networks at each rate. Found {by_rate}.")
        means = {}
        for rate in sorted(by_rate, key=float):
            fours = [measure.four(pair) for pair in pairs(records, by_rate[rate]).values()]
            means[rate] = mean(measure.volume(pair.validation) for pair in fours)
        winner = max(means, key=lambda rate: means[rate])
        rates = [*means]
        edge = {rates[0]: "lowest", rates[-1]: "highest"}.get(winner, "")
        rows[recipe] = {"rate": winner, "hypervolume": means[winner], "edge": edge, "all": means}
    return pd.DataFrame(rows).T.rename_axis("recipe")
