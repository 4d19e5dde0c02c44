"""Recipes of equal compute side by side: what each reaches, how it was tuned, and what it costs.

The words of the comparisons are those of `registered.verdicts`; here are the numbers beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from pamal_companion.study import per_pass, registered
from pamal_companion.study.frame import united
from pamal_companion.study.per_pass import Measure, Pair, Records
from pamal_companion.study.registered import Question
from pamal_companion.study.statistics import Estimate, number
from pamal_core.front import Front


class Recipe(NamedTuple):
    """Name a recipe: its words on pages, what it keeps, and its name in the grid that tuned it."""

    words: str
    kept: str
    in_grid: str


RECIPES = {
    "soup": Recipe("rewarded soup", "2 networks", "soup"),
    "pamal": Recipe("PaMaL from a shared start", "2 networks", "pamal-start-p1"),
    "phn": Recipe("PHN", "a hypernetwork", "phn-p1"),
    "today": Recipe("PaMaL, one draw", "2 networks", "pamal-one-p1"),
    "from-one": Recipe("sweep from one LS", "4 networks", "from-one"),
    "sweep": Recipe("sweep of four LS", "4 networks", "sweep"),
    "ls": Recipe("one LS", "1 network", "ls"),
}


DRAWN = {
    "soup": "Rewarded soup",
    "pamal": "PaMaL, shared start",
    "phn": "PHN",
    "sweep": "LS, a sweep of four",
    "ls": "LS, one network",
}
"""The recipes of a picture, by names that begin with a method."""


def means_within(question: Question, limits: Sequence[float]) -> dict[str, pd.DataFrame]:
    """Return what the measure is within each of `limits`, as means over seeds with the ends of
    their 95 % intervals, for the recipes that are drawn, by the name of their method."""
    means = {}
    for recipe, name in DRAWN.items():
        fours, rows = question.chosen[recipe].four.values(), {}
        for limit in limits:
            at_limit = replace(question.asked.measured, limit=limit)
            one = Estimate.of([at_limit.value(pair) for pair in fours])
            rows[limit] = one.value, *one.interval()
        means[name] = pd.DataFrame(rows, index=["mean", "low", "high"]).T
    return means


def of_recipe(question: Question, recipe: str) -> Records:
    """Return the records of the settings of a recipe, by their names and by seed."""
    names = per_pass.settings_of(recipe, question.records)
    return {name: question.records[name] for name in names}


def seconds(records: Records) -> float:
    """Return the mean seconds that a recipe trained for, all its networks together. A start that
    they share counts once, by its share of the epochs."""
    total = 0.0
    for place, by_seed in enumerate(records.values()):
        runs = by_seed.values()
        mean = float(np.mean([run.cost["train_seconds"] for run in runs]))
        options = next(iter(runs)).options
        started = (options.get("shared_epochs") or 0) / options["epochs"]
        total += mean if place == 0 else mean * (1 - started)
    return total


def tuned(grids: Sequence[Question]) -> Mapping[str, str]:
    """Return, by the name of a recipe in `grids`, its best rate and of how many."""
    found = registered.best(grids)
    said = {}
    for recipe, row in found.iterrows():
        edge = f", the {row['edge']}" if row["edge"] else ""
        said[str(recipe)] = f"{float(row['rate']):g}{edge} of {len(row['all'])}"
    return said


def table(question: Question, grids: Sequence[Question], units: Sequence[str]) -> pd.DataFrame:
    """Return a row for each recipe, the best first: the measure with its 95 % interval, the second
    objective there, the best of each objective, and the cost. `units` are the words of both
    objectives."""
    asked = question.asked
    limit = asked.measured.limit
    beside, rates = registered.beside(question), tuned(grids)
    means, rows = {}, {}
    for recipe in question.recipes:
        every = question.values(recipe)
        low, high = Estimate.of(every).interval()
        said, row = RECIPES[recipe], beside.loc[recipe]
        means[said.words] = every.mean()
        first, second = (column for column in beside.columns if column.startswith("best "))
        rows[said.words] = {
            f"{units[0]} ↑": f"{number(every.mean(), 3)} [{number(low, 3)}, {number(high, 3)}]",
            f"{units[1]} there ↓": number(row[f"on test, within {limit:g}"], 4),
            f"best {units[0]} ↑": number(row[first], 3),
            f"smallest {units[1]} ↓": number(row[second], 4),
            "to store": said.kept,
            "seconds": f"{seconds(of_recipe(question, recipe)):.0f}",
            "rate": rates[said.in_grid],
        }
    found = pd.DataFrame(rows).T.rename_axis("recipe")
    return found.loc[sorted(means, key=lambda name: -means[name])]


class Contender(NamedTuple):
    """Name a recipe that is compared by hypervolume.

    - `words`, `kept`, `rate`: what a page says of it, what it keeps, and Adam's rate.
    - `records`: of its settings, by their names and by seed; those of a sweep are one front.
    """

    words: str
    kept: str
    rate: str
    records: Records


def contenders(
    question: Question, grids: Sequence[Question], said_of: Mapping[str, Recipe]
) -> list[Contender]:
    """Return the recipes of a question, by what is `said_of` them, each with the rate that `grids`
    chose for it."""
    rates, found = tuned(grids), []
    for name in question.recipes:
        said = said_of[name]
        records = of_recipe(question, name)
        found.append(Contender(said.words, said.kept, rates[said.in_grid], records))
    return found


def by_volume(every: Sequence[Contender], *, with_seconds: bool = True) -> pd.DataFrame:
    """Return a row for each recipe, the best first: the hypervolume of four points on test with its
    95 % interval, for each task the accuracy in percent of the network that you would pick for it
    (`specialists`), and the cost. Leave the seconds out where machines differ."""
    means, rows = {}, {}
    for one in every:
        pairs = per_pass.pairs(one.records, one.records)
        volumes = pd.Series({seed: Measure().of_four(pair) for seed, pair in pairs.items()})
        low, high = Estimate.of(volumes).interval()
        means[one.words] = volumes.mean()
        row = {"hypervolume ↑": f"{number(volumes.mean())} [{number(low)}, {number(high)}]"}
        names = [task.name.split("/")[0] for task in next(iter(pairs.values())).test.objectives]
        for name, best in zip(names, specialists(pairs), strict=True):
            row[f"best at {name} % ↑"] = number(best, 2)
        row |= {"to store": one.kept, "rate": one.rate, "seeds": str(len(volumes))}
        if with_seconds:
            row["seconds"] = f"{seconds(one.records):.0f}"
        rows[one.words] = row
    found = pd.DataFrame(rows).T.rename_axis("recipe")
    return found.loc[sorted(means, key=lambda name: -means[name])]


def fronts(every: Sequence[Contender], words: Sequence[str]) -> dict[str, list[Front]]:
    """Return the fronts on test by seed of the recipes that are called `words`, by these."""
    by_words = {one.words: one.records for one in every}
    return {word: [*united(by_words[word], [*by_words[word]], "test").values()] for word in words}


def specialists(pairs: Mapping[int, Pair]) -> np.ndarray:
    """Return for each task the accuracy on test, in percent and in the mean over seeds, of the
    network that you would pick for the task alone: of all networks, the one with the highest
    accuracy on validation."""
    picked = []
    for pair in pairs.values():
        best = np.nanargmax(pair.validation.values, axis=0)  # of a diverged one it is no number
        picked.append(pair.test.values[best, np.arange(len(best))])
    return np.asarray(100 * np.mean(picked, axis=0))


def at_limits(question: Question, units: Sequence[str]) -> pd.DataFrame:
    """Return a row for each recipe and limit: the measure within the limit, the second objective
    there, and at how many seeds no network is within it. `units` are the words of both
    objectives."""
    beside, rows = registered.beside(question), {}
    count = len(next(iter(question.records.values())))
    for recipe in sorted(question.recipes, key=[*RECIPES].index):
        for limit in sorted(question.asked.limits, reverse=True):
            row = beside.loc[recipe]
            rows[RECIPES[recipe].words, f"{limit:g}"] = {
                f"{units[0]} ↑": number(row[f"within {limit:g}"], 3),
                f"{units[1]} there ↓": number(row[f"on test, within {limit:g}"], 4),
                "none that fair": f"{row[f'none within {limit:g}']:.0f} of {count} seeds",
            }
    return pd.DataFrame(rows).T.rename_axis(["recipe", f"{units[1]} at most"])


def as_constant(question: Question, metric: str, constant: float, near: float) -> tuple[int, int]:
    """Return how many networks of all recipes and seeds have a `metric` on test within `near` of
    what a constant answer has, and how many networks there are."""
    found = [
        run.front("test").table[metric].to_numpy()
        for by_seed in question.records.values()
        for run in by_seed.values()
    ]
    values = np.concatenate(found)
    return int((np.abs(values - constant) <= near).sum()), len(values)
