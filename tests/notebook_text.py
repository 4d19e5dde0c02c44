"""What the notebooks and the book say in words, for the tests that hold it against the records."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOKS, BOOK = ROOT / "notebooks", ROOT / "book"


def conclusion(name):
    """The last cell of the notebook `name`, as `passage` has it."""
    return _on_one_line(_cells(name)[-1].source)


def passage(name, cell):
    """The cell with the id `cell` of the notebook `name` on one line, with hyphens for minus
    signs."""
    return _on_one_line(next(found for found in _cells(name) if found.id == cell).source)


def page(name):
    """The page of the book `name`, which is no notebook, as `passage` has a cell."""
    return _on_one_line((BOOK / f"{name}.md").read_text("utf-8"))


def _cells(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells


def _on_one_line(text):
    return " ".join(text.replace("\N{MINUS SIGN}", "-").split())
