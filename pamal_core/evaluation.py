"""What a trained network achieves at each alpha."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor
from tqdm.auto import tqdm

from pamal_core.errors import InputError, check_type
from pamal_core.front import Front, Objective
from pamal_core.inputs import Batch, Inputs, check_loader, moved
from pamal_core.networks.base import Calibration, Network
from pamal_core.simplex import lattice, on_simplex, sampled
from pamal_core.tasks import Task, by_task, check_names, taken


def objectives(tasks: Sequence[Task]) -> tuple[Objective, ...]:
    """The first metric of each task; InputError where one has none."""
    if bare := [task.name for task in tasks if not task.metrics]:
        raise InputError(f"Every task must have a metric. Found none of {', '.join(bare)}.")
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

    `alphas` are [P, M], or one [M]. By default they are the lattice with 11 points along an edge,
    as in the paper: 11 points for two members, 66 for three, 286 for four. For more members they
    are `simplex.sampled`: the corners, the centre, and 256 points uniform on the simplex, with seed
    0.

    A metric is over the examples of all batches that have a label of its task, NaN where none has.
    A task that no member is trained on (a zero column of `task_weights`) is left out. `calibration`
    says which running statistics normalisation layers have: a list of batches of training data on
    which they are re-estimated for each alpha, or "shared". None are the shared ones, with a
    warning where they misjudge the ends of the front. The network keeps its mode and its
    statistics. With `progress` there is a bar once it takes more than ten seconds.

    A warning names the tasks and alphas whose metrics are not finite; InputError where no point has
    finite objectives.
    """
    check_type("network", network, Network, "the WeightEnsemble that was trained")
    check_names(tasks)
    if calibration is None:
        network.check_calibration(stacklevel=3)
    if alphas is None:
        points = (lattice if network.num_members <= 4 else sampled)(network.num_members)
    else:
        points = np.atleast_2d(on_simplex(alphas, network.num_members))
    table = measure(network, tasks, loader, points, calibration=calibration, progress=progress)
    trained = network.trained_tasks
    chosen = objectives([tasks[t] for t in trained])
    task_weights = network.task_weights[:, trained].cpu().numpy()
    front = Front(points, table, chosen, task_weights)
    _check_finite(front, network.task_weights.dtype)
    return front


@torch.no_grad()
def measure(
    network: Network,
    tasks: Sequence[Task],
    loader: Iterable[Batch],
    points: Float[np.ndarray, "P M"],
    *,
    calibration: Calibration | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """The table of `evaluate`, whatever is in it: a row for each of `points`."""
    check_loader(loader, len(points), "alpha")
    rows = []
    for point in tqdm(points, delay=10, disable=not progress, unit="alpha"):
        with network.evaluating():  # anew, as a model may keep what it computed at another alpha
            theta = _theta(network, point, calibration)
            rows.append(_metrics(network, theta, tasks, loader))
    return pd.DataFrame(rows)


@torch.no_grad()
def predict(
    network: Network, alpha: ArrayLike, inputs: Inputs, *, calibration: Calibration | None = None
) -> Any:
    """What the network at `alpha`, a point of the simplex with M entries, returns for `inputs`: a
    list or a dict of the output for each task.

    It runs as in `evaluate`: in evaluation mode, with the running statistics that `calibration`
    says. The network keeps its mode and its statistics.
    """
    check_type("network", network, Network, "the WeightEnsemble that was trained")
    with network.evaluating():
        theta = _theta(network, alpha, calibration)
        outputs = network(theta, *moved([inputs], theta.device))
        return dict(outputs) if isinstance(outputs, Mapping) else list(outputs)


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


def _theta(
    network: Network, alpha: ArrayLike, calibration: Calibration | None
) -> Float[Tensor, " N"]:
    """The weights at `alpha`, for which BatchNorm is re-estimated first."""
    if calibration is not None:
        network.recalibrate(alpha, calibration)
    return network.weights(network.alpha_tensor(alpha))


def _metrics(
    network: Network, theta: Tensor, tasks: Sequence[Task], loader: Iterable[Batch]
) -> dict[str, float]:
    """A row of the table: the value of each metric over all batches."""
    trained = network.trained_tasks
    totals: dict[tuple[int, int], Tensor] = {}
    batch = None
    for batch in loader:
        inputs, *targets = moved(batch, theta.device)
        triples = by_task(tasks, network(theta, inputs), targets)
        for t in trained:
            task, output, target = triples[t]
            if target is not None:
                for m, metric in enumerate(task.metrics):
                    add = partial(metric.add, totals.get((t, m), 0))
                    totals[t, m] = taken(task, f"metric {metric.name}", add, output, target)
    if batch is None:
        raise InputError("The loader must yield at least one batch. Found none.")
    return {
        f"{tasks[t].name}/{metric.name}": metric.of(totals[t, m]) if (t, m) in totals else math.nan
        for t in trained
        for m, metric in enumerate(tasks[t].metrics)
    }
