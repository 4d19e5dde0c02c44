"""The directive `widget` of the book."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("myst_parser", reason="needs the `book` extra")

DATA = Path(__file__).parents[3] / "book" / "_assets" / "widgets" / "multimnist.json"
EXTENSIONS = Path(__file__).parents[3] / "book" / "_ext"
SETTINGS = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
from widget import Widget
extensions = ["myst_parser"]
def setup(app):
    app.add_directive("widget", Widget)
"""


OPENED = str(json.loads(DATA.read_text())["alpha"])
EXPLORER = "```{widget} explorer\n:data: multimnist\nA slider and a **front**.\n```\n\n"
WRONG = {
    "```{widget} nothing\nWords.\n```": "Expected the name of a widget: ",
    "```{widget} explorer\n:data: nothing\nWords.\n```": "Found none at ",
    "```{widget} explorer\n```": "Content block expected",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with a page for each of the texts, and Sphinx's warnings, a list for each."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "conf.py").write_text(SETTINGS)
    texts = {"index": EXPLORER * 2, **{f"wrong_{i}": text for i, text in enumerate(WRONG)}}
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(f"---\norphan: true\n---\n# A page\n\n{text}")
    command = [sys.executable, "-m", "sphinx", "-q", str(folder), str(folder / "html")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    said = run.stderr.splitlines()
    return folder / "html", {name: [s for s in said if f"{name}.md" in s] for name in texts}


def test_two_widgets_of_a_page_stand_beside_each_other(built, open_page):
    folder, warnings = built
    assert warnings["index"] == []
    page = open_page(folder / "index.html")
    page.wait_for_function("document.querySelectorAll('.pw-ready').length == 2")
    page.get_by_label("alpha in numbers").first.wait_for()
    page.get_by_role("slider", name="alpha", exact=True).first.focus()
    page.keyboard.press("Home")
    alphas = page.get_by_label("alpha in numbers")
    assert [alphas.nth(i).input_value() for i in range(2)] == ["[1, 0]", OPENED]
    assert page.get_by_text("A slider and a").count() == 0


def test_two_widgets_share_the_address_and_leave_the_pages_own_anchor(built, open_page):
    page = open_page(built[0] / "index.html")
    page.evaluate("location.hash = '#a-page'")
    alphas = page.get_by_label("alpha in numbers")
    for i, text in enumerate(("[1, 0]", "[0.2, 0.8]")):
        alphas.nth(i).fill(text)
        alphas.nth(i).press("Enter")
    state = "#a-page&pw-explorer-0.alpha=1,0&pw-explorer-1.alpha=0.2,0.8"
    page.wait_for_function("(state) => location.hash == state", arg=state)
    uri = (built[0] / "index.html").resolve().as_uri()
    page.goto((built[0] / "wrong_0.html").resolve().as_uri())
    page.goto(f"{uri}{state}")
    assert [alphas.nth(i).input_value() for i in range(2)] == ["[1, 0]", "[0.2, 0.8]"]
    assert page.evaluate("scrollY") < 100  # at the anchor, not at a widget
    page.evaluate("location.hash = '#&pw-explorer-1.alpha=0.3,0.7'")
    page.wait_for_function("scrollY > 0")
    assert [alphas.nth(i).input_value() for i in range(2)] == ["[1, 0]", "[0.3, 0.7]"]
    page.locator("a[href='#a-page']").evaluate("a => a.click()")
    # A widget may already have written its state behind the anchor again.
    assert page.evaluate("location.hash.split('&')[0]") == "#a-page"
    assert alphas.nth(1).input_value() == "[0.3, 0.7]"


def test_nothing_jumps_while_a_page_with_widgets_loads(built, open_page):
    page = open_page(built[0] / "index.html")
    page.wait_for_timeout(400)
    shifts = """new Promise((done) => new PerformanceObserver((list) =>
        done(list.getEntries().reduce((sum, { value }) => sum + value, 0))
      ).observe({ type: "layout-shift", buffered: true }) ?? setTimeout(() => done(0), 500))"""
    assert page.evaluate(shifts) < 0.02


def test_where_scripts_do_not_run_one_reads_what_there_would_be_to_see(built, open_page):
    page = open_page(built[0] / "index.html", java_script_enabled=False)
    assert page.locator("strong", has_text="front").first.is_visible()


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_widget_that_cannot_be_shown_is_a_warning(built, number):
    (warning,) = built[1][f"wrong_{number}"]
    assert [*WRONG.values()][number] in warning
