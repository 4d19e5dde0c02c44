"""The explorer of a front in a page, which has neither a kernel nor a network."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from browser import overflow, serious
from gestures import PHONE, frame
from tiny_experiment import tiny

from pamal_companion.plots.pictures import CLASSES, prediction_images
from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run
from pamal_companion.widgets import in_page
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

FIXED = {"batch_size": 50, "epochs": 1, "device": "cpu", "seed": 3, "W": 2}


def front_of(num):
    """A front of `num` members, of whose tasks the last has a loss."""
    alphas = lattice(num, 6)
    names = [f"task {t}/accuracy" for t in range(num - 1)] + [f"task {num - 1}/loss"]
    values = np.sqrt(alphas)
    values[:, -1] = 1 - values[:, -1]
    objectives = tuple(Objective(name, name.endswith("accuracy")) for name in names)
    return Front(alphas, pd.DataFrame(values, columns=names), objectives)


@pytest.fixture
def shown(open_widget):
    """Opens what a cell shows in a page of its own."""

    def open_it(html, **options):
        (data,) = re.findall(r'<script type="application/json"[^>]*>([^<]*)</script>', html.data)
        return open_widget("explorer", json.loads(data), **options)

    return open_it


def numbers(page):
    """Alpha and the numbers of the table."""
    frame(page)
    cells = page.locator(".pw-table td").all_text_contents()
    alpha = json.loads(page.get_by_label("alpha in numbers").input_value())
    return alpha, [float(cell) for cell in cells if cell]


@pytest.mark.parametrize("num", [2, 3, 4])
def test_the_slider_moves_on_measured_points_and_shows_their_numbers(shown, num):
    front = front_of(num)
    page = shown(in_page.explorer(front, "made up"))
    alpha, cells = numbers(page)
    assert alpha == pytest.approx(front.choose().alpha.tolist())
    page.get_by_label("alpha in numbers").fill(str([0.93, *[0.07 / (num - 1)] * (num - 1)]))
    page.keyboard.press("Enter")
    moved, cells = numbers(page)
    (p,) = np.flatnonzero(np.abs(front.alphas - moved).max(1) < 1e-6)
    assert moved[0] == 1 != alpha[0] and cells == pytest.approx(front.values[p].tolist(), abs=6e-5)
    text = page.inner_text("main")
    assert "the numbers change." in text and "made up" in text
    assert "Distance of the weights" not in text  # a record has no weights
    assert page.locator(".pw-card, .pw-view").count() == 0


def test_what_others_achieve_stands_in_the_plot(shown):
    others = {"LS": {"task 0/accuracy": 0.5, "task 1/loss": 0.5}, "alone": {"task 1/loss": 0.2}}
    page = shown(in_page.explorer(front_of(2), "", beside=others))
    assert page.locator("path.pw-other").count() == 1
    assert page.locator("line.pw-alone").count() == 1
    with pytest.raises(InputError, match="`beside` must have columns of `front`"):
        in_page.explorer(front_of(2), "", beside={"LS": {"speed": 1.0}})


def test_the_answers_at_each_point_are_those_of_the_network_there(shown):
    experiment, options = tiny(), Options.create(**FIXED)
    splits = experiment.load(options)
    record, network = run(experiment, options, splits)
    front = record.front("validation")
    answers = in_page.answers_of(experiment, options, splits, front, network)
    page = shown(in_page.explorer(front, "Tiny.", answers=answers))
    grip, seen = page.get_by_role("slider", name="point of the front"), set()
    for key, corner in (("Home", [1.0, 0.0]), ("End", [0.0, 1.0])):
        grip.focus()
        page.keyboard.press(key)
        frame(page)
        said = page.locator(".pw-cards .pw-line b").all_text_contents()
        outputs = network.predict(splits.test[:8][0], corner)
        expected = [str(int(k)) for k in torch.stack(outputs, 1).argmax(-1).flatten()]
        assert said == expected and len(said) == 2 * 8
        seen.add(page.locator(".pw-cards").inner_text())
    assert len(seen) == 2 and "the answers to the inputs change." in page.inner_text("main")
    assert in_page.answers_of(experiment, options, splits, front, None) == {}


def test_the_picture_is_that_of_the_point(shown):
    labels, depths = np.zeros((6, 2, 3), int), np.zeros((6, 1, 2, 3))
    labels[2], depths[2] = 4, 0.3  # sky, and near
    images = prediction_images(labels, depths, 0.3)
    sky = tuple(int(CLASSES["sky"][i : i + 2], 16) for i in (1, 3, 5))
    assert images.shape == (6, 2, 8, 3) and tuple(images[2, 0, 0]) == sky
    assert (images[:, :, 3:5] == 255).all()
    views = in_page.views_of(images, "A street.")
    page = shown(in_page.explorer(front_of(2), "", answers=views))
    page.get_by_label("alpha in numbers").fill("0.6, 0.4")
    page.keyboard.press("Enter")
    frame(page)
    picture = page.get_by_alt_text("Its answers at α = [0.6, 0.4]")
    assert picture.get_attribute("src") == views["views"][2] != views["views"][1]
    assert "A street." in page.inner_text("main")


@pytest.mark.parametrize("num", [2, 3])
def test_it_has_no_serious_issue_and_fits_a_phone(shown, num):
    page = shown(in_page.explorer(front_of(num), "made up"), **PHONE)
    assert serious(page) == [] and overflow(page) <= 0


def test_members_that_are_not_those_of_the_tasks_are_refused():
    front = front_of(3)
    with pytest.raises(InputError, match="Found 3 members, 2 tasks"):
        in_page.explorer(replace(front, objectives=front.objectives[:2]), "")
