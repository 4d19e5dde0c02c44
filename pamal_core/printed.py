"""The text of a front."""

import math
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from pamal_core.choose import spread
from pamal_core.front import Front

MAX_ROWS = 11
"""The number of points up to which all are printed."""
MAX_COLUMNS = 8
"""The number of columns beyond which alphas are not printed."""


def text(front: Front) -> str:
    """Return a summary of `front`, its table, and a line on what the table leaves out."""
    rows = _rows(front, MAX_ROWS)
    table = _table(front, rows).to_string(max_cols=MAX_COLUMNS)
    return "\n".join([_summary(front), table, *_left_out(front, rows)])


def html(front: Front) -> str:
    """Return the same as HTML, for a notebook."""
    rows = _rows(front, MAX_ROWS)
    table = _table(front, rows).to_html(max_cols=MAX_COLUMNS, border=0)
    lines = [_summary(front), *_left_out(front, rows)]
    before, *after = (f"<p>{escape(line)}</p>" for line in lines)
    return "\n".join([before, table, *after])


def _summary(front: Front) -> str:
    labels, (points, members) = ", ".join(o.label for o in front.objectives), front.alphas.shape
    return f"{points} points of {members} members, {front.kept().sum()} not dominated, by {labels}"


def _table(front: Front, rows: np.ndarray) -> pd.DataFrame:
    columns = [*front.alpha_names, *(o.name for o in front.objectives), "non_dominated"]
    if len(columns) > MAX_COLUMNS:
        columns = columns[len(front.alpha_names) :]
    return front.to_frame()[columns].apply(_rounded).iloc[np.sort(rows)]


def _rounded(column: "pd.Series[float]") -> "pd.Series[Any]":
    """Return a column as it is printed: with four decimals, or more so that its largest number has
    three digits, as text where pandas would print fewer."""
    largest = column.abs().where(np.isfinite(column)).max()
    decimals = max(4, 2 - math.floor(math.log10(largest))) if largest > 0 else 4
    if decimals <= pd.get_option("display.precision"):
        return column.round(decimals)
    return column.map("{:.3g}".format, na_action="ignore")


def _rows(front: Front, number: int) -> np.ndarray:
    """Return the rows to print: all of a few, or some that are spread over the front."""
    if len(front) <= number or not front.is_finite.any():
        return np.arange(min(len(front), number))
    return spread(front, number)


def _left_out(front: Front, rows: np.ndarray) -> list[str]:
    """Return a line on the points that are not printed, if `rows` are not all."""
    left = np.delete(front.kept(), rows)
    if not len(left):
        return []
    line = f"{len(left)} points are left out, {left.sum() or 'none'} of them not dominated."
    if front.is_finite.any():
        line += f" Row {_rows(front, 1)[0]} is the one of choose()."
    return [line]
