"""What a record of the toy problem says, beside the paper."""

import pandas as pd

from pamal_core.runs.records import Record
from pamal_core.toy.variants import VARIANTS


def counts(record: Record) -> pd.DataFrame:
    """A row for each variant: how many runs cover the analytic front, and what the paper says.

    A run covers it where every point of the front has one of the run's final subspace within the
    distance of the first column; it is exact where, besides, the subspace does not leave the front.
    The last columns are means over all runs: hypervolume as a share of that of the front, 1 at
    best, and rank correlation of alpha and loss, -1 at best.
    """
    rows = {}
    for variant in VARIANTS:
        if found := record.summary.get(variant.name):
            runs = pd.DataFrame(found["runs"]).T
            spearman = runs["spearman"].explode().astype(float).mean()
            rows[variant.name] = {
                "within": found["within"],
                "covers": f"{found['covering']} of {len(runs)}",
                "exactly": found["verdicts"].get("exact", 0),
                "hypervolume ↑": found["hypervolume"] / found["hypervolume_of_the_front"],
                "Spearman ↓": spearman,
                "paper": variant.paper,
            }
    return pd.DataFrame(rows).T


def pair_by_pair(record: Record) -> pd.DataFrame:
    """A row for each pair, a column for each variant of PaMaL: whether the pair covers the front,
    what it found, and the largest distance from a point of the front to its subspace."""
    columns = {}
    for variant in VARIANTS:
        if variant.method == "pamal" and (found := record.summary.get(variant.name)):
            columns[variant.name] = {
                name: f"{'✓' if run['gap'] <= found['within'] else '✗'} {run['verdict']}, "
                f"{run['gap']:.2f}"
                for name, run in found["runs"].items()
            }
    return pd.DataFrame(columns).rename_axis("pair")
