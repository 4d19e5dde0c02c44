"""The cell of an experiment's notebook that trains: it makes the record that `run` makes."""

import copy
import json
import warnings
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import pytest

from pamal_companion.runs.experiment import experiment_of
from pamal_companion.runs.recorder import Recorder
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.errors import InputError
from pamal_core.training import Training

ROOT = Path(__file__).parents[3]
SAME = ("key", "experiment", "method", "options", "seed", "data", "objectives", "points")
SAME += ("summary", "history")
# Examples of each part, and options that make a run short. BatchNorm is calibrated again for each
# of the 11 points of CityScapes, not for UTKFace's 66.
FEW = {
    "multimnist": (120, {"batch_size": 40, "W": 2, "lam": 2.0, "epochs": 3}),
    "census": (200, {"batch_size": 50, "epochs": 3, "tasks": "age,education,income"}),
    "multimnist3": (80, {"batch_size": 40, "epochs": 2}),
    "utkface": (32, {"batch_size": 16, "width": 2, "epochs": 2, "batch_norm": "shared"}),
    "cityscapes": (6, {"batch_size": 3, "width": 2, "epochs": 2}),
    "fairness": (200, {"batch_size": 50, "epochs": 3, "average": 0.9}),
}
VARIABLE = {"census": "splits", "cityscapes": "splits", "fairness": "splits"}


def cut(splits, number):
    """The first examples of each part."""
    parts = {}
    for name in ("train", "validation", "test"):
        part = copy.copy(getattr(splits, name))
        part.tensors = tuple(tensor[:number] for tensor in part.tensors)
        parts[name] = part
    return replace(splits, **parts)


class Page:
    """A notebook as far as its training cell, with a few examples and options of one's own."""

    def __init__(self, name):
        self.name, (number, self.short) = name, FEW[name]
        cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"]
        self.cells = {cell["id"]: "".join(cell["source"]) for cell in cells}
        self.experiment = experiment_of(name)
        options = self.experiment.options.create(data="sample", **self.short)
        self.splits = cut(self.experiment.load(options), number)
        self.trained = None  # the names that the cells left when they trained last

    def options(self, **given):
        common = {"data": "sample", "device": "cpu", **self.short}
        return self.experiment.options.create(**common | given)

    def train(self, cell=None, variant=None, **given):
        """Run the cells that build and train; return the record."""
        options = self.options(**given)
        recorder = Recorder(self.experiment, options, self.splits, variant=variant)
        names = {"recorder": recorder, VARIABLE.get(self.name, "dataset"): self.splits}
        for source in (self.cells["names"], self.cells["tasks"], cell or self.cells["algorithm"]):
            exec(source, names)
        self.names = names
        if recorder.network is not None:
            self.trained = names
        return recorder.record

    @cached_property
    def theirs(self):
        """The record that `run` makes, trained once for all tests."""
        return run(self.experiment, self.options(), self.splits).record


@pytest.fixture(scope="module")
def page():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pamal_companion.data.utkface.SAMPLE_NUM", 320)  # all faces take seconds
        yield cache(Page)


def same(one, other):
    return [n for n in SAME if getattr(one, n) != getattr(other, n)]


@pytest.mark.parametrize("name", FEW)
def test_the_cell_makes_the_record_of_the_program(page, name, tmp_path):
    experiment = page(name)
    ours = experiment.train(out=str(tmp_path / "ours.json"))
    assert not same(ours, experiment.theirs)
    read = experiment.train(out=str(tmp_path / "ours.json"))
    assert read == ours == Record.read(tmp_path / "ours.json")
    assert (tmp_path / "ours.safetensors").exists()


def test_a_variant_is_known_by_the_cell_that_trains(page, tmp_path, monkeypatch):
    """The recorder is made in another cell; a changed cell is another variant."""
    experiment, out = page("multimnist"), str(tmp_path / "r.json")
    texts = iter(["trains", "trains", "trains otherwise"])
    monkeypatch.setattr("pamal_companion.runs.records._cell", lambda: next(texts))
    wide = experiment.cells["algorithm"].replace("lenet()", "lenet(bottleneck=9)")
    mine = experiment.train(wide, variant="wide", out=out)
    assert mine.options["cell"] == "trains" and experiment.names["recorder"].network is not None
    assert experiment.train(variant="wide", out=out) == mine
    assert experiment.names["recorder"].network is None
    with pytest.raises(InputError, match="record of another run"):
        experiment.train(variant="wide", out=out)


@pytest.mark.parametrize("name", FEW)
def test_the_options_may_be_read_again_after_the_cell(page, name):
    """In a kernel the names of the cell are still there, and none may pass for an option."""
    experiment = page(name)
    if experiment.trained is None:  # this test runs alone
        experiment.train()
    names = dict(experiment.trained)
    exec(experiment.cells["parameters"], names)
    options = experiment.experiment.options.from_notebook(names)
    assert options.method == "pamal"


@pytest.mark.parametrize("name", FEW)
def test_a_cell_that_was_interrupted_goes_on_and_ends_the_same(page, name, tmp_path, monkeypatch):
    experiment, out = page(name), str(tmp_path / "r.json")
    keep = Recorder.keep

    def stop(recorder, training):
        keep(recorder, training)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as stopped:
        patch.setattr(Recorder, "keep", stop)
        experiment.train(out=out)
    assert "Epochs 1 to 1 are kept" in stopped.value.__notes__[0]
    assert [*tmp_path.glob("*checkpoint*")] and not Path(out).exists()
    assert not same(experiment.train(out=out), experiment.theirs)
    assert not [*tmp_path.glob("*checkpoint*")]


@pytest.mark.parametrize("method", ["ls", "cagrad", "phn", "soup", "low_rank", "auto_lambda"])
def test_another_method_goes_through_the_other_line(page, method, tmp_path):
    experiment = page("multimnist")
    short = {"epochs": 2, "W": 1, "lam": 0.0} | ({"rank": 2} if method == "low_rank" else {})
    given = {"method": method, **short}
    theirs = run(experiment.experiment, experiment.options(**given), experiment.splits).record
    ours = experiment.train(out=str(tmp_path / "r.json"), **given)
    assert not same(ours, theirs)
    assert experiment.train(out=str(tmp_path / "r.json"), **given) == ours


def test_pamal_with_other_options_goes_through_it_too(page):
    experiment = page("multimnist")
    for given in ({"balancing": "loss"}, {"draws": "stratified"}, {"p": [1.0, 2.0]}):
        theirs = run(experiment.experiment, experiment.options(**given), experiment.splits).record
        assert not same(experiment.train(**given), theirs)


CHANGES = {
    '"window": o.W': ('"window": o.W + 1', r"the window is 3, not 2"),
    "Dirichlet(o.p)": ("Dirichlet(9.0)", "the preference is Dirichlet"),
    "MultiForward(o.lam)": ("MultiForward(1.0)", "the penalty is MultiForward"),
    "[lenet(), lenet()]": ("[lenet(bottleneck=9), lenet(bottleneck=9)]", "the number of weights"),
    'shared="encoder"': ('shared="heads"', "the number of shared weights"),
    "len(task_list) * o.lr": ("0.5", "lr of the optimiser's group 0 is 0.5, not 0.002"),
    "torch.optim.Adam": ("torch.optim.SGD", "the optimiser is SGD, not Adam"),
}


@pytest.mark.parametrize("old", CHANGES)
def test_a_cell_of_another_method_leaves_no_record_of_these_options(page, old, tmp_path):
    experiment, (new, said) = page("multimnist"), CHANGES[old]
    cell = experiment.cells["algorithm"]
    assert cell.count(old) == 1
    with pytest.warns(UserWarning, match=rf"not what the options say: .*{said}.*variant"):
        record = experiment.train(cell.replace(old, new), out=str(tmp_path / "r.json"))
    assert record is not None and not [p for p in tmp_path.iterdir() if p.suffix != ".lock"]


def test_a_variant_has_a_key_of_its_own(page, tmp_path):
    experiment, out = page("multimnist"), str(tmp_path / "r.json")
    cell = experiment.cells["algorithm"].replace('"window": o.W', '"window": o.W + 1')
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="What is trained is not")
        mine = experiment.train(cell, variant="mine", out=out)
    assert mine.options["variant"] == "mine" and "cell" in mine.options
    assert mine.key != experiment.train().key and Record.read(Path(out)) == mine
    with pytest.raises(InputError, match="record of another run"):
        experiment.train(out=out)


def test_the_hook_keeps_each_epoch(page, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(Training, "state_dict", lambda training: seen.append(training.epoch) or {})
    page("multimnist").train(out=str(tmp_path / "r.json"))
    assert seen == [1, 2, 3]
