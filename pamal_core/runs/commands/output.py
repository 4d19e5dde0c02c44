"""What commands print: aligned text for people, JSON for programs. No torch here."""

import json
import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

WIDTH = 100
NARROWEST = 16


def put(as_json: bool, document: Mapping[str, Any], text: str) -> None:
    """Print `document` as JSON, or the `text` that says the same."""
    print(json.dumps(plain(document), indent=2, allow_nan=False) if as_json else text)


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: numbers that are not finite are null, paths are text."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def table(rows: Sequence[Mapping[str, str]], wrapped: Collection[str] = ()) -> str:
    """`rows`, all with the same columns, as text that is at most `WIDTH` wide where that can be.

    Of the columns `wrapped` the widest is made narrower first; it breaks at blanks and hyphens.
    Columns of numbers are aligned at their right.
    """
    lines = [list(rows[0]), *([printable(cell) for cell in row.values()] for row in rows)]
    columns = list(zip(*lines, strict=True))
    widths = _fitting(
        [max(map(len, column)) for column in columns], [n in wrapped for n in rows[0]]
    )
    right = [all(map(_is_number, column[1:])) for column in columns]
    text = []
    for line in lines:
        cells = [textwrap.wrap(cell, w) or [""] for cell, w in zip(line, widths, strict=True)]
        for part in range(max(map(len, cells))):
            padded = [
                f"{cell[part] if part < len(cell) else '':{'>' if to_right else '<'}{width}}"
                for cell, to_right, width in zip(cells, right, widths, strict=True)
            ]
            text.append("  ".join(padded).rstrip())
    return "\n".join(text)


def paragraph(text: str, indent: int = 4) -> str:
    """One paragraph, its later lines indented; words too long for a line, such as paths, whole."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(map(printable, lines))


def printable(text: str) -> str:
    """`text` with everything that a terminal would act on spelt out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def number(value: int | float | None, digits: int = 4) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def options(values: Mapping[str, Any]) -> str:
    """`{"W": 4, "lam": 0.0}` is `W=4 lam=0`."""
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values.items()
    )


def size(num_bytes: int | float) -> str:
    """A number of bytes in a unit that suits it: 1 MB is a million."""
    for unit, digits in (("B", 0), ("kB", 1), ("MB", 1)):
        if num_bytes < 1000:
            return f"{num_bytes:.{digits}f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} GB"


def _fitting(widths: list[int], may: list[bool]) -> list[int]:
    """`widths` with the widest that may become narrower, but not below `NARROWEST`, until a line
    fits."""
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        column = max(range(len(widths)), key=lambda i: may[i] * widths[i])
        if not may[column] or widths[column] <= NARROWEST:
            break
        widths[column] -= 1
    return widths


def _is_number(text: str) -> bool:
    return text == "-" or text.lstrip("+-").replace(".", "", 1).isdigit()
