"""A run from options to record: load, train, evaluate, write. Resumes where it was stopped."""

import copy
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR

from pamal_companion.baselines.low_rank import MIXTURES
from pamal_companion.data.batches import batches
from pamal_companion.data.images import Images
from pamal_companion.data.splits import Splits
from pamal_companion.runs.build import adam, build, preference, task_weights
from pamal_companion.runs.checkpoint import load_own, train_resumably
from pamal_companion.runs.devices import made_on, peak_memory, pick_device, reset_peak_memory
from pamal_companion.runs.files import RunFiles
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record, about, summarise, to_points, versions
from pamal_companion.runs.states import save_state
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate
from pamal_core.method import Method
from pamal_core.network import Network
from pamal_core.simplex import sampled
from pamal_core.statistics import Calibration
from pamal_core.tasks import Task
from pamal_core.training import Training, seed_everything

CALIBRATION = 500  # training examples that BatchNorm is recalibrated on
SAMPLED = 100  # points of the grid "sampled", beside the corners and the centre


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper: data, tasks and architecture; methods and their options come on
    top.

    `options` is the class of its options, `tasks` may be a function of them. `make_network(options,
    splits, extra)` makes one member for the data, freshly initialised, with `extra` more input
    features (or channels) than they have. `reference` is the point the hypervolume is taken from,
    in the units of each task's first metric; a run may have fewer tasks.
    `defaults` are the values of options that depend on whether the data are "full" or a "sample",
    `epochs` always among them. `halve_after` is the share of the epochs after which the learning
    rate is halved, once. `evaluation_batch` is the number of examples evaluated at a time.
    """

    name: str
    options: type[Options]
    tasks: tuple[Task, ...] | Callable[[Any], tuple[Task, ...]]
    load: Callable[[Any], Splits]
    make_network: Callable[[Any, Splits, int], nn.Module]
    reference: tuple[float, ...]
    defaults: dict[str, dict[str, Any]]
    shared: str = "encoder"
    halve_after: float | None = None
    evaluation_batch: int = 1000

    def tasks_of(self, options: Options) -> tuple[Task, ...]:
        """The tasks of a run with `options`."""
        return self.tasks(options) if callable(self.tasks) else self.tasks

    def reference_of(self, options: Options) -> tuple[float, ...]:
        """`reference`, a number for each task."""
        return self.reference[: len(self.tasks_of(options))]

    def check(self, options: Options) -> None:
        """InputError where `options` do not fit the tasks or this machine: before data are loaded,
        which may take a while."""
        num_tasks, p = len(self.tasks_of(options)), options.p
        if options.epochs is not None and options.shared_epochs is not None:
            check_start(options.shared_epochs, options.epochs)
        task_weights(options, num_tasks)
        preference(options)
        if isinstance(p, list) and affects("p", options.method) and len(p) not in (1, num_tasks):
            raise InputError(f"`p` must be one number or {num_tasks}, one per member. Found p={p}.")
        if options.grid == "arc" and num_tasks != 2:
            raise InputError(f"`grid` may be arc for 2 tasks. Found {num_tasks} tasks.")
        pick_device(options.device)
        if (dtype := torch.get_default_dtype()) != torch.float32:
            raise InputError(f"Runs are made in float32. Found torch's default dtype {dtype}.")

    def resolved(self, options: Options, splits: Splits) -> Options:
        """`options` with the `defaults` for `splits` where they were left unset."""
        values = self.defaults["sample" if splits.is_sample else "full"]
        unset = {n: v for n, v in values.items() if n not in options.model_fields_set}
        begins_as_one = options.method == "low_rank" and (
            not options.train_base or options.shared_epochs is not None
        )
        if options.method == "soup" or begins_as_one:
            epochs = options.epochs or values["epochs"]
            unset["shared_epochs"] = options.shared_epochs or max(epochs // 2, 1)
        found = options.model_copy(update=unset)
        if found.shared_epochs is not None:
            check_start(found.shared_epochs, found.epochs or 0)
        return found

    def method(self, options: Options, splits: Splits, start: nn.Module | None = None) -> Method:
        """Return what a run of `options` trains on `splits`, on the device it runs on: freshly
        initialised, or each member like `start`."""
        options = self.resolved(options, splits)
        seed_everything(options.seed)

        def make_network(extra: int) -> nn.Module:
            if start is not None:
                return copy.deepcopy(start)
            return self.make_network(options, splits, extra)

        method = build(options, self.tasks_of(options), make_network, self.shared, splits.train)
        method.network.to(pick_device(options.device))
        if options.compile:
            method.network.compile()
        return method

    def about(self, options: Options, splits: Splits) -> dict[str, Any]:
        """Return the fields of a record that say what the run is; `options` are `resolved`."""
        return about(self.name, options, splits.id)


def check_start(shared_epochs: int, epochs: int) -> None:
    """Raise InputError unless a run is longer than its start."""
    if shared_epochs >= epochs:
        raise InputError(
            f"`epochs` must be above `shared_epochs`, {shared_epochs}. Found epochs={epochs}."
        )


class Result(NamedTuple):
    """A finished run: its record, and the trained network if its weights are at hand."""

    record: Record
    network: Network | None


def run(
    experiment: Experiment,
    options: Options,
    splits: Splits | None = None,
    *,
    wait: bool = True,
    keep_weights: bool = True,
) -> Result:
    """Train and evaluate; with `options.out` also write the record there and, if `keep_weights`,
    the weights beside it.

    A finished run is read, not repeated; one that was stopped goes on from its last epoch and ends
    with the same record but for its cost. One that another process is making is waited for, or
    unless `wait` refused: BusyError. A record of another run at `options.out` is never overwritten:
    InputError. `splits` are the data of `options`, where they are loaded already.
    """
    experiment.check(options)
    splits = splits or experiment.load(options)
    options = experiment.resolved(options, splits)
    if not options.out:
        trained = _train(experiment, options, splits, None)
        return Result(_evaluate(experiment, options, splits, *trained), trained[0])
    files, key = RunFiles(Path(options.out)), experiment.about(options, splits)["key"]
    record, network = Record.find(files.record, key), None
    if record is None:
        with files.claimed(wait):
            record = Record.find(files.record, key)  # somebody else may have made it by now
            if record is None:
                if files.weights.exists():  # of a run that was killed before its record was there
                    load_own(files.weights, key)  # or of somebody, who keeps them
                network, history = _train(experiment, options, splits, files)
                record = _evaluate(experiment, options, splits, network, history)
                # Weights first: a run counts as finished once its record is there.
                if keep_weights:
                    state = {"key": key, "network": dict(network.state_dict())}
                    save_state(files.weights, state)
                record.write(files.record)
    # Also what a process left that was killed just after the record.
    for checkpoint in (files.checkpoint, files.shared.checkpoint):
        with suppress(OSError):  # a disk from which one can only read
            checkpoint.unlink()
    if network is None and files.weights.exists():
        network = experiment.method(options, splits).network
        network.load_state_dict(load_own(files.weights, key)["network"])
    return Result(record, network)


def calibration(experiment: Experiment, options: Options, splits: Splits) -> Calibration:
    """The statistics of BatchNorm in a run of `options`: "shared", or, for "both" too, the batches
    on which they are re-estimated for each alpha, inputs alone."""
    if options.batch_norm == "shared":
        return "shared"
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    # What is trained on may be augmented at random. The caller's random numbers stay as they were.
    with torch.random.fork_rng([torch.cuda.current_device()] if started else []):
        seed_everything(options.seed)
        seen = splits.train[:CALIBRATION][0]
    return [(part,) for part in seen.split(experiment.evaluation_batch)]


def similarity(network: Network) -> float | None:
    """The smallest cosine between two members; None where there are no two."""
    if isinstance(network, MIXTURES) and network.num_members > 1:
        return float(network.member_similarity().min())
    return None


def autocast(options: Options, device: torch.device) -> torch.autocast:
    """Return the context in which a run of `options` trains and is judged."""
    return torch.autocast(device.type, torch.bfloat16, options.precision == "bfloat16")


def _train(
    experiment: Experiment, options: Options, splits: Splits, files: RunFiles | None
) -> tuple[Network, list[dict[str, Any]]]:
    """The network with its last weights, or with `options.average` the mean of the weights over the
    steps, with BatchNorm's last statistics; and a row for each epoch. It goes on from the
    checkpoint in `files`.

    With `shared_epochs`, as a rewarded soup has them and adapters of a base that is not trained,
    it begins as one network, trained on all tasks for so long. The start of LS has equal weights
    of the losses whatever its own are: runs in one folder that have the same share it.
    """
    reset_peak_memory(pick_device(options.device))
    start: nn.Module | None = None
    before: list[dict[str, Any]] = []
    if options.shared_epochs is not None:
        alone = {"method": "ls", "epochs": options.shared_epochs, "shared_epochs": None}
        alone |= {"average": 0.0, "balancing": "none", "weights": None}
        first = options.model_copy(update=alone)
        if files is not None and options.method == "ls":
            its_files = files.start(experiment.about(first, splits)["key"])
            # One run makes it, the others read it.
            with its_files.claimed(wait=True):
                one, before = _train(experiment, first, splits, its_files)
        else:
            one, before = _train(experiment, first, splits, files.shared if files else None)
        start = one.export([1.0], calibration="shared")
    method = experiment.method(options, splits, start)
    method.past = [row["losses"] for row in before]
    network, epochs = method.network, cast(int, options.epochs) - len(before)
    is_scaled = affects("lr_scaling", options.method) and options.lr_scaling == "members"
    optimizer = adam(method, options.lr, scaled=is_scaled)
    halving = None
    if experiment.halve_after is not None:
        halving = MultiStepLR(optimizer, [round(epochs * experiment.halve_after)], gamma=0.5)
    device, last = network.device, time.perf_counter()
    fields = experiment.about(options, splits)

    def on_epoch(training: Training) -> None:
        nonlocal last
        began, last = last, time.perf_counter()
        row = {"member_similarity": similarity(network), "seconds": last - began}
        training.history[-1] |= row

    with autocast(options, device):
        rows = train_resumably(
            method,
            batches(splits.train, options.batch_size, shuffle=True, device=device),
            files.checkpoint if files else None,
            key=fields["key"],
            about=json.dumps(fields),
            epochs=epochs,
            optimizer=optimizer,
            scheduler=halving,
            ema=options.average or None,
            calibration="shared",
            seed=options.seed,
            on_epoch=on_epoch,
        )
    names = [f"{name}/loss" for name in method.names]
    own = ("member_similarity", "seconds")
    history = [{"losses": [row[n] for n in names]} | {n: row[n] for n in own} for row in rows]
    return network, [*before, *history]


def arc(num_points: int = 11) -> np.ndarray:
    """Points on a quarter of the unit circle, at equal angles, scaled to the simplex: [P, 2].

    Where the codes of PHN, COSMOS and the paper evaluate these two. It runs from the first corner
    to the second like the lattice, and is denser in the middle.
    """
    angles = np.linspace(0, np.pi / 2, num_points)
    points = np.stack([np.cos(angles), np.sin(angles)], 1).clip(0)
    return points / points.sum(1, keepdims=True)


def _evaluate(
    experiment: Experiment,
    options: Options,
    splits: Splits,
    network: Network,
    history: list[dict[str, Any]],
) -> Record:
    """The record of a run that ended with `network`. With `batch_norm` "both" there are two more
    splits, "validation, recalibrated" and "test, recalibrated", and with `measure_training` one
    more, "training", as it is without augmentation."""
    tasks, reference = experiment.tasks_of(options), experiment.reference_of(options)
    device = network.device
    # The seconds of an epoch are kept with the checkpoint, so that a run that is resumed costs what
    # all its epochs did.
    seconds, memory = sum(row.pop("seconds") for row in history), peak_memory(device)
    start = time.perf_counter()
    alphas = None  # the lattice
    if options.grid == "arc":
        alphas = arc()
    elif options.grid == "sampled":
        alphas = sampled(network.num_members, SAMPLED)
    calibrations = {"": calibration(experiment, options, splits)}
    if options.batch_norm == "both":
        calibrations = {"": "shared", ", recalibrated": calibrations[""]}
    parts = {"validation": splits.validation, "test": splits.test}
    if options.measure_training:
        seen = copy.copy(splits.train)
        if isinstance(seen, Images):
            seen.augment = None
        parts["training"] = seen
    loaders = {n: batches(p, experiment.evaluation_batch, device=device) for n, p in parts.items()}
    with autocast(options, device):
        fronts = {
            name + ending: evaluate(network, tasks, loader, alphas, calibration=statistics)
            for ending, statistics in calibrations.items()
            for name, loader in loaders.items()
        }
    return Record(
        **experiment.about(options, splits),
        objectives={o.name: "max" if o.maximise else "min" for o in fronts["test"].objectives},
        points=[point for split, front in fronts.items() for point in to_points(front, split)],
        summary=summarise(fronts, reference) | {"member_similarity": similarity(network)},
        history=history,
        cost={
            "train_seconds": round(seconds, 3),
            "peak_memory_bytes": memory,
            "evaluate_seconds": round(time.perf_counter() - start, 3),
        },
        versions=versions(),
        made_on=made_on(device, options.precision),
    )
