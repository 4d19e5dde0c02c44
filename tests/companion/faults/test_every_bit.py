"""A file with one flipped bit is refused in a sentence, or is read as if the bit had not flipped.

`make test` flips one bit of each byte of a small file of each kind, `make test-faults` every bit.
"""

import json
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch
from packed import gzipped, known, put, tarred, zipped

from pamal_companion.data.files import cached, complete, inside, walk
from pamal_companion.runs import folder
from pamal_companion.runs.records import Record
from pamal_companion.runs.states import load_state, save_state
from pamal_core.errors import InputError

ARRAYS = {"a": np.arange(3, dtype=np.float32)}
STATE = {
    "key": "k",
    "network": {"a": torch.tensor([1.0, 2.0]), "half": torch.ones(1, dtype=torch.bfloat16)},
    "none": None,
}
FACES = {"5_0_0_2017.jpg": b"a face", "60_1_2_2017.jpg": b"another one"}
TEXT = {"data": b"some text"}
RECORD = Record(
    experiment="census",
    method="ls",
    options={"epochs": 3},
    seed=0,
    data="census/full/a",
    objectives={"age/accuracy": "max"},
    points=[{"alpha": [1.0], "split": "test", "metrics": {"age/accuracy": 0.5}}],
    summary={},
    cost={},
    versions={},
)


class Kind(NamedTuple):
    """What writes a file into a folder, and what reads it there and returns all that it says."""

    write: object
    read: object


def write_record(place):
    RECORD.write(place / "r.json")


def write_state(place):
    save_state(place / "r.safetensors", STATE)


def read_state(place):
    return repr(load_state(place / "r.safetensors"))


def write_checkpoint(place):
    about = json.dumps(RECORD.about)
    save_state(place / "r.checkpoint.safetensors", {**STATE, "about": about, "history": [{}]})


def list_runs(place):
    """As the command `runs` does, which names a file that is damaged."""
    rows = [row for row, _ in folder.runs(place)]
    if any(row["state"] == "damaged" for row in rows):
        raise InputError(" ".join(row["why"] for row in rows))
    return rows


def write_arrays(_):
    cached("things", "one", lambda: ARRAYS)


def read_arrays(_):
    def make():
        raise InputError("They are made again.")

    return {name: array.tolist() for name, array in cached("things", "one", make).items()}


def write_packed(pack):
    return lambda place: put(place, pack)


def read_text(place):
    return complete(place, known(TEXT), "")


def read_faces(place):
    """By their names, as UTKFace has its labels; an archive that is none any more has none."""
    files = [(each.path, each.read(99)) for file in walk(place) for each in inside(file)]
    faces = [file for file in files if file[0].endswith(".jpg")]
    if not faces:
        raise InputError(f"Expected faces. Found {files[0][0]}.")
    return faces


KINDS = {
    "record": Kind(write_record, lambda place: Record.read(place / "r.json")),
    "weights": Kind(write_state, read_state),
    "checkpoint in a list": Kind(write_checkpoint, list_runs),
    "cached arrays": Kind(write_arrays, read_arrays),
    "gzip": Kind(write_packed(gzipped(TEXT)), read_text),
    "zip": Kind(write_packed(zipped(FACES)), read_faces),
    "tar.gz": Kind(write_packed(tarred(FACES)), read_faces),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_that_flips_is_noticed_or_without_effect(
    kind, tmp_path, times, tally, monkeypatch
):
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setenv("PAMAL_CACHE", str(place))
    KINDS[kind].write(place)
    (path,) = place.iterdir()
    whole, expected = path.read_bytes(), KINDS[kind].read(place)
    noticed, unseen = 0, []
    flips = [*product(range(len(whole)), range(8))]
    if times < 3:
        flips = [(at, at % 8) for at in range(len(whole))]
    for at, bit in flips:
        content = bytearray(whole)
        content[at] ^= 1 << bit
        path.write_bytes(content)
        try:
            is_lost = KINDS[kind].read(place) != expected
        except InputError as error:
            is_lost = path.name not in str(error) and kind != "cached arrays"
            noticed += 1
        tally(f"flipped bit of a {kind}", is_lost, 0)
        if is_lost:
            unseen.append((at, bit))
    assert unseen == [] and 8 * noticed > len(flips)
