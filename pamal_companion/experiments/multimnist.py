"""MultiMNIST (sections 5.1, B1 and C1): two digits in one image, one task for each."""

from pamal_companion.data import multimnist
from pamal_companion.data.splits import Splits
from pamal_companion.experiments.models import SharedBottom, lenet, released_target
from pamal_companion.experiments.options import MultiMNISTOptions
from pamal_companion.runs.experiment import Experiment
from pamal_core.classes import classification


def network(o: MultiMNISTOptions, _splits: Splits, extra: int) -> SharedBottom:
    """Return one member, freshly initialised."""
    if o.target == "released":
        return released_target(in_channels=1 + extra, bottleneck=o.bottleneck)
    return lenet(in_channels=1 + extra, bottleneck=o.bottleneck, activation=o.activation)


EXPERIMENT = Experiment(
    name="multimnist",
    options=MultiMNISTOptions,
    tasks=tuple(map(classification, MultiMNISTOptions.task_names)),
    load=lambda o: multimnist.load(
        o.data, o.data_root, offset=o.offset, split=o.split, seed=o.draw
    ),
    make_network=network,
    reference=(0.0, 0.0),
)
