"""The triangles of three tasks: in a page, and as what a notebook shows."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from browser import overflow, serious
from gestures import PHONE

from pamal_companion.widgets.explorer_data import points
from pamal_companion.widgets.in_page import triangle
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

TASKS = ["left", "middle", "age"]
ALPHAS = lattice(3, 6)
NAMES = ["left/accuracy", "middle/accuracy", "age/loss"]


@pytest.fixture(scope="module")
def front():
    noise = np.random.default_rng(0).normal(0, 0.03, (len(ALPHAS), 3))
    values = np.sqrt(ALPHAS) + noise
    values[:, 2] = 2 - values[:, 2]
    objectives = tuple(Objective(name, not name.endswith("loss")) for name in NAMES)
    return Front(ALPHAS, pd.DataFrame(values, columns=NAMES).round(6), objectives)


@pytest.fixture
def page(open_widget, front):
    return open_widget("triangle", {"tasks": TASKS, "points": points(front), "about": "made up"})


def shown(page):
    """What the table has of the network, and of the best."""
    cells = page.locator("tbody td").all_text_contents()
    return np.array(cells, dtype=float).reshape(3, 2)


def test_it_opens_at_the_choice_and_marks_what_is_not_dominated(page, front):
    row = front.choose().row
    np.testing.assert_allclose(shown(page)[:, 0], front.values[row], atol=5e-5)
    best = [*front.values[:, :2].max(0), front.values[:, 2].min()]
    np.testing.assert_allclose(shown(page)[:, 1], best, atol=5e-5)
    assert page.locator(".pw-cell").count() == 3 * len(front)
    assert page.locator(".pw-plot .pw-cell-kept").count() == 3 * front.non_dominated().sum()


@pytest.mark.parametrize("t", range(3))
def test_the_best_network_of_each_task_is_one_press_away_and_has_the_star(page, front, t):
    page.get_by_role("button", name=f"Best for {TASKS[t]}").click()
    values, best = shown(page).T
    assert values[t] == best[t]
    star = page.locator(".pw-cell-best").nth(t).bounding_box()
    dot = page.locator(".pw-dot").nth(t).bounding_box()
    assert abs(star["x"] + star["width"] / 2 - dot["x"] - dot["width"] / 2) < 3
    cells = page.locator("svg").nth(t).locator(".pw-cell")
    colours = cells.evaluate_all("all => all.map((one) => one.getAttribute('fill'))")
    sign = 1 if front.maximise[t] else -1
    assert colours[(sign * front.values[:, t]).argmax()] == "rgb(253 231 37)"
    assert colours[(sign * front.values[:, t]).argmin()] == "rgb(68 1 84)"


def test_a_click_and_a_key_move_all_three_triangles_to_a_measured_network(page, front):
    page.locator("svg").first.locator(".pw-cell").nth(7).click()
    np.testing.assert_allclose(shown(page)[:, 0], front.values[7], atol=5e-5)
    grip = page.get_by_role("slider").nth(1)
    grip.focus()
    page.keyboard.press("Home")
    np.testing.assert_allclose(shown(page)[:, 0], front.values[0], atol=5e-5)
    grip.press("ArrowDown")
    assert page.get_by_role("slider").nth(2).get_attribute("aria-valuetext") != "left 1.00"
    page.keyboard.press("End")
    np.testing.assert_allclose(shown(page)[:, 0], front.values[-1], atol=5e-5)
    for said in page.get_by_role("slider").all():
        assert said.get_attribute("aria-valuetext") == "left 0.00, middle 0.00, age 1.00"


def test_the_address_keeps_the_network_and_a_button_copies_it(open_widget, front):
    values = {"tasks": TASKS, "points": points(front), "about": ""}
    page = open_widget("triangle", values, permissions=["clipboard-read", "clipboard-write"])
    page.locator("svg").first.locator(".pw-cell").nth(4).click()
    page.wait_for_function("location.hash.includes('alpha=')")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url and link.endswith("alpha=" + ",".join(f"{a:g}" for a in ALPHAS[4]))
    page.reload()
    page.wait_for_selector(".pw-ready")
    np.testing.assert_allclose(shown(page)[:, 0], front.values[4], atol=5e-5)


def test_a_notebook_shows_it_and_jupyterlab_keeps_its_own_address(front, tmp_path, open_page):
    html = triangle(front, "made up").data
    (data,) = re.findall(r'<script type="application/json"[^>]*>([^<]*)</script>', html)
    assert json.loads(data)["points"]["alphas"] == ALPHAS.tolist()
    path = tmp_path / "lab.html"
    lab = f'<!DOCTYPE html><title>Lab</title><body data-jp-theme-light="true">{html}'
    path.write_text(lab, "utf-8")
    page = open_page(path)
    page.get_by_role("button", name="Best for age").click()
    page.wait_for_timeout(500)
    assert "#" not in page.url and page.get_by_role("button", name="Copy link").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_has_no_serious_issue_and_fits_a_phone(open_widget, front, scheme):
    values = {"tasks": TASKS, "points": points(front), "about": "made up"}
    page = open_widget("triangle", values, color_scheme=scheme, **PHONE)
    assert serious(page) == [] and overflow(page) <= 0


def test_names_of_corners_stay_in_the_plot_and_apart_on_a_phone(open_widget, front):
    names = ["of the top-left digit", "of the bottom digit", "of the right digit"]
    table = front.table.set_axis([f"{name}/accuracy" for name in names], axis=1)
    objectives = tuple(Objective(f"{name}/accuracy", True) for name in names)
    values = {"tasks": names, "points": points(Front(front.alphas, table, objectives)), "about": ""}
    page = open_widget("triangle", values, **PHONE)
    for plot in page.locator(".pw-plot").all():
        frame = plot.bounding_box()
        boxes = [name.bounding_box() for name in plot.locator(".pw-tip").all()]
        assert all(frame["x"] <= b["x"] for b in boxes)
        assert all(b["x"] + b["width"] <= frame["x"] + frame["width"] for b in boxes)
        assert boxes[1]["x"] + boxes[1]["width"] <= boxes[2]["x"]


def test_two_tasks_are_no_triangle(front):
    with pytest.raises(InputError, match=r"three members and three tasks. Found 2 members"):
        triangle(Front(lattice(2, len(front)), front.table, front.objectives), "")
