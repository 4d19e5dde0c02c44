"""Forty-five short runs have the points, the history and the summary that they had, by `==`.

`python tests/frozen_runs.py` makes them on cut samples and compares hashes with
`frozen_runs.json`; `--write` writes that file, after a change that is meant to change numbers. The
runs cover every method, variants of PaMaL and five data sets. Another processor or another torch
may round otherwise: then nothing is compared. This takes a minute and is no part of `make test`.
"""

import copy
import dataclasses
import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import torch

from pamal_companion.experiments import census, cityscapes, multimnist, multimnist3, utkface
from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.run import run

sys.path.append(str(Path(__file__).parent / "core" / "method"))
from test_same_bits import of_machine

HASHES = Path(__file__).with_suffix(".json")
SIZES = {"census": 600, "multimnist": 120, "multimnist3": 120, "utkface": 24, "cityscapes": 12}
PARTS = "points", "history", "summary"


def runs():
    """Yield each run: its experiment and its options."""
    for method in METHODS:
        yield census, {"method": method, "epochs": 3 if method in ("soup", "low_rank") else 2}
    for variant in (
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
    ):
        yield census, {"method": "pamal", "W": 2, **variant}
    yield census, {"method": "dwa", "steps_per_window": 3}
    yield census, {"method": "mgda", "heads": "balanced"}
    yield census, {"method": "phn", "solver": "epo"}
    for module in (multimnist, multimnist3):
        yield module, {"method": "pamal"}
        yield module, {"method": "ls"}
    yield utkface, {"method": "pamal", "width": 8}
    yield cityscapes, {"method": "pamal", "width": 8, "W": 1, "lam": 0.0}
    for method in ("mgda", "nash_mtl", "graddrop"):
        yield multimnist, {"method": method}
    yield multimnist, {"method": "pamal", "balancing": "gradient"}


def cut(splits, number):
    """Return `splits` with the first `number` examples of each part."""
    parts = {}
    for name in ("train", "validation", "test"):
        parts[name] = copy.copy(getattr(splits, name))
        parts[name].tensors = tuple(tensor[:number] for tensor in parts[name].tensors)
    return dataclasses.replace(splits, **parts)


def digest(value):
    text = json.dumps(value, default=repr, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hashes():
    """Return for each run the hashes of `PARTS` of its record."""
    found, splits, folder = {}, {}, Path(tempfile.mkdtemp())
    for number, (module, given) in enumerate(runs()):
        experiment, file = module.EXPERIMENT, folder / f"{number}.json"
        about = {"data": "sample", "device": "cpu", "batch_size": 40, "out": str(file)}
        options = experiment.options.create(**about, **{"epochs": 1, **given})
        if experiment.name not in splits:
            splits[experiment.name] = cut(experiment.load(options), SIZES[experiment.name])
        run(experiment, options, splits[experiment.name])
        record = json.loads(file.read_text("utf-8"))
        found[f"{experiment.name} {given}"] = [digest(record[part]) for part in PARTS]
    return found


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = json.loads(HASHES.read_text("utf-8")) if HASHES.exists() else {}
    machine = of_machine()
    if "--write" in sys.argv:
        HASHES.write_text(json.dumps({machine: hashes()}, indent=1) + "\n", "utf-8")
        return
    if machine not in known:
        print("Nothing is compared: this processor, or this version of torch, rounds otherwise.")
        return
    found, expected = hashes(), known[machine]
    for name, parts in expected.items():
        pairs = zip(PARTS, parts, found.get(name, [None] * 3), strict=True)
        if differ := [part for part, one, other in pairs if one != other]:
            print(f"{name}: another {', '.join(differ)}")
    equal = sum(found.get(name) == parts for name, parts in expected.items())
    print(f"{equal} of {len(expected)} equal")
    sys.exit(equal < len(expected))


if __name__ == "__main__":
    main()
