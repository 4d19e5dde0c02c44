"""What a trained network achieves at each alpha."""

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor
from tqdm.auto import tqdm

from pamal_core.errors import InputError, check_choice
from pamal_core.front import Front, Objective
from pamal_core.inputs import Batch, Inputs, moved
from pamal_core.networks.base import Network, has_batch_norm
from pamal_core.simplex import lattice, on_simplex, sampled
from pamal_core.tasks import Task, check_counts, check_names

Calibration = Iterable[Batch] | Literal["shared"]
"""Batches of training data, inputs first, on which the statistics of BatchNorm are re-estimated for
each alpha; or "shared", those that training left, one for all alpha."""


def objectives(tasks: Sequence[Task]) -> tuple[Objective, ...]:
    """The first metric of each task."""
    return tuple(Objective(f"{t.name}/{t.metrics[0].name}", t.metrics[0].maximise) for t in tasks)


@torch.no_grad()
def evaluate(
    network: Network,
    tasks: Sequence[Task],
    loader: Iterable[Batch],
    alphas: ArrayLike | None = None,
    *,
    calibration: Calibration | None = None,
    progress: bool = True,
) -> Front:
    """The front of `network` on the data of `loader`, in evaluation mode.

    `alphas` [P, M] is the lattice with 11 points along an edge by default, as in the paper: 11
    points for two members, 66 for three, 286 for four. For M > 4, whose lattices explode, it is
    `simplex.sampled`: the corners, the centre, and 256 points uniform on the simplex, with seed 0.
    With `progress` a bar is shown once that takes more than ten seconds. A task that no member is
    trained on (a zero column of `task_weights`) is left out. `calibration` says which statistics
    BatchNorm has; None are the shared ones, with a warning where several members have any
    BatchNorm, whose ends it misjudges.
    The mode and the statistics of the network are restored. A warning names the tasks and alphas
    whose metrics are not finite; InputError where no point has finite objectives.
    """
    if calibration is None and network.num_members > 1 and has_batch_norm(network):
        warnings.warn(
            "The network has BatchNorm, whose running statistics belong to the middle of the front "
            "alone. Give `calibration` a list of one or a few batches of training data, or "
            '"shared" to keep them.',
            stacklevel=2,
        )
    check_names(tasks)
    if alphas is None:
        points = (lattice if network.num_members <= 4 else sampled)(network.num_members)
    else:
        points = on_simplex(alphas, network.num_members)
    task_weights = network.task_weights.cpu().numpy()
    trained = [t for t in range(len(tasks)) if task_weights[:, t].any()]
    rows = []
    with _evaluation_mode(network):
        for point in tqdm(points, delay=10, disable=not progress, unit="alpha"):
            theta = _theta(network, point, calibration)
            rows.append(_metrics(network, theta, tasks, trained, loader))
    chosen = objectives([tasks[t] for t in trained])
    front = Front(points, pd.DataFrame(rows), chosen, task_weights[:, trained])
    _check_finite(front, theta.dtype)
    return front


@torch.no_grad()
def predict(
    network: Network,
    alpha: ArrayLike,
    inputs: Inputs,
    *,
    calibration: Calibration | None = None,
) -> list[Tensor]:
    """The output for each task of the network at `alpha`, a point of the simplex with M entries,
    as `evaluate` judges it: in evaluation mode, and with BatchNorm as `calibration` says.

    The mode and the statistics of the network are restored.
    """
    with _evaluation_mode(network):
        theta = _theta(network, alpha, calibration)
        return list(network(theta, *moved([inputs], theta.device)))


def _check_finite(front: Front, dtype: torch.dtype) -> None:
    """A warning where a metric is not finite, and InputError where no point can be compared."""
    bad = ~np.isfinite(front.table.to_numpy(float))
    if not bad.any():
        return
    found = [
        f"{name} at {column.sum()} of {len(bad)} alphas, first "
        f"{front.alphas[column.argmax()].round(3).tolist()}"
        for name, column in zip(front.table, bad.T, strict=True)
        if column.any()
    ]
    text = f"Metrics that are not finite: {'; '.join(found)}."
    if dtype == torch.float16:
        text += " The weights are float16, which overflows early: use float32 or bfloat16."
    if not front.is_finite.any():
        raise InputError(f"A front needs a point whose objectives are finite. {text}")
    warnings.warn(text, stacklevel=4)  # past `evaluate` and the decorator of torch


def calibrate(network: Network, alpha: ArrayLike, calibration: Calibration | None) -> None:
    """Give the BatchNorm of `network` the statistics of `alpha`, unless all alpha share them."""
    if isinstance(calibration, str):
        check_choice("calibration", calibration, ["shared"])
    elif calibration is not None:
        network.recalibrate(alpha, calibration)


@contextlib.contextmanager
def _evaluation_mode(network: Network) -> Iterator[None]:
    """Evaluation mode, after which the mode and the buffers are again as they were."""
    was_training = network.training
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    network.eval()
    try:
        yield
    finally:
        network.train(was_training)
        for name, buffer in network.named_buffers():
            buffer.copy_(before[name])


def _theta(
    network: Network, alpha: ArrayLike, calibration: Calibration | None
) -> Float[Tensor, " N"]:
    """The weights at `alpha`, for which BatchNorm is re-estimated first."""
    calibrate(network, alpha, calibration)
    return network.weights(network.alpha_tensor(alpha))


def _metrics(
    network: Network,
    theta: Tensor,
    tasks: Sequence[Task],
    trained: Sequence[int],
    loader: Iterable[Batch],
) -> dict[str, float]:
    totals: dict[tuple[int, int], Tensor] = {}
    for batch in loader:
        inputs, *targets = moved(batch, theta.device)
        outputs = network(theta, inputs)
        check_counts(tasks, outputs, targets)
        for t in trained:
            for m, metric in enumerate(tasks[t].metrics):
                statistic = metric.statistic(outputs[t], targets[t])
                totals[t, m] = totals[t, m] + statistic if (t, m) in totals else statistic
    if not totals:
        raise InputError("The loader must yield at least one batch. Found none.")
    metrics = {(t, m): tasks[t].metrics[m] for t, m in totals}
    return {
        f"{tasks[t].name}/{metrics[t, m].name}": metrics[t, m].value(totals[t, m])
        for t, m in totals
    }
