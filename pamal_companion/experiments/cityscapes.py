"""CityScapes (sections 5.3, B4 and C1): what each pixel of a street shows, and how far away."""

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from pamal_companion.data import cityscapes
from pamal_companion.data.splits import Splits
from pamal_companion.experiments.options import CityScapesOptions
from pamal_companion.experiments.segnet import segnet
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.judging import calibration
from pamal_core.classes import segmentation
from pamal_core.network import Network
from pamal_core.numbers import depth

NUM_CLASSES = len(cityscapes.CLASSES)

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
    halve_after=0.75,
    evaluation_batch=50,
)


def predictions(
    network: Network, options: CityScapesOptions, splits: Splits, alphas: ArrayLike, scene: int
) -> tuple[Int[np.ndarray, "P H W"], Float[np.ndarray, "P 1 H W"]]:
    """Return a class and an inverse depth for each pixel of test scene number `scene`: what
    `network`, trained with `options` on `splits`, predicts at each of `alphas` [P, M], with the
    statistics of BatchNorm that its record was measured with."""
    image = splits.test[scene : scene + 1][0]
    seen = calibration(EXPERIMENT, EXPERIMENT.resolved(options, splits), splits)
    outputs = [network.predict(image, alpha, calibration=seen) for alpha in np.asarray(alphas)]
    labels = [logits[0].argmax(0).cpu().numpy() for logits, _ in outputs]
    return np.stack(labels), np.stack([far[0].cpu().numpy() for _, far in outputs])
