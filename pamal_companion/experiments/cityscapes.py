"""CityScapes (sections 5.3, B4 and C1): what each pixel of a street shows, and how far away."""

from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from pydantic import model_validator

from pamal_companion.data import cityscapes
from pamal_companion.data.splits import Splits
from pamal_companion.experiments.segnet import segnet
from pamal_companion.runs.options import Count, NonNegative, Options, Positive, Strength
from pamal_companion.runs.run import Experiment, calibration
from pamal_core.evaluation import predict
from pamal_core.networks.base import Network
from pamal_core.tasks import depth, segmentation

NUM_CLASSES = len(cityscapes.CLASSES)


class CityScapesOptions(Options):
    """The common options with the paper's setting: gradient balancing, W = 3, lambda = 1, p = 7,
    batches of 8 and a learning rate of 1e-4; and what `cityscapes.load` takes. LS and STL are
    balanced only if `balancing` says so.

    `width` is the number of channels of SegNet at full resolution, 64, on the sample 8. The sample
    also has p = 0.5 and BatchNorm recalibrated for each alpha: its 132 steps leave the ends of the
    segment untrained otherwise.
    """

    unless_pamal: ClassVar = {"balancing": "none"}
    W: Count = 3
    lam: Strength = 1.0
    p: NonNegative | list[NonNegative] = 7.0
    balancing: Literal["none", "loss", "gradient"] = "gradient"
    lr: Positive = 1e-4
    batch_size: Count = 8
    setting: Literal["II", "I"] = "II"
    validation: Count | None = None
    augment: bool | None = None
    depth_scaling: Literal["multiply", "divide"] = "multiply"
    width: Count = 64
    limit: Count | None = None

    @model_validator(mode="after")
    def _has_scenes_to_validate_on(self) -> "CityScapesOptions":
        if self.setting == "I" and self.validation is not None:
            raise ValueError(f"Setting I has no `validation`. Found {self.validation}.")
        return self


EXPERIMENT = Experiment(
    name="cityscapes",
    options=CityScapesOptions,
    tasks=(segmentation("segmentation", NUM_CLASSES), depth("depth")),
    load=lambda o: cityscapes.load(
        o.data,
        o.data_root,
        **o.model_dump(include={"setting", "augment", "depth_scaling", "validation", "limit"}),
    ),
    make_network=lambda o, splits, extra: segnet(
        (NUM_CLASSES, 1), width=o.width, in_channels=splits.train.tensors[0].shape[1] + extra
    ),
    # No class right, and about the depth error of guessing the same everywhere: on the sample the
    # median's is 0.061, and the worst of the paper's table is 0.0539.
    reference=(0.0, 0.06),
    defaults={
        "full": {"epochs": 100},
        "sample": {
            "epochs": 11,
            "width": 8,
            "batch_size": 20,
            "lr": 4e-3,
            "p": 0.5,
            "batch_norm": "recalibrated",
        },
    },
    halve_after=0.75,
    evaluation_batch=50,
)


def predictions(
    network: Network, options: CityScapesOptions, splits: Splits, alphas: ArrayLike, scene: int
) -> tuple[Int[np.ndarray, "P H W"], Float[np.ndarray, "P 1 H W"]]:
    """A class and an inverse depth for each pixel of test scene number `scene`: what `network`,
    trained with `options` on `splits`, predicts at each of `alphas` [P, M], with the statistics of
    BatchNorm that its record was measured with."""
    image = splits.test[scene : scene + 1][0]
    seen = calibration(EXPERIMENT, EXPERIMENT.resolved(options, splits), splits)
    outputs = [predict(network, alpha, image, calibration=seen) for alpha in np.asarray(alphas)]
    labels = [logits[0].argmax(0).cpu().numpy() for logits, _ in outputs]
    return np.stack(labels), np.stack([far[0].cpu().numpy() for _, far in outputs])
