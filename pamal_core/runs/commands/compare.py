"""`compare`: results beside the paper's tables."""

from argparse import Namespace
from typing import Any

from pamal_core.runs.commands import output
from pamal_core.runs.commands.found import runs
from pamal_core.runs.commands.runs import add_folder, checked
from pamal_core.study.comparison import Row, compare

DERIVED = ("measured", "std", "difference")
add_arguments = add_folder


def run(given: Namespace) -> int:
    """Compare what can be read; 1 where a file is damaged."""
    found = runs(checked(given.folder))
    rows = compare(one.record for one in found if one.record)
    rows.sort(key=lambda row: (row.experiment, row.method, output.options(row.options)))
    damaged = [one.why for one in found if one.state == "damaged"]
    document = {
        "folder": given.folder,
        "rows": [row._asdict() | {name: getattr(row, name) for name in DERIVED} for row in rows],
        "damaged": damaged,
    }
    output.put(given.json, document, _text(rows, damaged))
    return int(bool(damaged))


def _text(rows: list[Row], damaged: list[str]) -> str:
    """A table for each experiment."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row.experiment, []).append(_cells(row))
    parts = [f"{name}\n{output.table(cells, ['setting'])}" for name, cells in groups.items()]
    nothing = [] if rows else ["No run here has a row in the paper's tables."]
    return "\n\n".join(parts + nothing + [output.paragraph(f"damaged: {why}") for why in damaged])


def _cells(row: Row) -> dict[str, str]:
    digits = 2 if row.paper > 1 else 4  # per cent, or shares
    return {
        "method": row.method,
        "setting": output.options(row.options),
        "what": row.what,
        "measured": output.number(row.measured, digits),
        "paper": output.number(row.paper, digits),
        "difference": f"{row.difference:+.{digits}f}",
        "seeds": str(len(row.seeds)),
    }
