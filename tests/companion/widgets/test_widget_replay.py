"""The training replay: how its data are made, what is committed, and the page itself."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pamal_companion.data import multimnist
from pamal_companion.demos import replay as module
from pamal_companion.experiments.multimnist import EXPERIMENT, MultiMNISTOptions
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective

ROOT = Path(__file__).parents[3]
DATA = ROOT / "book" / "_assets" / "widgets" / "replay_multimnist.json"


@pytest.fixture
def data():
    return json.loads(DATA.read_text())


@pytest.fixture(scope="module")
def splits():
    return multimnist.load("sample", sizes=(512, 100, 100))


def test_the_last_frame_is_the_front_and_training_is_not_disturbed(splits):
    options = MultiMNISTOptions.create(data="sample", epochs=2, device="cpu")
    found = module.replay(EXPERIMENT, options, splits)
    record = run(EXPERIMENT, options, splits).record
    front = record.front("validation")
    assert [frame["epoch"] for frame in found["frames"]] == [0, 1, 2]
    assert found["frames"][-1]["values"] == front.values.round(6).tolist()
    assert found["frames"][-1]["hypervolume"] == round(front.hypervolume((0.0, 0.0)), 6)
    assert found["frames"][0] != found["frames"][-1]
    assert found["data"] == record.data


def test_a_replay_of_another_method_is_refused(splits):
    options = MultiMNISTOptions.create(data="sample", epochs=1, method="ls")
    with pytest.raises(InputError, match="Found ls on multimnist"):
        module.replay(EXPERIMENT, options, splits)


def test_the_command_writes_a_file_that_names_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    small = multimnist.load
    monkeypatch.setattr(multimnist, "load", lambda *a, **k: small(*a, **k, sizes=(512, 100, 100)))
    given = ["out.json", "--data", "sample", "--seed", "3", "--epochs", "1"]
    script = ROOT / "book" / "_assets" / "multimnist_replay.py"
    monkeypatch.setattr("sys.argv", [str(script), *given])
    runpy.run_path(str(script))
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["command"].endswith("out.json --data sample --seed 3 --epochs 1")
    assert (written["seed"], written["epochs"]) == (3, 1)


def test_what_is_committed_is_small_and_agrees_with_the_record(data):
    assert DATA.stat().st_size < 60_000
    objectives = tuple(Objective(name, True) for name in data["objectives"])
    assert len(data["frames"]) == data["epochs"] + 1
    for frame in data["frames"]:
        table = pd.DataFrame(frame["values"], columns=data["objectives"])
        front = Front(np.array(data["alphas"]), table, objectives)
        assert frame["hypervolume"] == pytest.approx(front.hypervolume((0.0, 0.0)), abs=1e-6)
        assert frame["non_dominated"] == front.non_dominated().tolist()
    record = Record.read(ROOT / "results" / "multimnist" / f"pamal_seed_{data['seed']}.json")
    assert data["data"] == record.data
    # A fifth of the images of the record: a standard error of at most 0.006.
    last = data["frames"][-1]["values"]
    np.testing.assert_allclose(last, record.front("validation").values, atol=0.018)


def words(page):
    return page.inner_text("p.pw-numbers")


def test_the_slider_shows_the_numbers_of_each_epoch(open_widget, data):
    page = open_widget("replay", data)
    slider = page.get_by_role("slider", name="epoch")
    slider.focus()
    page.keyboard.press("Home")
    for frame in data["frames"][1:]:
        best = np.array(frame["values"]).max(0)
        assert words(page) == (
            f"After epoch {frame['epoch']}: hypervolume {frame['hypervolume']:.4f}, "
            f"{sum(frame['non_dominated'])} of 11 points not dominated; "
            f"best {data['objectives'][0]} {best[0]:.4f}, "
            f"best {data['objectives'][1]} {best[1]:.4f}."
        )
        assert slider.get_attribute("aria-valuetext") == f"epoch {frame['epoch']}"
        now = page.locator(".pw-now-epoch circle.pw-kept-point")
        assert now.count() == sum(frame["non_dominated"])
        page.keyboard.press("ArrowRight")


def test_it_plays_from_the_first_epoch_to_the_last_and_stops(open_widget, data):
    page = open_widget("replay", {**data, "frames": data["frames"][:4]})
    assert words(page).startswith("After epoch 3")
    page.get_by_role("button", name="Play").click()
    assert words(page).startswith("After epoch 1")
    page.wait_for_selector("p:has-text('After epoch 2')")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector("p:has-text('After epoch 3')")
    page.get_by_role("button", name="Play").wait_for()


def test_the_address_keeps_the_epoch_and_brings_it_back(open_widget, data):
    page = open_widget("replay", data)
    page.get_by_role("slider", name="epoch").fill("3")
    page.wait_for_function("location.hash == '#&widget.epoch=4'")
    page.reload()
    page.wait_for_selector(".pw-ready")
    assert words(page).startswith("After epoch 4:")
