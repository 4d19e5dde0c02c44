"""Tables of the book are sorted, filtered and linked to, by mouse and keyboard, over file://."""

import pytest

PAGE = """<!DOCTYPE html><html lang="en"><title>Tables</title><body>
<table class="dataframe"><thead><tr><th>method</th><th>volume</th><th data-filter>verdict</th></tr>
</thead><tbody>{rows}</tbody></table>
<details><summary>more</summary><table class="dataframe"><thead><tr><th>a</th></tr></thead>
<tbody><tr id="claim-x"><td>1</td></tr></tbody></table></details>
<script>{script}</script></body></html>"""
ROWS = [("LS", "0.90"), ("UW", "0.95 ± 0.01"), ("RLW", ""), ("MGDA", "-0.2"), ("STL", "1,000")] * 2


@pytest.fixture
def page(open_page, tracked, tmp_path):
    """A page with a table of ten rows, and one in a fold."""
    script = next(path for path in tracked if path.name == "tables.js").read_text("utf-8")
    rows = "".join(
        f"<tr id=r{k}><th>{name} {k}</th><td>{volume}</td><td>{('fails', 'holds')[k % 3 > 0]}</td>"
        for k, (name, volume) in enumerate(ROWS)
    )
    path = tmp_path / "tables.html"
    path.write_text(PAGE.format(rows=rows, script=script), "utf-8")
    return open_page(path)


def column(page, number):
    rows = page.locator("table").first.locator("tbody tr:not([hidden])")
    return [row.locator("> *").nth(number).inner_text() for row in rows.all()]


def test_a_head_sorts_by_number_or_by_word_and_back_again(page):
    before, volumes = column(page, 0), page.get_by_role("button", name="volume")
    volumes.click()
    assert (
        column(page, 1)
        == ["1,000"] * 2 + ["0.95 ± 0.01"] * 2 + ["0.90"] * 2 + ["-0.2"] * 2 + [""] * 2
    )
    assert page.locator("th[aria-sort=descending]").inner_text() == "volume"
    volumes.press("Enter")
    assert column(page, 1)[:3] == ["-0.2", "-0.2", "0.90"] and column(page, 1)[-1] == ""
    volumes.press("Space")
    assert column(page, 0) == before and page.locator("[aria-sort]").count() == 0
    page.get_by_role("button", name="method").click()
    assert column(page, 0)[0] == "LS 0"


def test_rows_are_filtered_by_text_and_by_verdict_and_counted(page):
    assert page.locator("output").inner_text() == "10 rows"
    page.get_by_label("Filter rows").fill("uw fails")
    assert column(page, 0) == ["UW 6"]
    assert page.locator("output").inner_text() == "1 of 10 rows"
    page.get_by_label("Filter rows").fill("")
    page.get_by_label("verdict").select_option("fails")
    assert column(page, 0) == ["LS 0", "MGDA 3", "UW 6", "STL 9"]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("W = 4", [0, 1, 3]),
        ("w=4 λ = 5", [0]),
        ("lambda=5, W=4", [0]),
        ("lam = 5", [0, 2]),
        ("λ=5.5", [3]),
        ("λ =", [0, 1, 2, 3]),
        ("w=4, λ=50 lam", [1]),
        ("0.9", [0, 1, 2, 3]),
        ("lamp", [4]),
    ],
)
def test_an_option_is_one_word_however_it_is_written(page, words, kept):
    texts = ["W = 4, λ = 5 0.91", "W = 4, λ = 50 0.92", "W = 40, λ = 5 0.9", "W=4, λ = 5.5 0.90"]
    page.evaluate(
        """(texts) => document.querySelectorAll("table:not(details *) tbody th")
          .forEach((cell, k) => { cell.textContent = texts[k] ?? ""; })""",
        [*texts, "a lamp"],
    )
    page.evaluate(
        "document.querySelectorAll('table:not(details *) td').forEach((c) => c.textContent = '')"
    )
    page.get_by_label("Filter rows").fill(words)
    assert column(page, 0) == [[*texts, "a lamp"][k] for k in kept]


def test_an_address_has_the_words_that_a_table_is_filtered_by(page):
    page.goto(f"{page.url}?filter=uw+fails")
    assert column(page, 0) == ["UW 6"] and page.locator("output").inner_text() == "1 of 10 rows"
    assert page.get_by_label("Filter rows").input_value() == "uw fails"


def test_a_link_to_a_row_shows_it_alone_whatever_hides_it(page):
    page.get_by_label("Filter rows").fill("nothing")
    assert column(page, 0) == []
    page.evaluate("location.hash = 'r4'")
    page.wait_for_selector("#r4:visible")
    assert column(page, 0) == ["STL 4"] and page.locator("output").inner_text() == "1 of 10 rows"
    assert page.get_by_label("Filter rows").input_value() == ""
    page.get_by_role("button", name="Show all rows").click()
    assert len(column(page, 0)) == 10
    assert not page.get_by_role("button", name="Show all rows").is_visible()
    page.evaluate("location.hash = 'claim-x'")
    page.wait_for_selector("#claim-x:visible")


@pytest.mark.parametrize("width", [380, 1400])
@pytest.mark.parametrize("name", ["reproduction", "claims", "tables", "beyond", "choices"])
def test_the_verdict_is_in_view(built_book, open_page, name, width):
    page = open_page(
        built_book / "results" / f"{name}.html", viewport={"width": width, "height": 900}
    )
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    marks = page.locator("table.dataframe .verdict, table.intervals svg")
    assert marks.count() > 0
    hidden = marks.evaluate_all("""(all) => all
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth)
        .map((one) => one.closest("tr").textContent)""")
    assert hidden == []


@pytest.mark.parametrize("page_name", ["results/census", "results/theory", "api"])
def test_what_is_wider_than_a_phone_says_so(built_book, open_page, page_name):
    path = built_book / f"{page_name}.html"
    page = open_page(path, viewport={"width": 380, "height": 800})
    page.wait_for_selector(".is-wide")
    hint = page.locator(".is-wide").first.evaluate("(e) => getComputedStyle(e, '::before').content")
    assert "scroll sideways" in hint
    wide = ".pst-scrollable-table-container, figure.drawn > div, div.highlight pre"
    boxes = f"document.querySelectorAll('{wide}')"
    wrong = f"""[...{boxes}].filter((e) => e.checkVisibility()
        && (e.scrollWidth > e.clientWidth + 1) !== e.classList.contains('is-wide')).length"""
    assert page.evaluate(wrong) == 0
    page.set_viewport_size({"width": 1400, "height": 900})
    page.wait_for_function("document.querySelectorAll('.is-wide:not(pre)').length === 0")
