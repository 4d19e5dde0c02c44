"""CityScapes (sections 5.3, B4 and C1): what each pixel of a street scene shows, and how far away
it is."""

from typing import Annotated, Literal

from pydantic import Field

from pamal_core.data import cityscapes
from pamal_core.data.splits import Splits
from pamal_core.dense_tasks import depth, segmentation
from pamal_core.experiment import Experiment
from pamal_core.networks.models import SharedBottom
from pamal_core.networks.segnet import segnet
from pamal_core.options import NonNegative, Options

NUM_CLASSES = 7


class CityScapesOptions(Options):
    """The common options with the paper's setting: gradient balancing, W = 3, lambda = 1, p = 7,
    batches of 8 and a learning rate of 1e-4; and what it leaves open.

    `setting` is "II", with 500 of the 2,975 training scenes for validation, or "I", without;
    `validation` is another number of them. `augment` zooms into the training scenes and flips
    them, and `depth_scaling` says what a zoom does to their inverse depth. `width` is the number of
    channels of SegNet at full resolution, 64, on the sample 8. `limit` is the number of scenes of
    each part. The sample also has p = 1 and BatchNorm recalibrated for each alpha: a few hundred
    steps leave the ends of the segment untrained otherwise.
    """

    W: Annotated[int, Field(ge=1)] = 3
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    p: NonNegative | list[NonNegative] = 7.0
    balancing: Literal["none", "loss", "gradient"] = "gradient"
    lr: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-4
    batch_size: Annotated[int, Field(ge=1)] = 8
    setting: Literal["II", "I"] = "II"
    validation: Annotated[int, Field(ge=1)] | None = None
    augment: bool = True
    depth_scaling: Literal["multiply", "divide"] = "multiply"
    width: Annotated[int, Field(ge=1)] = 64
    limit: Annotated[int, Field(ge=1)] | None = None


def load(options: CityScapesOptions) -> Splits:
    """The data of `options`; every seed of training sees the same scenes."""
    return cityscapes.load(
        options.data,
        options.data_root,
        setting=options.setting,
        augment=options.augment,
        depth_scaling=options.depth_scaling,
        validation=options.validation,
        limit=options.limit,
    )


def network(options: CityScapesOptions, splits: Splits, extra: int) -> SharedBottom:
    """A SegNet for scenes with `extra` more channels than those of `splits`."""
    channels = splits.train.tensors[0].shape[1]
    return segnet((NUM_CLASSES, 1), width=options.width, in_channels=channels + extra)


EXPERIMENT = Experiment(
    name="cityscapes",
    tasks=(segmentation("segmentation", NUM_CLASSES), depth("depth")),
    load=load,
    make_network=network,
    reference=(0.0, 0.1),
    defaults={
        "full": {"epochs": 100},
        "sample": {
            "epochs": 8,
            "width": 8,
            "batch_size": 20,
            "lr": 3e-3,
            "p": 1.0,
            "batch_norm": "recalibrated",
        },
    },
    halve_after=0.75,
    evaluation_batch=50,
)
