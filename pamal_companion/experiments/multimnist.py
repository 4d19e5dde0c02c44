"""MultiMNIST (sections 5.1, B1 and C1): two digits in one image, one task for each."""

from typing import Literal

from pamal_companion.data import multimnist
from pamal_companion.experiments.models import lenet
from pamal_companion.runs.options import Count, Natural, Options
from pamal_companion.runs.run import Experiment
from pamal_core.tasks import classification


class MultiMNISTOptions(Options):
    """The common options with the paper's W = 4, the position of the second digit, whether
    validation shares its digits with training, as in the authors' code, and which draw of digits
    the images are composed of: the seed of the data, whatever `seed` trains on them. `bottleneck`
    is the number of features between encoder and heads."""

    W: Count = 4
    offset: Literal[6, 8] = 6
    split: Literal["disjoint", "released"] = "disjoint"
    draw: Natural = 0
    bottleneck: Count = 50


EXPERIMENT = Experiment(
    name="multimnist",
    options=MultiMNISTOptions,
    tasks=(classification("top-left"), classification("bottom-right")),
    load=lambda o: multimnist.load(
        o.data, o.data_root, offset=o.offset, split=o.split, seed=o.draw
    ),
    make_network=lambda o, _splits, extra: lenet(in_channels=1 + extra, bottleneck=o.bottleneck),
    reference=(0.0, 0.0),
    defaults={"full": {"epochs": 10}, "sample": {"epochs": 10}},
)
