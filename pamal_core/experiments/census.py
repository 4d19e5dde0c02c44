"""Census (sections 5.1, B1 and C1): two or three questions about a person, one task for each."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from pamal_core.data import census
from pamal_core.data.splits import Splits
from pamal_core.networks.models import SharedBottom, mlp
from pamal_core.runs.options import Options
from pamal_core.runs.run import Experiment
from pamal_core.tasks import classification

Question = Literal["age", "education", "income", "never-married"]


class CensusOptions(Options):
    """The common options with the paper's W = 2 and lambda = 5, the tasks, and how Masters count.

    `tasks` may be given as one text with commas, as papermill passes it on.
    """

    W: Annotated[int, Field(ge=1)] = 2
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5.0
    tasks: Annotated[tuple[Question, ...], Field(min_length=2, max_length=3)] = ("age", "education")
    masters: Literal["mended", "as_released"] = "mended"

    @field_validator("tasks", mode="before")
    @classmethod
    def _split_and_sort(cls, tasks: object) -> object:
        """Equal tasks are equal options, whatever their order."""
        names = tasks.split(",") if isinstance(tasks, str) else tasks
        if not isinstance(names, list | tuple):
            return names
        return tuple(sorted({n.strip() if isinstance(n, str) else n for n in names}, key=str))


def load(options: CensusOptions) -> Splits:
    """The data of `options`; every seed of training sees the same people."""
    return census.load(
        options.data, options.data_root, tasks=options.tasks, masters=options.masters
    )


def network(_: CensusOptions, splits: Splits, extra: int) -> SharedBottom:
    """A perceptron with `extra` more inputs than `splits` have features, and a head for each
    task."""
    features, *labels = splits.train.tensors
    return mlp(features.shape[1] + extra, len(labels))


EXPERIMENT = Experiment(
    name="census",
    options=CensusOptions,
    tasks=lambda options: tuple(classification(task) for task in options.tasks),
    load=load,
    make_network=network,
    reference=0.0,
    defaults={"full": {"epochs": 10}, "sample": {"epochs": 10}},
)
