"""What all widgets share: the source, the page, the geometry of the simplex, and the handle."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import overflow, serious
from gestures import PHONE, swipe

from pamal_companion.widgets import html

ROOT = Path(__file__).parents[3]
SOURCES = sorted(html.HERE.glob("*.js"))
SEGMENT = [[20, 30], [220, 30]]
TRIANGLE = [[0, 173], [200, 173], [100, 0]]
HANDLE = """
export default {
  render({ model, el }) {
    const svg = s("svg", { viewBox: "0 0 240 220", style: "max-width: 240px" });
    const out = h("output");
    el.append(svg, out);
    simplexHandle(svg, model.get("corners"), {
      alpha: model.get("alpha"),
      label: "alpha",
      onChange: (alpha) => { out.textContent = JSON.stringify(alpha); },
    });
  },
};
"""


@pytest.fixture
def handle(monkeypatch, tmp_path, open_widget):
    """Opens a page with a handle on the given corners, in their middle."""

    def open_it(corners, **options):
        for name in (*html.SHARED, "simplex"):
            shutil.copy(html.HERE / f"{name}.js", tmp_path)
        shutil.copy(html.HERE / "widgets.css", tmp_path)
        (tmp_path / "handle.js").write_text(HANDLE)
        monkeypatch.setattr(html, "HERE", tmp_path)
        monkeypatch.setitem(html.PARTS, "handle", ("simplex", "handle"))
        middle = [1 / len(corners)] * len(corners)
        return open_widget("handle", {"corners": corners, "alpha": middle}, **options)

    return open_it


def shown(page):
    page.wait_for_function("document.querySelector('output').textContent")
    page.evaluate("new Promise(requestAnimationFrame)")  # a drag is drawn once a frame
    return json.loads(page.text_content("output"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_scripts_stay_under_250_lines_and_their_functions_under_30(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 250
    starts = [
        i for i, line in enumerate(lines) if re.match(r"(async )?function |  \w+\(.*\) \{", line)
    ]
    for start in starts:
        indent = re.match(" *", lines[start])[0]
        length = next(n for n, line in enumerate(lines[start:]) if line.startswith(f"{indent}}}"))
        assert length - 1 <= 30, lines[start]


@pytest.mark.parametrize("widget", html.PARTS)
def test_no_two_parts_of_a_widget_give_one_name_to_two_things(widget):
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", html.source(widget), re.M)
    assert sorted(names) == sorted({*names})


def test_the_static_part_imports_nothing_but_the_standard_library():
    code = "import runpy, sys; runpy.run_path(sys.argv[1])['style']()"
    path = str(html.HERE / "html.py")
    subprocess.run([sys.executable, "-I", "-S", "-c", code, path], check=True)


LABELS = ["<!--<script>", "</SCRIPT >", "<!--", "<![CDATA[", "]]>&lt;", "\\u003c \u2028", "<\ud83d"]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("where", [lambda x: {"a": [x]}, lambda x: {x: 1}, lambda x: {"b": {x: x}}])
def test_no_value_or_name_ends_the_data_of_a_page(label, where):
    written = html.fragment("base", where(label), "other")
    (data,) = re.findall(r'<script type="application/json"[^>]*>([^<]*)</script>', written)
    assert json.loads(data) == where(label)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.5, 1]), (0.93, 0.968, [0.93, 0.94, 0.95, 0.96]), (-30, 42, [-20, 0, 20, 40])],
)
def test_ticks_are_round_numbers_inside_the_interval(functions, low, high, expected):
    shown = functions("base").call("tickTexts", low, high)
    assert [value for value, _ in shown] == pytest.approx(expected)


@pytest.mark.parametrize("corners", [SEGMENT, TRIANGLE], ids=["segment", "triangle"])
def test_a_point_of_the_plane_goes_to_the_nearest_alpha(functions, corners):
    js = functions("explorer")
    rng = np.random.default_rng(0)
    candidates = rng.dirichlet(np.full(len(corners), 0.7), size=40_000)
    places = candidates @ np.array(corners)
    for x, y in rng.uniform(-80, 300, size=(12, 2)):
        alpha = js.call("planeToSimplex", corners, x, y)
        assert sum(alpha) == pytest.approx(1) and min(alpha) >= 0
        there = np.array(js.call("simplexToPlane", corners, alpha))
        nearest = np.linalg.norm(places - [x, y], axis=1).min()
        assert np.linalg.norm(there - [x, y]) == pytest.approx(nearest, abs=3)
    alpha = rng.dirichlet(np.ones(len(corners)))
    back = js.call("planeToSimplex", corners, *(alpha @ np.array(corners)))
    assert back == pytest.approx(alpha.tolist(), abs=1e-12)


def test_arrow_keys_move_the_handle_and_home_and_end_go_to_the_members(handle):
    page = handle(SEGMENT)
    grip = page.get_by_role("slider", name="alpha")
    grip.focus()
    page.keyboard.press("ArrowRight")
    assert shown(page) == pytest.approx([0.49, 0.51])
    page.keyboard.press("Shift+ArrowLeft")
    assert shown(page) == pytest.approx([0.59, 0.41])
    assert grip.get_attribute("aria-valuenow") == "0.59"
    assert grip.get_attribute("aria-valuetext") == "0.59, 0.41"
    page.keyboard.press("PageUp")
    assert shown(page) == pytest.approx([0.49, 0.51])
    page.keyboard.press("PageDown")
    assert shown(page) == pytest.approx([0.59, 0.41])
    page.keyboard.press("End")
    assert shown(page) == [0, 1]
    page.keyboard.press("ArrowRight")
    assert shown(page) == [0, 1]
    page.keyboard.press("Home")
    assert shown(page) == [1, 0]


def test_arrow_keys_move_the_handle_of_a_triangle_in_both_directions(handle):
    page = handle(TRIANGLE)
    page.get_by_role("slider", name="alpha").focus()
    page.keyboard.press("ArrowUp")
    up = shown(page)
    assert up[2] > 1 / 3 and up[0] == pytest.approx(up[1])
    page.keyboard.press("ArrowLeft")
    left = shown(page)
    assert left[0] > up[0] and left[2] == pytest.approx(up[2])


def test_the_mouse_drags_the_handle_beyond_the_corner_and_it_stays_on_it(handle):
    page = handle(TRIANGLE)
    box = page.locator(".pw-dot").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 30, box["y"] - 60, steps=3)
    page.mouse.move(600, 900, steps=5)
    page.mouse.up()
    assert shown(page) == pytest.approx([0, 1, 0])
    page.mouse.move(20, 20)
    assert shown(page) == pytest.approx([0, 1, 0])


def test_a_finger_drags_the_handle(handle):
    page = handle(SEGMENT, **PHONE)
    swipe(page, page.locator(".pw-dot"), -50, 0)
    page.wait_for_function("JSON.parse(document.querySelector('output').textContent)[0] > 0.7")
    assert shown(page) == pytest.approx([0.75, 0.25], abs=0.01)
    assert overflow(page) <= 0


PAGES = {"explorer": "multimnist", "replay": "replay_multimnist", "multiforward": None, "toy": None}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_widget_has_no_serious_issue_and_fits_a_phone(open_widget, name, scheme):
    path = ROOT / f"book/_assets/widgets/{PAGES[name]}.json"
    values = json.loads(path.read_text()) if PAGES[name] else None
    page = open_widget(name, values, color_scheme=scheme, **PHONE)
    tasks = page.get_by_role("combobox", name="Tasks", exact=True)
    for number in ("2", "3") if tasks.count() else ("2",):
        if tasks.count():
            tasks.select_option(number)
        assert serious(page) == []
        assert overflow(page) <= 0
