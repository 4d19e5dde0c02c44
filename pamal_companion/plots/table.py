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
    "holds": "\N{CHECK MARK}",
    "reproduced": "\N{CHECK MARK}",
    "fails": "\N{BALLOT X}",
    "not reproduced": "\N{BALLOT X}",
    "differs": "\N{BALLOT X}",
    "ahead": "\N{BLACK UP-POINTING TRIANGLE}",
    "behind": "\N{BLACK DOWN-POINTING TRIANGLE}",
    "level": "=",
    "open": "?",
    "cannot be told": "?",
    "not run": "\N{EN DASH}",
    "other data": "\N{EN DASH}",
}
"""The words of a verdict, each with its mark."""
MOST_TOLERANCES = 5
"""An axis of intervals reaches as many tolerances to either side at most."""


class Html(str):
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return "a table"


def folded(summary: str, *parts: str) -> Html:
    """Return parts of a page that a reader opens by their `summary`."""
    content = "\n".join(parts)
    return Html(f"<details><summary>{summary}</summary>\n{content}</details>")


def table(
    found: pd.DataFrame,
    *,
    best: Mapping[str, bool] | None = None,
    filters: Sequence[str] = (),
    ids: Sequence[str] = (),
    caption: str = "",
    kind: str = "cards",
) -> Html:
    """Return `found` with its index as the first columns, named as its levels are.

    Cells are text as it is, floats with four digits, or `Html`. `best` names columns whose best
    number is bold, and whether that is the largest; `filters` those by whose texts a reader can
    filter; `ids` are the ids of rows; `caption` is HTML; `kind` a class for the style sheet, which
    on a phone makes a card of each row of `cards`. A space between two cells keeps their words
    apart for the search of the book, which takes the markup away.
    """
    keys = found.index.to_frame().map(lambda key: f"{key:g}" if isinstance(key, float) else key)
    rows = np.concatenate([keys.to_numpy(object), found.to_numpy(object)], axis=1)
    names = [*(str(name or "") for name in found.index.names), *map(str, found.columns)]
    heads, columns = [], []
    for k, head in enumerate(names):
        column = pd.Series([_text(value) for value in rows[:, k]], dtype=str)
        plain = column.str.replace("(?s)<svg.*?</svg>|<[^>]*>", "", regex=True)
        starts = plain.str.match(r"(?:&lt; )?[+-]?\d")
        is_numeric = starts.sum() > ((plain != "") & ~starts).sum()
        numbers = plain.str.extract(r"([+-]?\d+(?:\.\d+)?)")[0].astype(float)
        if best and head in best and numbers.count() > 1:
            top = numbers == (numbers.max() if best[head] else numbers.min())
            column = column.mask(top, "<b>" + column + "</b>")
        name, css = escape(head), ' class="number"' if is_numeric else ""
        filtered = ' data-filter=""' if head in filters else ""
        heads.append(f'<th scope="col"{css}{filtered}>{name}</th>')
        tag, about = ("td", f'{css} data-head="{name}"') if k else ("th", f' scope="row"{css}')
        columns.append(f"<{tag}{about}>" + column + f"</{tag}>")
    body = []
    for values, own, *cells in zip(rows, ids or [""] * len(rows), *columns, strict=True):
        words = [value for value in values if isinstance(value, str) and value in MARKS]
        row = f' id="{own}"' if own else ""
        row += f' class="{words[0].replace(" ", "-")}"' if words else ""
        body.append(f"<tr{row}>{' '.join(cells)}</tr>")
    lines, above = "\n".join(body), f"<caption>{caption}</caption>\n" if caption else ""
    return Html(
        f'<table class="dataframe {kind}">{above}<thead><tr>{" ".join(heads)}</tr></thead>\n'
        f"<tbody>{lines}</tbody></table>"
    )


def mark(word: str) -> Html:
    """Return a word of a verdict, with its mark."""
    look = word.replace(" ", "-")
    return Html(f'<span class="verdict {look}">{MARKS[word]} {word}</span>')


def _text(value: Any) -> str:
    if isinstance(value, Html):
        return str(value)
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4f}"
    if isinstance(value, str) and value in MARKS:
        return mark(value)
    return "" if value is None else escape(str(value), quote=False)


def intervals(found: pd.DataFrame, texts: pd.DataFrame, digits: int = 4, caption: str = "") -> Html:
    """Return a table with a row for each number: its `texts`, a dot at ours minus the paper's, its
    95 % interval, as a band the tolerance, and the word "differs" where the interval leaves the
    whole band out.

    `found` has the columns `difference`, `low`, `high`, `tolerance` and `verdict`. All rows share
    an axis, from -`MOST_TOLERANCES` tolerances to as many at most.
    """
    known = found[found["difference"].notna()]
    end, widest = known[["low", "high", "difference"]].abs().max().max(), known["tolerance"].max()
    reach = float(np.clip(end, 2 * widest, MOST_TOLERANCES * widest)) if len(known) else 1.0
    axis = f"ours \N{MINUS SIGN} paper, axis \N{PLUS-MINUS SIGN}{reach:.{max(digits - 1, 1)}f}"
    columns = (found[name] for name in ("difference", "low", "high", "tolerance"))
    pictures = [
        drawn(value, low, high, tolerance, reach, digits)
        for value, low, high, tolerance in zip(*columns, strict=True)
    ]
    columns_of_page = texts.assign(**{axis: pictures, "": found["verdict"]})
    return table(columns_of_page, caption=caption, kind="intervals cards")


def drawn(
    value: float, low: float, high: float, tolerance: float, reach: float, digits: int = 4
) -> Html:
    """Return a drawing of an interval on an axis from -`reach` to `reach`, with a band of
    `tolerance` about 0. What is outside ends at the rim in an arrow, full in place of the dot.
    Nothing for NaN."""
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
        f'<rect class="band" x="{at(-tolerance)}" width="{90 * tolerance / reach:.2f}%" '
        f'height="100%" stroke="none" opacity=".16"/>'
        f'<line x1="50%" x2="50%" y2="100%" stroke-width="1"/>'
        f"{marks}</svg>"
    )
