"""Train PaMaL and keep the front of every epoch: the data of the book's training replay."""

from functools import partial
from typing import Any

from torch.utils.data import TensorDataset

from pamal_companion.data.batches import batches
from pamal_companion.data.splits import Splits
from pamal_companion.runs.build import adam
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.options import SETTINGS, Options
from pamal_companion.runs.records import versions
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate
from pamal_core.training import train

IMAGES = 2000
"""The number of validation examples that each front is measured on; all take five times as long."""


def replay(experiment: Experiment, options: Options, splits: Splits) -> dict[str, Any]:
    """Train PaMaL on two tasks as `experiment` does, and measure 11 alphas before the first epoch
    and after each one: `frames`, whose `values` [11][2] are the first metric of each task."""
    options = experiment.resolved(options, splits)
    tasks, reference = experiment.tasks_of(options), experiment.reference_of(options)
    if options.method != "pamal" or len(tasks) != 2 or experiment.halve_after:
        raise InputError(
            "A replay shows PaMaL on two tasks at a constant learning rate. "
            f"Found {options.method} on {experiment.name}."
        )
    method = experiment.method(options, splits)
    examples = TensorDataset(*splits.validation[:IMAGES])
    loader = batches(examples, experiment.evaluation_batch)
    measured = partial(evaluate, method.network, method.tasks, loader)
    fronts = [measured()]
    train(
        method,
        batches(splits.train, options.batch_size, shuffle=True),
        epochs=options.epochs or 1,
        optimizer=adam(method, options),
        seed=options.seed,
        on_epoch=lambda _: fronts.append(measured()),
    )
    return {
        "experiment": experiment.name,
        "data": splits.id,
        "description": splits.description,
        "seed": options.seed,
        "epochs": options.epochs,
        "options": dict(sorted(options.model_dump(include=SETTINGS - {"task"}).items())),
        "examples": f"the first {len(examples):,} of the validation split",
        "versions": versions(),
        "objectives": [o.words for o in fronts[0].objectives],
        "maximise": fronts[0].maximise,
        "alphas": fronts[0].alphas.round(6).tolist(),
        "frames": [
            {
                "epoch": epoch,
                "values": front.values.round(6).tolist(),
                "non_dominated": front.non_dominated().tolist(),
                "hypervolume": round(front.hypervolume(reference), 6),
            }
            for epoch, front in enumerate(fronts)
        ],
    }
