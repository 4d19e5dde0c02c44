"""The experiment on CityScapes, on its sample and on a few scenes in the form of MTAN's arrays."""

import numpy as np
import pytest
import torch

from pamal_companion.data import cityscapes
from pamal_companion.experiments.cityscapes import EXPERIMENT, CityScapesOptions, predictions
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_companion.study.paper import table
from pamal_core.errors import InputError

SMALL = {"data": "sample", "limit": 8, "epochs": 1, "width": 2, "batch_size": 4, "device": "cpu"}
FEW = {"data": "full", "validation": 2, "width": 2, "batch_size": 3, "epochs": 1, "device": "cpu"}
PAPER = {"W": 3, "lam": 1.0, "p": 7.0, "balancing": "gradient"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def sample():
    """The sample, cut down to 8 scenes of each part."""
    return EXPERIMENT.load(options())


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A data root with 8 + 3 scenes as MTAN's arrays: doubles, labels too, and single precision for
    depth. The upper half is sky without depth; below, inverse depth grows towards the camera."""
    root = tmp_path_factory.mktemp("root")
    rng = np.random.default_rng(0)
    rows = np.linspace(0, 1, 128)[:, None, None]
    for split, num in (("train", 8), ("val", 3)):
        for k in range(num):
            depth = np.where(rows > 0.5, 0.4 * (rows - 0.4), 0) * np.ones((1, 256, 1))
            label = np.where(rows[..., 0] > 0.5, 0.0, 4.0) * np.ones((1, 256))
            label[:5] = -1
            image = np.clip(rows + 0.05 * rng.standard_normal((128, 256, 3)), 0, 1)
            arrays = {"image": image, "label_7": label, "depth": depth.astype(np.float32)}
            for part, array in arrays.items():
                path = root / "cityscapes" / split / part / f"{k}.npy"
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, array)
    return root


def options(**values):
    return CityScapesOptions.create(**SMALL | values)


def full(root, **values):
    return CityScapesOptions.create(**FEW | {"data_root": str(root)} | values)


def test_the_hypervolume_is_taken_from_guessing_the_same_depth_everywhere():
    """On the sample; every row of the paper's table is better in both objectives."""
    splits = cityscapes.load("sample")
    train, test = (part.tensors[2].numpy() for part in (splits.train, splits.test))
    error = np.abs(np.median(train[train > 0]) - test[test > 0]).mean()
    assert EXPERIMENT.reference == (0, pytest.approx(error, abs=2e-3))
    assert (table("cityscapes")["absolute_error"] < EXPERIMENT.reference[1]).all()


def test_full_data_that_is_not_there_is_refused_with_where_it_should_be(tmp_path):
    with pytest.raises(InputError, match=r"Expected CityScapes in .*cityscapes\. Found nothing\."):
        EXPERIMENT.load(CityScapesOptions.create(data="full", data_root=str(tmp_path)))


def test_a_run_on_the_sample_writes_what_it_was_run_with(tmp_path):
    found = run(EXPERIMENT, options(out=str(tmp_path / "r.json")))
    record = Record.read(tmp_path / "r.json")
    assert record == found.record and record.data.startswith("cityscapes/sample/II/")
    assert {**PAPER, "p": 0.5, "batch_norm": "recalibrated"}.items() <= record.options.items()
    assert record.options["limit"] == 8 and record.options["epochs"] == 1
    assert record.objectives == {"segmentation/mIoU": "max", "depth/absolute error": "min"}
    assert len(record.points) == 2 * 11
    assert run(EXPERIMENT, options(out=str(tmp_path / "r.json"))).record == record


@pytest.mark.parametrize("setting", ["I", "II"])
def test_a_run_on_the_arrays_of_mtan_has_the_papers_settings(root, tmp_path, setting):
    # Setting I has no validation part whose size could be chosen.
    part = {"validation": None} if setting == "I" else {}
    chosen = full(root, setting=setting, out=str(tmp_path / "r.json"), **part)
    record = run(EXPERIMENT, chosen).record
    assert record.data.startswith(f"cityscapes/full/{setting}/")
    assert "/128x256/multiply/" in record.data
    assert PAPER.items() <= record.options.items() and record.options["batch_norm"] == "shared"
    assert len(record.points) == 22
    assert (record.front("validation").table.equals(record.front("test").table)) == (setting == "I")


def test_linear_scalarisation_and_single_tasks_are_values_of_method(sample):
    both = run(EXPERIMENT, options(method="ls"), sample).record
    assert len(both.points) == 2 and both.options["balancing"] == "none"
    for task, name in enumerate(("segmentation", "depth")):
        single = run(EXPERIMENT, options(method="stl", task=task), sample).record
        assert [objective.split("/")[0] for objective in single.objectives] == [name]
        assert single.options["task"] == task


def test_the_learning_rate_is_halved_after_three_quarters_of_the_epochs(rates, sample):
    run(EXPERIMENT, options(epochs=4, batch_size=20, lr=1e-3), sample)
    assert rates == [2e-3, 2e-3, 2e-3, 1e-3]  # twice, for two members


@pytest.mark.parametrize("batch_norm", ["shared", "recalibrated"])
def test_predictions_are_what_the_record_was_measured_on(sample, batch_norm):
    chosen = options(batch_norm=batch_norm)
    record, network = run(EXPERIMENT, chosen, sample)
    statistics = {n: b.clone() for n, b in network.named_buffers() if "running" in n}
    front = record.front("test")
    labels, depth = (tensor.numpy() for tensor in sample.test.tensors[1:])
    for p in (0, 5, 10):
        alpha = front.alphas[[p]]
        seen = [predictions(network, chosen, sample, alpha, k) for k in range(len(labels))]
        right = (np.concatenate([classes for classes, _ in seen]) == labels)[labels >= 0].mean()
        assert right == pytest.approx(front.table["segmentation/pixel accuracy"][p], abs=1e-3)
        far = np.concatenate([far for _, far in seen])
        error = np.abs(far - depth)[depth > 0].mean()
        assert error == pytest.approx(front.table["depth/absolute error"][p], rel=1e-3)
    buffers = dict(network.named_buffers())
    assert statistics and all(torch.equal(buffers[n], b) for n, b in statistics.items())
