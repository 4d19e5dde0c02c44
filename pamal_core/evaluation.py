"""Evaluation: the metrics of a trained network at each alpha."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import length_hint
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from pamal_core.errors import InputError, check_type
from pamal_core.front import Front
from pamal_core.inputs import runs_of, unchanged
from pamal_core.loaders import Loader, no_batch, to_judge
from pamal_core.network import Alpha, Network, check_network, check_num_tasks, check_order
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice, sampled
from pamal_core.skeleton import autocast_now, full_precision, put_back
from pamal_core.statistics import Calibration, estimate
from pamal_core.tasks import Task, by_task, check_names, check_tasks, taken

NOT_FINITE = "Metrics that are not finite"
"""Beginning of the warning of `evaluate`."""
MAX_KEPT_WEIGHTS = 2**26
"""Weights of all alphas together, up to which they are kept: 256 MB in float32. More are mixed anew
for each batch, so that memory does not grow with the number of alphas."""


def objectives(tasks: Sequence[Task]) -> tuple[Objective, ...]:
    """Return the first metric of each task; raise InputError where one has none, or is no task."""
    check_tasks(tasks)
    if bare := [task.name for task in tasks if not task.metrics]:
        raise InputError(f"Every task must have a metric. Found none of {', '.join(bare)}.")
    return tuple(columns([task])[0] for task in tasks)


def columns(tasks: Sequence[Task]) -> tuple[Objective, ...]:
    """Return every metric of every task, the columns of the table of a front."""
    return tuple(
        Objective(f"{task.name}/{metric.name}", metric.maximise, metric.reference)
        for task in tasks
        for metric in task.metrics
    )


@torch.no_grad()
def evaluate(
    network: Network | AveragedModel,
    tasks: Sequence[Task],
    loader: Loader,
    alphas: Alpha | None = None,
    *,
    calibration: Calibration | None = None,
    progress: bool = True,
) -> Front:
    """Return the front of `network` on the data of `loader`, in evaluation mode.

    A metric is over the examples of all batches that have a label of its task, NaN where none has.
    A task that no member is trained on (a zero column of `task_weights`) is left out. The network
    keeps its mode and its statistics.

    - `loader`: batches, which are read once; each goes through the networks of all alphas. A
      generator will do. Or a loader for each task, {name: loader}.
    - `alphas`: [P, M], or one [M]; or a frame or a dict of them by name. By default they are the
      lattice with 11 points along an edge, as in the paper: 11 points for two members, 66 for
      three, 286 for four. For more members they are `simplex.sampled`: the corners, the centre, and
      256 points uniform on the simplex, with seed 0.
    - `calibration`: which running statistics normalisation layers have. A list of batches of
      training data, on which they are re-estimated for each alpha, or "shared". By default what
      `train` kept, or else the shared ones, with a warning where they misjudge the ends.
    - `progress`: whether there is a bar once it takes more than ten seconds.

    A model that carries a state from batch to batch would get that of the alpha before: let it
    begin each batch anew.

    A warning names the tasks and alphas whose metrics are not finite. Raises InputError where the
    tasks are in another order than in training or of another number than the network has, and where
    something writes into inputs, outputs or targets.
    """
    if isinstance(network, AveragedModel):
        network = cast(Network, network.module)
    check_network(network)
    check_names(tasks)
    check_order(network, [task.name for task in tasks])
    check_num_tasks(network, len(tasks))
    calibration = network.calibration_for(calibration)
    if alphas is None:
        points = (lattice if network.num_members <= 4 else sampled)(network.num_members)
    else:
        points = np.atleast_2d(network.alpha_array(alphas))
    table = measure(network, tasks, loader, points, calibration, progress)
    numbers = network.trained_tasks
    trained = [tasks[t] for t in numbers]
    task_weights = network.task_weights[:, numbers].cpu().double().numpy()
    front = Front(points, table, objectives(trained), task_weights, columns(trained))
    for text in not_finite(front, network.task_weights.dtype):
        warnings.warn(text, stacklevel=3)  # past the decorator of torch
    return front


def not_finite(front: Front, dtype: torch.dtype) -> list[str]:
    """Return a sentence on the metrics that are not finite, if there are any."""
    bad = ~np.isfinite(front.table.to_numpy(float))
    if not bad.any():
        return []
    places = [
        f"{name} at {column.sum()} of {len(bad)} alphas, first "
        f"{front.alphas[column.argmax()].round(3).tolist()}"
        for name, column in zip(front.table, bad.T, strict=True)
        if column.any()
    ]
    text = f"{NOT_FINITE}: {'; '.join(places)}."
    if dtype == torch.float16:
        text += " The weights are float16, which overflows early: use float32 or bfloat16."
    return [text]


@torch.no_grad()
def measure(
    network: Network,
    tasks: Sequence[Task],
    loader: Loader,
    points: Float[np.ndarray, "P M"],
    calibration: Calibration = "shared",
    progress: bool = False,
    argument: str = "loader",
) -> pd.DataFrame:
    """Return the table of `evaluate`, whatever is in it: a row for each of `points` with the value
    of each metric over all batches. `argument` is the name that a user gave `loader` by."""
    device, names = network.device, [task.name for task in tasks]
    check_type(argument, loader, Iterable, "a DataLoader or a list of batches")
    loader, trained = to_judge(loader, names), network.trained_tasks
    judged = {
        f"{task.name}/{metric.name}": (t, metric)
        for t, task in enumerate(tasks)
        for metric in task.metrics
        if t in trained
    }
    totals: list[dict[str, Any]] = [dict.fromkeys(judged) for _ in points]
    is_small = len(points) * network.skeleton.num_weights <= MAX_KEPT_WEIGHTS
    skeleton, caller = network.skeleton.eval_copy(), autocast_now(device)
    shared, thetas, statistics = skeleton.buffer_values(), [], []
    with full_precision(device):
        for point in points:
            mixed = network.theta(point)
            thetas.append(mixed if is_small else None)
            if calibration != "shared":
                estimate(skeleton, mixed, calibration, names)
                statistics.append(skeleton.buffer_values())
                put_back(shared)
        batch, length = None, length_hint(loader, 0) or None
        # An iterator, as tqdm would make a second one of a loader, with workers of its own.
        bar = tqdm(iter(loader), total=length, delay=10, disable=not progress, unit="batch")
        for batch in bar:
            runs = runs_of(batch, device, names)
            for p, total in enumerate(totals):
                skeleton.eval()  # anew, as a model may keep what it computed at another alpha
                put_back(statistics[p] if statistics else shared)
                theta = thetas[p]
                if theta is None:
                    theta = network.theta(points[p])
                for inputs, *targets in runs:
                    with unchanged([inputs, targets]):
                        with caller:
                            outputs = skeleton(theta, inputs)
                        with unchanged([outputs]):
                            _gather(judged, by_task(tasks, outputs, targets), total)
    if batch is None:
        raise no_batch(argument)
    rows = [{name: m.of(total[name]) for name, (_, m) in judged.items()} for total in totals]
    return pd.DataFrame(rows)


def _gather(
    judged: Mapping[str, tuple[int, Any]],
    triples: Sequence[tuple[Task, Tensor, Tensor | None]],
    total: dict[str, Any],
) -> None:
    """Add the statistics of a batch to `total`, by metric."""
    for name, (t, metric) in judged.items():
        task, output, target = triples[t]
        if target is None:
            continue
        add = partial(metric.add, total[name])
        total[name] = taken(task, f"metric {metric.name}", add, output, target)
