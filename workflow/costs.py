"""Put the times of the committed records into costs.csv: `python workflow/costs.py`.

A kind that is new there takes what its scheduler asks for from the row `*` of its experiment.
"""

import csv
import statistics
from math import ceil

from pamal_core.runs import grid
from pamal_core.runs.records import Record


def seconds() -> dict[tuple[str, str], list[float]]:
    """Training and evaluation of each run of the grid that has a record, by experiment and
    method."""
    found: dict[str, tuple[tuple[str, str], float]] = {}
    for name, run in grid.by_record().items():
        whole = "epochs" not in run.options  # a run of more epochs than the paper's is no measure
        if whole and (path := grid.ROOT / "results" / name).exists():
            record = Record.read(path)
            found[record.key] = (run.experiment, run.method), record.seconds
    kinds: dict[tuple[str, str], list[float]] = {}
    for kind, time in found.values():
        kinds.setdefault(kind, []).append(time)
    return kinds


def main() -> None:
    """Write costs.csv again, a row for each kind in the order of its experiments."""
    rows = {(row["experiment"], row["method"]): row for row in grid.read("costs")}
    for kind, values in seconds().items():
        row = rows.setdefault(kind, {**rows[kind[0], "*"], "method": kind[1]})
        row |= {"seconds": str(round(statistics.median(values))), "runs": str(len(values))}
        limit = max(int(row["minutes"]), 30 * ceil(2.1 * max(values) / 60 / 30))
        row |= {"minutes": str(limit), "basis": "measured"}
    order = list(dict.fromkeys(experiment for experiment, _ in rows))
    with (grid.ROOT / "workflow" / "costs.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(next(iter(rows.values()))), lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(rows.values(), key=lambda row: order.index(row["experiment"])))


if __name__ == "__main__":
    main()
