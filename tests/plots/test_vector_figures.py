"""Figures are vector graphics: on every page, small, the same for every reader and every run."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from matplotlib import pyplot as plt

from pamal_core.plots import style

nbformat = pytest.importorskip("nbformat", reason="needs the `book` extra")

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "book" / "results").glob("*.ipynb"))
LIMIT = 320_000  # bytes of one figure; thirteen panels of trajectories have 318,000
DRAW = """
import numpy as np
from matplotlib import pyplot as plt
from pamal_core.plots import style
style.use()
figure, ax = plt.subplots()
ax.plot([0, 1], [0, {top}], label="$\\\\alpha_1$")
ax.pcolormesh(np.arange(12).reshape(3, 4), rasterized=True)
ax.set_title("a title")
ax.legend();
"""


def shown(notebook):
    """The figures of a notebook in order: pairs of a cell and what it shows by MIME type."""
    return [
        (cell, output.data)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if any(kind.startswith("image/") for kind in output.get("data", {}))
    ]


def written(**look):
    """The bytes of one figure."""
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="$\\alpha_1$")
    ax.pcolormesh(np.arange(12).reshape(3, 4), rasterized=True)
    ax.legend()
    file = BytesIO()
    figure.savefig(file, format="svg", **look)
    plt.close(figure)
    return file.getvalue()


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_figure_of_a_page_is_a_small_svg_that_looks_the_same_everywhere(path):
    for _, data in shown(nbformat.read(path, as_version=4)):
        assert {kind for kind in data if kind.startswith("image/")} == {"image/svg+xml"}
        svg = data["image/svg+xml"]
        assert len(svg.encode()) <= LIMIT
        assert "<text" not in svg and "font-family" not in svg  # letters are outlines
        assert "<dc:date>" not in svg
        background = re.search(r'<g id="patch_1">\s*<path [^>]*style="fill: (#\w+)', svg)
        assert background[1] == "#ffffff"  # also where the page is dark


def test_a_figure_keeps_its_description_and_is_an_image_of_the_page(built_book):
    tables_alone = {"choices"}
    for path in RESULTS:
        page = Images()
        page.feed((built_book / "results" / f"{path.stem}.html").read_text("utf-8"))
        figures = shown(nbformat.read(path, as_version=4))
        assert len(page.found) == len(figures), path.stem
        assert bool(figures) != (path.stem in tables_alone), path.stem
        for (cell, data), image in zip(figures, page.found, strict=True):
            assert image["alt"] == cell.metadata["mystnb"]["image"]["alt"]
            file = built_book / "results" / unquote(image["src"])
            assert file.suffix == ".svg"
            assert file.read_text("utf-8").split() == data["image/svg+xml"].split()


class Images(HTMLParser):
    """The attributes of every figure of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "img" and "_images/" in dict(attrs)["src"]:
            self.found.append(dict(attrs))


def test_equal_figures_are_equal_files():
    with plt.rc_context():
        style.use()
        assert written(**style.VECTOR) == written(**style.VECTOR)
        assert written() != written(**style.VECTOR)  # without, a file has its date
        plt.rcParams["svg.hashsalt"] = None
        assert written(**style.VECTOR) != written(**style.VECTOR)


def test_a_notebook_that_runs_twice_has_the_same_bytes_and_another_figure_has_not(tmp_path):
    book = pytest.importorskip("pamal_core.runs.notebooks")
    parameters = nbformat.v4.new_code_cell("top = 1", metadata={"tags": ["parameters"]})
    cell = nbformat.v4.new_code_cell(DRAW.strip().format(top="top"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    source = tmp_path / "source.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[parameters, cell], metadata={"kernelspec": kernel})
    nbformat.write(notebook, source)
    targets = [tmp_path / f"{name}.ipynb" for name in ("one", "two", "other")]
    for target, top in zip(targets, (1, 1, 2), strict=True):
        book.run(source, target, {"top": top})
    one, two, other = (shown(nbformat.read(path, as_version=4))[0][1] for path in targets)
    assert targets[0].read_bytes() == targets[1].read_bytes()
    assert one.keys() == {"image/svg+xml", "text/plain"} and one == two != other


def test_the_style_needs_no_notebook():
    """In plain Python, where nothing of a notebook is installed."""
    blocked = "import sys; sys.modules |= dict.fromkeys(['IPython', 'matplotlib_inline'])"
    check = "assert 'torch' not in sys.modules and plt.rcParams['svg.hashsalt'] == 'pamal'"
    code = "\n".join([blocked, DRAW.format(top=1), "figure.canvas.draw()", check])
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
