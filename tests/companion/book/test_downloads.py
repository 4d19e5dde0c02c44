"""What a reader can take along from a page of a notebook, without a network."""

import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image

from pamal_companion.plots import style

ROOT = Path(__file__).parents[3]


def test_each_table_of_a_notebook_is_saved_as_it_is_shown(built_book, open_page):
    page = open_page(built_book / "results" / "census.html")
    tables = page.locator(".cell_output table")
    links = page.locator(".save a", has_text="CSV")
    assert tables.count() == links.count() > 0
    for number in range(links.count()):
        with page.expect_download() as download:
            links.nth(number).evaluate("(link) => link.click()")  # it may be folded
        assert download.value.suggested_filename == f"census_table_{number + 1}.csv"
        rows = [*csv.reader(io.StringIO(download.value.path().read_text("utf-8")))]
        shown = tables.nth(number).locator("tr")
        last = shown.last.locator("th, td").all_text_contents()
        assert len(rows) == shown.count() and len({len(row) for row in rows}) == 1
        assert rows[-1][-1] == " ".join(last[-1].split())


def test_of_several_tables_in_one_output_each_has_its_link_below_it(built_book, open_page):
    page = open_page(built_book / "results" / "tables.html")
    far = page.evaluate("""() => [...document.querySelectorAll(".cell_output .output")]
        .filter((one) => one.querySelectorAll("table").length > 1)
        .flatMap((one) => [...one.querySelectorAll("table")])
        .map((table) => table.nextElementSibling?.className)""")
    assert len(far) > 4 and set(far) == {"save"}


def test_each_figure_of_a_notebook_is_a_file_beside_the_page(built_book, open_page):
    page = open_page(built_book / "results" / "census.html")
    links = page.locator("figure.drawn figcaption a[download]")
    assert links.count() == page.locator("figure.drawn").count() > 0
    for address in links.evaluate_all("(all) => all.map((one) => one.href)"):
        path = Path(unquote(urlparse(address).path))
        assert path.suffix == ".svg" and "<svg" in path.read_text("utf-8")[:2000]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_blue_of_figures_can_be_seen_on_the_ground_of_the_page(built_book, open_page, theme):
    page = open_page(built_book / "results" / "census.html", color_scheme=theme)
    strokes = page.evaluate("""() => [...document.querySelectorAll("figure.drawn svg path")]
        .map((line) => getComputedStyle(line).stroke)""")
    light = "rgb({}, {}, {})".format(*(int(style.HUES["blue"][k : k + 2], 16) for k in (1, 3, 5)))
    assert (light in strokes) == (theme == "light")
    assert ("rgb(86, 180, 233)" in strokes) == (theme == "dark")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_figure_is_saved_as_the_png_that_is_seen(built_book, open_page, theme):
    page = open_page(built_book / "results" / "census.html", color_scheme=theme)
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
    links = page.get_by_role("link", name="as PNG")
    assert links.count() == page.locator("figure.drawn").count() > 0
    with page.expect_download() as download:
        links.first.click()
    assert download.value.suggested_filename == "census_figure_1.png"
    saved = Image.open(download.value.path()).convert("RGB")
    drawn = page.locator("figure.drawn svg").first
    drawn.scroll_into_view_if_needed()
    # To whole pixels: else the screenshot is blurred, and a row higher than the drawing.
    drawn.evaluate("""(svg) => {
        const { x, y } = svg.getBoundingClientRect();
        svg.style.translate = `${Math.ceil(x) - x}px ${Math.ceil(y) - y}px`;
    }""")
    shown = Image.open(io.BytesIO(drawn.screenshot())).convert("RGB").resize(saved.size)
    assert saved.size[0] > drawn.bounding_box()["width"]
    difference = np.abs(np.asarray(saved, float) - np.asarray(shown, float))
    assert np.asarray(saved).std() > 10 and difference.mean() < 5


def test_the_book_carries_the_project(built_book, tmp_path):
    git = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(git, capture_output=True, text=True)
    with ZipFile(built_book / "pamal_companion.zip") as archive:
        names = {name.removeprefix("pamal_companion/") for name in archive.namelist()}
        archive.extractall(tmp_path)
    size = (built_book / "pamal_companion.zip").stat().st_size / 1e6
    for page in ("running.html", "results/your_model.html"):
        (said,) = re.findall(
            r"</a>\s*\((?:about\s+)?(\d+) MB", (built_book / page).read_text("utf-8")
        )
        assert int(said) == pytest.approx(size, abs=2)
    if listed.returncode == 0:
        assert names == {*listed.stdout.splitlines()}
    code = "from pamal_companion.runs import grid; print(grid.ROOT, len(grid.runs()))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "pamal_companion",
        capture_output=True,
        text=True,
    )
    root, number = found.stdout.split()
    assert Path(root) == tmp_path / "pamal_companion" and int(number) > 500
