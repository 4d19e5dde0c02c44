"""What the runs on the toy problem found, in numbers."""

import numpy as np
import pandas as pd
from scipy.spatial import KDTree

from pamal_core.runs.records import Record
from pamal_core.toy.outcomes import VARIANTS, Outcome, distances


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
            rows[variant.name] = {
                "within": found["within"],
                "covers": f"{found['covering']} of {len(runs)}",
                "exactly": found["verdicts"].get("exact", 0),
                "hypervolume ↑": found["hypervolume"] / found["hypervolume_of_the_front"],
                "Spearman ↓": runs["spearman"].explode().astype(float).mean(),
                "paper": variant.paper,
            }
    return pd.DataFrame(rows).T


def pair_by_pair(record: Record) -> pd.DataFrame:
    """A row for each pair, a column for each variant of PaMaL: whether the pair covers the front,
    what it found, and the largest distance from a point of the front to its subspace."""
    columns = {}
    for variant in VARIANTS:
        if variant.method == "pamal" and (found := record.summary.get(variant.name)):
            runs = pd.DataFrame(found["runs"]).T
            marks = np.where(runs.gap <= found["within"], "✓ ", "✗ ")
            columns[variant.name] = marks + runs.verdict + runs.gap.map(", {:.2f}".format)
    return pd.DataFrame(columns).rename_axis("pair")


def ends(outcome: Outcome) -> dict[str, object]:
    """What of `outcome` ended on the front, and from where to where on it.

    Positions on the front count from 0, where task 2 is best, to 1, where task 1 is, evenly in
    theta_1. NaN where nothing ended on the front.
    """
    final = outcome.image()
    distance, nearest = KDTree(outcome.front).query(final.reshape(-1, 2))
    positions = nearest[distance <= outcome.within] / (len(outcome.front) - 1)
    found = f"{len(positions)} of {len(final)} runs"
    if outcome.num_members > 1:
        found = f"subspace: {distances(outcome.front, final[0]).verdict(outcome.within)}"
    low, high = (positions.min(), positions.max()) if len(positions) else (np.nan, np.nan)
    return {"on the front": found, "from": low, "to": high, "spread": high - low}
