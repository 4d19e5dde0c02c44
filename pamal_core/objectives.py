"""Columns of a front's table, a point of it, and numbers given by objective."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pamal_core.errors import InputError, is_number, shown

PerObjective: TypeAlias = Mapping[str, float | int] | pd.Series | Sequence[float | int] | np.ndarray
"""One number per objective: by the name of its task or its column, or in the objectives' order."""
Bounds: TypeAlias = Mapping[str, float | int] | pd.Series
"""A limit by name: of a task, which means its objective, or of a column of a front's table."""
NO_BOUNDS: Bounds = MappingProxyType({})


@dataclass(frozen=True)
class Objective:
    """Describe a column of a front's table, "task/metric": its direction and, if it has one, its
    reference, the value that is worth nothing in a hypervolume."""

    name: str
    maximise: bool
    reference: float | None = field(default=None, compare=False)

    @property
    def task(self) -> str:
        """Return the task of "task/metric"."""
        return self.name.rpartition("/")[0]

    @property
    def words(self) -> str:
        """Return the name as "metric on task"."""
        task, _, metric = self.name.rpartition("/")
        return f"{metric} on {task}"

    @property
    def label(self) -> str:
        """Return the words, and which direction is better."""
        return f"{self.words} ({'higher' if self.maximise else 'lower'} is better)"


@dataclass(frozen=True, eq=False)
class Point:
    """Hold a point of a front: its alpha [M], its row, counted from 0, and the value of each
    column of the table."""

    alpha: np.ndarray
    row: int
    metrics: dict[str, float]


def by_objective(
    objectives: Sequence[Objective], argument: str, numbers: PerObjective | Mapping[str, Any]
) -> np.ndarray:
    """Return `numbers`, given by name or in order, in the order of the `objectives`: [T]. Raise
    InputError, which names the `argument`, unless each objective has one finite number."""
    given: Any = numbers.tolist() if hasattr(numbers, "tolist") else numbers
    ordered = given
    if isinstance(numbers, Mapping | pd.Series):
        given = dict(numbers.items())
        ordered = [given.get(o.name, given.get(o.task)) for o in objectives]
    is_right = isinstance(ordered, Sequence) and len(objectives) == len(ordered) == len(numbers)
    if not is_right or not all(map(is_number, ordered)):
        names = ", ".join(o.name for o in objectives)
        raise InputError(
            f"`{argument}` must be {len(objectives)} finite numbers, one for each of {names}, by "
            f"name or in this order. Found {given!r}."
        )
    return np.array(ordered, dtype=float)


def check_same_objectives(fronts: Iterable[Any]) -> None:
    """Raise InputError unless all `fronts` have the same objectives, in the same directions."""
    first, *others = fronts
    for front in (first, *others):
        if not hasattr(front, "objectives"):
            raise InputError(f"A front must be one, as `fitted.front` is. Found {shown(front)}.")
        if front.objectives != first.objectives:
            raise InputError(
                "Fronts must have the same objectives, in the same directions. Found "
                f"{first.objectives} and {front.objectives}."
            )
