"""The page that says where each figure and table of the paper is."""

import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Numbers stay beside their word by a space that does not break.
PAGE = (ROOT / "book" / "figures.md").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
ROWS = [row.strip("| ").split(" | ") for row in PAGE.splitlines() if re.match(r"\| (Fig|Tab)", row)]
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")


def test_every_figure_and_table_of_the_paper_has_its_row_in_its_order():
    paper = Path(os.environ.get("PAMAL_DATA", "."), "..", "paper", "pamal.tex")
    if not paper.is_file():
        pytest.skip("needs the source of the paper")
    counts = {"figure": 0, "table": 0}
    numbers = []
    for kind in re.findall(r"\\begin\{(figure|table)\*?\}", paper.read_text("utf-8")):
        counts[kind] += 1
        numbers.append(f"{'Fig.' if kind == 'figure' else 'Table'} {counts[kind]}")
    shown = [re.match(r"\w+\.? \d+", row[0])[0] for row in ROWS]
    assert list(dict.fromkeys(shown)) == numbers
    assert counts == {"figure": 22, "table": 11}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_says_what_data_its_pages_show(row):
    # That the pages and their sections exist is checked when the book is built.
    pages = [ROOT / "book" / path for path, _ in LINK.findall(row[2])]
    assert pages
    parameters = [
        json.loads(page.read_text("utf-8"))["metadata"]["pamal"]["parameters"]
        for page in pages
        if page.suffix == ".ipynb"
    ]
    known = {one["data"] for one in parameters if "data" in one}
    assert all(data in row[4] for data in known)
    # The page of all tables has the data of each; others without data need none.
    if not known and "tables.ipynb" not in {page.name for page in pages}:
        assert row[4] in ("problem", "drawing")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_gives_commands_that_its_notebooks_know(row):
    if row[3].startswith("as "):
        assert any(other[0] == row[3].removeprefix("as ") for other in ROWS)
        return
    notebook = None
    for command in re.findall(r"`([^`]+)`", row[3]):
        name, *parameters = re.split(r" ?-p ", command)
        notebook = name or notebook  # "also with" changes parameters of the command before
        source = json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))
        cell = next(c for c in source["cells"] if "parameters" in c["metadata"].get("tags", []))
        known = re.findall(r"^(\w+) =", "".join(cell["source"]), re.MULTILINE)
        assert {parameter.split()[0] for parameter in parameters} <= set(known)
