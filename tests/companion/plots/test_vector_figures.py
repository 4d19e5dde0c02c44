"""Figures are vector graphics: on every page, small, legible, in the colours of the page, and the
same for every run."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from io import BytesIO
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from pamal_companion.plots import style
from pamal_companion.widgets import html

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


PHONE = re.compile(f"{style.PHONE_BEGINS}(.*){style.PHONE_ENDS}", re.DOTALL)


def variants(svg):
    """A figure as a screen has it and, if it has one, as a phone has it, each with its width."""
    found = [(PHONE.sub("", svg), style.WIDTH)]
    if narrow := PHONE.search(svg):
        found.append((narrow[1], style.PHONE))
    return found


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
        assert all(len(one.encode()) <= LIMIT for one, _ in variants(svg))
        assert "<dc:date>" not in svg
        background = re.search(r'<g id="patch_1">\s*<path [^>]*style="fill: ([^"]*)"', svg)
        assert background[1].startswith("var(--figure-paper, #")  # also where the page is dark
        assert "fill: var(--figure-ink, #" in svg


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_letters_of_every_figure_can_be_read_and_none_lies_on_another(path):
    for _, data in shown(nbformat.read(path, as_version=4)):
        for svg, most in variants(data["image/svg+xml"]):
            assert_legible(svg, most, path.stem)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_what_is_much_wider_than_a_phone_is_drawn_again_for_it(path):
    for _, data in shown(nbformat.read(path, as_version=4)):
        (wide, _), *narrow = variants(data["image/svg+xml"])
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', wide)[1])
        assert narrow or width <= 1.25 * 72 * style.PHONE  # which a page makes a little smaller


def assert_legible(svg, most, name):
    """Its letters are large enough, none lies on another, and all are within the figure."""
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    found = [*texts(svg)]
    assert found
    assert width <= 72 * most + 0.01  # so that a page shows it in full size
    assert min(size for _, size, _ in found) * 4 / 3 >= 11, name
    assert overlapping(svg) == []
    for text, _, box in found:
        assert box is None or (box[0] > -2 and box[2] < width + 2), text


@style.twice
def two_panels(titles):
    """Two panels beside each other, which a phone has one below the other."""
    figure, axes = style.panels(titles, 2, 2.8)
    for ax in axes:
        ax.plot([0, 1], [0, 1], label=f"a line in {ax.get_title(loc='left') or 'a panel'}")
        style.label_losses(ax)
    return style.finish(figure, "made up", ncols=2)


def test_a_figure_is_drawn_again_for_a_phone_with_its_panels_stacked():
    with plt.rc_context():
        style.use()
        figure = two_panels(["first", "second"])
        before = plt.get_fignums()
        svg = style.both(figure)
        assert plt.get_fignums() == before  # a notebook would show the second one
        (wide, _), (narrow, _) = variants(svg)
        for one, most in ((wide, style.WIDTH), (narrow, style.PHONE)):
            assert_legible(one, most, "two panels")
        places = {text: box for text, _, box in texts(narrow)}
        assert places["second"][1] > places["first"][3] + 100  # below it
        assert style.both(two_panels(["first", "second"])) == svg
        plt.close("all")


def test_a_figure_for_phones_that_is_too_large_is_left_out(monkeypatch):
    with plt.rc_context():
        style.use()
        monkeypatch.setattr(style, "LARGEST", 1000)
        assert len(variants(style.both(two_panels("ab")))) == 1
        plt.close("all")


def test_a_page_shows_one_figure_on_a_screen_and_the_other_on_a_phone(open_page, tmp_path):
    with plt.rc_context():
        style.use()
        svg = style.both(two_panels(["first", "second"]))
        plt.close("all")
    (tmp_path / "one.svg").write_text(svg, "utf-8")
    app = SimpleNamespace(srcdir=tmp_path, builder=SimpleNamespace(images={"one.svg": "one.svg"}))
    context = {
        "body": '<p><img alt="Two panels." src="_images/one.svg" /></p><p><em>Both.</em></p>'
    }
    figures().put_figures_in(app, "page", "", context, None)
    sheet = (ROOT / "book/_assets/companion.css").read_text("utf-8")
    path = tmp_path / "page.html"
    head = f"<!DOCTYPE html><html lang='en'><title>Two</title><style>{html.style()}{sheet}</style>"
    path.write_text(f"{head}{context['body']}</html>", "utf-8")
    for width, kind in ((1400, "div:not(.for-phones)"), (390, "div.for-phones")):
        page = open_page(path, viewport={"width": width, "height": 900})
        seen = [one for one in page.locator("figure.drawn svg").all() if one.is_visible()]
        assert len(seen) == 1
        assert page.locator(f"figure.drawn > {kind} svg").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = re.findall(r' id="([^"]+)"', context["body"])
    assert len(names) == len({*names})


def figures():
    """The book's module that puts figures into pages."""
    path = ROOT / "book" / "_ext" / "figures.py"
    spec = importlib.util.spec_from_file_location("figures_of_the_book", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        self.inside = self.drawn = self.on_phone = False

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.names += [named["id"]] if "id" in named else []
        if tag == "figcaption":
            self.inside = True
            self.captions.append("")
        self.drawn = self.drawn or tag == "figure"
        if tag == "div":
            self.on_phone = named.get("class") == "for-phones"
        # A dot in a row of a table is an image too, and no figure.
        if self.drawn and not self.on_phone and tag == "svg" and named.get("role") == "img":
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
