"""Records and fronts as tables, some beside the paper's numbers. No torch here."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.runs.methods import METHODS
from pamal_core.runs.records import Record
from pamal_core.study.paper import table

RESULTS = Path(__file__).parents[2] / "results"
REFERENCE = (0.0, 0.0)
"""What the paper's tables take the hypervolume of two accuracies from."""
SEEDS = (0, 1, 2)
"""Those of the paper's tables, and ours."""

PRINTED = {name: row.printed for name, row in METHODS.items()}
"""The rows of the paper's tables by our names."""
ONE_NETWORK = [name for name, row in METHODS.items() if row.one_network]
"""Those that end with one network for all tasks."""


def read(folder: Path, pattern: str = "*.json") -> list[Record]:
    """The records in `folder`, by name; none where there is no such folder."""
    return [Record.read(path) for path in sorted(folder.glob(pattern))]


def beside_the_paper(record: Record, name: str, data: str) -> pd.DataFrame:
    """Validation hypervolume of `record` and, where the paper has the setting, its numbers.

    The paper's row is that of its multi-forward table `name` with the same W and lambda; its mean
    and standard deviation are over its three seeds, which are not ours. NaN where there is none:
    only PaMaL on data whose id starts with `data` can be compared.
    """
    measured = record.summary["validation"]["hypervolume"]
    printed = {"paper, mean of 3": np.nan, "paper, std": np.nan}
    rows = table(name)
    W, lam = record.options.get("W"), record.options.get("lam")
    row = rows[(rows.W == W) & (rows.lam == lam)]
    if record.method == "pamal" and record.data.startswith(data) and len(row):
        printed = {"paper, mean of 3": row["mean"].item(), "paper, std": row["std"].item()}
    difference = (np.nan if measured is None else measured) - printed["paper, mean of 3"]
    columns = {"measured": measured} | printed | {"difference": difference}
    return pd.DataFrame(columns, index=["validation hypervolume (higher is better)"])


def union(fronts: Sequence[Front]) -> Front:
    """The points of all `fronts`, which have the same objectives."""
    return Front(
        np.concatenate([front.alphas for front in fronts]),
        pd.concat([front.table for front in fronts], ignore_index=True),
        fronts[0].objectives,
    )


def landmarks(front: Front) -> pd.DataFrame:
    """Some rows of `front.to_frame()`, for a front too long to read: each member, the point nearest
    to the centre, and the best point of each objective.

    Only their alphas and objectives. The first of equal points is taken; a point may appear twice.
    """
    members = front.alphas.shape[1]
    named = {f"member {k + 1}": front.alphas[:, k].argmax() for k in range(members)}
    named["centre"] = np.linalg.norm(front.alphas - 1 / members, axis=1).argmin()
    better = np.where(front.maximise, 1, -1) * front.values
    for objective, row in zip(front.objectives, better.argmax(0), strict=True):
        task, _, metric = objective.name.rpartition("/")
        named[f"best {metric} on {task}"] = row
    others = [name for name in front.table if name not in [o.name for o in front.objectives]]
    rows = front.to_frame().drop(columns=others)
    return rows.iloc[list(named.values())].set_axis(list(named))


def baselines_beside_the_paper(records: Sequence[Record], dataset: str) -> pd.DataFrame:
    """Test accuracy on two tasks of each record, a row per method, and of its row in appendix C2.

    Higher is better. The paper's are means of three seeds; NaN for methods that have no row there.
    """
    printed = table("hypervolume").query("dataset == @dataset").set_index("method")
    rows: dict[str, dict[tuple[str, str], float]] = {}
    for record in records:
        name = PRINTED[record.method]
        best = list(record.summary["test"]["best"].items())
        pairs = [(task.split("/")[0], value) for task, value in best if task.endswith("accuracy")]
        for t, (task, value) in enumerate(pairs, start=1):
            paper = printed[f"accuracy_{t}"].get(name, np.nan)
            measured = {"measured": value, "paper": paper, "difference": value - paper}
            rows.setdefault(name, {}).update({(task, who): x for who, x in measured.items()})
    return pd.DataFrame(rows).T
