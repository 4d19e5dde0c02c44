"""An executed page holds a copy of its widget's script and style: it must be today's."""

import json
import re
from pathlib import Path

import pytest

from pamal_companion.widgets import html

RESULTS = Path(__file__).parents[3] / "book" / "results"
MOUNTED = re.compile(r'mount\(widget, "(pw-\w+)"\);')
MEND = ".venv/bin/snakemake -s workflow/Snakefile --cores 1 book/results/{}.ipynb --forcerun page"


def outputs(path):
    """What the cells of an executed page show as HTML."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return ["".join(data.get("text/html", "")) for data in shown]


WITH_WIDGETS = [
    path
    for path in sorted(RESULTS.glob("*.ipynb"))
    if any(MOUNTED.search(text) for text in outputs(path))
]


def is_old(text):
    """Whether a page's output has a widget of another script or style than today's."""
    found = MOUNTED.search(text)
    if not found:
        return False
    code = html.source(found[1].removeprefix("pw-")).replace("export default ", "const widget = ")
    return code not in text or html.style() not in text


def test_some_pages_have_widgets_in_their_outputs():
    assert {"conflict", "census", "multimnist3"} <= {path.stem for path in WITH_WIDGETS}


@pytest.mark.parametrize("path", WITH_WIDGETS, ids=lambda path: path.stem)
def test_an_executed_page_has_todays_script_and_style_of_its_widget(path):
    old = sum(map(is_old, outputs(path)))
    mend = f"{path.name} holds an old widget. Run: {MEND.format(path.stem)}"
    assert old == 0, mend


def test_a_page_with_an_older_script_is_noticed(monkeypatch):
    text = f"<style>{html.style()}</style>{html.fragment('dial', {}, 'pw-dial')}"
    assert not is_old(text)
    assert is_old(text.replace("function linear(", "function straight("))
    assert is_old(text.replace(html.colours(), ""))
    monkeypatch.setattr(html, "PALETTE", {**html.PALETTE, "here": "blue"})
    assert is_old(text)
