"""MultiMNIST (sections 5.1, B1 and C1): two digits in one image, one task for each."""

from typing import Annotated, Literal

from pydantic import Field

from pamal_core.data import multimnist
from pamal_core.data.splits import Splits
from pamal_core.experiment import Experiment
from pamal_core.experiments.tables import REFERENCE
from pamal_core.networks.models import lenet
from pamal_core.options import Options
from pamal_core.tasks import classification


class MultiMNISTOptions(Options):
    """The common options with the paper's W = 4, and the position of the second digit."""

    W: Annotated[int, Field(ge=1)] = 4
    offset: Literal[6, 8] = 6


def load(options: MultiMNISTOptions) -> Splits:
    """The data of `options`; every seed of training sees the same images."""
    return multimnist.load(options.data, options.data_root, offset=options.offset)


EXPERIMENT = Experiment(
    name="multimnist",
    tasks=(classification("top-left"), classification("bottom-right")),
    load=load,
    make_network=lambda _options, _splits, extra: lenet(in_channels=1 + extra),
    reference=REFERENCE,
    defaults={"full": {"epochs": 10}, "sample": {"epochs": 10}},
)
