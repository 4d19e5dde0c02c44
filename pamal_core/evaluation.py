"""What a trained network achieves at each alpha."""

from collections.abc import Iterable, Sequence

import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from pamal_core.errors import InputError, check_type
from pamal_core.front import Front, Objective
from pamal_core.inputs import Batch, Inputs, moved
from pamal_core.networks.base import Calibration, Network
from pamal_core.simplex import lattice, on_simplex
from pamal_core.tasks import Task, check_counts, check_names


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
    `task_weights`) is left out. `calibration` says which statistics BatchNorm has; None are the
    shared ones, with a warning where several members have any BatchNorm, whose ends it misjudges.
    The mode and the statistics of the network are restored.
    """
    check_type("network", network, Network, "the WeightEnsemble that was trained")
    check_names(tasks)
    if calibration is None:
        network.check_calibration(stacklevel=3)
    points = (
        lattice(network.num_members) if alphas is None else on_simplex(alphas, network.num_members)
    )
    task_weights = network.task_weights.cpu().numpy()
    trained = [t for t in range(len(tasks)) if task_weights[:, t].any()]
    rows = []
    with network.evaluating():
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
) -> list[Tensor]:
    """The output for each task of the network at `alpha`, a point of the simplex with M entries,
    as `evaluate` judges it: in evaluation mode, and with BatchNorm as `calibration` says.

    The mode and the statistics of the network are restored.
    """
    check_type("network", network, Network, "the WeightEnsemble that was trained")
    with network.evaluating():
        theta = _theta(network, alpha, calibration)
        return list(network(theta, *moved([inputs], theta.device)))


def _theta(
    network: Network, alpha: ArrayLike, calibration: Calibration | None
) -> Float[Tensor, " N"]:
    """The weights at `alpha`, for which BatchNorm is re-estimated first."""
    if calibration is not None:
        network.recalibrate(alpha, calibration)
    return network.weights(network.alpha_tensor(alpha))


def _metrics(
    network: Network,
    theta: Tensor,
    tasks: Sequence[Task],
    trained: Sequence[int],
    loader: Iterable[Batch],
) -> dict[str, float]:
    totals: dict[tuple[int, int], Tensor] = {}
    check_type("loader", loader, Iterable, "a DataLoader or a list of batches")
    for batch in loader:
        inputs, *targets = moved(batch, theta.device)
        outputs = network(theta, inputs)
        check_counts(tasks, outputs, targets)
        for t in trained:
            for m, metric in enumerate(tasks[t].metrics):
                statistic = metric.statistic(outputs[t], targets[t])
                totals[t, m] = totals[t, m] + statistic if (t, m) in totals else statistic
    if not totals:
        raise InputError(
            "The loader must yield at least one batch. Found none; a generator has them once, a "
            "list for each alpha."
        )
    metrics = {(t, m): tasks[t].metrics[m] for t, m in totals}
    return {
        f"{tasks[t].name}/{metrics[t, m].name}": metrics[t, m].value(totals[t, m])
        for t, m in totals
    }
