"""What the notebooks say in words, for the tests that hold it against the records."""

from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def conclusion(name):
    """The last cell of the notebook `name`, as `passage` has it."""
    return _on_one_line(_cells(name)[-1])


def passage(name, cell):
    """The cell with the id `cell` of the notebook `name` on one line, with hyphens for minus
    signs."""
    return _on_one_line(next(found for found in _cells(name) if found.id == cell))


def _cells(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells


def _on_one_line(cell):
    return " ".join(cell.source.replace("\N{MINUS SIGN}", "-").split())
