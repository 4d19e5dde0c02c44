"""How hedged the prose of a page is, and whom it speaks to."""

import re

import pytest

PAGES = (
    "index",
    "ten_minutes",
    "method",
    "results/schematics",
    "results/theory",
    "results/your_model",
    "results/from_what_you_have",
    "running",
    "recipes",
    "baselines",
    "your_method",
    "discrepancies",
    "glossary",
    "figures",
    "results/choices",
    "runs",
    "results/ablation_sampling",
    "results/ablation_balancing",
    "results/ablation_multiforward",
    "results/ablation_phn_cosmos",
    "results/beyond",
    "results/conflict",
    "results/reproduction",
    "results/claims",
    "results/tables",
    "results/toy",
    "results/multimnist",
    "results/census",
    "results/multimnist3",
    "results/cityscapes",
    "results/utkface",
)
PLAIN = {"index", "ten_minutes", "results/your_model"}
HEDGED = re.compile(
    r"\b(undecided|cannot be told apart|after correction|at equal (cost|epochs|rates|passes)|may|"
    r"on (validation|test)|at the paper.s rates|over (two|three|four|five|six|seven|ten|twenty) "
    r"seeds|as in the paper|in the mean over|might|mostly|about|at least one|so far|would)\b",
    re.IGNORECASE,
)
SPOKEN = re.compile(r"\b(you|your|yours|we|our|us)\b", re.IGNORECASE)
PROSE = """() => {
  const page = document.querySelector("article").cloneNode(true);
  const others = "table, pre, svg, script, style, button, select, label, nav, .math, .pw";
  page.querySelectorAll(`${others}, .headerlink`).forEach((part) => part.remove());
  const parts = [...page.querySelectorAll("p, li, dd, dt")];
  return parts.filter((part) => !part.querySelector("p, li, dd")).map((part) => part.textContent)
    .join(" ");
}"""
LONG = """() => [...document.querySelectorAll("article table")].filter((table) =>
  !table.closest("details, .pw, .verdicts")
  && table.querySelectorAll("tbody tr:not(.v-question)").length > 10).length"""


@pytest.fixture(scope="module")
def tab(chromium):
    """A tab without scripts: formulas that are not typeset take no time."""
    tab = chromium.new_context(java_script_enabled=False).new_page()
    yield tab
    tab.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_plain_and_shows_no_long_table(built_book, tab, name):
    tab.goto((built_book / f"{name}.html").as_uri())
    text = tab.evaluate(PROSE)
    words = len(text.split())
    assert words > 100
    hedges = sum(1 for _ in HEDGED.finditer(text))
    assert 100 * hedges / words <= (1.5 if name in PLAIN else 2.5)
    if name in PLAIN:
        assert 100 * len(SPOKEN.findall(text)) / words >= 1
    assert tab.evaluate(LONG) == (name == "runs")  # whose table is what the page is for


def test_no_page_shows_the_name_of_an_object(built_book):
    for path in built_book.rglob("*.html"):
        text = re.sub("<pre.*?</pre>", "", path.read_text("utf-8"), flags=re.DOTALL)
        assert not re.search(r"&lt;[\w.]+ object( at 0x\w+)?&gt;|Markdown\(&quot;", text), path.name
