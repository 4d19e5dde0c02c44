"""The pages that are of records alone say what the committed records say."""

import nbformat
import pytest

from pamal_companion.runs import grid
from pamal_companion.runs import notebooks as book

PAGES = [row for row in grid.read("pages") if row["of_records"] == "yes"]
TABLES = [row for row in PAGES if row["page"].startswith("results/")]


def said(notebook):
    """What a page shows but for its figures: a dict of kinds and texts per output."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = [output.get("data", {"stdout": output.get("text")}) for output in outputs]
    return [{k: v for k, v in of_one.items() if not k.startswith("image/")} for of_one in data]


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row["page"])
def test_no_number_of_a_page_differs_from_the_records(row, executed):
    page = executed(row["notebook"], grid.ROOT, **grid.parameters(row["parameters"]))
    page.metadata.papermill.input_path = f"{row['notebook']}.ipynb"
    committed = said(nbformat.read(grid.ROOT / f"book/{row['page']}.ipynb", as_version=4))
    assert said(book.normalise(page)) == committed
    assert sum("text/html" in output for output in committed) > 0
