"""MultiMNIST3 (section 5.2 and appendix C3): three digits in one image, one task for each."""

from pamal_companion.data import multimnist
from pamal_companion.experiments.models import lenet
from pamal_companion.runs.options import Natural, Options
from pamal_companion.runs.run import Experiment
from pamal_core.tasks import classification

# In the order of the authors' code, which is that of the paper's table.
POSITIONS = ("top-left", "bottom", "top-right")


class MultiMNIST3Options(Options):
    """The common options, whose defaults are the paper's setting: one draw a step and no penalty.

    `antialias` smooths the image as it is scaled down: the authors' code does not, and the paper
    does not say. `draw` is the seed of the data, as for two digits.
    """

    antialias: bool = False
    draw: Natural = 0


EXPERIMENT = Experiment(
    name="multimnist3",
    options=MultiMNIST3Options,
    tasks=tuple(classification(position) for position in POSITIONS),
    load=lambda o: multimnist.load(
        o.data, o.data_root, num_digits=3, antialias=o.antialias, seed=o.draw
    ),
    make_network=lambda _options, _splits, extra: lenet(len(POSITIONS), in_channels=1 + extra),
    reference=(0.0,) * len(POSITIONS),
    defaults={"full": {"epochs": 20}, "sample": {"epochs": 10}},
)
