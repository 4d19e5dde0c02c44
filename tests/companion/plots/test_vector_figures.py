"""Figures are vector graphics: on every page, small, legible, in the colours of the page, and the
same for every run."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from io import BytesIO
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from pamal_companion.plots import style

nbformat = pytest.importorskip("nbformat", reason="needs the `book` extra")

ROOT = Path(__file__).parents[3]
RESULTS = sorted((ROOT / "book" / "results").glob("*.ipynb"))
SVG = "{http://www.w3.org/2000/svg}"
LIMIT = 320_000  # bytes of one figure; thirteen panels of trajectories have 318,000


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
    return file.getvalue()


def texts(svg):
    """Each line of letters: what it says, its size, and its box (left, top, right, bottom) in the
    font by which it was placed; None for what is neither level nor upright."""
    root = ElementTree.fromstring(svg)
    for group in root.iter(f"{SVG}g"):
        if "transform" in group.attrib:
            continue  # a formula
        for text in group.findall(f"{SVG}text"):
            size = float(re.search(r"font(?:-size)?: ([\d.]+)px", text.get("style"))[1])
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", text.get("transform", ""))]
            if "translate" in text.get("transform", ""):
                x, y, *angle = numbers
            else:
                x, y, angle = float(text.get("x")), float(text.get("y")), numbers[:1]
            prop = FontProperties(family="DejaVu Sans", size=size)
            width, height, deep = text_to_path.get_text_width_height_descent(text.text, prop, False)
            anchor = re.search(r"text-anchor: (\w+)", text.get("style", ""))
            start = {"middle": -width / 2, "end": -width}.get(anchor and anchor[1], 0.0)
            turn = angle[0] if angle else 0.0
            box = None
            if turn == 0:
                box = (x + start, y - height + deep, x + start + width, y + deep)
            elif abs(turn) == 90:
                box = (x - height + deep, y - start - width, x + deep, y - start)
            yield text.text, size, box


def overlapping(svg):
    """The pairs of texts whose boxes share more than a sliver."""
    boxes = [(text, box) for text, _, box in texts(svg) if box]
    return [
        (one, two)
        for (one, a), (two, b) in combinations(boxes, 2)
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1.5
    ]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_figure_of_a_page_is_a_small_svg_in_the_colours_of_the_page(path):
    for _, data in shown(nbformat.read(path, as_version=4)):
        assert {kind for kind in data if kind.startswith("image/")} == {"image/svg+xml"}
        svg = data["image/svg+xml"]
        assert len(svg.encode()) <= LIMIT
        assert "<dc:date>" not in svg
        background = re.search(r'<g id="patch_1">\s*<path [^>]*style="fill: ([^"]*)"', svg)
        assert background[1].startswith("var(--figure-paper, #")  # also where the page is dark
        assert "fill: var(--figure-ink, #" in svg


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_letters_of_every_figure_can_be_read_and_none_lies_on_another(path):
    for _, data in shown(nbformat.read(path, as_version=4)):
        svg = data["image/svg+xml"]
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        found = [*texts(svg)]
        assert found
        assert width <= 72 * style.WIDTH + 0.01  # so that a page shows it in full size
        assert min(size for _, size, _ in found) * 4 / 3 >= 11, path.stem
        assert overlapping(svg) == []
        for text, _, box in found:
            assert box is None or (box[0] > -2 and box[2] < width + 2), text


def test_a_figure_in_a_page_has_description_number_and_caption(built_book):
    tables_alone = {"choices", "reproduction", "tables"}
    for path in RESULTS:
        page = Images()
        page.feed((built_book / "results" / f"{path.stem}.html").read_text("utf-8"))
        visible = [
            cell
            for cell, _ in shown(nbformat.read(path, as_version=4))
            if "remove-cell" not in cell.metadata.get("tags", [])
        ]
        assert len(page.found) == len(visible), path.stem
        assert bool(visible) != (path.stem in tables_alone), path.stem
        for cell, image in zip(visible, page.found, strict=True):
            assert image["aria-label"] == cell.metadata["mystnb"]["image"]["alt"]
        numbers = [f"Figure {k}." for k in range(1, len(visible) + 1)]
        assert [caption.partition(". ")[0] + "." for caption in page.captions] == numbers
        assert all(len(caption.split()) > 5 for caption in page.captions), path.stem
        assert len(page.names) == len({*page.names}), path.stem


class Images(HTMLParser):
    """The attributes of every figure of a page, its caption, and all names of elements."""

    def __init__(self):
        super().__init__()
        self.found, self.captions, self.names = [], [], []
        self.inside = self.drawn = False

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.names += [named["id"]] if "id" in named else []
        if tag == "figcaption":
            self.inside = True
            self.captions.append("")
        self.drawn = self.drawn or tag == "figure"
        # A dot in a row of a table is an image too, and no figure.
        if self.drawn and tag == "svg" and named.get("role") == "img":
            self.found.append(named)

    def handle_data(self, data):
        if self.inside:
            self.captions[-1] += data

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "figcaption"
        self.drawn = self.drawn and tag != "figure"


def test_equal_figures_are_equal_files():
    with plt.rc_context():
        style.use()
        assert written(**style.VECTOR) == written(**style.VECTOR)
        assert written() != written(**style.VECTOR)  # without, a file has its date
        plt.rcParams["svg.hashsalt"] = None
        assert written(**style.VECTOR) != written(**style.VECTOR)


WITHOUT_A_NOTEBOOK = """
import sys
sys.modules |= dict.fromkeys(["IPython", "matplotlib_inline"])
from matplotlib import pyplot as plt
from pamal_companion.plots import style
style.use()
plt.figure().canvas.draw()
assert "torch" not in sys.modules and plt.rcParams["svg.hashsalt"] == "pamal"
"""


def test_the_style_needs_no_notebook():
    """In plain Python, where nothing of a notebook is installed."""
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_NOTEBOOK],
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
