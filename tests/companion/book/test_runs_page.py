"""The page of all runs is one table, which its links, a reader's words and its heads arrange."""

import re
from html import unescape
from pathlib import Path

import pytest
from browser import overflow, serious

from pamal_companion.study import frame, overview

TEXT = (Path(__file__).parents[3] / "book" / "runs.md").read_text("utf-8")
LINKS = [*map(unescape, re.findall(r'href="(\?[^"]+)"', TEXT))]


@pytest.fixture
def open_runs(built_book, open_page):
    """Opens the page at an address: `open_runs("?filter=LS", has_touch=True, ...)`."""

    def open_it(address="", **options):
        page = open_page(built_book / "runs.html", **options)
        if address:
            page.goto(f"{(built_book / 'runs.html').as_uri()}{address}")
        return page

    return open_it


@pytest.fixture(scope="module")
def rows(runs):
    return overview.table(runs).reset_index()


def shown(page):
    """The texts of the rows that are not filtered away."""
    return page.evaluate("""() => [...document.querySelectorAll("table.measured tbody tr")]
        .filter((row) => !row.hidden).map((row) => [...row.cells].map((c) => c.textContent))""")


def said(page):
    return page.locator("output").inner_text()


def test_the_page_has_every_row_without_scripts(built_book, rows):
    text = (built_book / "runs.html").read_text("utf-8")
    body = text.split('<table class="dataframe cards measured">')[1].split("</tbody>")[0]
    found = re.findall("<tr>(.*?)</tr>", body.split("<tbody>")[1])
    cells = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in found]
    assert cells == rows.astype(str).values.tolist() and len(rows) >= 708
    assert "hidden" not in body


def test_words_are_found_wherever_they_stand_and_rows_counted(open_runs, rows):
    page = open_runs()
    assert said(page) == f"{len(rows)} rows" and len(shown(page)) == len(rows)
    field = page.get_by_label("Filter rows")
    field.focus()
    page.keyboard.type("lambda=5, W = 4 multimnist")
    found = shown(page)
    assert said(page) == f"{len(found)} of {len(rows)} rows" and found
    for data, _, options, *_ in found:
        assert data == "MultiMNIST" and {"W = 4", "λ = 5"} <= {*options.split(", ")}
    page.get_by_label("data", exact=True).select_option("Census")
    assert shown(page) == [] and said(page) == f"0 of {len(rows)} rows"
    page.get_by_role("button", name="Show all rows").press("Enter")
    assert len(shown(page)) == len(rows) and field.input_value() == ""


@pytest.mark.parametrize("name", ["hypervolume", "task 1", "epochs"])
def test_heads_sort_what_is_shown_by_number(open_runs, name):
    page = open_runs("?data=MultiMNIST&split=test")
    heads = page.locator("table.measured thead th").all_inner_texts()
    (place,) = (k for k, head in enumerate(heads) if head.startswith(name))
    page.get_by_role("button", name=name).press("Enter")
    values = [float(row[place].split(" ")[0]) for row in shown(page) if row[place]]
    assert values == sorted(values, reverse=True) and len(values) > 100


@pytest.mark.parametrize("link", LINKS)
def test_a_link_of_a_question_shows_the_rows_it_speaks_of(open_runs, link, rows):
    page = open_runs(link)
    found = shown(page)
    assert 0 < len(found) < 60 and said(page) == f"{len(found)} of {len(rows)} rows"
    split = re.search("split=(validation|test)", link)[1]
    assert {(row[0], row[4]) for row in found} == {("MultiMNIST", split)}
    if "method=" in link:
        assert {row[1] for row in found} == {re.search(r"method=(\w+)", link)[1]}


def test_the_rows_behind_the_first_answer_have_its_numbers(open_runs):
    found = {row[2]: row[6].split(" ")[0] for row in shown(open_runs(LINKS[0]))}
    printed = "W = 4, λ = 5, printed sign, penalty as_released"
    assert f"rule for when the penalty counts, ours is {found[printed]}." in TEXT
    assert f"the text ours is {found['W = 4, λ = 5, ordered sign']}." in TEXT


def test_the_second_answer_has_rows_of_as_many_passes(open_runs):
    pamal, ls = LINKS[1:3]
    ours = next(row for row in shown(open_runs(pamal)) if row[2] == "W = 4, λ = 0")
    theirs = {row[3]: row for row in shown(open_runs(ls)) if not row[2]}
    assert (ours[3], {*theirs}) == ("10", {"10", "15", "40"})
    assert float(theirs["40"][6][:6]) > float(ours[6][:6]) > float(theirs["10"][6][:6])


def test_the_third_answer_has_both_signs(open_runs):
    options = {row[2] for row in shown(open_runs(LINKS[3]))}
    assert {"W = 4, λ = 10, ordered sign", "W = 4, λ = 10, printed sign, penalty as_released"} <= (
        options
    )


def test_the_file_of_every_run_lies_beside_the_page(built_book, open_runs):
    page = open_runs()
    link = page.get_by_role("link", name="measured.csv").get_attribute("href")
    assert (built_book / link).read_bytes() == frame.FILE.read_bytes()
    assert (built_book / "runs.html").stat().st_size < 500_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1400])
def test_the_table_has_no_serious_issue_and_fits(open_runs, scheme, width):
    viewport = {"width": width, "height": 800}
    page = open_runs(LINKS[0], color_scheme=scheme, viewport=viewport)
    assert overflow(page) <= 0
    page.get_by_role("button", name="Show all rows").click()
    assert overflow(page) <= 0 and page.locator(".is-wide").count() == 0
    # Rows are alike, and axe looks at hidden ones, too.
    page.evaluate("""() => document.querySelectorAll("table.measured tbody tr:nth-child(n+41)")
        .forEach((row) => row.remove())""")
    assert len(shown(page)) == 40 and serious(page) == []
