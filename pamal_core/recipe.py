"""The recommended recipe in one call, with linear scalarisation beside it."""

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from operator import length_hint
from typing import Any

import numpy as np
import torch
from torch import nn

from pamal_core.balancing import Linear
from pamal_core.choose import scaled
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.evaluation import evaluate, measure, objectives
from pamal_core.front import Front
from pamal_core.inputs import Batch, Inputs, check_loader, to_device
from pamal_core.method import Method, NonFiniteError
from pamal_core.network import Alpha
from pamal_core.penalties import Penalty
from pamal_core.simplex import Dirichlet
from pamal_core.statistics import Calibration, check_calibration
from pamal_core.tasks import Task, label_counts
from pamal_core.training import train

OWN_WEIGHT = 0.9
"""Weight of its own task in the loss of a member of a soup. The other tasks share the rest."""


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """A network for every trade-off and its front, as `fit` returns them.

    `front` is the front of `network` on the validation data. `baseline` is the front of one network
    that was trained by linear scalarisation (LS) for as many passes at the same `lr`; it is None if
    `fit` was called without. `history` has the losses of each epoch, as `train` returns them, and
    `notes` has the warnings of the evaluation. `recipe` says in a sentence what was trained, if
    the training had a start.
    """

    network: WeightEnsemble
    front: Front
    baseline: Front | None
    history: list[dict[str, Any]]
    lr: float
    notes: tuple[str, ...] = ()
    recipe: str = ""

    def export(self, alpha: Alpha | None = None, **wanted: Any) -> nn.Module:
        """Return the plain module at `alpha`. If there is none, return the module at the point that
        `front.choose(**wanted)` finds.

        - `alpha`: as in `network.export`.
        - `wanted`: `best`, `at_least`, `at_most` and `weights`, as `Front.choose` takes them.
        """
        return self.network.export(self._alpha(alpha, wanted))

    def predict(self, inputs: Inputs, alpha: Alpha | None = None, **wanted: Any) -> Any:
        """Return the outputs for `inputs` of the network at a point, which `alpha` or `wanted` give
        as in `export`."""
        return self.network.predict(inputs, self._alpha(alpha, wanted))

    def plot(self, ax: Any = None) -> Any:
        """Draw the front, and LS beside it, on matplotlib's axes `ax`, and return the axes."""
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
        """Return sentences that say what was trained, and compare LS with the front."""
        lines = [self.recipe] if self.recipe else []
        is_judged = self.front.is_finite.any()
        if self.baseline is None or not self.baseline.is_finite.all() or not is_judged:
            return lines
        names = [objective.name for objective in self.front.objectives]
        (values,), (ls,) = self.baseline.values, self.baseline.better
        achieved = ", ".join(f"{n} {v:.4g}" for n, v in zip(names, values, strict=True))
        points = self.front.pareto.better
        beaten = int(((ls >= points).all(1) & (ls > points).any(1)).sum())
        lines += [
            f"LS (rate {self.lr:.2g}, as many passes): {achieved}",
            f"LS is better in every task than {beaten} of the {len(points)} not dominated.",
        ]
        shares, _ = scaled(self.front, np.vstack([points, ls]))
        # Where LS beats a point, some objective differs, so that there is something to compare.
        if beaten and shares[-1].min() >= shares[:-1].min(1).max():
            lines.append("If you need one network only, take LS.")
        return lines


def fit(
    make_model: Callable[[], nn.Module],
    tasks: Sequence[Task],
    loader: Iterable[Batch],
    validation: Iterable[Batch],
    *,
    epochs: int,
    start: int = 0,
    soup: bool = False,
    lr: float | None = None,
    averaging: float | None = 0.1,
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
    a step, averaged weights, and separate running statistics for each alpha.

    - `make_model`: makes a new model at each call, such as a class. The model returns one output
      per task.
    - `tasks`: what is trained, and judged by.
    - `loader`, `validation`: batches to train on, and to judge on. `validation` is judged once
      before training, so that an error in a metric shows at once.
    - `epochs`: how often `loader` is read for the ensemble, with its start. After the start an
      epoch makes `window` passes, each with one network on every example. LS makes as many passes
      in all, and reads `loader` once for each.
    - `start`: the number of epochs, of one pass each, in which one LS is trained, with the same
      balancer. All members then begin as copies of it. Adam begins anew with them. The weights of
      the start are not averaged, as in our measurements.
    - `soup`: whether no mixture is trained, as in a rewarded soup. After the start each member is
      trained alone, with a weight of 0.9 for its own task; the other tasks share the rest. So an
      epoch makes as many passes as there are tasks. Give an alpha by numbers, because no member has
      one task only.
    - `lr`, `calibration`: as in `train`, also for the start.
    - `averaging`: the share of all steps after the start over which weights are averaged,
      exponentially; 0.1 is an `ema` of 1 - 1 / (0.1 steps) in `train`. If None, they are not
      averaged.
    - `baseline`: whether LS, one network with equal weights, is trained, too: for as many passes,
      at the same rate and with the same averaging and balancer.
    - `preference`, `balancer`, `penalty`, `window`: those of `Method`.
    - `shared`: the argument of `WeightEnsemble`, for gradient balancers.
    - `device`: trains the models there; by default they are trained where they are made.
    - `seed`: decides initial weights, draws and the order of batches.
    - `progress`: whether bars are shown.

    To log, resume or use an optimiser of your own, call `WeightEnsemble`, `Method`, `train` and
    `evaluate`, as this function does.

    Returns a `Fitted`, which prints the front and how LS stands against it. Raises InputError and
    NonFiniteError as `train` and `evaluate` do; an error of LS becomes a note.
    """
    if isinstance(make_model, nn.Module) or not callable(make_model):
        raise InputError(
            "`make_model` must make a new model at each call, such as Net in place of Net(). "
            f"Found a {type(make_model).__name__}."
        )
    names, num_tasks = [objective.name for objective in objectives(tasks)], len(tasks)
    rows, equal = np.eye(num_tasks), np.ones((1, num_tasks)) / num_tasks
    _check_start(start, epochs)
    check_type("soup", soup, bool, "True")
    if soup:
        _check_soup(start, num_tasks, preference=preference, penalty=penalty, window=window)
        rows = np.where(rows == 1, OWN_WEIGHT, (1 - OWN_WEIGHT) / (num_tasks - 1))
        # Every corner is drawn once in each step.
        preference, window = Dirichlet(0.0, stratified=True), num_tasks
    shared = shared if isinstance(shared, str | None) else [*shared]  # which all networks read
    passes_of_ls = start + (epochs - start) * window if baseline else 0
    check_loader(loader, epochs + passes_of_ls)
    check_loader(validation, 2, "validation")
    check_calibration(calibration)
    length = length_hint(loader, 0)  # 0 if the loader does not know
    if averaging is not None:
        check_number("averaging", averaging, 0, above=True)
        if not length:
            raise InputError(
                "`averaging` is a share of all steps, so the loader must have a length. Found one "
                "without; None averages no weights."
            )
    if not (calibration is None or isinstance(calibration, str)):
        calibration = [*calibration]  # it is read for each training and each alpha
    rule = balancer or Linear()
    rate = 1e-3 * num_tasks if lr is None else lr

    def make(rows: np.ndarray, **options: Any) -> tuple[WeightEnsemble, Method]:
        torch.manual_seed(seed)
        members = [make_model() for _ in rows]
        network = WeightEnsemble(members, task_weights=rows, shared=shared).to(device)
        # A balancer with a memory has one for each training.
        return network, Method(network, tasks, balancer=copy.deepcopy(rule), **options)

    def train_for(passes: int, method: Method, averaging: float | None) -> list[dict[str, Any]]:
        return train(
            method,
            loader,
            epochs=passes,
            lr=rate,
            ema=None if averaging is None else _decay(averaging * (passes * length)),
            calibration=calibration,
            seed=seed,
            progress=progress,
        )

    def run(
        rows: np.ndarray, passes: int, start: int = 0, **options: Any
    ) -> tuple[WeightEnsemble, Front, list[dict[str, Any]], list[str]]:
        network, method = make(rows, **options)
        with warnings.catch_warnings():  # an error in a metric shows before training
            warnings.simplefilter("ignore")
            table, _ = measure(network, tasks, validation, np.eye(len(rows))[:1])
        if table[names].isna().any(axis=None):
            _check_labels(tasks, validation)
        history = []
        if start:
            one, ls_method = make(equal)
            history = train_for(start, ls_method, averaging=None)
            _copy_into_members(network, one)
            method.epoch_losses = ls_method.epoch_losses  # so that no order of batches comes again
        later = train_for(passes - start, method, averaging)
        history += [row | {"epoch": start + row["epoch"]} for row in later]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            front = evaluate(network, tasks, validation, progress=progress)
        return network, front, history, [str(warning.message) for warning in caught]

    options = {"penalty": penalty, "window": window, "preference": preference or Dirichlet()}
    network, front, history, notes = run(rows, epochs, start, **options)
    ls = None
    if baseline:
        try:
            _, ls, _, of_ls = run(equal, passes_of_ls)
        except (NonFiniteError, InputError) as error:  # the front is not lost with it
            of_ls = [str(error)]
        notes += [f"LS: {note}" for note in of_ls]
    for note in notes:
        warnings.warn(note, stacklevel=2)
    recipe = ""
    if start:
        name, then = "PaMaL", "mixtures of its copies"
        if soup:
            name, then = "Rewarded soup", "each of its copies alone"
        recipe = f"{name}: one LS in the first {start} of {epochs} epochs, then {then}."
    return Fitted(network, front, ls, history, rate, tuple(notes), recipe)


def _check_start(start: int, epochs: int) -> None:
    """Raise InputError unless `start` is a whole number from 0 to `epochs` - 1."""
    check_number("epochs", epochs, 1, whole=True)
    check_number("start", start, 0, whole=True)
    if start >= epochs:
        raise InputError(f"`start` must be below `epochs`, {epochs}. Found start={start}.")


def _check_soup(start: int, num_tasks: int, **options: Any) -> None:
    """Raise InputError unless a soup has a start and two tasks, and no `options` of mixtures."""
    if num_tasks < 2:
        raise InputError(f"`tasks` must be at least 2 if `soup` is True. Found {num_tasks}.")
    if not start:
        raise InputError("`start` must be at least 1 if `soup` is True. Found start=0.")
    defaults = {"preference": None, "penalty": None, "window": 1}
    if given := [name for name, value in options.items() if value != defaults[name]]:
        raise InputError(
            "`preference`, `penalty` and `window` must be left out if `soup` is True: every member "
            f"is drawn once in each step. Found {', '.join(given)}."
        )


@torch.no_grad()
def _copy_into_members(network: WeightEnsemble, one: WeightEnsemble) -> None:
    """Make each member of `network` a copy of the only member of `one`."""
    network.skeleton = one.skeleton  # it has the buffers and the frozen weights
    pairs = zip(network.stacked.parameters(), one.stacked.parameters(), strict=True)
    for weights, weight in pairs:
        weights.copy_(weight)  # of shape [1, *shape]


def _decay(steps: float) -> float | None:
    """Return the decay of an exponential average over so many `steps`; None for a single one."""
    return 1 - 1 / steps if steps > 1 else None


def _check_labels(tasks: Sequence[Task], validation: Iterable[Batch]) -> None:
    """Raise InputError if no batch has a label of a task."""
    cpu, counts = torch.device("cpu"), torch.zeros(len(tasks))
    for batch in validation:
        _, *targets = to_device(batch, cpu, [task.name for task in tasks])
        counts += label_counts(tasks, targets, cpu)
    if bare := [task.name for task, count in zip(tasks, counts, strict=True) if not count]:
        raise InputError(
            f"`validation` must have labels of each task. Found none of {', '.join(bare)}."
        )
