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
                cells = [html.unescape(c) for c in re.findall(r"<td>(.*?)</td>", text, re.DOTALL)]
                return list(zip(cells[0::6], cells[3::6], strict=True))
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
