"""Census (sections 5.1, B1 and C1): two or more questions about a person, one task for each."""

from pamal_companion.data import census
from pamal_companion.experiments.models import mlp
from pamal_companion.experiments.options import QUESTIONS, CensusOptions
from pamal_companion.runs.experiment import Experiment
from pamal_core.classes import classification

EXPERIMENT = Experiment(
    name="census",
    options=CensusOptions,
    tasks=lambda options: tuple(classification(task) for task in options.tasks),
    load=lambda o: census.load(o.data, o.data_root, tasks=o.tasks, masters=o.masters, seed=o.draw),
    make_network=lambda o, splits, extra: mlp(
        splits.train.tensors[0].shape[1] + extra, len(o.tasks)
    ),
    reference=(0.0,) * len(QUESTIONS),
)
