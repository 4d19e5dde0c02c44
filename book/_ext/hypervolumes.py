"""The directive `hypervolumes`: a table of the paper over W and lambda, each number beside ours.

```{hypervolumes} multiforward_census
```
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from verdicts import frame, raw, tables


class Hypervolumes(SphinxDirective):
    """Its argument is the name of the table in the study."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Two rows for each W, the paper's and ours; means over seeds."""
        self.env.note_dependency(str(frame.FILE))
        (name,), runs = self.arguments, frame.read()
        found: dict[int, dict[int, tuple[float, float]]] = {}
        for setting in tables.planned(name):
            if row := tables.row_of(setting, name):
                ours = frame.measured(runs, setting, "hypervolume", "validation").mean()
                theirs = float(row.numbers["mean"].mean)
                found.setdefault(row.keys["W"], {})[row.keys["lam"]] = theirs, ours
        lams = sorted({lam for by_lam in found.values() for lam in by_lam})
        head = "".join(f'<th scope="col">λ = {lam:g}</th>' for lam in lams)
        body = ""
        for window, by_lam in sorted(found.items()):
            for place, source in enumerate(("paper", "ours")):
                cells = "".join(f"<td>{by_lam[lam][place]:.4f}</td>" for lam in lams)
                label = f'<th scope="row">W = {window}, {source}</th>'
                body += f'<tr class="h-{source}">{label}{cells}</tr>'
        return [raw(f'<table class="hypervolumes"><tr><td></td>{head}</tr>{body}</table>')]
