"""The pages that are of records alone say what the committed records say."""

import nbformat
import pytest

from pamal_core.runs import grid
from pamal_core.runs import notebooks as book

PAGES = [row for row in grid.read("pages") if row["of_records"] == "yes"]
TABLES = [row for row in PAGES if row["page"].startswith("results/")]


def said(path):
    """What the page at `path` shows but for its figures: a dict of kinds and texts per output."""
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    data = [output.get("data", {"stdout": output.get("text")}) for output in outputs]
    return [{k: v for k, v in of_one.items() if not k.startswith("image/")} for of_one in data]


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row["page"])
def test_no_number_of_a_page_differs_from_the_records(row, tmp_path, monkeypatch):
    pytest.importorskip("papermill", reason="needs the `book` extra")
    monkeypatch.chdir(grid.ROOT)
    monkeypatch.delenv("PAMAL_DATA", raising=False)
    parameters = grid.parameters(row["parameters"])
    book.run(grid.ROOT / f"notebooks/{row['notebook']}.ipynb", tmp_path / "page.ipynb", parameters)
    committed = said(grid.ROOT / f"book/{row['page']}.ipynb")
    assert said(tmp_path / "page.ipynb") == committed
    assert sum("text/html" in output for output in committed) > 0
