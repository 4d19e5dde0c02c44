"""Every page of the book, as a reader without a network sees it."""

import re
from pathlib import Path

import pytest
from browser import overflow, serious

ROOT = Path(__file__).parents[2]
TOC = (ROOT / "_toc.yml").read_text("utf-8")
PAGES = ["genindex", "search", *re.findall(r"(?:file|root): (\S+)", TOC)]
# What reaches beyond the right edge and is in no box of its own that scrolls.
CUT = """() => {
  const content = document.querySelector(".bd-article-container");
  const scrolls = (node) =>
    node !== content &&
    (["auto", "scroll"].includes(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  return [...content.querySelectorAll("*")]
    .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .filter((node) => !node.closest("mjx-assistive-mml") && !scrolls(node.parentElement))
    .map((node) => `${node.tagName}.${node.className}: ${node.textContent.trim().slice(0, 40)}`);
}"""


@pytest.fixture
def page_at(built_book, open_page):
    """Opens a page of the book, and waits for its formulas."""

    def open_it(name, **options):
        page = open_page(built_book / f"{name}.html", reduced_motion="reduce", **options)
        page.evaluate("globalThis.MathJax?.startup.promise")
        return page

    return open_it


def test_every_page_of_the_book_is_tested(built_book):
    found = {path.relative_to(built_book).with_suffix("").as_posix() for path in pages(built_book)}
    assert found == set(PAGES)


def pages(built_book):
    return [path for path in built_book.rglob("*.html") if "_static" not in path.parts]


@pytest.mark.parametrize("name", PAGES)
def test_formulas_are_typeset_and_figures_described_and_a_phone_is_wide_enough(page_at, name):
    page = page_at(name, viewport={"width": 380, "height": 800})
    formulas = page.locator(".math")
    assert page.locator(".math:has(mjx-container)").count() == formulas.count()
    assert page.locator("mjx-merror, [data-mml-node=merror]").count() == 0
    figures = page.locator("img:not(.pw img)").evaluate_all("(all) => all.map((one) => one.alt)")
    assert [alt for alt in figures if len(alt.split()) < 5] == []
    assert overflow(page) <= 0
    assert page.evaluate(CUT) == []


# The first page, with its widget, has a test of its own.
@pytest.mark.parametrize("name", [name for name in PAGES if name != "index"])
def test_no_page_has_a_serious_issue_in_light_or_dark(page_at, name):
    page = page_at(name)
    # The rows of a table look alike, as blocks of code do, and axe takes seconds for a long one.
    page.evaluate("""() => [
        ...document.querySelectorAll("tr:nth-child(n+5)"),
        ...[...document.querySelectorAll("div.highlight")].slice(8),
    ].forEach((element) => element.remove())""")
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    # Of all that axe looks at only contrast can differ; what surrounds the text never does.
    assert serious(page, "main", runOnly=["color-contrast"]) == []


def test_a_search_finds_pages(page_at):
    page = page_at("index", viewport={"width": 1200, "height": 800})
    page.keyboard.press("Control+k")
    page.keyboard.type("hypernetwork")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="The baselines").wait_for()
    assert page.url.endswith("search.html?q=hypernetwork")
