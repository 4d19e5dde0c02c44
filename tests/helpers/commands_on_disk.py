"""Runs on a disk, and what a command says of them."""

import contextlib
import io
import json
from unittest import mock

import torch

from pamal_companion.__main__ import main
from pamal_companion.runs.records import ABOUT, Record, _digest
from pamal_companion.runs.states import save_state

NAMES = ("top-left", "bottom-right")


def rewrite(path, change):
    """Change the fields of a record, which has the right checksum then."""
    fields = json.loads(path.read_text("utf-8"))
    del fields["checksum"]
    change(fields)
    path.write_text(json.dumps(fields | {"checksum": _digest(fields)}), "utf-8")


def ask(*arguments):
    """Exit code, stdout and stderr of a command."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in "ab")
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch("sys.stdout", out))
        stack.enter_context(mock.patch("sys.stderr", err))
        code = main([str(argument) for argument in arguments])
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err) if not stream.flush())


def ask_json(*arguments):
    code, out, err = ask(*arguments, "--json")

    def refuse(name):
        raise ValueError(f"JSON has no {name}")

    return code, json.loads(out, parse_constant=refuse), err


def record(**changes):
    """A run of PaMaL on MultiMNIST whose hypervolume is 0.9, and best accuracies 0.95 and 0.94."""
    alphas = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    values = [(0.95, 0.9), (0.94, 0.93), (0.8, 0.94)]
    points = [
        {
            "alpha": alpha,
            "split": split,
            "metrics": {
                f"{name}/{metric}": number
                for name, value in zip(NAMES, value, strict=True)
                for metric, number in (("accuracy", value), ("loss", 1 - value))
            },
        }
        for split in ("validation", "test")
        for alpha, value in zip(alphas, values, strict=True)
    ]
    best = {f"{NAMES[0]}/accuracy": 0.95, f"{NAMES[1]}/accuracy": 0.94}
    part = {"hypervolume": 0.9, "competition": -1.0, "non_dominated": 3, "spearman": {}}
    chosen = {"alpha": [0.5, 0.5], "test": points[4]["metrics"]}
    fields = {
        "experiment": "multimnist",
        "method": "pamal",
        "options": {"W": 4, "lam": 0.0, "p": 1.0, "balancing": "none", "epochs": 10},
        "seed": 0,
        "data": "multimnist/full/offset=6/seed=0/abc",
        "objectives": dict.fromkeys(best, "max"),
        "points": points,
        "summary": {
            "validation": part | {"best": best},
            "test": part | {"best": best},
            "chosen_on_validation": chosen,
            "member_similarity": 0.5,
        },
        "cost": {"train_seconds": 100.25, "evaluate_seconds": 2.5, "peak_memory_bytes": None},
        "versions": {"torch": "2"},
    }
    return Record(**fields | changes)


def write_checkpoint(path, key, epochs=3):
    """As `train` writes it for a run with the fields of `record()`."""
    fields = record().model_dump(mode="json")
    about = json.dumps({name: fields[name] for name in ABOUT})
    network = {"weight": torch.zeros(4, dtype=torch.bfloat16)}
    history = [{"losses": [0.5, 0.25]}] * epochs
    states = {"network": network, "optimizer": {}, "history": history}
    save_state(path, {"key": key, "about": about, **states})


def write_weights(path, key):
    """As `run` writes them."""
    save_state(path, {"key": key, "network": {"weight": torch.zeros(4)}})


def flip(path, bit):
    """Flip one bit of the file; `bit` counts around."""
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)
