"""What the notebooks and the book say in words, for the tests that hold it against the records."""

import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
NOTEBOOKS, BOOK = ROOT / "notebooks", ROOT / "book"


def section(name, heading):
    """The cell of the notebook `name` that begins with the line `heading`, as `passage` has it."""
    begins = re.compile(rf"#+ {re.escape(heading)}\n")
    (found,) = (cell for cell in _cells(name) if begins.match(cell.source))
    return _on_one_line(found.source)


def passage(name, cell):
    """The cell with the id `cell` of the notebook `name` on one line, with hyphens for minus
    signs."""
    return _on_one_line(next(found for found in _cells(name) if found.id == cell).source)


def alt_text(name, cell):
    """What stands for the picture of the cell with the id `cell` of the notebook `name`."""
    return next(found for found in _cells(name) if found.id == cell).metadata.mystnb.image.alt


def page(name):
    """The page of the book `name`, which is no notebook, as `passage` has a cell."""
    return _on_one_line((BOOK / f"{name}.md").read_text("utf-8"))


def readme():
    """README.md, as `passage` has a cell."""
    return _on_one_line((ROOT / "README.md").read_text("utf-8"))


def _cells(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells


def _on_one_line(text):
    return " ".join(text.replace("\N{MINUS SIGN}", "-").split())
