"""An experiment of the paper: data, tasks and architecture. Methods come on top."""

import copy
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from pamal_companion.data.splits import Splits
from pamal_companion.runs.build import build, preference, task_weights
from pamal_companion.runs.devices import pick_device
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import Options
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.tasks import Task
from pamal_core.training import seed_everything


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper: its data, its tasks and its architecture.

    `options` is the class of its options, `tasks` may be a function of them. `make_network(options,
    splits, extra)` makes one member for the data, freshly initialised, with `extra` more input
    features (or channels) than they have. `reference` is the point the hypervolume is taken from,
    in the units of each task's first metric; a run may have fewer tasks. InputError for one with
    more numbers than there are tasks, and for `defaults` that are no options.
    `defaults` are the values of options that depend on whether the data are "full" or a "sample",
    `epochs` always among them; by default those of `options.by_data`. `halve_after` is the share of
    the epochs after which the learning rate is halved, once. `evaluation_batch` is the number of
    examples evaluated at a time.
    """

    name: str
    options: type[Options]
    tasks: tuple[Task, ...] | Callable[[Any], tuple[Task, ...]]
    load: Callable[[Any], Splits]
    make_network: Callable[[Any, Splits, int], nn.Module]
    reference: tuple[float, ...]
    defaults: dict[str, dict[str, Any]] | None = None
    shared: str = "encoder"
    halve_after: float | None = None
    evaluation_batch: int = 1000

    def __post_init__(self) -> None:
        for values in (self.defaults or {}).values():
            self.options.check_values(values)
        if not callable(self.tasks) and len(self.reference) > len(self.tasks):
            raise InputError(
                f"`reference` of {self.name} must have {len(self.tasks)} numbers, one for each "
                f"task. Found {self.reference}."
            )

    def tasks_of(self, options: Options) -> tuple[Task, ...]:
        """Return the tasks of a run with `options`."""
        return self.tasks(options) if callable(self.tasks) else self.tasks

    def reference_of(self, options: Options) -> tuple[float, ...]:
        """Return `reference`, a number for each task."""
        return self.reference[: len(self.tasks_of(options))]

    def check(self, options: Options) -> None:
        """Raise InputError where `options` do not fit the tasks or this machine: before data are
        loaded, which may take a while."""
        tasks, p = self.tasks_of(options), options.p
        if unjudged := [task.name for task in tasks if not task.metrics]:
            raise InputError(
                f"Each task must have a metric, by which it is judged. Found none of {unjudged[0]}."
            )
        num_tasks = len(tasks)
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
        """Return `options` with the `defaults` for `splits` where they were left unset."""
        part = "sample" if splits.is_sample else "full"
        defaults = self.options.by_data if self.defaults is None else self.defaults
        values = defaults.get(part, {})
        if "epochs" not in values:
            raise InputError(
                f'`defaults` of {self.name} must have `epochs` under "{part}". Found {defaults}.'
            )
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


def check_start(shared_epochs: int, epochs: int) -> None:
    """Raise InputError unless a run is longer than its start."""
    if shared_epochs >= epochs:
        raise InputError(
            f"`epochs` must be above `shared_epochs`, {shared_epochs}. Found epochs={epochs}."
        )


def experiment_of(name: str) -> Experiment:
    """Return the experiment of this repository with a name, which a module of that name defines."""
    return importlib.import_module(f"pamal_companion.experiments.{name}").EXPERIMENT
