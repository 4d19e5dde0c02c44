"""Census (sections 5.1, B1 and C1): two or more questions about a person, one task for each."""

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field

from pamal_companion.data import census
from pamal_companion.experiments import listed
from pamal_companion.experiments.models import mlp
from pamal_companion.runs.options import Count, Natural, Options, Strength
from pamal_companion.runs.run import Experiment
from pamal_core.tasks import classification

# In the order of the alphabet, as the labels are.
Question = Literal[
    "age", "dividends", "education", "full-year", "income", "joint-filer", "male", "never-married"
]


class CensusOptions(Options):
    """The common options with the paper's W = 2 and lambda = 5, the tasks, and how Masters count.

    `tasks` may be given as one text with commas. Equal tasks are equal options, whatever their
    order. `draw` is the seed of the fifth of the training file that is for validation.
    """

    W: Count = 2
    lam: Strength = 5.0
    tasks: Annotated[
        tuple[Question, ...],
        BeforeValidator(lambda given: tuple(sorted({*listed(given)}, key=str))),
        Field(min_length=2),
    ] = ("age", "education")
    masters: Literal["mended", "as_released"] = "mended"
    draw: Natural = 0


EXPERIMENT = Experiment(
    name="census",
    options=CensusOptions,
    tasks=lambda options: tuple(classification(task) for task in options.tasks),
    load=lambda o: census.load(o.data, o.data_root, tasks=o.tasks, masters=o.masters, seed=o.draw),
    make_network=lambda o, splits, extra: mlp(
        splits.train.tensors[0].shape[1] + extra, len(o.tasks)
    ),
    reference=(0.0,) * len(get_args(Question)),
    # A head of two classes has no adapter of a higher rank.
    defaults={data: {"epochs": 10, "rank": 2} for data in ("full", "sample")},
)
