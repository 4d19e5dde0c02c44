"""A run from options to record: load, train, evaluate, write. Resumes where it was stopped."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from pamal_core.data.batches import batches
from pamal_core.data.splits import Splits
from pamal_core.devices import peak_memory, pick_device
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate
from pamal_core.front import Front
from pamal_core.method import Method
from pamal_core.networks.base import Network
from pamal_core.networks.ensemble import WeightEnsemble
from pamal_core.options import Options
from pamal_core.recipes import ONLY_FOR, build
from pamal_core.records import Record, run_key, versions
from pamal_core.simplex import arc
from pamal_core.state import load_state, save_state
from pamal_core.tasks import Task
from pamal_core.training import Checkpoint, seed_everything, train

# These do not tell runs apart: some are fields of their own, others say where it runs or writes.
NOT_IDENTITY = {"method", "seed", "data", "data_root", "device", "out"}
SETTINGS = {"W", "lam", "p", "balancing", "task"}
EVALUATION_BATCH = 1000


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper: data, tasks and architecture; methods and their options come on
    top.

    `make_network(splits, extra)` makes one member for the data, freshly initialised, with `extra`
    more input features (or channels) than they have. `reference` is the point the hypervolume is
    taken from, in the units of each task's first metric. `epochs` maps "full" and "sample" to the
    number of epochs trained by default.
    """

    name: str
    tasks: tuple[Task, ...]
    load: Callable[[Any], Splits]
    make_network: Callable[[Splits, int], nn.Module]
    reference: tuple[float, ...]
    epochs: dict[str, int]
    shared: str = "encoder"


class Run(NamedTuple):
    """A finished run: its record, and the trained network if its weights are at hand."""

    record: Record
    network: Network | None


def run(experiment: Experiment, options: Options, splits: Splits | None = None) -> Run:
    """Train and evaluate; with `options.out` also write the record there and the weights beside it.

    A finished run is read, not repeated; one that was stopped goes on from its last epoch and ends
    with the same record but for its cost. A record of another run at `options.out` is never
    overwritten: InputError. `splits` are the data of `options`, where they are loaded already.
    """
    splits = splits or experiment.load(options)
    about = _about(experiment, options, splits)
    key = run_key(*about.values())
    files = Files(Path(options.out), key) if options.out else None
    finished = Record.find(files.record, key) if files else None
    if files and finished and not files.weights.exists():
        return Run(finished, None)
    seed_everything(options.seed)
    make_network = partial(experiment.make_network, splits)
    method = build(options, experiment.tasks, make_network, experiment.shared, splits.train)
    method.network.to(pick_device(options.device))
    if files and finished:
        return Run(finished, files.load(method.network))
    epochs = about["options"]["epochs"]
    history, cost = _train(method, splits, options, epochs, files.checkpoint if files else None)
    fronts = _evaluate(method, splits, options, cost)
    record = Record(
        **about,
        objectives={o.name: "max" if o.maximise else "min" for o in fronts["test"].objectives},
        points=[point for split, front in fronts.items() for point in front.to_points(split)],
        summary=_summary(fronts, method.network, experiment.reference),
        history=history,
        cost=cost,
        versions=versions(),
    )
    if files:
        files.finish(record, method.network)
    return Run(record, method.network)


class Files(NamedTuple):
    """The files of a run: its record, its weights and, while it trains, its checkpoint."""

    record: Path
    key: str

    @property
    def weights(self) -> Path:
        """Where the trained network is kept."""
        return self.record.with_suffix(".safetensors")

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the state of an unfinished run is kept."""
        return Checkpoint(self.record.with_suffix(".checkpoint.safetensors"), self.key)

    def finish(self, record: Record, network: Network) -> None:
        """Weights first: a run counts as finished once its record is there."""
        save_state(self.weights, {"key": self.key, "network": dict(network.state_dict())})
        record.write(self.record)
        self.checkpoint.path.unlink(missing_ok=True)

    def load(self, network: Network) -> Network:
        """`network` with the weights of this run."""
        state = load_state(self.weights)
        if state["key"] != self.key:
            raise InputError(f"{self.weights} has the weights of another run. Delete it.")
        network.load_state_dict(state["network"])
        return network


def _about(experiment: Experiment, options: Options, splits: Splits) -> dict[str, Any]:
    """The fields of a record that say what the run is.

    Of the options those that matter to the method: the paper's settings always, others where they
    differ from the default, so that a new option never renames an old run.
    """
    values = json.loads(options.model_dump_json())
    changed = json.loads(options.model_dump_json(exclude_defaults=True))
    chosen = {
        name: value
        for name, value in values.items()
        if (name in SETTINGS or name in changed)
        and name not in NOT_IDENTITY
        and options.method in ONLY_FOR.get(name, {options.method})
    }
    # The default number of epochs depends on the data.
    chosen["epochs"] = options.epochs or experiment.epochs["sample" if splits.is_sample else "full"]
    return {
        "experiment": experiment.name,
        "method": options.method,
        "options": chosen,
        "seed": options.seed,
        "data": splits.id,
    }


def _train(
    method: Method, splits: Splits, options: Options, epochs: int, checkpoint: Checkpoint | None
) -> tuple[list[dict[str, Any]], dict[str, float | None]]:
    """Train; returns what each epoch was like, and what it cost."""
    scale = method.network.num_members if options.lr_scaling == "members" else 1
    optimizer = torch.optim.Adam(method.parameters(), lr=options.lr * scale)
    loader = batches(splits.train, options.batch_size, shuffle=True)
    cost: dict[str, float | None] = {}
    with _timed(cost, "train_seconds"):
        history = train(
            method,
            loader,
            epochs=epochs,
            optimizer=optimizer,
            seed=options.seed,
            checkpoint=checkpoint,
            on_epoch=lambda _, trained: {"member_similarity": _similarity(trained.network)},
        )
    cost["peak_memory_bytes"] = peak_memory(method.network.task_weights.device)
    return history, cost


def _evaluate(
    method: Method, splits: Splits, options: Options, cost: dict[str, float | None]
) -> dict[str, Front]:
    parts = {"validation": splits.validation, "test": splits.test}
    network = method.network
    alphas = arc(network.num_members) if options.grid == "arc" else None
    with _timed(cost, "evaluate_seconds"):
        return {
            name: evaluate(network, method.tasks, batches(part, EVALUATION_BATCH), alphas)
            for name, part in parts.items()
        }


def _summary(
    fronts: dict[str, Front], network: Network, reference: tuple[float, ...]
) -> dict[str, Any]:
    """Per split what the paper reports, and on test the one alpha chosen on validation.

    `member_similarity` is the smallest cosine between two members, null where there are no two.
    """
    alpha = fronts["validation"].choose()
    chosen = (fronts["test"].alphas == alpha).all(1).argmax()
    metrics = fronts["test"].table.iloc[chosen].to_dict()
    return {name: _describe(front, reference) for name, front in fronts.items()} | {
        "chosen_on_validation": {"alpha": alpha.tolist(), "test": metrics},
        "member_similarity": _similarity(network),
    }


def _similarity(network: Network) -> float | None:
    if isinstance(network, WeightEnsemble) and network.num_members > 1:
        return float(network.member_similarity().min())
    return None


def _describe(front: Front, reference: tuple[float, ...]) -> dict[str, Any]:
    losses = front.on("loss")
    comparable = len(front.objectives) == len(reference)
    numbers = {
        "hypervolume": front.hypervolume(reference) if comparable else None,
        "competition": front.competition(),
        "non_dominated": int(front.non_dominated().sum()),
    }
    named = zip(
        front.objectives, front.spearman(), losses.objectives, losses.spearman(), strict=True
    )
    spearman = {key: value for o, s, lo, ls in named for key, value in ((o.name, s), (lo.name, ls))}
    return _without_nan(numbers) | {"spearman": _without_nan(spearman), "best": front.best()}


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a correlation that is not defined is null."""
    return {k: None if isinstance(v, float) and v != v else v for k, v in values.items()}


@contextlib.contextmanager
def _timed(cost: dict[str, float | None], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    cost[name] = round(time.perf_counter() - start, 3)
