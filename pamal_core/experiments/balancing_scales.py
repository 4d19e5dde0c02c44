"""What balancing does where losses differ in scale: three tasks of the Census sample, rescaled."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import pandas as pd
from torch import Tensor

from pamal_core.experiments.census import EXPERIMENT, CensusOptions
from pamal_core.runs.records import Record
from pamal_core.runs.run import run
from pamal_core.tasks import Task


class Setting(NamedTuple):
    """A row of the table; `balancing` and `form` are those of `Options`, and `rescaled` says
    whether the losses are."""

    name: str
    balancing: Literal["none", "loss", "gradient"]
    form: Literal["paper", "released"] = "paper"
    rescaled: bool = True


SETTINGS = (
    Setting("none, losses as they are", "none", rescaled=False),
    Setting("none", "none"),
    Setting("loss, as printed", "loss"),
    Setting("loss, as released", "loss", "released"),
    Setting("gradient, as printed", "gradient"),
    Setting("gradient, as released", "gradient", "released"),
)


def scaled(task: Task, scale: float) -> Task:
    """`task` whose loss is multiplied by `scale` when it trains; its metrics stay as they are."""

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return scale * task.loss(output, target)

    return replace(task, loss=loss)


def record(setting: Setting, scales: Sequence[float], epochs: int, seed: int) -> Record:
    """PaMaL on the sample, without a penalty and with one draw a step."""
    options = CensusOptions.create(
        W=1,
        lam=0.0,
        tasks=("age", "education", "income"),
        balancing=setting.balancing,
        balancing_form=setting.form,
        epochs=epochs,
        seed=seed,
        data="sample",
        device="cpu",
    )
    tasks = EXPERIMENT.tasks_of(options)
    if setting.rescaled:
        tasks = tuple(scaled(t, s) for t, s in zip(tasks, scales, strict=True))
    return run(replace(EXPERIMENT, tasks=tasks), options).record


def records(scales: Sequence[float], epochs: int, seed: int) -> dict[str, Record]:
    """A run in each of `SETTINGS`, by its name."""
    return {setting.name: record(setting, scales, epochs, seed) for setting in SETTINGS}


def table(found: dict[str, Record]) -> pd.DataFrame:
    """A row for each record, on test: the best accuracy and the best loss of each task, not
    rescaled (lower is better), the hypervolume of the accuracies from (0, 0, 0) (higher is better),
    and the smallest cosine of two members."""
    rows = {}
    for name, record in found.items():
        front = record.front("test")
        best = dict(sorted(front.best().items())) | dict(sorted(front.on("loss").best().items()))
        rows[name] = {f"best {key}": value for key, value in best.items()} | {
            "hypervolume": record.hypervolume("test"),
            "cosine of the members": record.summary["member_similarity"],
        }
    return pd.DataFrame(rows).T
