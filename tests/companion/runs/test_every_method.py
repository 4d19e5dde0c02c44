"""Every method runs on a built-in sample, and on all of them where it depends on the network."""

import json
from dataclasses import replace
from functools import cache

import pytest

from pamal_companion.experiments import census, cityscapes, multimnist, multimnist3, utkface
from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run

EXPERIMENTS = {
    "census": (census.EXPERIMENT, census.CensusOptions),
    "multimnist": (multimnist.EXPERIMENT, multimnist.MultiMNISTOptions),
    "multimnist3": (multimnist3.EXPERIMENT, multimnist3.MultiMNIST3Options),
    "cityscapes": (cityscapes.EXPERIMENT, cityscapes.CityScapesOptions),
    "utkface": (utkface.EXPERIMENT, utkface.UTKFaceOptions),
}
# PHN writes the weights of a ResNet18 in chunks: it would not fit into every memory otherwise.
# BatchNorm is calibrated again for each of the 11 points of CityScapes, not for UTKFace's 66.
SMALLER = {
    "cityscapes": {"width": 2, "batch_size": 6},
    "utkface": {"width": 4, "batch_norm": "shared"},
}
# On one sample every method; on the others those that look into the network.
RUNS = [("census", method, {}) for method in METHODS] + [("census", "phn", {"solver": "epo"})]
RUNS += [
    (name, method, {})
    for name in ("multimnist", "multimnist3", "cityscapes", "utkface")
    for method in ("pamal", "low_rank", "rotograd", "phn", "cosmos")
]
NUM_POINTS = {"census": 11, "multimnist": 11, "multimnist3": 66, "cityscapes": 11, "utkface": 66}


@cache
def few(name):
    """48 training examples of the sample and 16 of each other part; of streets, each of which has
    thousands of labels, a quarter."""
    experiment, options = EXPERIMENTS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pamal_companion.data.utkface.SAMPLE_NUM", 160)  # all faces take ten seconds
        splits = experiment.load(options.create(data="sample"))
    share = 4 if name == "cityscapes" else 1
    train, validation, test = (
        type(part)(*(tensor[: size // share] for tensor in part.tensors))
        for part, size in ((splits.train, 48), (splits.validation, 16), (splits.test, 16))
    )
    return replace(splits, train=train, validation=validation, test=test)


@pytest.mark.parametrize(("name", "method", "extra"), RUNS, ids=lambda value: str(value))
def test_every_method_trains_on_a_sample_and_writes_a_record(tmp_path, name, method, extra):
    experiment, options = EXPERIMENTS[name]
    if (method, name) == ("low_rank", "cityscapes"):
        extra = extra | {"rank": 2}  # of the narrow network here
    if (method, name) == ("phn", "utkface"):
        extra = extra | {"chunk": 10_000}
    chosen = options.create(
        method=method,
        data="sample",
        epochs=1 + (method in ("soup", "low_rank")),
        device="cpu",
        out=str(tmp_path / "r.json"),
        **extra,
        **{"batch_size": 24, **SMALLER.get(name, {})},
    )
    run(experiment, chosen, few(name))
    found = Record.read(tmp_path / "r.json")
    has_front = method in ("pamal", "soup", "low_rank", "phn", "cosmos")
    assert found.method == method
    assert extra.items() <= found.options.items()
    if method == "low_rank":  # heads of two classes have no higher rank
        assert found.options.get("rank", 4) == (4 if name in ("multimnist", "multimnist3") else 2)
    assert len(found.points) == 2 * (NUM_POINTS[name] if has_front else 1)
    assert len(found.objectives) == (1 if method == "stl" else len(experiment.tasks_of(chosen)))


@pytest.mark.parametrize(
    ("notebook", "method"), [("census", "cosmos"), ("census", "stl"), ("multimnist", "stl")]
)
def test_a_notebook_takes_the_name_of_a_method(tmp_path, execute, notebook, method):
    execute(notebook, tmp_path, method=method, epochs=1, data="sample", out="r.json")
    assert json.loads((tmp_path / "r.json").read_text())["method"] == method
