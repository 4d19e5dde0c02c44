"""One line, `repository-code` in CITATION.cff, says where the repository is public, if it is."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from built_book import SMALL_TOC, build, of_a_small_book
from PIL import Image

ROOT = Path(__file__).parents[3]
ADDRESS = "https://github.com/somebody/some-book"
SITE = "https://somebody.github.io/pages"
CITED = (ROOT / "CITATION.cff").read_text("utf-8")


def links(html, page):
    """The addresses beyond the book that a page has links to."""
    text = (html / f"{page}.html").read_text("utf-8")
    return {*re.findall(r'href="(https?://[^"]*)"', text)}


@pytest.fixture(scope="module")
def public(tracked, tmp_path_factory):
    """A book of two pages, built with an address."""
    pytest.importorskip("jupyter_book", reason="needs the `book` extra")
    copy = tmp_path_factory.mktemp("book")
    cited = re.sub(r"^repository-code:.*\n", "", CITED, flags=re.MULTILINE)
    index = "# First\n\n```{citation}\n```\n"
    cited += f"repository-code: {ADDRESS}\n"
    config = (ROOT / "_config.yml").read_text("utf-8")
    config = re.sub('html_baseurl: ""', f"html_baseurl: {SITE}", config)
    texts = {"CITATION.cff": cited, "_config.yml": config}
    build(
        of_a_small_book(tracked), copy, **texts, **{"_toc.yml": SMALL_TOC, "book/index.md": index}
    )
    return copy / "_build" / "html"


def test_with_an_address_pages_have_buttons_to_edit_them_and_to_run_them(public):
    index, page = links(public, "index"), links(public, "results/schematics")
    source = "notebooks/schematics.ipynb"
    binder = f"https://mybinder.org/v2/gh/somebody/some-book/main?urlpath=tree/{source}"
    assert {ADDRESS, f"{ADDRESS}/edit/main/book/index.md"} <= index
    assert {ADDRESS, f"{ADDRESS}/edit/main/{source}", binder} <= page
    assert not any("mybinder" in link for link in index)
    assert not any("book/results" in link for link in page)


@pytest.mark.skipif("\nrepository-code:" in CITED, reason="the repository is public")
@pytest.mark.parametrize("page", ["index", "running", "results/schematics", "results/census"])
def test_without_an_address_no_page_has_such_buttons(built_book, page):
    assert not [link for link in links(built_book, page) if "mybinder" in link or "/edit/" in link]


def properties(html, page):
    """What a messenger reads on a page: the properties of Open Graph."""
    text = (html / f"{page}.html").read_text("utf-8")
    pairs = re.findall(r'<meta content="([^"]*)" property="(og:[^"]*)"', text)
    return {name: value for value, name in pairs}


def test_a_public_book_has_a_picture_beside_a_link_to_each_page(public):
    for page in ("index", "results/schematics", "genindex", "search"):
        found = properties(public, page)
        assert found["og:image"] == f"{SITE}/_static/card.png"
        assert found["og:url"] == f"{SITE}/{page}.html"
        assert found["og:title"] and found["og:image:alt"]
    with Image.open(public / "_static" / "card.png") as picture:
        assert picture.size == (1200, 630)


def test_without_a_place_on_the_web_pages_have_titles_and_no_picture(built_book):
    titles = set()
    for page in ("index", "running", "results/schematics", "search"):
        found = properties(built_book, page)
        assert not {"og:image", "og:url"} & {*found}
        titles.add(found["og:title"])
    assert len(titles) == 4
    assert properties(built_book, "index")["og:description"]


def badges(address):
    tests = f"{address}/actions/workflows/test.yml"
    return [f"[![tests]({tests}/badge.svg)]({tests})"] if address else []


def test_the_readme_and_the_package_name_the_address_that_the_citation_has():
    address = yaml.safe_load(CITED).get("repository-code")
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"^\[!\[.*", readme, re.MULTILINE) == badges(address)
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert urls.get("Repository") == address
