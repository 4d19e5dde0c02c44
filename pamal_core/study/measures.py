"""What a run is measured by: a number of a record and a split, and its direction."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pamal_core.errors import InputError
from pamal_core.front import LOWER
from pamal_core.runs.records import Record
from pamal_core.study.fronts import dominated_by_a_neighbour


class Measure(NamedTuple):
    """A function of a record and a split; NaN where a record has none."""

    function: Callable[[Record, str], float]
    maximise: bool


def _number(name: str) -> Callable[[Record, str], float]:
    """An entry of the summary of a split."""

    def function(record: Record, split: str) -> float:
        return _or_nan(record.summary[split].get(name))

    return function


def _or_nan(found: float | None) -> float:
    return np.nan if found is None else float(found)


def _order(record: Record, split: str) -> float:
    found = record.summary[split]["spearman"].items()
    values = [_or_nan(value) for name, value in found if name.endswith("/loss")]
    return sum(values) / len(values) if values else np.nan


MEASURES = {
    # of all points, from the reference of the experiment
    "hypervolume": Measure(_number("hypervolume"), True),
    # rank correlation between the achievements on two tasks: -1 on a front
    "competition": Measure(_number("competition"), False),
    # the share of the points that no other dominates
    "non-dominated": Measure(
        lambda record, split: float(record.front(split).non_dominated().mean()), True
    ),
    "non-dominated in loss": Measure(
        lambda record, split: float(record.front(split).on("loss").non_dominated().mean()), True
    ),
    # the share that neither neighbour along alpha dominates, of two members
    "dominated by no neighbour in loss": Measure(
        lambda record, split: float(
            (~dominated_by_a_neighbour(record.front(split).on("loss"))).mean()
        ),
        True,
    ),
    # rank correlation of how much a point cares about a task with its loss, a mean over tasks
    "order": Measure(_order, False),
    # of the pairs of points that differ in that, the share whose losses are in that order
    "ordered pairs": Measure(
        lambda record, split: float(record.front(split).on("loss").ordered_pairs().mean()), True
    ),
    # the network in the middle, a mean over the objectives of the tasks
    "centre": Measure(
        lambda record, split: float(np.mean([*record.front(split).middle().values()])), True
    ),
    # the smallest cosine between two members
    "cosine of the members": Measure(
        lambda record, _: _or_nan(record.summary.get("member_similarity")), False
    ),
    # of the pairs of starts of the toy problem; the split is the name of a variant
    "covering pairs": Measure(lambda record, split: float(record.summary[split]["covering"]), True),
    "training time": Measure(lambda record, _: record.cost.get("train_seconds") or np.nan, False),
}


def value(record: Record, measure: str, split: str) -> float:
    """A measure of `MEASURES`; or by its name, such as "age/accuracy", the best of an objective
    along the front, on its own, or with "age/order" the order of one task; NaN where the record
    does not have it."""
    if measure in MEASURES:
        return MEASURES[measure].function(record, split)
    if "/" not in measure:
        raise InputError(
            f"A measure is one of {', '.join(MEASURES)}, or task/metric. Found {measure!r}."
        )
    if measure.endswith("/order"):
        found = record.summary[split]["spearman"].get(measure.removesuffix("order") + "loss")
        return np.nan if found is None else float(found)
    best = record.summary[split]["best"]
    if measure in best:
        return float(best[measure])
    front, (task, _, metric) = record.front(split), measure.rpartition("/")
    own = tuple(objective for objective in front.objectives if objective.task == task)
    if not own or measure not in front.table:
        return np.nan
    return replace(front, objectives=own).on(metric).best()[measure]


def is_better_high(name: str) -> bool:
    """The direction of a measure, or of an objective by its name."""
    return MEASURES[name].maximise if name in MEASURES else not name.endswith(LOWER)
