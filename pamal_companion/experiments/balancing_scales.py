"""Show what balancing does to losses of unlike scale: three tasks of Census, rescaled."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from torch import Tensor

from pamal_companion.experiments.census import EXPERIMENT
from pamal_companion.experiments.options import CensusOptions
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.tasks import Task

Balancing = dict[str, Any]
UNSCALED = "none, losses as they are"
SETTINGS: dict[str, Balancing] = {
    UNSCALED: {},
    "none": {},
    "loss, as printed": {"balancing": "loss"},
    "loss, as released": {"balancing": "loss", "balancing_form": "released"},
    "gradient, as printed": {"balancing": "gradient"},
    "gradient, as released": {"balancing": "gradient", "balancing_form": "released"},
}
"""The options of each row of the table; the losses are rescaled in all but `UNSCALED`."""


def scaled(task: Task, scale: float) -> Task:
    """Return `task` whose loss is multiplied by `scale` when it trains; its metrics stay as they
    are."""

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return scale * task.loss(output, target)

    return replace(task, loss=loss)


def record(scales: Sequence[float], epochs: int, seed: int, balancing: Balancing) -> Record:
    """Return the record of PaMaL on the sample with losses times `scales`, no penalty and one
    draw a step."""
    fixed = {"W": 1, "lam": 0.0, "data": "sample", "device": "cpu"}
    questions = ("age", "education", "income")
    options = CensusOptions.create(**fixed, tasks=questions, epochs=epochs, seed=seed, **balancing)
    pairs = zip(EXPERIMENT.tasks_of(options), scales, strict=True)
    tasks = tuple(scaled(task, scale) for task, scale in pairs)
    reference = EXPERIMENT.reference[: len(tasks)]
    return run(replace(EXPERIMENT, tasks=tasks, reference=reference), options).record


def records(scales: Sequence[float], epochs: int, seed: int) -> dict[str, Record]:
    """Return a run in each of `SETTINGS`, by its name."""
    return {
        name: record([1.0] * len(scales) if name == UNSCALED else scales, epochs, seed, balancing)
        for name, balancing in SETTINGS.items()
    }


def table(found: dict[str, Record]) -> pd.DataFrame:
    """Return a row for each record, on test: the best accuracy and the best loss of each task, not
    rescaled (lower is better), the hypervolume of the accuracies from (0, 0, 0) (higher is better),
    and the smallest cosine of two members."""
    rows = {}
    for name, record in found.items():
        front = record.front("test")
        best = dict(sorted(front.ideal_point().items())) | dict(
            sorted(front.on("loss").ideal_point().items())
        )
        rows[name] = {f"best {key}": value for key, value in best.items()} | {
            "hypervolume": record.hypervolume("test"),
            "cosine of the members": record.summary["member_similarity"],
        }
    return pd.DataFrame(rows).T
