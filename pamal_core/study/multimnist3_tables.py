"""A MultiMNIST3 record beside the paper's table. No torch here."""

import numpy as np
import pandas as pd

from pamal_core.runs.records import Record
from pamal_core.study.paper import table
from pamal_core.study.tables import PRINTED

# In the order of the authors' code, which is that of the paper's table.
POSITIONS = ("top-left", "bottom", "top-right")


def beside_the_paper(record: Record) -> pd.DataFrame:
    """Test accuracy of `record` per task in per cent, and the row of appendix C3 for its method.

    Higher is better; both are the best along the subspace, each task on its own. The paper's mean
    and standard deviation are over three seeds. They are NaN where there is nothing to compare:
    other data than the full set, a penalty, balancing, methods that have no row. So is the measured
    accuracy of a task that is not trained.
    """
    best = record.summary["test"]["best"]
    measured = [100 * best.get(f"{position}/accuracy", np.nan) for position in POSITIONS]
    mean, std = _printed(record)
    columns = {"measured": measured, "paper, mean of 3": mean, "paper, std": std}
    names = [f"accuracy on {position}, % (higher is better)" for position in POSITIONS]
    found = pd.DataFrame(columns, names)
    return found.assign(difference=found["measured"] - found["paper, mean of 3"])


def _printed(record: Record) -> np.ndarray:
    """Mean and standard deviation per task: [2, 3]."""
    rows = table("multimnist3").set_index("method")
    as_printed = (
        record.data.startswith("multimnist3/full/")
        and not record.options.get("lam")
        and record.options.get("balancing", "none") == "none"
    )
    name = PRINTED.get(record.method) if as_printed else None
    names = [[f"{column}_{t}" for t in (1, 2, 3)] for column in ("accuracy", "std")]
    return np.array([rows.reindex([name])[columns].iloc[0] for columns in names])
