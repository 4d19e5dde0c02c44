"""The recommended recipe in one call, with linear scalarisation beside it."""

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import torch
from torch import nn

from pamal_core.balancing import Linear
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate, measure, objectives
from pamal_core.front import Front
from pamal_core.inputs import Batch, Inputs, check_loader, moved
from pamal_core.method import Method, NonFiniteError
from pamal_core.network import Alpha
from pamal_core.penalties import Penalty
from pamal_core.simplex import Dirichlet
from pamal_core.statistics import Calibration, check_calibration
from pamal_core.tasks import Task, label_counts
from pamal_core.training import train


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """What `fit` returns: a network for every trade-off, and what it is worth.

    `front` is that of `network` on the validation data, `baseline` that of one network trained by
    linear scalarisation (LS) for as many passes at the same `lr`, None where none was asked for.
    `history` has the losses of each epoch, as `train` returns them, and `notes` the warnings of the
    evaluation.
    """

    network: WeightEnsemble
    front: Front
    baseline: Front | None
    history: list[dict[str, Any]]
    lr: float
    notes: tuple[str, ...] = ()

    def export(self, alpha: Alpha | None = None, **wanted: Any) -> nn.Module:
        """Return the plain module at `alpha`, or else at the point that `front.choose(**wanted)`
        finds.

        - `alpha`: as in `network.export`.
        - `wanted`: `best`, `at_least`, `at_most` and `weights`, as `Front.choose` takes them.
        """
        return self.network.export(self._alpha(alpha, wanted))

    def predict(self, inputs: Inputs, alpha: Alpha | None = None, **wanted: Any) -> Any:
        """Return what the network at `alpha` returns for `inputs`, or else the one at the point
        that `front.choose(**wanted)` finds; `alpha` and `wanted` as in `export`."""
        return self.network.predict(inputs, self._alpha(alpha, wanted))

    def plot(self, ax: Any = None) -> Any:
        """Draw the front, with LS beside it, on matplotlib's axes, and return them."""
        return self.front.plot(ax, beside={} if self.baseline is None else {"LS": self.baseline})

    def __repr__(self) -> str:
        return "\n".join([repr(self.front), *self._verdict(), *self.notes])

    def _repr_html_(self) -> str:
        lines = "<br>".join(map(escape, [*self._verdict(), *self.notes]))
        return f"{self.front._repr_html_()}<p>{lines}</p>"

    def _alpha(self, alpha: Alpha | None, wanted: dict[str, Any]) -> Alpha:
        if alpha is None:
            return self.front.choose(**wanted).alpha
        if wanted:
            raise InputError(f"A point is an alpha or what is wanted of it. Found both, {wanted}.")
        return alpha

    def _verdict(self) -> list[str]:
        """Return sentences on how LS stands against the front."""
        is_judged = self.front.is_finite.any()
        if self.baseline is None or not self.baseline.is_finite.all() or not is_judged:
            return []
        names = [objective.name for objective in self.front.objectives]
        (values,), (ls,) = self.baseline.values, self.baseline.better
        achieved = ", ".join(f"{n} {v:.4g}" for n, v in zip(names, values, strict=True))
        points = self.front.pareto.better
        beaten = int(((ls >= points).all(1) & (ls > points).any(1)).sum())
        lines = [
            f"LS (rate {self.lr:.2g}, as many passes): {achieved}",
            f"LS is better in every task than {beaten} of the {len(points)} not dominated.",
        ]
        scaled, _ = self.front.scaled(np.vstack([points, ls]))
        # Where LS beats a point, some objective differs, so that there is something to compare.
        if beaten and scaled[-1].min() >= scaled[:-1].min(1).max():
            lines.append("If you need one network only, take LS.")
        return lines


def fit(
    make_model: Callable[[], nn.Module],
    tasks: Sequence[Task],
    loader: Iterable[Batch],
    validation: Iterable[Batch],
    *,
    epochs: int,
    lr: float | None = None,
    accumulate: int = 1,
    ema: float | None = 0.1,
    baseline: bool = True,
    preference: Dirichlet | None = None,
    balancer: Any = None,
    penalty: Penalty | None = None,
    window: int = 1,
    shared: str | Iterable[str] | None = None,
    calibration: Calibration | None = None,
    device: torch.device | str | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Fitted:
    """Train one network per task and every mixture of them, as our measurements recommend: one draw
    a step, averaged weights, and running statistics of its own for each alpha.

    - `make_model`: makes a new model at each call, such as a class. The model returns one output
      per task.
    - `tasks`: what is trained, and judged by.
    - `loader`, `validation`: batches to train on, and to judge on. Before training `validation` is
      judged once, so that what cannot be is not trained.
    - `epochs`: how often `loader` is read, for the ensemble and again for LS.
    - `lr`, `accumulate`, `ema`, `calibration`: as in `train`.
    - `baseline`: whether LS, one network with equal weights, is trained, too: for as many passes,
      at the same rate and with the same averaging and balancer.
    - `preference`, `balancer`, `penalty`, `window`: those of `Method`.
    - `shared`: that of `WeightEnsemble`, for gradient balancers.
    - `device`: where the models are trained; by default where they are made.
    - `seed`: of initial weights, draws and the order of batches.
    - `progress`: whether bars are shown.

    Returns a `Fitted`, which prints the front and how LS stands against it. Raises InputError, and
    NonFiniteError, as `train` and `evaluate` do; what LS raises is a note.
    """
    if isinstance(make_model, nn.Module) or not callable(make_model):
        raise InputError(
            "`make_model` must make a new model at each call, such as Net in place of Net(). "
            f"Found a {type(make_model).__name__}."
        )
    shared = shared if isinstance(shared, str | None) else [*shared]  # which two networks read
    names = [objective.name for objective in objectives(tasks)]
    passes_of_ls = epochs * window if baseline else 0
    check_loader(loader, epochs + passes_of_ls)
    check_loader(validation, 2, "validation")
    check_calibration(calibration)
    if not (calibration is None or isinstance(calibration, str)):
        calibration = [*calibration]  # it is read for each training and each alpha
    rule, num_tasks = balancer or Linear(), len(tasks)
    rate = 1e-3 * num_tasks if lr is None else lr

    def run(
        rows: np.ndarray, passes: int, **options: Any
    ) -> tuple[WeightEnsemble, Front, list[dict[str, Any]], list[str]]:
        torch.manual_seed(seed)
        members = [make_model() for _ in rows]
        network = WeightEnsemble(members, task_weights=rows, shared=shared).to(device)
        # A balancer with a memory has one for each training.
        method = Method(network, tasks, balancer=copy.deepcopy(rule), **options)
        with warnings.catch_warnings():  # what cannot be judged is not trained
            warnings.simplefilter("ignore")
            table, _ = measure(network, tasks, validation, np.eye(len(rows))[:1])
        if table[names].isna().any(axis=None):
            _check_labels(tasks, validation)
        history = train(
            method,
            loader,
            epochs=passes,
            lr=rate,
            accumulate=accumulate,
            ema=ema,
            calibration=calibration,
            seed=seed,
            progress=progress,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            front = evaluate(network, tasks, validation, progress=progress)
        return network, front, history, [str(one.message) for one in caught]

    options = {"penalty": penalty, "window": window, "preference": preference or Dirichlet()}
    network, front, history, notes = run(np.eye(num_tasks), epochs, **options)
    ls = None
    if baseline:
        equal = np.full((1, num_tasks), 1 / num_tasks)
        try:
            _, ls, _, of_ls = run(equal, passes_of_ls)
        except (NonFiniteError, InputError) as error:  # the front is not lost with it
            of_ls = [str(error)]
        notes += [f"LS: {note}" for note in of_ls]
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Fitted(network, front, ls, history, rate, tuple(notes))


def _check_labels(tasks: Sequence[Task], validation: Iterable[Batch]) -> None:
    """Raise InputError where no batch has a label of a task."""
    cpu, found = torch.device("cpu"), torch.zeros(len(tasks))
    for batch in validation:
        _, *targets = moved(batch, cpu, [task.name for task in tasks])
        found += label_counts(tasks, targets, cpu)
    if bare := [task.name for task, count in zip(tasks, found, strict=True) if not count]:
        raise InputError(
            f"`validation` must have labels of each task. Found none of {', '.join(bare)}."
        )
