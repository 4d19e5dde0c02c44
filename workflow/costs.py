"""Put the times of the committed records into costs.csv: `python workflow/costs.py`.

A kind that is new there takes what its scheduler asks for from the row `*` of its experiment.
"""

import statistics
from math import ceil

import pandas as pd

from pamal_companion.runs import grid
from pamal_companion.runs.records import Record


def seconds() -> dict[tuple[str, str], dict[str, float]]:
    """Return training and evaluation, by experiment and method, of each run of the grid that has a
    record, by the key of the run."""
    kinds: dict[tuple[str, str], dict[str, float]] = {}
    for name, run in grid.by_record().items():
        whole = "epochs" not in run.options  # a run of more epochs than the paper's is no measure
        if whole and (path := grid.RESULTS / name).exists():
            record = Record.read(path)
            kinds.setdefault((run.experiment, run.method), {})[record.key] = record.seconds
    return kinds


def main() -> None:
    """Write costs.csv again, a row for each kind in the order of its experiments."""
    rows = {(row["experiment"], row["method"]): row for row in grid.read("costs")}
    for kind, found in seconds().items():
        values = found.values()
        row = rows.setdefault(kind, {**rows[kind[0], "*"], "method": kind[1]})
        row |= {"seconds": str(round(statistics.median(values))), "runs": str(len(values))}
        limit = max(int(row["minutes"]), 30 * ceil(2.1 * max(values) / 60 / 30))
        row |= {"minutes": str(limit), "basis": "measured"}
    order = list(dict.fromkeys(experiment for experiment, _ in rows))
    table = pd.DataFrame(sorted(rows.values(), key=lambda row: order.index(row["experiment"])))
    table.to_csv(grid.ROOT / "workflow" / "costs.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
