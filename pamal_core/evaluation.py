"""What a trained network achieves at each alpha."""

import contextlib
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from pamal_core.errors import InputError, check_choice
from pamal_core.front import Front, Objective
from pamal_core.inputs import Batch, Inputs, moved
from pamal_core.networks.base import Network, has_batch_norm
from pamal_core.simplex import lattice, on_simplex
from pamal_core.tasks import Task, by_task, check_names, statistic

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
) -> Front:
    """The front of `network` on the data of `loader`, in evaluation mode.

    `alphas` [P, M] is the lattice with 11 points along an edge by default, as in the paper: 11
    points for two members, 66 for three. A task that no member is trained on (a zero column of
    `task_weights`) is left out. A metric is over the examples of all batches that have a label of
    its task, NaN where none has. `calibration` says which statistics BatchNorm has; None are the
    shared ones, with a warning where several members have any BatchNorm, whose ends it misjudges.
    The mode and the statistics of the network are restored.
    """
    if calibration is None and network.num_members > 1 and has_batch_norm(network):
        warnings.warn(
            "The network has BatchNorm, whose running statistics belong to the middle of the front "
            "alone. Give `calibration` a list of one or a few batches of training data, or "
            '"shared" to keep them.',
            stacklevel=2,
        )
    check_names(tasks)
    points = (
        lattice(network.num_members) if alphas is None else on_simplex(alphas, network.num_members)
    )
    task_weights = network.task_weights.cpu().numpy()
    trained = [t for t in range(len(tasks)) if task_weights[:, t].any()]
    rows = []
    with _evaluation_mode(network):
        for point in points:
            theta = _theta(network, point, calibration)
            rows.append(_metrics(network, theta, tasks, trained, loader))
    chosen = objectives([tasks[t] for t in trained])
    return Front(points, pd.DataFrame(rows), chosen, task_weights[:, trained])


@torch.no_grad()
def predict(
    network: Network,
    alpha: ArrayLike,
    inputs: Inputs,
    *,
    calibration: Calibration | None = None,
) -> Any:
    """What the network at `alpha`, a point of the simplex with M entries, returns, a list or a dict
    of the output for each task, as `evaluate` judges it: in evaluation mode, and with BatchNorm as
    `calibration` says.

    The mode and the statistics of the network are restored.
    """
    with _evaluation_mode(network):
        theta = _theta(network, alpha, calibration)
        outputs = network(theta, *moved([inputs], theta.device))
        return dict(outputs) if isinstance(outputs, Mapping) else list(outputs)


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
    batch = None
    for batch in loader:
        inputs, *targets = moved(batch, theta.device)
        triples = by_task(tasks, network(theta, inputs), targets)
        for t in trained:
            task, output, target = triples[t]
            if target is not None:
                for m, metric in enumerate(task.metrics):
                    part = statistic(task, metric, output, target)
                    totals[t, m] = totals[t, m] + part if (t, m) in totals else part
    if batch is None:
        raise InputError("The loader must yield at least one batch. Found none.")
    return {
        f"{tasks[t].name}/{metric.name}": metric.value(totals[t, m])
        if (t, m) in totals
        else math.nan
        for t in trained
        for m, metric in enumerate(tasks[t].metrics)
    }
