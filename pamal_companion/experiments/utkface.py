"""UTKFace (sections 5.2, B3 and C1): age, a regression, gender and ethnicity of a face."""

from pamal_companion.data import utkface
from pamal_companion.experiments.options import UTKFaceOptions
from pamal_companion.experiments.resnet import resnet18
from pamal_companion.runs.experiment import Experiment
from pamal_core.classes import classification
from pamal_core.numbers import regression

EXPERIMENT = Experiment(
    name="utkface",
    options=UTKFaceOptions,
    tasks=(
        regression("age", metrics=["loss"]),
        classification("gender"),
        classification("ethnicity"),
    ),
    load=lambda o: utkface.load(o.data, o.data_root, size=o.size, split=o.split, limit=o.limit),
    make_network=lambda o, splits, extra: resnet18(
        (1, 2, 5),
        width=o.width,
        stem=o.stem,
        in_channels=splits.train.tensors[0].shape[1] + extra,
        size=splits.train.tensors[0].shape[2],
    ),
    # About the Huber loss of guessing every age to be the mean, and no answer right.
    reference=(0.4, 0.0, 0.0),
)
