"""What a reader can take along from a page of a notebook, without a network."""

import csv
import io
from pathlib import Path
from urllib.parse import unquote, urlparse


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


def test_each_figure_of_a_notebook_is_a_file_beside_the_page(built_book, open_page):
    page = open_page(built_book / "results" / "census.html")
    links = page.locator("figure.drawn figcaption a[download]")
    assert links.count() == page.locator("figure.drawn").count() > 0
    for address in links.evaluate_all("(all) => all.map((one) => one.href)"):
        path = Path(unquote(urlparse(address).path))
        assert path.suffix == ".svg" and "<svg" in path.read_text("utf-8")[:2000]
