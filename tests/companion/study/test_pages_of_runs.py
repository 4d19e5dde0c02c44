"""What the pages of experiments say first and last is computed from their own records."""

import json
import math
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from pamal_companion.experiments.census import CensusOptions
from pamal_companion.plots.table import table
from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import claims, comparisons, frame, pages
from pamal_companion.study.frame import Setting
from pamal_core.front import Front
from pamal_core.objectives import Objective

PAGES = ("multimnist", "census", "multimnist3", "utkface", "cityscapes", "toy")


def page(name):
    return json.loads((grid.ROOT / f"book/results/{name}.ipynb").read_text("utf-8"))


def said(found):
    """What its cells show as Markdown, with hyphens for minus signs."""
    outputs = [output for cell in found["cells"] for output in cell.get("outputs", [])]
    texts = ["".join(output.get("data", {}).get("text/markdown", "")) for output in outputs]
    return [text.replace("\N{MINUS SIGN}", "-") for text in texts if text]


def records(name):
    """The records of `name`, from their files alone."""
    files = sorted((grid.ROOT / "results").glob(f"{name}_seed_*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


def points(name):
    """The hypervolumes on validation of the records of `name`, by seed."""
    return {one["seed"]: one["summary"]["validation"]["hypervolume"] for one in records(name)}


def best_networks(name):
    """The largest product of two accuracies on validation of each record of `name`."""
    for one in records(name):
        found = [p["metrics"] for p in one["points"] if p["split"] == "validation"]
        yield max(math.prod(point[name] for name in one["objectives"]) for point in found)


@pytest.mark.parametrize("name", PAGES)
def test_the_command_on_a_page_makes_that_page(name):
    found = page(name)
    (command,) = (
        match[1] for text in said(found) if (match := re.search("`(papermill [^`]*)`", text))
    )
    program, source, _, *given = shlex.split(command)
    assert (program, source) == ("papermill", f"notebooks/{name}.ipynb")
    options = dict(zip(given[1::3], given[2::3], strict=True))
    made = found["metadata"]["pamal"]["parameters"]
    assert given[::3] == ["-p"] * len(options)
    usual, made = (
        {key: str(value) for key, value in values.items()}
        for values in (grid.notebook_defaults(name), made)
    )
    assert usual | options == usual | made and not options.items() & usual.items()


@pytest.mark.parametrize("name", ["multimnist", "census"])
def test_a_page_of_full_data_opens_with_the_mean_of_its_records(name):
    first = next(text for text in said(page(name)) if text.startswith("**One run"))
    by_seed = points(f"{name}/pamal")
    ours, ls = np.mean([*by_seed.values()]), np.mean([*points(f"{name}/ls").values()])
    assert f"and ours is {ours:.4f}." in first
    assert f"{ls:.4f} for the one network of LS and {ours:.4f} for PaMaL, that is" in first
    away = 100 * (ours**0.5 - ls**0.5)
    assert f"{away:.1f} points of accuracy on each task above LS." in first
    single = np.mean([*best_networks(f"{name}/pamal")])
    assert single > ls and f"of the front has {single:.4f}, which is above LS." in first
    draws = {record["options"]["W"] for record in records(f"{name}/pamal")}
    assert f"PaMaL had {draws.pop()} times the compute of LS" in first
    expected = f"{by_seed[0]:.4f} with seed 0; {ours:.4f} ± "
    assert any(expected in text for text in said(page(name)))


@pytest.mark.parametrize("name", ["utkface", "cityscapes"])
def test_a_page_of_a_sample_says_so_first_and_concludes_nothing(name):
    found = page(name)
    first = next(text for text in said(found) if text.startswith("**One run"))
    assert "on the built-in sample of" in first and "says nothing of the paper" in first
    shown = [c for c in found["cells"] if "remove-cell" not in c["metadata"].get("tags", [])]
    assert not any("full-data" in cell["metadata"].get("tags", []) for cell in shown)
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    texts = [output.get("text", output.get("data", {}).get("text/html", "")) for output in outputs]
    words = re.sub(r"[A-Za-z0-9+/=]{40,}", "", json.dumps(texts))  # without pictures
    assert "NaN" not in words


def test_the_page_of_faces_opens_with_the_records_of_real_ones(runs):
    outputs = [output for cell in page("utkface")["cells"] for output in cell.get("outputs", [])]
    shown = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    names = comparisons.labels("utkface", "reduced/")
    made = {setting: name for setting, name in names.items() if setting in runs}
    metrics = {
        "loss on age ↓": "age/loss",
        "accuracy on gender ↑": "gender/accuracy",
        "accuracy on ethnicity ↑": "ethnicity/accuracy",
    }
    for split in ("test, recalibrated", "test"):
        assert table(comparisons.methods(made, runs, metrics, split)) in shown
    asked = claims.table(runs, claims.FINDINGS).query("where == 'reduced'")
    short = asked["claim"].str.removeprefix("UTKFace, reduced protocol: ")
    assert claims.shown(asked.assign(claim=short), anchored=False) in shown
    first = said(page("utkface"))[0]
    assert first.startswith(f"{sum(len(runs[setting]) for setting in made)} runs on real faces")
    for word, of in short.groupby(asked["verdict"]):
        assert f"{word} {len(of)}" in first
        assert word == "open" or f"**{word}**: {'; '.join(of)}." in first


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_data_or_an_answer_before_any_code(name):
    cells = [c for c in page(name)["cells"] if "remove-cell" not in c["metadata"].get("tags", [])]
    folds = {"hide-input", "hide-cell", "remove-input"}
    (first, *_) = (
        number
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code" and not folds & {*cell["metadata"].get("tags", [])}
    )
    before, pictures = cells[:first], {"image/svg+xml", "image/png", "text/html"}
    outputs = [output for cell in before for output in cell.get("outputs", [])]
    assert any(pictures & output.get("data", {}).keys() for output in outputs)
    texts = ["".join(cell["source"]) for cell in before if cell["cell_type"] == "markdown"]
    assert len(" ".join([*texts, *said({"cells": before})]).split()) > 60


def made_up(**fields):
    """A record of the sample that has one network or two."""
    record = frame.read()[Setting("multimnist", "pamal")][0]
    return Record(**{**record.model_dump(), "data": "multimnist/sample/x", **fields})


def test_whether_there_is_a_trade_is_said_by_the_means_over_seeds():
    up, noise = np.arange(5.0), np.array([2.0, 0, 4, 1, 3])
    objectives = Objective("a/accuracy", True), Objective("b/accuracy", True)

    def front(second):
        table = pd.DataFrame({"a/accuracy": up, "b/accuracy": second})
        return Front(np.c_[up, 4 - up] / 4, table, objectives)

    strict, none, some = front(-up), front(up), front(noise)
    found = pages.trade([strict])
    assert found.startswith("On validation 5 of them are worth choosing")
    assert "What you gain on one task you pay for on another" in found
    assert "achieve is \N{MINUS SIGN}1.00" in found
    assert "the accuracy on a changes by 400.0 points." in found
    found = pages.trade([none])
    assert found.startswith("On validation 1 of them") and "nothing to trade" in found
    found = pages.trade([strict, none, some])
    correlation = spearmanr(up, noise).statistic / 3
    assert found.startswith("On average over 3 seeds 2.7 of them are worth choosing")  # 5, 1, 2
    assert "there is little to trade" in found and f"achieve is {correlation:.2f}" in found


def test_what_changes_most_is_told_in_points_or_in_its_own_unit():
    objectives = Objective("age/loss", False), Objective("gender/accuracy", True)

    def front(losses, accuracies):
        table = pd.DataFrame({"age/loss": losses, "gender/accuracy": accuracies})
        return Front(np.eye(2), table, objectives)

    assert pages.furthest([front([0.1, 0.7], [0.8, 0.9])]) == "the loss on age changes by 0.6000"
    two = [front([0.1, 0.15], [0.8, 0.9]), front([0.1, 0.15], [0.7, 0.9])]
    assert pages.furthest(two) == "the accuracy on gender changes by 15.0 points"


def test_two_hypervolumes_that_are_the_same_in_points_are_said_to_be():
    three = Setting("multimnist3", "pamal")
    assert pages.in_points(three, 0.8885, 0.8893) == ", the same to a tenth of a point of accuracy"
    assert "1.0 points of accuracy on each task below LS" in pages.in_points(three, 0.9**3, 0.91**3)
    assert pages.in_points(Setting("utkface", "pamal"), 0.5, 0.4) == ""


def test_one_network_has_no_trade_and_a_sample_no_paper():
    whole = made_up()
    points = [dict(point, alpha=[0.5, 0.5]) for point in whole.points if point["alpha"][0] == 0.5]
    record = made_up(points=points)
    assert len(record.front("validation").alphas) == 1
    text = pages.opening(record, frame.runs([record]))
    assert "ends with one network" in text and "trade" not in text and "paper has" not in text


def test_a_setting_that_the_paper_does_not_have_is_compared_with_nothing():
    odd = made_up(
        data="multimnist/full/offset=6/seed=0/x",
        options={"W": 9, "lam": 3.0, "p": 0.3, "epochs": 10},
    )
    text = pages.opening(odd, frame.runs([odd]))
    assert "The paper has no number for this setting." in text and "LS" not in text


def test_a_cost_is_that_of_its_kind_or_says_it_was_not_measured():
    measured = made_up(data="multimnist/full/offset=6/seed=0/x")
    seconds = grid.cost("multimnist", "pamal").seconds
    assert pages.cost(measured).startswith(f"{seconds / 60:.1f} minutes")
    assert "minute" in pages.cost(made_up()) and "seed" not in pages.cost(made_up())
    assert "GPU" in pages.cost(measured.model_copy(update={"experiment": "cityscapes"}))


def test_the_command_has_values_not_the_notebooks_quoted_for_a_shell():
    usual = grid.notebook_defaults("census") | {"options": CensusOptions()}
    found = pages.command("census", usual | {"tasks": "a, b", "W": 3, "p": math.inf, "other": 1})
    assert shlex.split(found)[3:] == ["-p", "W", "3", "-p", "p", "inf", "-p", "tasks", "a, b"]
    assert pages.command("census", usual) == "papermill notebooks/census.ipynb out.ipynb"


@pytest.mark.parametrize(
    "given",
    [
        {"lr": 0.02, "batch_size": 32},
        {"method": "stl", "task": 1},
        {"method": "ls", "weights": [0.8, 0.2]},
        {"method": "cosmos", "lam": 2.0, "average": 0.9},
        {"W": 3, "draws": "stratified", "batch_norm": "recalibrated"},
    ],
)
def test_the_command_has_options_that_the_notebooks_cell_lacks(given):
    cell = grid.notebook_defaults("census")
    options = CensusOptions.from_notebook(cell | given)
    command = pages.command("census", cell | given | {"options": options})
    words = shlex.split(command)[3:]
    flags, names, values = words[::3], words[1::3], words[2::3]
    found = dict(zip(names, map(grid.value, values), strict=False)) if "-y" not in flags else given
    assert CensusOptions.from_notebook(cell | found) == options
    assert ("-y 'weights: [0.8, 0.2]'" in command) == ("weights" in given)
