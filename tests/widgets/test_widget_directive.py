"""The directive `widget` of the book."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("myst_parser", reason="needs the `book` extra")

EXTENSIONS = Path(__file__).parents[2] / "book" / "_ext"
SETTINGS = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
from widget import Widget
extensions = ["myst_parser"]
def setup(app):
    app.add_directive("widget", Widget)
"""


EXPLORER = "```{widget} explorer\n:data: multimnist\nA slider and a **front**.\n```\n\n"
WRONG = {
    "```{widget} nothing\nWords.\n```": "Expected the name of a widget: ",
    "```{widget} explorer\n:data: nothing\nWords.\n```": "Found none at ",
    "```{widget} explorer\n```": "Content block expected",
    "```{widget} runs\n:records: book\nWords.\n```": "Expected records in ",
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
    page.get_by_role("slider", name="alpha").first.focus()
    page.keyboard.press("Home")
    alphas = page.get_by_label("alpha in numbers")
    assert [alphas.nth(i).input_value() for i in range(2)] == ["[1, 0]", "[0.5, 0.5]"]
    assert page.get_by_text("A slider and a").count() == 0


def test_where_scripts_do_not_run_one_reads_what_there_would_be_to_see(built, open_page):
    page = open_page(built[0] / "index.html", java_script_enabled=False)
    assert page.locator("strong", has_text="front").first.is_visible()


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_widget_that_cannot_be_shown_is_a_warning(built, number):
    (warning,) = built[1][f"wrong_{number}"]
    assert [*WRONG.values()][number] in warning
