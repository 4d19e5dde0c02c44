"""The directive `verdicts`: the claims of the paper by what became of them.

They are read from the executed page of reproductions, so that the landing page says what it says.
"""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

PAGE = Path(__file__).parents[1] / "results" / "reproduction.ipynb"
ORDER = ("holds", "fails", "undecided", "not run")


def claims(page: Path) -> list[tuple[str, str]]:
    """Each claim of the table on `page`, and its verdict."""
    for cell in json.loads(page.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", ""))
            if "<th>claim</th>" in text:
                (_, head), *rows = (
                    (row, re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL))
                    for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL)
                )
                where = [head.index(name) for name in ("claim", "verdict")]
                return [tuple(html.unescape(cells[k]) for k in where) for _, cells in rows]
    raise ValueError(f"Expected a table of claims in {page}. Found none.")


class Verdicts(SphinxDirective):
    """A row for each verdict, with how many claims have it and which."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        self.env.note_dependency(str(PAGE))
        found = claims(PAGE)
        rows = ["| verdict | | claims of the paper |", "| --- | --- | --- |"]
        for verdict in ORDER:
            those = [claim for claim, its in found if its == verdict]
            if those:
                rows.append(f"| **{verdict}** | {len(those)} | {' · '.join(those)} |")
        return self.parse_text_to_nodes("\n".join(rows))
