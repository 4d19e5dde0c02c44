"""Frames as tables of a page: verdicts with a mark, intervals drawn, the best in bold.

Equal frames make equal HTML, which can be read without a script. `tables.js` of the book sorts and
filters it, `companion.css` colours it.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

MARKS = {
    "agrees": "\N{CHECK MARK}",
    "holds": "\N{CHECK MARK}",
    "differs": "\N{BALLOT X}",
    "fails": "\N{BALLOT X}",
    "more": "\N{BLACK UP-POINTING TRIANGLE}",
    "less": "\N{BLACK DOWN-POINTING TRIANGLE}",
    "same": "=",
    "undecided": "?",
    "not run": "\N{EN DASH}",
}
"""The words of a verdict, each with its mark."""
MOST_MARGINS = 5
"""An axis of intervals reaches as many margins to either side at most."""


class Html(str):
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return "a table"


class Weak(str):
    """A verdict that would not stand among all those of its table; it is not bold."""


def table(
    found: pd.DataFrame,
    *,
    best: Mapping[str, bool] | None = None,
    filters: Sequence[str] = (),
    ids: Sequence[str] = (),
    kind: str = "cards",
) -> Html:
    """`found` with its index as the first columns, named as its levels are.

    Cells are text as it is, floats with four digits, or `Html`. `best` names columns whose best
    number is bold, and whether that is the largest; `filters` those by whose texts a reader can
    filter; `ids` are the ids of rows; `kind` a class for the style sheet, which on a phone makes a
    card of each row of `cards`.
    """
    keys = found.index.to_frame().map(
        lambda key: f"{key:g}" if isinstance(key, float) else str(key)
    )
    rows = np.concatenate([keys.to_numpy(object), found.to_numpy(object)], axis=1)
    heads = [*(str(name or "") for name in found.index.names), *map(str, found.columns)]
    header, columns = "", []
    for k, head in enumerate(heads):
        column = pd.Series([_text(value) for value in rows[:, k]], dtype=str)
        plain = column.str.replace("(?s)<svg.*?</svg>|<[^>]*>", "", regex=True)
        starts = plain.str.match(r"(?:&lt; )?[+-]?\d")
        is_numeric = starts.sum() > ((plain != "") & ~starts).sum()
        numbers = plain.str.extract(r"([+-]?\d+(?:\.\d+)?)")[0].astype(float)
        if best and head in best and numbers.count() > 1:
            top = numbers == (numbers.max() if best[head] else numbers.min())
            column = column.mask(top, "<b>" + column + "</b>")
        name, css = escape(head), ' class="number"' if is_numeric else ""
        mark = ' data-filter=""' if head in filters else ""
        header += f'<th scope="col"{css}{mark}>{name}</th>'
        tag, about = ("td", f'{css} data-head="{name}"') if k else ("th", f' scope="row"{css}')
        columns.append(f"<{tag}{about}>" + column + f"</{tag}>")
    body = []
    for values, own, *cells in zip(rows, ids or [""] * len(rows), *columns, strict=True):
        words = [value for value in values if isinstance(value, str) and value in MARKS]
        row = f' id="{own}"' if own else ""
        row += f' class="{words[0].replace(" ", "-")}"' if words else ""
        body.append(f"<tr{row}>{''.join(cells)}</tr>")
    lines = "\n".join(body)
    return Html(
        f'<table class="dataframe {kind}"><thead><tr>{header}</tr></thead>\n'
        f"<tbody>{lines}</tbody></table>"
    )


def _text(value: Any) -> str:
    if isinstance(value, Html):
        return str(value)
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4f}"
    if isinstance(value, str) and value in MARKS:
        look = value.replace(" ", "-") + " weak" * isinstance(value, Weak)
        return f'<span class="verdict {look}">{MARKS[value]} {value}</span>'
    return "" if value is None else escape(str(value), quote=False)


def intervals(found: pd.DataFrame, digits: int = 4) -> Html:
    """A row for each number with a verdict: a dot at ours minus the paper's, its 95 % interval, and
    as a band the margin within which it agrees.

    `found` has the columns `paper` and `ours`, `difference`, `low`, `high`, `margin` and `verdict`.
    All rows share an axis, from -`MOST_MARGINS` margins to as many at most.
    """
    known = found[found["difference"].notna()]
    end, widest = known[["low", "high", "difference"]].abs().max().max(), known["margin"].max()
    reach = float(np.clip(end, 2 * widest, MOST_MARGINS * widest)) if len(known) else 1.0
    axis = f"ours \N{MINUS SIGN} paper, \N{PLUS-MINUS SIGN}{reach:.{max(digits - 1, 1)}f}"
    rows = [
        {
            "paper": f"{of['paper']:.{digits}f}",
            "ours": "" if np.isnan(of["ours"]) else f"{of['ours']:.{digits}f}",
            axis: drawn(of["difference"], of["low"], of["high"], of["margin"], reach, digits),
            "verdict": of["verdict"],
        }
        for _, of in found.iterrows()
    ]
    return table(pd.DataFrame(rows, found.index), filters=["verdict"], kind="intervals")


def drawn(
    value: float, low: float, high: float, margin: float, reach: float, digits: int = 4
) -> Html:
    """An interval on an axis from -`reach` to `reach`, with a band of `margin` to either side of 0.
    What is outside ends at the rim in an arrow, full in place of the dot. Nothing for NaN."""
    if np.isnan(value):
        return Html("")

    def at(number: float) -> str:
        return f"{50 + 45 * float(np.clip(number / reach, -1, 1)):.2f}%"

    def arrow(side: int, size: int, fill: str) -> str:
        tip = f'<path fill="{fill}" d="M{-size * side} {-size}L0 0L{-size * side} {size}"/>'
        return f'<svg x="{at(side * reach)}" y="50%" overflow="visible">{tip}</svg>'

    said, marks = f"{value:+.{digits}f}", f'<circle cx="{at(value)}" cy="50%" r="4.5"/>'
    if abs(value) > reach:
        marks = arrow(1 if value > 0 else -1, 7, "currentColor")
    if not np.isnan(low):
        said += f", 95 % interval {low:+.{digits}f} to {high:+.{digits}f}"
        marks += f'<line x1="{at(low)}" x2="{at(high)}" y1="50%" y2="50%"/>'
        marks += arrow(-1, 4, "none") if low < -reach else ""
        marks += arrow(1, 4, "none") if high > reach else ""
    return Html(
        f'<svg width="100%" height="24" fill="currentColor" stroke="currentColor" '
        f'stroke-width="2" role="img" data-value="{value:.6f}"><title>{said}</title>'
        f'<rect class="band" x="{at(-margin)}" width="{90 * margin / reach:.2f}%" height="100%" '
        f'stroke="none" opacity=".16"/><line x1="50%" x2="50%" y2="100%" stroke-width="1"/>'
        f"{marks}</svg>"
    )
