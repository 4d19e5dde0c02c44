"""Every page of the book, as a reader without a network sees it."""

import re
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from browser import WINDOW, overflow, serious, watch
from built_book import pages

ROOT = Path(__file__).parents[3]
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

# Adds to each text how it looks: its colours and font, and what is behind it.
LOOKS = """() => {
  const grounds = new Map([[null, ""]]);
  const ground = (node) => {
    if (!grounds.has(node)) {
      const style = getComputedStyle(node);
      const { backgroundColor, backgroundImage, opacity, position, filter } = style;
      const own = [backgroundColor, backgroundImage, opacity, position, filter].join();
      const above = ground(node.parentElement);
      grounds.set(node, above.endsWith(`${own};`) ? above : `${above}${own};`);
    }
    return grounds.get(node);
  };
  const isText = (node) => node.nodeType === 3 && node.data.trim();
  for (const node of document.body.querySelectorAll("*")) {
    if (![...node.childNodes].some(isText) || node.getBoundingClientRect().width < 2) continue;
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(node);
    const look = [color, fontSize, fontWeight, textShadow, ground(node)].join("|");
    node.dataset.look = `${node.dataset.look ?? ""}${look}`;
  }
}"""
# Leaves one of the texts that look alike, none of those whose look another page has had, and hides
# and empties what it is not in. Returns the looks that are left.
ALIKE = """(before) => {
  const seen = new Set(before);
  for (const node of document.querySelectorAll("[data-look]")) {
    if (seen.has(node.dataset.look)) delete node.dataset.look;
    else seen.add(node.dataset.look);
  }
  const isLeft = (node) => node.closest("[data-look]") || node.querySelector("[data-look]");
  const hidden = [...document.querySelectorAll("body *")].filter((node) => !isLeft(node));
  hidden.forEach((node) => node.style.setProperty("display", "none", "important"));
  hidden.filter((node) => node.matches("svg, mjx-container, table, pre"))
    .forEach((node) => node.replaceChildren());
  return [...seen].slice(before.length);
}"""


# What would be scrolled sideways, in what is folded, too.
WIDE = """() => {
  const folded = [...document.querySelectorAll("details:not([open])")];
  const show = (isOpen) => folded.forEach((one) => { one.open = isOpen; });
  show(true);
  const boxes = ".pst-scrollable-table-container, figure.drawn > div, .cell_output > .output";
  const wide = [...document.querySelectorAll(boxes)]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.textContent.trim().slice(0, 60));
  show(false);
  return wide;
}"""


# What is large and light, in the dark.
LIGHT = """() => {
  document.querySelectorAll("details:not([open])").forEach((one) => { one.open = true; });
  return [...document.querySelectorAll(".bd-article-container *")].filter((node) => {
    const ground = getComputedStyle(node).backgroundColor.match(/[\\d.]+/g).map(Number);
    const [red, green, blue, opacity = 1] = ground;
    const { width, height } = node.getBoundingClientRect();
    return opacity * (red + green + blue) > 384 && width * height > 4000;
  }).map((node) => `${node.tagName}.${node.className}: ${node.textContent.trim().slice(0, 40)}`);
}"""


@pytest.fixture(scope="module")
def tab(built_book, chromium):
    """A tab for all the pages, one after the other, and what went wrong in it."""
    page, problems = chromium.new_context(reduced_motion="reduce").new_page(), []
    watch(page, problems)
    yield page, problems
    page.context.close()


@pytest.fixture(scope="module", params=PAGES)
def page(request, tab, built_book):
    """Each page of the book, on a phone, with its formulas."""
    page, problems = tab
    problems.clear()
    page.set_viewport_size({"width": 380, "height": 800})
    page.emulate_media(color_scheme="light")
    page.goto((built_book / f"{request.param}.html").as_uri())
    page.evaluate("globalThis.MathJax?.startup.promise")
    yield page
    assert problems == []


def test_every_page_of_the_book_is_tested(built_book):
    found = {path.relative_to(built_book).with_suffix("").as_posix() for path in pages(built_book)}
    assert found == set(PAGES)


def test_formulas_are_typeset_figures_described_and_a_phone_is_wide(page):
    formulas = page.locator(".math")
    assert page.locator(".math:has(mjx-container)").count() == formulas.count()
    assert page.locator("mjx-merror, [data-mml-node=merror]").count() == 0
    figures = page.locator("img:not(.pw img)").evaluate_all("(all) => all.map((one) => one.alt)")
    assert [alt for alt in figures if len(alt.split()) < 5] == []
    assert overflow(page) <= 0
    assert page.evaluate(CUT) == []


def test_nothing_is_wider_than_its_place_in_a_window(page):
    page.set_viewport_size(WINDOW)  # the contents slide in
    page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    assert page.evaluate(WIDE) == []
    assert overflow(page) <= 0


def test_nothing_large_is_light_in_the_dark(page):
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate(LIGHT) == []


@pytest.fixture(scope="module")
def looks():
    """How the texts of the pages looked whose contrast was tested."""
    return []


def test_no_page_has_a_serious_issue_in_light_or_dark(page, looks):
    page.set_viewport_size(WINDOW)
    # The rows of a table are alike, as blocks of code are, a shape has no text, and axe takes
    # seconds for as many.
    page.evaluate("""() => [
        ...document.querySelectorAll("tr:nth-child(n+5), svg :is(defs, path, use)"),
        ...[...document.querySelectorAll("div.highlight")].slice(8),
    ].forEach((element) => element.remove())""")
    left_out = {name: {"enabled": False} for name in ("color-contrast", "region")}  # is moderate
    assert serious(page, rules=left_out) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"html[data-theme={scheme}]")
        page.evaluate(LOOKS)
    new = page.evaluate(ALIKE, looks)
    looks += new
    for scheme in ("dark", "light") if new else ():
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"html[data-theme={scheme}]")
        assert serious(page, "[data-look]", runOnly=["color-contrast"]) == []


@pytest.mark.parametrize(
    ("asked", "page_name"),
    [
        ("0.9184", "results/tables.html"),  # the paper's hypervolume of MultiMNIST
        ("0.9190", "results/reproduction.html"),  # ours
        ("78.499", "results/tables.html"),  # Nash-MTL on CityScapes, which is not run
        ("class imbalance", "results/your_model.html"),
        ("rank correlation", "results/tables.html"),
    ],
)
def test_a_search_finds_a_number_of_a_table_and_a_phrase(built_book, open_page, asked, page_name):
    page = open_page(built_book / "search.html")
    page.goto(f"{page.url}?q={quote_plus(asked)}")
    page.locator(f"#search-results a[href*='{page_name}']").first.wait_for()


def test_no_two_cells_of_a_table_are_one_word_of_the_search(built_book):
    """Words as the index has them, by their stems."""
    words = (built_book / "searchindex.js").read_text("utf-8")
    assert all(f'"{word}"' in words for word in ("method", "verdict", "mnist"))
    for glued in ("mnist0", "ls0", "pamal0", "methodpap", "verdictestim", "holds0", "open0"):
        assert f'"{glued}' not in words, glued


def test_a_search_finds_pages(built_book, open_page):
    page = open_page(built_book / "index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("hypernetwork")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="The baselines").wait_for()
    assert page.url.endswith("search.html?q=hypernetwork")
