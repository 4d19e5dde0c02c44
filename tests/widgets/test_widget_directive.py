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


@pytest.fixture
def build(tmp_path):
    """Builds one page of the given text; returns its path and Sphinx's warnings."""

    def build_it(text):
        (tmp_path / "conf.py").write_text(SETTINGS)
        (tmp_path / "index.md").write_text(f"# A page\n\n{text}")
        command = [sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "html")]
        built = subprocess.run(command, capture_output=True, text=True, check=True)
        return tmp_path / "html" / "index.html", built.stderr

    return build_it


def test_two_widgets_of_a_page_stand_beside_each_other(build, open_page):
    text = "```{widget} explorer\n:data: multimnist\nA slider and a **front**.\n```\n\n"
    html, warnings = build(text * 2)
    assert warnings == ""
    page = open_page(html)
    page.wait_for_function("document.querySelectorAll('.pw-ready').length == 2")
    page.get_by_label("alpha in numbers").first.wait_for()
    page.get_by_role("slider", name="alpha").first.focus()
    page.keyboard.press("Home")
    alphas = page.get_by_label("alpha in numbers")
    assert [alphas.nth(i).input_value() for i in range(2)] == ["[1, 0]", "[0.5, 0.5]"]
    assert page.get_by_text("A slider and a").count() == 0


def test_where_scripts_do_not_run_one_reads_what_there_would_be_to_see(build, open_page):
    html, _ = build("```{widget} explorer\n:data: multimnist\nA slider and a **front**.\n```\n")
    page = open_page(html, java_script_enabled=False)
    assert page.locator("strong", has_text="front").is_visible()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```{widget} nothing\nWords.\n```", "Expected the name of a widget: "),
        ("```{widget} explorer\n:data: nothing\nWords.\n```", "Found none at "),
        ("```{widget} explorer\n```", "Content block expected"),
    ],
)
def test_a_widget_that_cannot_be_shown_is_a_warning(build, text, message):
    assert message in build(text)[1]
