"""Train PaMaL and keep the front of every epoch: the data of the book's training replay.

`python -m pamal_core.lessons.replay OUT.json` does so on MultiMNIST, W = 4 and no penalty.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.utils.data import TensorDataset

from pamal_core.data.batches import batches
from pamal_core.data.splits import Splits
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate
from pamal_core.experiments.multimnist import EXPERIMENT, MultiMNISTOptions
from pamal_core.front import Front
from pamal_core.method import Method
from pamal_core.plots.style import quantity
from pamal_core.runs.atomic import write_atomic
from pamal_core.runs.options import Options
from pamal_core.runs.records import versions
from pamal_core.runs.run import SETTINGS, Experiment, method_of
from pamal_core.training import train

IMAGES = 2000
"""How many validation examples each front is measured on; all of them take five times as long."""


def replay(experiment: Experiment, options: Options, splits: Splits) -> dict[str, Any]:
    """Train PaMaL on two tasks as `experiment` does, and measure 11 alphas before the first epoch
    and after each one.

    Each frame has the epoch, the first metric of each task at each alpha as `values` [11][2], which
    points no other dominates, and the hypervolume (higher is better).
    """
    options = experiment.resolved(options, splits)
    if options.method != "pamal" or len(experiment.tasks) != 2 or experiment.halve_after:
        raise InputError(
            "A replay shows PaMaL on two tasks at a constant learning rate. "
            f"Found {options.method} on {experiment.name}."
        )
    method = method_of(experiment, options, splits)
    examples = TensorDataset(*splits.validation[:IMAGES])

    def measure(_epoch: int, method: Method) -> dict[str, Any]:
        loader = batches(examples, experiment.evaluation_batch)
        return {"front": evaluate(method.network, method.tasks, loader)}

    fronts: list[Front] = [measure(0, method)["front"]]
    history = train(
        method,
        batches(splits.train, options.batch_size, shuffle=True),
        epochs=options.epochs or 1,
        lr=options.lr,
        seed=options.seed,
        on_epoch=measure,
    )
    fronts += [row["front"] for row in history]
    return {
        "experiment": experiment.name,
        "data": splits.id,
        "description": splits.description,
        "seed": options.seed,
        "epochs": options.epochs,
        "options": dict(sorted(options.model_dump(include=SETTINGS - {"task"}).items())),
        "examples": f"the first {len(examples):,} of the validation split",
        "versions": versions(),
        "objectives": [quantity(o.name) for o in fronts[0].objectives],
        "maximise": fronts[0].maximise,
        "alphas": fronts[0].alphas.round(6).tolist(),
        "frames": [
            {
                "epoch": epoch,
                "values": front.values.round(6).tolist(),
                "non_dominated": front.non_dominated().tolist(),
                "hypervolume": round(front.hypervolume(experiment.reference), 6),
            }
            for epoch, front in enumerate(fronts)
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a replay of MultiMNIST; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m pamal_core.lessons.replay")
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", choices=("full", "sample"), default="full")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int)
    given = parser.parse_args(arguments)
    values = {name: value for name, value in vars(given).items() if name != "out"}
    try:
        options = MultiMNISTOptions.create(**values, device="cpu")
        found = replay(EXPERIMENT, options, EXPERIMENT.load(options))
        rest = "".join(f" --{k} {v}" for k, v in values.items() if v is not None)
        command = f"{parser.prog} {given.out.as_posix()}{rest}"
        write_atomic(given.out, (json.dumps({"command": command} | found) + "\n").encode())
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
