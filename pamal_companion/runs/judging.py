"""Choose what a run is judged on: parts of the data, points of the simplex, and statistics."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from pamal_companion.data.batches import batches
from pamal_companion.data.images import Images
from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.options import Options
from pamal_core.simplex import sampled
from pamal_core.statistics import Calibration
from pamal_core.training import seed_everything

Part = tuple[str, DataLoader[tuple[Tensor, ...]], dict[str, Any]]
"""A part of the data: its name, its batches, and the other arguments of `evaluate`: `alphas`, None
for the lattice, and `calibration`."""
CALIBRATION = 500
"""Number of training examples on which the statistics of BatchNorm are re-estimated."""
SAMPLED = 100
"""Number of points of the grid "sampled", beside the corners and the centre."""


def parts(
    experiment: Experiment, options: Options, splits: Splits, device: torch.device
) -> list[Part]:
    """Return the parts of `splits` that a run of `options` is judged on.

    With `batch_norm` "both" there are "validation, recalibrated" and "test, recalibrated", too, and
    with `measure_training` there is "training", without augmentation.
    """
    data = {"validation": splits.validation, "test": splits.test}
    if options.measure_training:
        seen = copy.copy(splits.train)
        if isinstance(seen, Images):
            seen.augment = None
        data["training"] = seen
    statistics = {"": calibration(experiment, options, splits)}
    if options.batch_norm == "both":
        statistics = {"": "shared", ", recalibrated": statistics[""]}
    size = experiment.evaluation_batch
    loaders = {name: batches(part, size, device=device) for name, part in data.items()}
    points = alphas(options, len(experiment.tasks_of(options)))
    return [
        (name + ending, loader, {"alphas": points, "calibration": given})
        for ending, given in statistics.items()
        for name, loader in loaders.items()
    ]


def calibration(experiment: Experiment, options: Options, splits: Splits) -> Calibration:
    """Return the statistics of BatchNorm in a run of `options`: "shared", or, for "both" too, the
    batches on which they are re-estimated for each alpha, inputs alone."""
    if options.batch_norm == "shared":
        return "shared"
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    # What is trained on may be augmented at random. The caller's random numbers stay as they were.
    with torch.random.fork_rng([torch.cuda.current_device()] if started else []):
        seed_everything(options.seed)
        seen = splits.train[:CALIBRATION][0]
    return [(part,) for part in seen.split(experiment.evaluation_batch)]


def alphas(options: Options, num_tasks: int) -> np.ndarray | None:
    """Return the points at which a run of `options` is judged, None for the lattice."""
    if options.grid == "arc":
        return arc()
    return sampled(num_tasks, SAMPLED) if options.grid == "sampled" else None


def arc(num_points: int = 11) -> np.ndarray:
    """Return points at equal angles on a quarter of the unit circle, scaled to the simplex: [P, 2].

    The codes of PHN, COSMOS and the paper evaluate these two methods there. The points run from the
    first corner to the second like the lattice, and are denser in the middle.
    """
    angles = np.linspace(0, np.pi / 2, num_points)
    points = np.stack([np.cos(angles), np.sin(angles)], 1).clip(0)
    return points / points.sum(1, keepdims=True)
