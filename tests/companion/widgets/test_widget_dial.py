"""The dial of conflict: it shows what is in the records, and keys, finger and link turn it."""

import re
from pathlib import Path

import numpy as np
import pytest
from browser import overflow, serious
from gestures import PHONE, frame

from pamal_companion.runs.records import Record
from pamal_companion.study.dial import settings
from pamal_companion.study.hypotheses import WIDTHS
from pamal_companion.widgets.dial import SIDES, dial, step

RECORDS = Path(__file__).parents[3] / "results" / "registered" / "dial-of-conflict"
SEEDS = [20, 21, 22, 23, 24]


@pytest.fixture(scope="module")
def values():
    names = ["accuracy on top-left", "accuracy on bottom-right"]
    steps = [step(k) for k in WIDTHS]
    return {"steps": steps, "objectives": names, "about": "Of records.", "opened": 6}


def shown(page):
    """k, the hypervolumes, and the number of marks, as the page shows them."""
    frame(page)
    text = page.text_content(".pw-words")
    volumes = [float(number) for number in re.findall(r"(0\.\d+) for", text)]
    marks = page.locator(".pw-plot .pw-network").count()
    return int(re.match(r"k = (\d+)", text)[1]), volumes, marks


@pytest.mark.parametrize("k", [2, 50])
def test_each_side_has_the_networks_of_its_records_by_seed(values, k):
    found = next(one for one in values["steps"] if one["k"] == k)
    for side, method in SIDES.items():
        runs = settings(k)[method]
        for seed, networks in zip(SEEDS, found["values"][side], strict=True):
            paths = [RECORDS / f"{run}_seed_{seed}.json" for run in runs]
            expected = [Record.read(path).front("validation").values for path in paths]
            np.testing.assert_allclose(networks, np.concatenate(expected), atol=1e-4)
    volumes = [Record.read(RECORDS / f"{k}-pamal_seed_{seed}.json").hypervolume() for seed in SEEDS]
    assert found["hypervolume"]["pamal"] == pytest.approx(np.mean(volumes), abs=1e-4)


def test_keys_turn_the_dial_and_the_marks_and_words_follow(open_widget, values):
    page = open_widget("dial", values)
    slider = page.get_by_role("slider", name="number of features k")
    slider.focus()
    for key, k in ((None, 6), ("ArrowRight", 10), ("End", 50), ("Home", 2), ("ArrowUp", 3)):
        if key:
            page.keyboard.press(key)
        found = next(one for one in values["steps"] if one["k"] == k)
        volumes = [round(found["hypervolume"][side], 3) for side in SIDES]
        assert shown(page) == (k, pytest.approx(volumes, abs=1e-3), 5 * (11 + 5 + 1))
        assert slider.get_attribute("aria-valuetext") == f"{k} features"


def test_the_link_keeps_the_width_and_one_that_does_not_fit_is_passed_over(open_widget, values):
    page = open_widget("dial", values, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("slider").press("End")
    page.wait_for_function("location.hash.includes('k=50')")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.reload()
    page.wait_for_selector(".pw-ready")
    assert shown(page)[0] == 50
    page.evaluate("location.hash = '#&widget.k=7'")
    page.wait_for_function("document.querySelector('.pw-words').textContent.startsWith('k = 6')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_has_no_serious_issue_and_a_finger_turns_it_on_a_phone(open_widget, values, scheme):
    page = open_widget("dial", values, color_scheme=scheme, **PHONE)
    assert serious(page) == [] and overflow(page) <= 0
    box = page.get_by_role("slider").bounding_box()
    page.touchscreen.tap(box["x"] + 8, box["y"] + box["height"] / 2)
    assert shown(page)[0] == 2


def test_a_notebook_shows_it_with_words_for_who_runs_no_scripts(tmp_path, open_page):
    path = tmp_path / "page.html"
    html = dial("Of records.").data
    path.write_text(f"<!DOCTYPE html><title>Dial</title>{html}", "utf-8")
    assert shown(open_page(path))[0] == 6
    still = open_page(path, java_script_enabled=False)
    assert "number of features k" in still.inner_text("noscript")
