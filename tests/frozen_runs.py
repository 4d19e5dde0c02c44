"""Make 45 small runs of every method, and compare their records with those of an earlier day.

`python tests/frozen_runs.py` compares, `--write` writes `frozen_runs.json` anew. Points, history
and summary of each record must be equal to the last bit. Another processor or another torch may
round otherwise: then nothing is compared.
"""

import argparse
import copy
import dataclasses
import hashlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import torch

from pamal_companion.data.splits import Splits
from pamal_companion.experiments import census, cityscapes, multimnist, multimnist3, utkface
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run

HASHES = Path(__file__).with_suffix(".json")
PARTS = ("points", "history", "summary")
EXAMPLES = {"census": 600, "multimnist": 120, "multimnist3": 120, "utkface": 24, "cityscapes": 12}
"""Number of examples of each split."""

OF_PAMAL = (
    {"W": 3, "lam": 2.0},
    {"W": 3, "lam": 2.0, "penalty": "printed", "skip": "as_released"},
    {"W": 3, "lam": 1.0, "edges": "full"},
    {"balancing": "loss"},
    {"balancing": "gradient"},
    {"balancing": "loss", "balancing_form": "released"},
    {"balancing": "gradient", "balancing_form": "released"},
    {"draws": "stratified", "average": 0.99},
    {"p": 0.0},
    {"p_first": 10.0, "p": 0.2},
    {"grid": "arc"},
    {"grid": "sampled"},
    {"measure_training": True},
    {"precision": "bfloat16"},
)


def frozen_runs() -> Iterator[tuple[Experiment, dict]]:
    """Yield the experiment and the options of each run."""
    for method in METHODS:
        # Two begin as one network. DWA's weights are 1 in its first two epochs.
        epochs = 3 if method in ("soup", "low_rank", "dwa") else 2
        yield census.EXPERIMENT, {"method": method, "epochs": epochs}
    for options in OF_PAMAL:
        yield census.EXPERIMENT, {"method": "pamal", "W": 2, **options}
    yield census.EXPERIMENT, {"method": "dwa", "steps_per_window": 3}
    yield census.EXPERIMENT, {"method": "mgda", "heads": "balanced"}
    yield census.EXPERIMENT, {"method": "phn", "solver": "epo"}
    for digits in (multimnist, multimnist3):
        yield digits.EXPERIMENT, {"method": "pamal"}
        yield digits.EXPERIMENT, {"method": "ls"}
    for method in ("mgda", "nash_mtl", "graddrop"):
        yield multimnist.EXPERIMENT, {"method": method}
    yield multimnist.EXPERIMENT, {"method": "pamal", "balancing": "gradient"}
    yield utkface.EXPERIMENT, {"method": "pamal", "width": 8}
    yield cityscapes.EXPERIMENT, {"method": "pamal", "width": 8}


def name_of(experiment: Experiment, options: dict) -> str:
    """Return the name of a run: its experiment and its options."""
    return " ".join([experiment.name, *(f"{name}={value}" for name, value in options.items())])


def first_examples(experiment: Experiment, options: Options, cache: dict[str, Splits]) -> Splits:
    """Return the sample of an experiment, cut to its first examples."""
    if experiment.name not in cache:
        splits, parts = experiment.load(options), {}
        for name in ("train", "validation", "test"):
            parts[name] = copy.copy(getattr(splits, name))
            parts[name].tensors = tuple(
                tensor[: EXAMPLES[experiment.name]] for tensor in parts[name].tensors
            )
        cache[experiment.name] = dataclasses.replace(splits, **parts)
    return cache[experiment.name]


def hashes_of(experiment: Experiment, given: dict, cache: dict[str, Splits]) -> dict[str, str]:
    """Make a run, read its record, and return a hash of each part."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/record.json"
        values = {"epochs": 1, "batch_size": 40, "data": "sample", "device": "cpu", **given}
        options = experiment.options.create(**values, out=out)
        with redirect_stderr(io.StringIO()):  # bars
            run(experiment, options, first_examples(experiment, options, cache))
        record = Record.read(Path(out))
    texts = {part: json.dumps(getattr(record, part), sort_keys=True) for part in PARTS}
    return {part: hashlib.sha256(text.encode()).hexdigest()[:16] for part, text in texts.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the hashes anew")
    parser.add_argument("--only", default="", help="compare the runs whose name has this text")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HASHES.parent / "core" / "method"))
    from test_same_bits import of_machine

    machine = of_machine()
    known = json.loads(HASHES.read_text("utf-8")) if HASHES.exists() else {}
    if not arguments.write and machine not in known:
        print("Nothing compared: this processor, or this version of torch, rounds otherwise.")
        return 0
    cache: dict[str, Splits] = {}
    expected, found = known.get(machine, {}), {}
    for experiment, options in frozen_runs():
        name = name_of(experiment, options)
        if arguments.only not in name:
            continue
        try:
            found[name] = hashes_of(experiment, options, cache)
        except Exception as error:
            if arguments.write:
                raise
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            found[name] = {}
            continue
        if not arguments.write:
            before = expected.get(name, {})
            parts = [part for part in PARTS if found[name][part] != before.get(part)]
            if parts:
                print(f"{name}: {', '.join(parts)}", flush=True)
    if arguments.write:
        if arguments.only:
            parser.error("all runs are written, so --write has no --only")
        HASHES.write_text(json.dumps({machine: found}, indent=1) + "\n", "utf-8")
        print(f"{len(found)} written")
        return 0
    equal = sum(found[name] == expected.get(name) for name in found)
    print(f"{equal} of {len(found)} equal")
    return int(equal < len(found))


if __name__ == "__main__":
    sys.exit(main())
