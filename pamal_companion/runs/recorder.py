"""Keep a run while a cell or a program trains it, and write its record in the end."""

import json
import time
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path
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
from pamal_companion.runs.checkpoint import Checkpoint
from pamal_companion.runs.devices import made_on, peak_memory, pick_device
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.files import RunFiles
from pamal_companion.runs.judging import Part, parts
from pamal_companion.runs.likeness import differences
from pamal_companion.runs.options import NOT_BUILT, Options
from pamal_companion.runs.records import Record, about, summarise, to_points, variant_of, versions
from pamal_companion.runs.states import load_state, save_state
from pamal_core.front import Front
from pamal_core.method import Method
from pamal_core.network import Network
from pamal_core.skeleton import full_precision
from pamal_core.training import Training, seed_everything, train


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
      key of its own and holds the text of the notebook's cell that enters the context.

    As a context it looks for the record, claims the files of the run, seeds torch, and turns
    SIGTERM into an interrupt that says what is kept. Raises InputError if the options do not fit
    the experiment, and if another run's record is at `out`.
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
        self.about = about(experiment.name, self.options, self.splits.id)
        self.variant, self.device = variant, pick_device(options.device)
        self.files = RunFiles(Path(options.out)) if options.out else None
        self.record: Record | None = None
        self._wait, self._keep_weights, self._has_lock = wait, keep_weights, True
        self._network: Network | None = None
        self._made: Method | None = None
        self._before: list[dict[str, Any]] = []
        """The history of the network that all members began as."""

    def __enter__(self) -> Self:
        if self.variant is not None:
            self.about, self.record = variant_of(self.about, self.variant), None
        with ExitStack() as stack:
            self._find()
            if self.record is None and self.files is not None and self._has_lock:
                stack.enter_context(self.files.claimed(self._wait))
                self._find()  # somebody else may have made it by now
            if self.record is None:
                if self.files is not None and self.files.weights.exists():
                    # Of a run that was killed before its record was there, or of somebody's.
                    load_state(self.files.weights, self.about["key"])
                path = self.files.checkpoint if self.files else None
                self.checkpoint = Checkpoint(path, self.about["key"], json.dumps(self.about))
                stack.enter_context(self.checkpoint)
                is_low = self.options.precision == "bfloat16"
                stack.enter_context(torch.autocast(self.device.type, torch.bfloat16, is_low))
                if self.device.type == "cuda":  # else earlier runs would count
                    torch.cuda.reset_peak_memory_stats(self.device)
                seed_everything(self.options.seed)
            self._stack = stack.pop_all()
        return self

    def _find(self) -> None:
        """Read the record of the run, if it is finished."""
        if self.record is None and self.files is not None:
            self.record = Record.find(self.files.record, self.about["key"])

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)
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
        self._made, optimizer = self._as_options_say(self._start() if begins_as_one else None)
        return self._made, optimizer

    def _as_options_say(self, start: nn.Module | None = None) -> tuple[Method, Optimizer]:
        method = self.experiment.method(self.options, self.splits, start)
        method.epoch_losses = [row["losses"] for row in self._before]
        return method, adam(method, self.options)

    def _start(self) -> nn.Module:
        """Train the one network that all members begin as, on all tasks for `shared_epochs`, as a
        rewarded soup has them and adapters of a base that is not trained.

        The start of LS has equal weights of the losses whatever its own are, so that runs in one
        folder share it: one of them makes it, and the others read it.
        """
        options = self.options
        alone: dict[str, Any] = {"epochs": options.shared_epochs, "shared_epochs": None}
        alone |= {"method": "ls", "average": 0.0, "balancing": "none", "weights": None, "out": None}
        first = Recorder(self.experiment, options.model_copy(update=alone), self.splits)
        if self.files is not None and options.method == "ls":
            first.files = self.files.start(first.about["key"])
        elif self.files is not None:
            first.files, first._has_lock = self.files.shared, False  # the lock is that of this run
        with first:
            method, optimizer = first.method()
            history = train(method, first.batches(), **first.training(method, optimizer))
        self._before = first._rows(method.names, history)
        return method.network.export([1.0], calibration="shared")

    # How it is trained

    def batches(self) -> DataLoader[tuple[Tensor, ...]]:
        """Return the training data in batches."""
        data, size = self.splits.train, self.options.batch_size
        return batches(data, size, shuffle=True, device=self.device)

    def training(self, method: Method, optimizer: Optimizer) -> dict[str, Any]:
        """Return the arguments of `train` that the options decide, the state to go on from, and the
        hook that keeps each epoch. Warn, and keep nothing, if `method` or `optimizer` is not what
        the options say."""
        if method is not self._made and self.variant is None:
            with torch.random.fork_rng([]):
                unlike = differences((method, optimizer), self._as_options_say())
            if unlike:
                warnings.warn(
                    f"What is trained is not what the options say: {'; '.join(unlike)}. Its record "
                    "is not written. Say it with the options, or give it a key of its own: "
                    'Recorder(..., variant="mine").',
                    stacklevel=2,
                )
                self.files, self.checkpoint.path, self.checkpoint.state = None, None, None
        epochs = (self.options.epochs or 0) - len(self._before)
        halving, share = None, self.experiment.halve_after
        if share is not None:
            halving = MultiStepLR(optimizer, [round(epochs * share)], gamma=0.5)
        self._last = time.perf_counter()
        return {
            "epochs": epochs,
            "optimizer": optimizer,
            "scheduler": halving,
            "ema": self.options.average or None,
            "calibration": "shared",
            "seed": self.options.seed,
            "resume": self.checkpoint.state,
            "on_epoch": self.keep,
        }

    def keep(self, training: Training) -> None:
        """Keep the state after an epoch: a hook for `train`."""
        began, self._last = self._last, time.perf_counter()
        row = training.history[-1]
        row["member_similarity"] = similarity(training.method.network)
        row["seconds"] = self._last - began
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
            points=to_points(fronts),
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
                state = {"key": self.about["key"], "network": dict(network.state_dict())}
                save_state(self.files.weights, state)
            self.record.write(self.files.record)
        return self.record

    def _rows(self, names: tuple[str, ...], history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a row for each epoch as a record has it, those of the start first."""
        rows = [
            {
                "losses": [row[f"{name}/loss"] for name in names],
                "member_similarity": row["member_similarity"],
                "seconds": row["seconds"],
            }
            for row in history
        ]
        return [*self._before, *rows]

    @property
    def network(self) -> Network | None:
        """Return the trained network, None if the run is not finished or its weights are not at
        hand. The options do not say how to build a variant, so that it is at hand where it was
        trained."""
        is_known = self.record is not None and self.variant is None
        files = self.files if is_known else None
        if self._network is None and files is not None and files.weights.exists():
            network = self.experiment.method(self.options, self.splits).network
            network.load_state_dict(load_state(files.weights, self.about["key"])["network"])
            self._network = network
        return self._network


def similarity(network: Network) -> float | None:
    """Return the smallest cosine between two members, None if there are no two."""
    if isinstance(network, MIXTURES) and network.num_members > 1:
        return float(network.member_similarity().min())
    return None
