"""The bibliography has what the code and the book cite."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BIB = (ROOT / "book" / "references.bib").read_text("utf-8").replace("{", "").replace("}", "")
ENTRIES = [
    {key: " ".join(value.split()) for key, value in re.findall(r"(\w+) = (.*?),\n", entry)}
    for entry in BIB.split("\n@")
]
# First author ... "title" (VENUE year)
CITED = re.compile(r'([A-Z]\w+)(?:,| and| et al)[^"()]*"([^"]+)" \((\w+) (\d{4})\)')


def citations():
    for path in sorted([*ROOT.glob("pamal_*/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = " ".join((ast.get_docstring(node) or "").split())
                yield from CITED.findall(text)


@pytest.mark.parametrize("cited", sorted(set(citations())), ids=lambda cited: cited[1][:30])
def test_a_work_that_a_docstring_cites_is_in_the_bibliography(cited):
    author, title, venue, year = cited
    found = [
        entry
        for entry in ENTRIES
        if entry["title"].lower().startswith(title.lower()) and entry["year"] == year
    ]
    assert len(found) == 1
    assert found[0]["author"].startswith(f"{author},")
    assert venue in found[0].get("booktitle", "") + found[0].get("journal", "")


def test_docstrings_cite_works():
    assert len(set(citations())) >= 12


def test_no_work_is_listed_twice():
    titles = [entry["title"].lower() for entry in ENTRIES]
    assert len(titles) == len(set(titles))
