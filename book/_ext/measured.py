"""The directive `measured`: the main columns of `results/measured.csv` as one table, a row for each
setting and split.

    ```{measured}
    ```
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from pamal_companion.plots.table import table
from pamal_companion.study import frame, overview, paper


class Measured(SphinxDirective):
    """It is made while the book is built, so that no copy of it can be old."""

    def run(self) -> list[nodes.Node]:
        """Return the table, and above it what its columns of tasks are."""
        self.env.note_dependency(str(frame.FILE))
        runs = frame.read()
        known = overview.objectives(runs)
        tasks = (f"{', '.join(known[d])} ({paper.DATA[d]})" for d in paper.DATA if d in known)
        found = table(
            overview.table(runs),
            filters=["data", "method", "split"],
            caption=f"The best on tasks 1 to 3: {'; '.join(tasks)}.".replace("/", " "),
            kind="cards measured",
        )
        text = f'<div class="cell_output"><div class="output text_html">{found}</div></div>'
        return [nodes.raw("", text, format="html")]
