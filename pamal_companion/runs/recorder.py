"""Keep a run while a cell or a program trains it, and write its record in the end."""

import json
import time
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader

from pamal_companion.baselines.low_rank import MIXTURES
from pamal_companion.data.batches import batches
from pamal_companion.data.splits import Splits
from pamal_companion.runs.build import adam
from pamal_companion.runs.checkpoint import Checkpoint, load_own
from pamal_companion.runs.devices import made_on, peak_memory, pick_device, reset_peak_memory
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.files import RunFiles
from pamal_companion.runs.judging import Part, parts
from pamal_companion.runs.likeness import differences
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import NOT_BUILT, Options
from pamal_companion.runs.records import Record, summarise, to_points, variant_of, versions
from pamal_companion.runs.states import save_state
from pamal_core.front import Front
from pamal_core.method import Method
from pamal_core.network import Network
from pamal_core.skeleton import full_precision
from pamal_core.training import Training, seed_everything, train

OF_EPOCHS = ("member_similarity", "seconds")
"""Entries of the history that `Recorder.keep` adds to those of `train`."""


class Recorder:
    """Tells whether the run of an experiment is finished, begun or new, and keeps what comes of it.

        with Recorder(EXPERIMENT, options) as recorder:
            if recorder.record is None:
                method, optimizer = recorder.method()  # or of your own, of the same parts
                given = recorder.training(method, optimizer)
                history, fronts = train(method, recorder.batches(), **given), {}
                for part, loader, points in recorder.parts():
                    fronts[part] = evaluate(method.network, method.tasks, loader, **points)
                recorder.write(method.network, history, fronts)

    - `options`: those of the run. With `out` the record is written there, and the weights beside
      it; a finished run is read, and one that was stopped goes on from its last epoch.
    - `splits`: the data of `options`, if they are loaded already.
    - `wait`: whether to wait for another process that makes the run; BusyError if not.
    - `keep_weights`: whether the weights are kept beside the record.
    - `variant`: a name for what is trained, if that is not what the options say. Its record has a
      key of its own and holds the text of the notebook's cell that enters the context. Nothing is
      known of it before, and its weights are not read again.

    As a context it claims the files of the run, seeds torch, and turns SIGTERM into an interrupt
    that says what is kept. Raises InputError if the options do not fit the experiment, and if
    another run's record is at `out`.
    """

    def __init__(
        self,
        experiment: Experiment,
        options: Options,
        splits: Splits | None = None,
        *,
        wait: bool = True,
        keep_weights: bool = True,
        variant: str | None = None,
    ) -> None:
        experiment.check(options)
        self.experiment, self.splits = experiment, splits or experiment.load(options)
        self.options = experiment.resolved(options, self.splits)
        self.about = experiment.about(self.options, self.splits)
        self.variant, self.device = variant, pick_device(options.device)
        self.files = RunFiles(Path(options.out)) if options.out else None
        self.record = self._find() if variant is None else None
        self._network: Network | None = None
        self._wait, self._keep_weights, self._is_start = wait, keep_weights, False
        self._made: Method | None = None
        self._before: list[dict[str, Any]] = []
        """The history of the network that all members began as."""

    @property
    def key(self) -> str:
        """The key of the run's record."""
        return str(self.about["key"])

    def _find(self) -> Record | None:
        """Return the record of the run, None if it is not finished."""
        return Record.find(self.files.record, self.key) if self.files else None

    def __enter__(self) -> Self:
        if self.variant is not None:
            fields = self.experiment.about(self.options, self.splits)
            self.about = variant_of(fields, self.variant)
            self.record = self._find()
        with ExitStack() as stack:
            if self.record is None and self.files is not None and not self._is_start:
                stack.enter_context(self.files.claimed(self._wait))
                self.record = self._find()  # somebody else may have made it by now
            if self.record is None:
                if self.files is not None and self.files.weights.exists():
                    # Of a run that was killed before its record was there, or of somebody's.
                    load_own(self.files.weights, self.key)
                path = self.files.checkpoint if self.files else None
                self.checkpoint = Checkpoint(path, self.key, json.dumps(self.about))
                stack.enter_context(self.checkpoint)
                is_low = self.options.precision == "bfloat16"
                stack.enter_context(torch.autocast(self.device.type, torch.bfloat16, is_low))
                if not self._is_start:
                    reset_peak_memory(self.device)
                seed_everything(self.options.seed)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)
        if self.record is not None and self.files is not None:
            # Also what a process left that was killed just after the record.
            for checkpoint in (self.files.checkpoint, self.files.shared.checkpoint):
                with suppress(OSError):  # a disk from which one can only read
                    checkpoint.unlink()

    # What is trained

    def is_plain(self, *shown: str) -> bool:
        """Return whether the run is PaMaL, and of the options that decide what is built only those
        that are `shown` differ from their defaults."""
        options = self.options
        if options.method != "pamal" or options.compile or isinstance(options.p, list):
            return False
        defaults = options.defaults_of("pamal", "sample" if self.splits.is_sample else "full")
        values = options.of_method().items()
        return {name for name, value in values if value != defaults[name]} <= NOT_BUILT | {*shown}

    def method(self) -> tuple[Method, Optimizer]:
        """Return what the options say is trained, and its optimiser. If its members begin as one
        network, that is trained first, unless the run is finished."""
        begins_as_one = self.options.shared_epochs is not None and self.record is None
        start = self._start() if begins_as_one else None
        self._made, optimizer = self._as_options_say(start)
        return self._made, optimizer

    def _as_options_say(self, start: nn.Module | None) -> tuple[Method, Optimizer]:
        method = self.experiment.method(self.options, self.splits, start)
        method.epoch_losses = [row["losses"] for row in self._before]
        is_scaled = affects("lr_scaling", self.options.method)
        is_scaled = is_scaled and self.options.lr_scaling == "members"
        return method, adam(method, self.options.lr, scaled=is_scaled)

    def _start(self) -> nn.Module:
        """Train the one network that all members begin as, on all tasks for `shared_epochs`, as a
        rewarded soup has them and adapters of a base that is not trained.

        The start of LS has equal weights of the losses whatever its own are, so that runs in one
        folder share it.
        """
        options = self.options
        alone: dict[str, Any] = {"epochs": options.shared_epochs, "shared_epochs": None}
        alone |= {"method": "ls", "average": 0.0, "balancing": "none", "weights": None, "out": None}
        first = Recorder(self.experiment, options.model_copy(update=alone), self.splits)
        first._is_start = True
        with ExitStack() as stack:
            if self.files is not None:
                first.files = self.files.shared
                if options.method == "ls":  # one run makes it, the others read it
                    first.files = self.files.start(first.key)
                    stack.enter_context(first.files.claimed(wait=True))
            stack.enter_context(first)
            method, optimizer = first.method()
            history = train(method, first.batches(), **first.training(method, optimizer))
        self._before = first._rows(method.names, history)
        return method.network.export([1.0], calibration="shared")

    # How it is trained

    @property
    def epochs(self) -> int:
        """The epochs that are left for the method, after those of its start."""
        return (self.options.epochs or 0) - len(self._before)

    def batches(self) -> DataLoader[tuple[Tensor, ...]]:
        """Return the training data in batches."""
        data, size = self.splits.train, self.options.batch_size
        return batches(data, size, shuffle=True, device=self.device)

    def training(self, method: Method, optimizer: Optimizer) -> dict[str, Any]:
        """Return the arguments of `train` that the options decide, the state to go on from, and the
        hook that keeps each epoch. Warn, and keep nothing, if `method` or `optimizer` is not what
        the options say."""
        is_said = method is self._made or self.variant is not None
        if unlike := [] if is_said else self._unlike(method, optimizer):
            warnings.warn(
                f"What is trained is not what the options say: {'; '.join(unlike)}. Its record is "
                "not written. Say it with the options, or give it a key of its own: "
                'Recorder(..., variant="mine").',
                stacklevel=2,
            )
            self.files, self.checkpoint.path, self.checkpoint.state = None, None, None
        halving, share = None, self.experiment.halve_after
        if share is not None:
            halving = MultiStepLR(optimizer, [round(self.epochs * share)], gamma=0.5)
        self._last = time.perf_counter()
        return {
            "epochs": self.epochs,
            "optimizer": optimizer,
            "scheduler": halving,
            "ema": self.options.average or None,
            "calibration": "shared",
            "seed": self.options.seed,
            "resume": self.checkpoint.state,
            "on_epoch": self.keep,
        }

    def _unlike(self, method: Method, optimizer: Optimizer) -> list[str]:
        """Return in words where `method` and `optimizer` differ from those of the options."""
        with torch.random.fork_rng([]):
            return differences((method, optimizer), self._as_options_say(None))

    def keep(self, training: Training) -> None:
        """Keep the state after an epoch: a hook for `train`."""
        began, self._last = self._last, time.perf_counter()
        network = training.method.network
        values = similarity(network), self._last - began
        training.history[-1] |= dict(zip(OF_EPOCHS, values, strict=True))
        self.checkpoint.keep(training)

    # How it is judged

    def parts(self) -> list[Part]:
        """Return the parts of the data that the run is judged on, by `judging.parts`."""
        self._peak, self._last = peak_memory(self.device), time.perf_counter()
        return parts(self.experiment, self.options, self.splits, self.device)

    # What is left of it

    def write(
        self, network: Network, history: list[dict[str, Any]], fronts: dict[str, Front]
    ) -> Record:
        """Write the weights and then the record, so that a run counts as finished once its record
        is there. Return the record.

        - `history`: what `train` returned.
        - `fronts`: the front of each of `parts`.
        """
        evaluated = time.perf_counter() - self._last  # since `parts`
        rows = self._rows(network.task_names, history)
        # The seconds of an epoch are kept with the checkpoint, so that a run that is resumed costs
        # what all its epochs did.
        seconds = sum(row.pop("seconds") for row in rows)
        reference = self.experiment.reference_of(self.options)
        with full_precision(self.device):
            summary = summarise(fronts, reference) | {"member_similarity": similarity(network)}
        self.record = Record(
            **self.about,
            objectives={o.name: "max" if o.maximise else "min" for o in fronts["test"].objectives},
            points=[point for part, front in fronts.items() for point in to_points(front, part)],
            summary=summary,
            history=rows,
            cost={
                "train_seconds": round(seconds, 3),
                "peak_memory_bytes": self._peak,
                "evaluate_seconds": round(evaluated, 3),
            },
            versions=versions(),
            made_on=made_on(self.device, self.options.precision),
        )
        self._network = network
        if self.files is not None:
            if self._keep_weights:
                save_state(
                    self.files.weights, {"key": self.key, "network": dict(network.state_dict())}
                )
            self.record.write(self.files.record)
        return self.record

    def _rows(self, names: tuple[str, ...], history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a row for each epoch as a record has it, those of the start first."""
        rows = [
            {"losses": [row[f"{name}/loss"] for name in names]} | {n: row[n] for n in OF_EPOCHS}
            for row in history
        ]
        return [*self._before, *rows]

    @property
    def network(self) -> Network | None:
        """The trained network, None if the run is not finished or its weights are not at hand. The
        options do not say how to build a variant, so that it is at hand where it was trained."""
        is_finished = self.record is not None and self.variant is None
        if self._network is not None or not is_finished or self.files is None:
            return self._network
        if self.files.weights.exists():
            network = self.experiment.method(self.options, self.splits).network
            network.load_state_dict(load_own(self.files.weights, self.key)["network"])
            self._network = network
        return self._network


def similarity(network: Network) -> float | None:
    """Return the smallest cosine between two members, None if there are no two."""
    if isinstance(network, MIXTURES) and network.num_members > 1:
        return float(network.member_similarity().min())
    return None
