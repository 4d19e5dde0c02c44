"""The directive `citation`: how to cite, from CITATION.cff, and where the repository is."""

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FILE = Path(__file__).parents[2] / "CITATION.cff"


class Citation(SphinxDirective):
    """BibTeX of the paper and of this book; its `repository-code`, where the file names one."""

    def run(self) -> list[nodes.Node]:
        """Return a block to copy."""
        self.env.note_dependency(str(FILE))
        book = yaml.safe_load(FILE.read_text("utf-8"))
        paper = book["preferred-citation"]
        entries = [
            entry(
                "inproceedings",
                "pamal",
                author=" and ".join(map(name, paper["authors"])),
                title=f"{{{paper['title']}}}",
                booktitle=paper["collection-title"],
                series=f"{paper['publisher']['name']}, volume {paper['volume']}",
                year=paper["year"],
                url=paper["url"],
            ),
            entry(
                "software",
                "pamal_companion",
                author=" and ".join(map(name, book["authors"])),
                title=f"{{{book['title']}}}",
                version=book["version"],
                url=book.get("repository-code"),
            ),
        ]
        block = ["```bibtex", *"\n\n".join(entries).splitlines(), "```"]
        if url := book.get("repository-code"):
            block = [f"[This repository]({url}).", "", *block]
        return self.parse_text_to_nodes("\n".join(block))


def name(author: dict[str, str]) -> str:
    """Return an author as BibTeX has one; a group is one name."""
    if "name" in author:
        return f"{{{author['name']}}}"
    return f"{author['family-names']}, {author['given-names']}"


def entry(kind: str, key: str, **fields: Any) -> str:
    """Return an entry with those fields that have a value."""
    lines = [f"  {field} = {{{value}}}," for field, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
