"""Measure a run: a number of a record and a split, and its direction.

A measure is one line of `MEASURES`, or a name with a metric in it: "age/accuracy", the best of it
along the front on its own; "chosen age/accuracy", that of the one network that has the best of it
on validation, and so "chosen hypervolume"; "order of age/loss", the rank correlation of how much a
point cares about age with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pamal_companion.runs.records import HIGHER, Record
from pamal_companion.study.fronts import (
    correlations,
    dominated_by_a_neighbour,
    middle,
    ordered_pairs,
    span,
)
from pamal_companion.study.statistics import WITHIN
from pamal_core.errors import InputError
from pamal_core.front import Front

CHOSEN, ORDER_OF = "chosen ", "order of "
ENDS, AT_TASK_2 = "ends on the front of ", "ends at task 2 of "
"""Of a baseline of the toy problem, whose split is "c = 0.1": how many of its runs end on the
front, and the share of these in the half where task 2 is better."""


def points_apart(ours: float, theirs: float, num_tasks: int) -> float:
    """Return how far a hypervolume of accuracies is above another one, in points of accuracy on
    each task: v is that of one network with the accuracy v^(1/T) on each of T tasks."""
    root = 1 / num_tasks
    return float(100 * (ours**root - theirs**root))


def order(record: Record, split: str) -> float:
    """Return the mean over the tasks of the rank correlation of how much a point cares about a task
    with its loss: -1 where the front is in order, NaN where all losses of a task are equal."""
    correlations = record.part(split, "spearman").items()
    losses = [value for name, value in correlations if name.endswith("/loss")]
    return float("nan") if None in losses or not losses else sum(losses) / len(losses)


def chosen(record: Record, split: str, measure: str) -> float:
    """Return a measure of the one network of the front that is best by that measure on validation:
    the "hypervolume" from 0, NaN unless each objective is to be as large as can be and never below
    0, or a metric."""
    choice = split.replace("test", "validation").replace("training", "validation")
    on_validation = _of_networks(record, choice, measure)
    if on_validation.isna().all():
        return np.nan
    best = on_validation.idxmax() if is_better_high(measure) else on_validation.idxmin()
    return float(_of_networks(record, split, measure)[best])


def _of_networks(record: Record, split: str, measure: str) -> "pd.Series[float]":
    """Return a measure of each network of a front, by its place in it."""
    front = record.front(split)
    table = front.table.reset_index(drop=True)
    if measure != "hypervolume":
        return table.get(measure, pd.Series(np.nan, table.index))
    achieved = table[[objective.name for objective in front.objectives]]
    # The product of two numbers below 0 would be the larger, the worse they are.
    is_area = all(front.maximise) and not (achieved < 0).any(axis=None)
    return achieved.prod(axis=1, skipna=False) if is_area else table.index.to_series() * np.nan


def ends(record: Record, variant: str) -> "pd.Series[bool]":
    """Return for each run of a single network on the toy problem that ends on the front, whether
    that is in the half where task 2 is better; `variant` ends with the scale c of loss 1."""
    runs, scale = record.summary[variant]["runs"], float(variant.rpartition(" ")[2])
    on = {f"{variant}, {name}" for name, run in runs.items() if run["verdict"] == "subset"}
    points = [point["metrics"] for point in record.points if point["split"] in on]
    return pd.Series([losses["2/loss"] < losses["1/loss"] / scale for losses in points], dtype=bool)


def _of_front(function: Callable[[Front], Any]) -> Callable[[Record, str], Any]:
    return lambda record, split: function(record.front(split))


def _of_members(function: Callable[[Front], Any]) -> Callable[[Record, str], Any]:
    """Return a measure of a front with a member for each task; others have no such order."""

    def measure(record: Record, split: str) -> Any:
        front = record.front(split)
        return function(front) if front.alphas.shape[1] == len(front.objectives) else None

    return measure


MEASURES: dict[str, Callable[[Record, str], Any]] = {
    # of all points, from the reference of the experiment
    "hypervolume": Record.hypervolume,
    # rank correlation between the achievements on two tasks: -1 on a front
    "competition": lambda record, split: record.part(split).get("competition"),
    "competition in loss": _of_front(lambda front: front.on("loss").task_correlation()),
    "order": order,
    # rank correlation of how much a point cares about a task with its metric, a mean over tasks
    "order in metrics": _of_members(lambda front: correlations(front).mean()),
    # the smallest cosine between two members
    "cosine of the members": lambda record, _: record.summary.get("member_similarity"),
    "training time": lambda record, _: record.cost.get("train_seconds"),
    "peak memory": lambda record, _: record.cost.get("peak_memory_bytes"),
    # the share of the points that no other dominates
    "non-dominated": _of_front(lambda front: front.non_dominated().mean()),
    "non-dominated in loss": _of_front(lambda front: front.on("loss").non_dominated().mean()),
    # the share that neither neighbour along alpha dominates, of two members
    "dominated by no neighbour in loss": _of_front(
        lambda front: (~dominated_by_a_neighbour(front.on("loss"))).mean()
    ),
    # of the pairs of points that differ in how much they care, the share whose losses show it
    "ordered pairs": _of_members(lambda front: ordered_pairs(front.on("loss")).mean()),
    # the network in the middle, a mean over the objectives of the tasks
    "centre": _of_front(lambda front: np.mean([*middle(front).values()])),
    # the best of each objective along the front, a mean over the tasks
    "mean of objectives": _of_front(lambda front: np.mean([*front.ideal_point().values()])),
    # the largest extent in an objective of the points that no other dominates
    "span": _of_front(span),
    # of the pairs of starts of the toy problem; the split is the name of a variant
    "covering pairs": lambda record, split: record.summary[split]["covering"],
    # of those that follow a part of the front and nothing else
    "pairs on a part": lambda record, split: record.summary[split]["verdicts"].get("subset", 0),
}
"""Of a record and a split; None or NaN where it has no such number."""
OF_TOY = ("covering pairs", "pairs on a part")
LOW = {"competition", "competition in loss", "order", "cosine of the members"}
LOW |= {"training time", "peak memory"}
"""The measures of which lower is better."""


NAMED: dict[str, Callable[[Record, str, str], Any]] = {
    CHOSEN: chosen,
    ORDER_OF: lambda record, split, name: record.part(split, "spearman").get(name),
    ENDS: lambda record, split, rule: len(ends(record, f"{rule}, {split}")),
    AT_TASK_2: lambda record, split, rule: ends(record, f"{rule}, {split}").mean(),
}
"""By what their names begin with: of a record, a split and the rest of the name."""


def check(measure: str, tasks: Sequence[str] = ()) -> None:
    """Raise InputError for an unknown measure, or for a metric of none of the `tasks`, if any."""
    name = measure.removeprefix(CHOSEN).removeprefix(ORDER_OF)
    task, _, metric = name.partition("/")
    is_metric = metric in HIGHER and (not tasks or task in tasks)
    of_toy = measure in OF_TOY or measure.startswith((ENDS, AT_TASK_2))
    is_known = not tasks if of_toy else measure in (*MEASURES, CHOSEN + "hypervolume")
    if not (is_known or is_metric or name == "objectives"):
        known = ", ".join(MEASURES)
        raise InputError(f"A measure is one of {known}, or task/metric. Found {measure!r}.")


def value(record: Record, measure: str, split: str) -> float:
    """Return a measure of a record, NaN where it has none."""
    if measure not in record.objectives:  # which may be a metric of one's own
        check(measure)
    if measure in MEASURES:
        number = MEASURES[measure](record, split)
    elif prefix := next(filter(measure.startswith, NAMED), ""):
        number = NAMED[prefix](record, split, measure.removeprefix(prefix))
    else:
        number = _best(record, measure, split)
    return np.nan if number is None else float(number)


def _best(record: Record, name: str, split: str) -> float | None:
    """Return the best of a metric along the front, one that is not compared too."""
    if name in (best := record.part(split, "best")):
        return None if best[name] is None else float(best[name])
    if split not in splits(record):
        return None
    front, (task, metric) = record.front(split), name.rsplit("/", 1)
    objectives = tuple(objective for objective in front.objectives if objective.task == task)
    if not objectives or name not in front.table:
        return None
    return float(replace(front, objectives=objectives).on(metric).ideal_point()[name])


def splits(record: Record) -> list[str]:
    """Return on what a record measured: the splits of its points; of the toy problem the names of
    its variants, of the baselines "c = 0.1"."""
    if record.experiment != "toy":
        return [*dict.fromkeys(point["split"] for point in record.points)]
    if record.method == "baselines":
        return [*dict.fromkeys(name.partition(", ")[2] for name in record.summary)]
    return [*record.summary]


def measured(record: Record, split: str) -> dict[str, float]:
    """Return every measure that a record has on a split."""
    if record.experiment == "toy":
        names = [*OF_TOY]
        if record.method == "baselines":
            rules = [n.partition(", ")[0] for n in record.summary if n.endswith(f", {split}")]
            names = [prefix + rule for prefix in (ENDS, AT_TASK_2) for rule in rules]
    else:
        metrics = [*record.front(split).table]
        names = [name for name in MEASURES if name not in OF_TOY]
        names += [CHOSEN + "hypervolume", *metrics, *(CHOSEN + metric for metric in metrics)]
        names += [ORDER_OF + name for name in record.part(split, "spearman")]
    numbers = {name: value(record, name, split) for name in names}
    return {name: number for name, number in numbers.items() if not np.isnan(number)}


def margin(name: str) -> float:
    """Return within what two are level: of an accuracy, or a hypervolume of accuracies, `WITHIN`,
    which is little everywhere; 0 of another measure."""
    if "/" in name:
        is_share = name.endswith(("/accuracy", "/mIoU", "/pixel accuracy"))
    else:
        is_share = "hypervolume" in name or name in ("centre", "mean of objectives", "objectives")
    return WITHIN if is_share else 0.0


def is_better_high(name: str) -> bool:
    """Return the direction of a measure, or of an objective by its name."""
    return name not in LOW and HIGHER.get(name.rpartition("/")[2], True)
