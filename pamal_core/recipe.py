"""The recommended recipe in one call, with what it is to be compared with beside it."""

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import length_hint
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from pamal_core.balancing import Linear
from pamal_core.checks import check_function, check_gradients, rises_again
from pamal_core.diagnosis import Diagnosis
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import (
    InputError,
    NonFiniteError,
    check_choice,
    check_number,
    check_type,
    is_number,
)
from pamal_core.evaluation import NOT_FINITE, evaluate, not_finite, objectives
from pamal_core.fitted import Fitted
from pamal_core.front import Front
from pamal_core.inputs import Batch
from pamal_core.loaders import Loader, check_loader, to_judge, to_train
from pamal_core.method import Method
from pamal_core.network import Network, check_num_tasks
from pamal_core.optimizers import times_stepped
from pamal_core.penalties import Penalty
from pamal_core.simplex import Dirichlet
from pamal_core.stages import (
    Stage,
    epochs_beside,
    maker,
    parts_of,
    rows_of_soup,
    stop_after,
    train_stages,
)
from pamal_core.statistics import Calibration, check_calibration
from pamal_core.tasks import Task
from pamal_core.training import INTERVALS, Training

OF_ALL = "optimizer", "scheduler", "scheduler_interval"
"""Arguments of `train` that `fit` gives to every training."""
OF_THE_NETWORK = "resume", "on_step", "on_epoch"
"""Arguments of `train` that `fit` gives to the training of the network, after its start, alone."""
EARLY = 0.05
"""Share of the first weights in an average from which on it is noted."""
CORNERS = Dirichlet(0.0, stratified=True)
"""The draws of a soup: every member once in each step."""


def fit(
    model: Callable[[], nn.Module] | nn.Module,
    tasks: Sequence[Task],
    loader: Loader,
    validation: Loader,
    *,
    epochs: int,
    start: int = 0,
    soup: bool = False,
    baseline: Literal["ls", "soup", "both"] | None = "ls",
    lr: float | None = None,
    averaging: float | None = 0.1,
    preference: Dirichlet | None = None,
    balancer: Any = None,
    penalty: Penalty | None = None,
    window: int = 1,
    shared: str | Iterable[str] | None = None,
    calibration: Calibration | None = None,
    device: torch.device | str | None = None,
    seed: int = 0,
    progress: bool = True,
    **training: Any,
) -> Fitted:
    """Train one network per task and every mixture of them, as our measurements recommend: one draw
    a step, averaged weights, and separate running statistics for each alpha.

    - `model`: makes a new model at each call, such as a class; or is a model, which all members
      begin as; or is a network, such as a `WeightEnsemble` of your own members, which is trained in
      place. The baselines of a network begin as its first member. A model returns one output per
      task.
    - `tasks`: what is trained, and judged by.
    - `loader`, `validation`: batches to train on, and to judge on, or {name: loader} as in `train`.
      Before training `loader` is read once, and `validation` twice.
    - `epochs`: how often `loader` is read for the ensemble, its start included. After the start an
      epoch makes `window` passes: each example is seen with `window` draws.
    - `start`: the number of epochs, of one pass each, in which one network is trained with equal
      weights and the same balancer. All members then begin as copies of it. Adam begins anew with
      them. The weights of the start are not averaged, as in our measurements.
    - `soup`: whether no mixture is trained, as in a rewarded soup. After the start each member is
      trained alone, with a weight of 0.9 for its own task; the other tasks share the rest. So an
      epoch makes as many passes as there are tasks. Give an alpha by its numbers, not by the names
      of tasks, because each member has a weight for every task.
    - `baseline`: what is trained beside it, for as many passes, at the same rate and with the same
      averaging. "ls" is one network with equal weights (linear scalarisation); "soup" is a rewarded
      soup, for about half of the passes one network. A task that your own network has no weight
      for is left out of them.
    - `lr`, `calibration`: as in `train`, for every training. A training that goes on has the rate
      of `resume`.
    - `averaging`: the share of all steps after the start over which weights are averaged,
      exponentially, above 0 and at most 1; 0.1 is an `ema` of 1 - 1 / (0.1 steps) in `train`. If
      None, they are not averaged.
    - `preference`, `balancer`, `penalty`, `window`: those of `Method`.
    - `shared`: the argument of `WeightEnsemble`, for gradient balancers.
    - `device`: trains the models there; by default they are trained where they are made.
    - `seed`: decides initial weights, draws and the order of batches. Torch's global generator is
      seeded with it, and is not put back.
    - `progress`: whether bars are shown.
    - `training`: other arguments of `train`. `optimizer`, `scheduler` and `scheduler_interval` are
      for every training, so the first two must be functions. The trainings are not equally long,
      so let `scheduler` be a function of the optimiser and of how often the schedule is stepped.
      `resume`, `on_step` and `on_epoch` are for the network after its start. If a hook stops it,
      each baseline stops after as many passes, within an epoch if the network did.

    Returns a `Fitted`, which prints the front and how the baselines stand against it.

    A note, which is also a warning, tells what may be meant otherwise: outputs that look like
    probabilities, losses or targets of unlike scale, a loss or a metric that depends on the size of
    batches, a single image in front of BatchNorm, a task that is not learnt or that no batch has a
    label of.
    Raises InputError before training for what cannot be right, such as NaN in inputs or a loss that
    is a sum over the batch, and InputError and NonFiniteError as `train` and `evaluate` do. An
    error of a baseline becomes a note, and so does an interrupt (Ctrl-C) while one trains: it ends
    the comparison, and the front is returned. An error, or an interrupt, while the trained network
    is judged, as of a metric of your own, has the network as its attribute `network`.
    """
    names, num_tasks = [objective.task for objective in objectives(tasks)], len(tasks)
    check_gradients()
    _check_start(start, epochs)
    check_number("seed", seed, 0, whole=True)
    if lr is not None:
        check_number("lr", lr, 0, above=True)
    check_type("soup", soup, bool, "True")
    if soup:
        _check_soup(start, num_tasks, model, preference=preference, penalty=penalty, window=window)
        preference, window = CORNERS, num_tasks
    trained: Sequence[int] = range(num_tasks)
    if isinstance(model, Network):
        check_num_tasks(model, num_tasks)
        trained = model.trained_tasks
        if start and not isinstance(model, WeightEnsemble):
            raise InputError(
                "`start` gives every member weights, so a network must be a WeightEnsemble. Found "
                f"a {type(model).__name__}."
            )
    passes = start + (epochs - start) * window
    beside = epochs_beside(baseline, passes, len(trained), soup)
    check_loader(loader, 2)  # of which one reading is for the diagnosis
    check_loader(validation, 2, "validation")
    loader, validation = to_train(loader, names), to_judge(validation, names)
    check_calibration(calibration)
    if not (calibration is None or isinstance(calibration, str)):
        calibration = [*calibration]  # it is read for each training and each alpha
    length = length_hint(loader, 0)  # 0 if the loader does not know
    _check_averaging(averaging, loader)
    _check_training(training, is_one=not (beside or start))
    make_network = maker(model, shared, seed, device)
    rule = Linear() if balancer is None else balancer
    rate = 1e-3 * num_tasks if lr is None else lr
    columns = np.eye(num_tasks)[trained]
    equal, of_soup = columns.mean(0, keepdims=True), rows_of_soup(len(trained)) @ columns

    def stage(
        rows: np.ndarray | None,
        epochs: int,
        share: float | None,
        rule: Any,
        then: Stage | None = None,
        **options: Any,
    ) -> Stage:
        made = make_network(rows)
        if then is not None:  # which goes on with the buffers and the frozen weights
            made.skeleton = then.method.network.skeleton
        # A balancer with a memory has one for each training.
        method = Method(made, tasks, balancer=copy.deepcopy(rule), **options)
        steps = 0 if share is None else share * (epochs * length)
        ema = 1 - 1 / steps if steps > 1 else None  # there is no average of a single step
        given = {"epochs": epochs, "ema": ema, "calibration": calibration, "seed": seed}
        of_all = {name: training[name] for name in OF_ALL if name in training}
        parts = partial(parts_of, method, epochs, length, lr, **of_all)
        return Stage(method, given | parts() | {"progress": progress}, parts)

    own = None if isinstance(model, Network) else of_soup if soup else np.eye(num_tasks)
    drawn = Dirichlet() if preference is None else preference
    options: dict[str, Any] = {"preference": drawn, "penalty": penalty, "window": window}
    stages = [stage(own, epochs - start, averaging, rule, **options)]
    network = stages[0].method.network
    if start:
        stages.insert(0, stage(equal, start, None, rule, stages[0]))
    baselines: dict[str, list[Stage]] = {}
    corners: dict[str, Any] = {"preference": CORNERS, "window": len(trained)}
    for name, (*before, last) in beside.items():
        weights, draws = (equal, {}) if name == "LS" else (of_soup, corners)
        end = stage(weights, last, averaging, Linear(), **draws)
        starts = [stage(equal, number, None, Linear(), end) for number in before]
        baselines[name] = [*starts, end]

    diagnosis = Diagnosis(network, tasks, loader, validation)
    notes: list[str] = []

    def note(found: Iterable[str]) -> None:
        for text in found:
            notes.append(text)
            warnings.warn(text, stacklevel=3)

    ended: dict[int, Training] = {}  # of the network and its start, as they are so far

    def after_epoch(state: Training) -> None:
        ended[id(state.method)] = state
        is_first = state.epoch == 1 and state.method is stages[0].method
        if is_first and isinstance(rule, Linear):
            note(diagnosis.after_first_epoch(state.method.network))
        if state.method.network is network and training.get("on_epoch") is not None:
            training["on_epoch"](state)

    note(diagnosis.before())
    note(_unlike_rate(rate, training))
    note(_unlike_cosines(stages[-1], {"The start": stages[:-1]} | baselines, length))
    stages[0].options["on_epoch"] = after_epoch
    of_network = {name: training[name] for name in OF_THE_NETWORK if name in training}
    history = train_stages(stages, loader, **of_network | {"on_epoch": after_epoch})
    try:
        front, found = _judged(network, tasks, validation, progress)
    except BaseException as error:  # the training is not lost with it
        error.add_note("The trained network is the attribute `network` of this error.")
        error.network = network  # type: ignore[attr-defined]
        raise
    note([*found, *diagnosis.unlabelled(history), *diagnosis.after(front)])
    states = [*ended.values()]  # none if `resume` has all epochs
    planned = (epochs - start) * length
    is_stopped = bool(states) and (states[-1].stop or states[-1].step < planned)  # by a hook
    if is_stopped:
        *before, made = [state.step for state in states]
        note(_stopped(made, planned, stages[-1].options["ema"]))
        epoch = length or math.ceil(made / (len(history) - start))
        steps = (sum(before) or start * epoch) + made * window
    fronts: dict[str, Front] = {}
    for name, trainings in baselines.items():
        try:
            if is_stopped:
                stop_after(trainings, passes, steps)
            train_stages(trainings, loader)
            baseline_network = trainings[-1].method.network
            fronts[name], found = _judged(baseline_network, tasks, validation, progress)
        except (NonFiniteError, InputError) as error:
            found = [str(error)]
        except Exception as error:  # of a schedule of your own, say: the front is not lost with it
            found = [f"{type(error).__name__}: {error}"]
        except KeyboardInterrupt:
            note([f"{name}: interrupted, so that nothing is compared with it or what follows it."])
            break
        note(f"{name}: {text}" for text in found)
    told = _told(start, epochs, soup, rule)
    rate_of = None if training.get("optimizer") is not None else rate
    return Fitted(network, front, fronts, history, rate_of, tuple(notes), told)


def _judged(
    network: Network, tasks: Sequence[Task], validation: Iterable[Batch], progress: bool
) -> tuple[Front, list[str]]:
    """Return the front of `network`, and the warning of metrics that are not finite, which is a
    note here. Warnings of others, such as of a model, stay warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOT_FINITE)
        front = evaluate(network, tasks, validation, progress=progress)
    return front, not_finite(front, network.task_weights.dtype)


def _stopped(made: int, planned: int, ema: float | None) -> list[str]:
    """Return a note if an average, with the decay `ema`, was stopped after so few steps that it is
    largely one of the first weights."""
    share = 0.0 if ema is None else ema ** (made - 1)  # the average begins as the first weights
    if share < EARLY or made >= planned:
        return []
    return [
        f"A hook stopped the training after {made} of {planned} steps, so that the averaged "
        f"weights are to {100 * share:.0f} % those of the first step: give `epochs` near the "
        "number that you expect, or averaging=None."
    ]


def _unlike_cosines(
    own: Stage, others: Mapping[str, Sequence[Stage]], length: int
) -> Iterator[str]:
    """Yield a note for each of the `others` in which a cosine ends and rises again, though it fits
    the network's `own` training: they are of other lengths."""

    def rises(stage: Stage) -> bool:
        interval = stage.options.get("scheduler_interval", "epoch")
        times = times_stepped(stage.options["epochs"], interval, length)
        return rises_again(stage.options.get("scheduler"), times)

    if rises(own):
        return
    for name, trainings in others.items():
        if any(map(rises, trainings)):
            yield (
                f"{name}: its training is longer than that of the network, and its "
                "CosineAnnealingLR ends before and rises again: let `scheduler` be a function of "
                "the optimiser and of how often it is stepped."
            )


def _told(start: int, epochs: int, soup: bool, rule: Any) -> str:
    """Return a sentence on what was trained, if the training had a start."""
    if not start:
        return ""
    one = "one LS"
    if not isinstance(rule, Linear):
        one = f"one network with {type(rule).__name__}"
    name, then = "PaMaL", "mixtures of its copies"
    if soup:
        name, then = "Rewarded soup", "each of its copies alone"
    return f"{name}: {one} in the first {start} of {epochs} epochs, then {then}."


def _check_averaging(averaging: float | None, loader: Iterable[Batch]) -> None:
    """Raise InputError unless `averaging` is a share of a number of steps that is known."""
    if averaging is None:
        return
    if not (is_number(averaging) and 0 < averaging <= 1):
        raise InputError(
            "`averaging` must be a share of all steps, above 0 and at most 1, or None. Found "
            f"averaging={averaging!r}."
        )
    if length_hint(loader, -1) < 0:
        raise InputError(
            "`averaging` is a share of all steps, so the loader must have a length. Found one "
            "without; None averages no weights."
        )


def _check_training(training: dict[str, Any], is_one: bool) -> None:
    """Raise InputError unless `training` are arguments of `train` that `fit` passes on."""
    for name in training:
        if name == "ema":
            raise InputError(
                "`averaging` is the argument of `fit`: a share of all steps. Found `ema`."
            )
        if name not in (*OF_ALL, *OF_THE_NETWORK):
            raise InputError(
                "`fit` takes its own arguments, and of those of `train` "
                f"{', '.join([*OF_ALL, *OF_THE_NETWORK])}. Found `{name}`."
            )
    check_choice("scheduler_interval", training.get("scheduler_interval", "epoch"), INTERVALS)
    for name in ("optimizer", "scheduler", "on_step", "on_epoch"):
        given = training.get(name)
        if not isinstance(given, Optimizer | LRScheduler):
            check_function(name, given)
    for name, kind in {"optimizer": Optimizer, "scheduler": LRScheduler}.items():
        part = training.get(name)
        if isinstance(part, kind) and not is_one:
            raise InputError(
                f"`{name}` must be a function that makes one, because each training has its own. "
                f"Found a {type(part).__name__}."
            )


def _unlike_rate(rate: float, training: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note if the rate that `resume` goes on with is not that of the baselines."""
    if training.get("optimizer") is not None or training.get("scheduler") is not None:
        return
    goes_on = rate
    with suppress(LookupError, TypeError, ValueError):  # `train` says what is wrong with it
        goes_on = float(training["resume"]["optimizer"]["param_groups"][0]["lr"])
    if not math.isclose(goes_on, rate, rel_tol=1e-6):
        yield (
            f"The training goes on with the rate of `resume`, {goes_on:g}. {rate:g} is that of "
            "its start and of baselines."
        )


def _check_start(start: int, epochs: int) -> None:
    """Raise InputError unless `start` is a whole number from 0 to `epochs` - 1."""
    check_number("epochs", epochs, 1, whole=True)
    check_number("start", start, 0, whole=True)
    if start >= epochs:
        raise InputError(f"`start` must be below `epochs`, {epochs}. Found start={start}.")


def _check_soup(start: int, num_tasks: int, model: Any, **options: Any) -> None:
    """Raise InputError unless a soup has a start and two tasks, and no `options` of mixtures."""
    if isinstance(model, Network):
        raise InputError("`soup` makes its own members: give a model. Found a network.")
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
