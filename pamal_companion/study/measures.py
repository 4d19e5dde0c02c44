"""What a run is measured by: a number of a record and a split, and its direction."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pamal_companion.runs.records import Record
from pamal_companion.study.fronts import dominated_by_a_neighbour
from pamal_core.errors import InputError
from pamal_core.front import LOWER, Front


def order(record: Record, split: str) -> float:
    """The mean over the tasks of the rank correlation of how much a point cares about a task with
    its loss: -1 where the front is in order, NaN where all losses of a task are equal."""
    correlations = record.summary[split]["spearman"].items()
    losses = [value for name, value in correlations if name.endswith("/loss")]
    return float("nan") if None in losses else sum(losses) / len(losses)


def ends(record: Record, variant: str) -> list[bool]:
    """For each run of a single network on the toy problem that ends on the front, whether that is
    in the half where task 2 is better; `variant` ends with the scale c of loss 1."""
    runs, scale = record.summary[variant]["runs"], float(variant.rpartition(" ")[2])
    on = {f"{variant}, {name}" for name, run in runs.items() if run["verdict"] == "subset"}
    found = [point["metrics"] for point in record.points if point["split"] in on]
    return [losses["2/loss"] < losses["1/loss"] / scale for losses in found]


def _of_chosen(record: Record, split: str, name: str) -> float:
    alpha = record.front(split.replace("test", "validation")).choose().alpha
    front = record.front(split)
    row = front.table[(front.alphas == alpha).all(1)].iloc[0]
    if name == "hypervolume":  # only where all objectives are to be as large as can be
        return row[[o.name for o in front.objectives]].prod() if all(front.maximise) else np.nan
    return float(row.get(name, np.nan))


OF_RECORDS: dict[str, Callable[[Record, str], Any]] = {
    # of all points, from the reference of the experiment
    "hypervolume": Record.hypervolume,
    # rank correlation between the achievements on two tasks: -1 on a front
    "competition": lambda record, split: record.summary[split].get("competition"),
    "order": order,
    # the smallest cosine between two members
    "cosine of the members": lambda record, _: record.summary.get("member_similarity"),
    # of the pairs of starts of the toy problem; the split is the name of a variant
    "covering pairs": lambda record, split: record.summary[split]["covering"],
    # of those that follow a part of the front and nothing else
    "pairs on a part": lambda record, split: record.summary[split]["verdicts"].get("subset", 0),
    "competition in loss": lambda record, split: record.front(split).on("loss").competition(),
    "training time": lambda record, _: record.cost.get("train_seconds"),
}
"""Of a record and a split; None or NaN where it has no such number."""
OF_FRONTS: dict[str, Callable[[Front], Any]] = {
    # the share of the points that no other dominates
    "non-dominated": lambda front: front.non_dominated().mean(),
    "non-dominated in loss": lambda front: front.on("loss").non_dominated().mean(),
    # the share that neither neighbour along alpha dominates, of two members
    "dominated by no neighbour in loss": (
        lambda front: (~dominated_by_a_neighbour(front.on("loss"))).mean()
    ),
    # of the pairs of points that differ in how much they care, the share whose losses show it
    "ordered pairs": lambda front: front.on("loss").ordered_pairs().mean(),
    # rank correlation of how much a point cares about a task with its metric, a mean over tasks
    "order in metrics": lambda front: front.spearman().mean(),
    # the network in the middle, a mean over the objectives of the tasks
    "centre": lambda front: np.mean([*front.middle().values()]),
    # the best of each objective along the front, a mean over the tasks
    "mean of objectives": lambda front: np.mean([*front.best().values()]),
    # the largest extent in an objective of the points that no other dominates
    "span": lambda front: np.ptp(front.values[front.non_dominated()], axis=0).max(),
}
OF_NAMES: dict[str, Callable[[Record, str, str], Any]] = {
    # of the network that `Front.choose` takes on validation: "hypervolume", from 0, or a column
    "chosen ": _of_chosen,
    # of a metric or loss: the rank correlation of how much a point cares about the task with it
    "order of ": lambda record, split, name: record.summary[split]["spearman"].get(name),
    # of a baseline of the toy problem, whose split is "c = 0.1": the number of `ends`, and the
    # share of them that are at task 2
    "ends on the front of ": lambda record, split, name: len(ends(record, f"{name}, {split}")),
    "ends at task 2 of ": lambda record, split, name: np.mean(
        ends(record, f"{name}, {split}") or np.nan
    ),
}
"""Of a record, a split and the name that follows."""
LOW = {"competition", "competition in loss", "order", "cosine of the members", "training time"}
"""Which of them are better the lower they are."""


def value(record: Record, measure: str, split: str) -> float:
    """A measure of `OF_RECORDS` or `OF_FRONTS`; one of `OF_NAMES` and a name; or by its name, such
    as "age/accuracy", the best of an objective along the front, on its own. NaN where the record
    does not have it."""
    prefix = next(filter(measure.startswith, OF_NAMES), None)
    if measure in OF_RECORDS:
        found = OF_RECORDS[measure](record, split)
    elif measure in OF_FRONTS:
        found = OF_FRONTS[measure](record.front(split))
    elif prefix:
        found = OF_NAMES[prefix](record, split, measure.removeprefix(prefix))
    elif "/" not in measure:
        known = ", ".join([*OF_RECORDS, *OF_FRONTS])
        raise InputError(f"A measure is one of {known}, or task/metric. Found {measure!r}.")
    else:
        found = record.summary[split]["best"].get(measure)
        if found is None:  # the best of a metric that is not compared
            front, (task, metric) = record.front(split), measure.rsplit("/", 1)
            own = tuple(objective for objective in front.objectives if objective.task == task)
            if own and measure in front.table:
                found = replace(front, objectives=own).on(metric).best()[measure]
    return np.nan if found is None else float(found)


def is_better_high(name: str) -> bool:
    """The direction of a measure, or of an objective by its name."""
    return name in OF_FRONTS or not (name in LOW or name.endswith(LOWER))
