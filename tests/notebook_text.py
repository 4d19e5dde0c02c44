"""What the notebooks say in words, for the tests that hold it against the records."""

from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def conclusion(name):
    """The last cell of the notebook `name` on one line, with hyphens for minus signs."""
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells
    return " ".join(cells[-1].source.replace("\N{MINUS SIGN}", "-").split())
