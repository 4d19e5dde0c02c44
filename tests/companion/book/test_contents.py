"""The contents, and the pages that a reader meets first."""

import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from built_book import pages

ROOT = Path(__file__).parents[3]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
ENTRIES = [entry for part in TOC["parts"] for entry in part["chapters"] if "file" in entry]
OWN = {
    name: ROOT / ("" if name == "README" else "book") / f"{name}.md"
    for name in (
        *("index", "running", "recipes", "figures", "bibliography", "README"),
        *("ten_minutes", "glossary", "method", "discrepancies", "your_method"),
    )
}


def test_the_contents_have_24_entries_at_most_and_no_two_titles_alike():
    assert len(ENTRIES) + 1 <= 24
    titles = [entry.get("title", "").lower() for entry in ENTRIES if "title" in entry]
    assert len({*titles}) == len(titles) > 15
    assert max(map(len, titles)) <= 45


def test_a_published_book_has_no_page_that_one_machine_made(built_book):
    """`make book` puts the pages of fresh/ into the contents of the machine that ran them."""
    assert not (built_book / "fresh").exists()
    assert "Made on this machine" not in (built_book / "index.html").read_text("utf-8")


def test_a_page_has_the_title_that_the_contents_give_it(built_book):
    for entry in ENTRIES:
        if title := entry.get("title"):
            text = (built_book / f"{entry['file']}.html").read_text("utf-8")
            assert f"<title>{title.replace('&', '&amp;')}" in text


def test_previous_and_next_follow_the_contents(built_book):
    order = ["index"]
    for entry in ENTRIES:
        order += [entry["file"], *(under["file"] for under in entry.get("sections", []))]
    for page, following in pairwise(order):
        text = (built_book / f"{page}.html").read_text("utf-8")
        (link,) = re.findall(r'<a class="right-next"\s+href="([^"]*)"', text)
        assert (built_book / page).parent.joinpath(link).resolve() == (
            built_book / f"{following}.html"
        )


def test_every_link_within_the_book_leads_somewhere(built_book):
    texts = {path: path.read_text("utf-8") for path in pages(built_book)}
    for page, text in texts.items():
        for link in {*re.findall(r'<a\b[^>]*?\shref="([^"]*)"', text)}:
            address = urlsplit(unescape(link))
            if address.scheme or address.netloc:
                continue
            target = page.parent.joinpath(unquote(address.path)).resolve() if address.path else page
            assert target.exists(), (page.name, link)
            if address.fragment and target in texts and "=" not in address.fragment:
                assert f'id="{unquote(address.fragment)}"' in texts[target], (page.name, link)


def sentences(text):
    """Those outside tables, code, captions and addresses."""
    text = re.sub(r"^```.*?^```$|^:::.*?$|^\|.*?$|^#.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(
        r"!\[[^\]]*\]\([^)]*\)|`[^`]*`|\]\([^)]*\)|\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.DOTALL
    )
    blocks = re.split(r"\n\s*(?:\n|[-*]|\d+\.)\s", text)
    for block in blocks:
        yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z*\[])", " ".join(block.split()))


@pytest.mark.parametrize("name", OWN)
def test_no_sentence_has_more_than_35_words(name):
    found = [*sentences(OWN[name].read_text("utf-8"))]
    assert len(found) > 1
    for sentence in found:
        assert len(sentence.split()) <= 35, sentence


def test_links_to_other_sites_are_links_of_today():
    for path in (*ROOT.glob("*.md"), *(ROOT / "book").glob("*.md")):
        for address in re.findall(r"\]\((http[^)]*)\)", path.read_text("utf-8")):
            assert address.startswith("https://") or "yann.lecun.com" in address, path.name


def test_a_notebook_of_make_book_links_from_either_folder():
    """Its page is in `results/` and, made anew, in `fresh/`, where a bare name leads nowhere."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (made,) = re.findall(r"^FRESH := .*ipynb,([\w ]+)\)$", makefile, re.MULTILINE)
    assert "multimnist" in made.split()
    for name in made.split():
        text = (ROOT / f"notebooks/{name}.ipynb").read_text("utf-8")
        bare = re.findall(r"\]\(((?!\.\./|#|https?:)[^)\s]+)\)", text)
        assert bare == [], name
