"""MultiMNIST3 (section 5.2 and appendix C3): three digits in one image, one task for each."""

from pamal_companion.data import multimnist
from pamal_companion.experiments.models import lenet
from pamal_companion.experiments.options import MultiMNIST3Options
from pamal_companion.runs.experiment import Experiment
from pamal_core.classes import classification

POSITIONS = MultiMNIST3Options.task_names

EXPERIMENT = Experiment(
    name="multimnist3",
    options=MultiMNIST3Options,
    tasks=tuple(classification(position) for position in POSITIONS),
    load=lambda o: multimnist.load(
        o.data, o.data_root, num_digits=3, antialias=o.antialias, split=o.split, seed=o.draw
    ),
    make_network=lambda _options, _splits, extra: lenet(len(POSITIONS), in_channels=1 + extra),
    reference=(0.0,) * len(POSITIONS),
)
