"""UTKFace (sections 5.2, B3 and C1): age, a regression, gender and ethnicity of a face."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pamal_companion.data import utkface
from pamal_companion.experiments.resnet import resnet18
from pamal_companion.runs.options import Count, NonNegative, Options
from pamal_companion.runs.run import Experiment
from pamal_core.tasks import classification, regression


class UTKFaceOptions(Options):
    """The common options with the row of the paper's table that its text is about: gradient
    balancing (of PaMaL; LS and STL have none in the table), W = 3 and p = 2; and the size of the
    network, the images and the training part.

    `width` is the number of channels of ResNet18's first stage and `size` the height and width of
    an image: 64 both, on the sample 16 and 32. `stem` is where ResNet18 begins, the authors' for
    small images or torchvision's. `limit` is the number of images trained on. The sample has the
    smaller stem, p = 0.2 and BatchNorm recalibrated for each alpha: a few hundred steps leave the
    corners of the triangle untrained otherwise.
    """

    unless_pamal: ClassVar = {"balancing": "none"}
    W: Count = 3
    p: NonNegative | list[NonNegative] = 2.0
    balancing: Literal["none", "loss", "gradient"] = "gradient"
    width: Count = 64
    size: Annotated[int, Field(ge=32, multiple_of=32)] | None = None
    stem: Literal["released", "torchvision"] = "released"
    split: Literal["70/10/20", "paper"] = "70/10/20"
    limit: Annotated[int, Field(ge=2)] | None = None


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
    defaults={
        "full": {"epochs": 100, "rank": 2},  # that of a head of two classes
        "sample": {
            "epochs": 5,
            "rank": 2,
            "width": 16,
            "stem": "torchvision",
            "batch_size": 64,
            "p": 0.2,
            "batch_norm": "recalibrated",
        },
    },
)
