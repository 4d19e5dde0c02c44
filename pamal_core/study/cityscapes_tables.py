"""CityScapes records beside the paper's two tables. No torch here."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core.errors import InputError
from pamal_core.runs.records import Record
from pamal_core.study.paper import table
from pamal_core.study.tables import PRINTED

MISSING = "needs the data"


class Column(NamedTuple):
    """A column of the paper's tables: its name in our records and in ours of the paper's numbers,
    its unit in ours, and the decimals it is printed with."""

    metric: str
    printed: str
    title: str
    maximise: bool
    unit: float
    decimals: int


COLUMNS = (
    Column("segmentation/mIoU", "miou", "mIoU, % (higher is better)", True, 100, 2),
    Column(
        "segmentation/pixel accuracy",
        "pixel_accuracy",
        "pixel accuracy, % (higher is better)",
        True,
        100,
        2,
    ),
    Column(
        "depth/absolute error", "absolute_error", "absolute error (lower is better)", False, 1, 4
    ),
    Column(
        "depth/relative error", "relative_error", "relative error (lower is better)", False, 1, 3
    ),
)

# What the paper says a row is; where it leaves a choice open, either value will do.
PAPER: dict[str, dict[str, Any]] = {
    "PaMaL": {"W": 3, "lam": 1.0, "p": 7.0, "balancing": "gradient"},
    "LS": {"balancing": "none"},
    "STL": {"balancing": "none"},
    "COSMOS": {"p": 1.2, "lam": 2.0},
}
LEFT_OPEN = {"task", "setting", "validation", "depth_scaling"}
EPOCHS = 100


def beside_the_paper(records: Sequence[Record], setting: str) -> pd.DataFrame:
    """The paper's table of `setting` "I" or "II" (appendix C4; II is also in section 5.3) with
    our numbers beside its own: its 15 rows in its order, four columns twice, "paper" and "ours".

    mIoU and pixel accuracy in per cent, higher is better; absolute and relative error of the
    inverse depth, lower is better, the latter a ratio. Both are on test, means over the seeds that
    there are (the paper's are three), the best along the subspace, each metric on its own; of
    several records of one row and seed the last counts. STL's come from one record for each task.

    A record belongs to a row if it is of the full data, of that setting, and its options are the
    paper's; those in `LEFT_OPEN` may be any. Where there is none it says `MISSING`. Raises
    InputError for another setting.
    """
    if setting not in ("I", "II"):
        raise InputError(f'`setting` must be "I" or "II". Found {setting!r}.')
    rows = table("cityscapes").query("setting == @number", local_dict={"number": len(setting)})
    paper = rows.set_index("method").rename_axis(None)
    chosen = [record for record in records if _is_of_the_paper(record, setting)]
    found: dict[tuple[str, str], Any] = {}
    for column in COLUMNS:
        found[column.title, "paper"] = paper[column.printed]
        cells = [_ours(column, _runs(chosen, row)) for row in paper.index]
        found[column.title, "ours"] = pd.Series(cells, paper.index, dtype=object)
    return pd.DataFrame(found)


def _is_of_the_paper(record: Record, setting: str) -> bool:
    options = {name: value for name, value in record.options.items() if name not in LEFT_OPEN}
    return (
        record.data.startswith(f"cityscapes/full/{setting}/")
        and "/plain/" not in record.data  # the paper's scenes are zoomed and flipped
        and options == {"epochs": EPOCHS} | PAPER.get(PRINTED.get(record.method, ""), {})
    )


def _runs(records: Iterable[Record], row: str) -> list[Record]:
    """The records of `row`, one for each seed and, for STL, each task."""
    runs = {(r.seed, r.options.get("task")): r for r in records if PRINTED.get(r.method) == row}
    return list(runs.values())


def _ours(column: Column, records: Sequence[Record]) -> float | str:
    best = []
    for record in records:
        points = (p["metrics"] for p in record.points if p["split"] == "test")
        values = [metrics[column.metric] for metrics in points if column.metric in metrics]
        if values:  # STL has those of one task
            best.append(max(values) if column.maximise else min(values))
    return round(float(np.mean(best)) * column.unit, column.decimals) if best else MISSING
