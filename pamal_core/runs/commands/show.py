"""`show`: one run."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pamal_core.errors import InputError
from pamal_core.runs.commands import output
from pamal_core.runs.commands.found import read
from pamal_core.runs.records import Record
from pamal_core.study.fronts import landmarks

SHORT = 21
"""The most points of a front that are all shown."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `show`."""
    parser.add_argument("path", type=Path, help="the record, a .json file")


def run(given: Namespace) -> int:
    """Show the record: all of it as JSON, of a long front some points as text."""
    record = read(given.path)
    try:
        text = "\n\n".join(part for part in (_about(record), *_results(record)) if part)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{given.path} is not a whole record: {error}.") from error
    document = {"path": given.path, "key": record.key} | record.model_dump(mode="json")
    output.put(given.json, document, text)
    return 0


def _about(record: Record) -> str:
    fields = {
        "experiment": record.experiment,
        "method": record.method,
        "options": output.options(record.options),
        "seed": str(record.seed),
        "data": record.data,
        "key": record.key,
        "cost": ", ".join(_cost(*item) for item in record.cost.items()) or "-",
        "versions": " ".join(f"{name}={value}" for name, value in record.versions.items()),
    }
    return "\n".join(output.paragraph(f"{name:<12}{value}", 12) for name, value in fields.items())


def _cost(name: str, value: float | None) -> str:
    """`peak_memory_bytes` of 2e9 is `peak memory 2.0 GB`."""
    what, _, unit = name.rpartition("_")
    if value is None:
        return f"{what} -".replace("_", " ")
    text = output.size(value) if unit == "bytes" else f"{value:.1f} {unit}"
    return f"{what.replace('_', ' ')} {text}"


def _results(record: Record) -> list[str]:
    return [_summary(record), _best(record), _chosen(record), *_front(record)]


def _summary(record: Record) -> str:
    """The numbers of each part of the summary, and the others."""
    rows = {name: _numbers(part) for name, part in record.summary.items() if _numbers(part)}
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [
        {"summary": name} | {column: row.get(column, "-") for column in columns}
        for name, row in rows.items()
    ]
    return "\n".join([output.table(cells)] if cells else []) + _others(record.summary)


def _numbers(part: object) -> dict[str, str]:
    found = part.items() if isinstance(part, Mapping) else ()
    return {name: _value(value) for name, value in found if _is_single(value)}


def _others(summary: Mapping[str, Any]) -> str:
    return "".join(f"\n{k}: {_value(v)}" for k, v in summary.items() if _is_single(v))


def _is_single(value: object) -> bool:
    return value is None or isinstance(value, int | float | str)


def _value(value: object) -> str:
    return output.number(value) if value is None or isinstance(value, float) else str(value)


def _best(record: Record) -> str:
    """The best value of each objective on its own, and its value at the alpha that was chosen."""
    chosen = record.summary.get("chosen_on_validation", {}).get("test", {})
    bests = {name: record.summary.get(name, {}).get("best") for name in ("validation", "test")}
    if not all(bests.values()):
        return ""
    rows = [
        {
            "objective": name,
            "better": {"max": "higher", "min": "lower"}[way],
            "best on validation": output.number(bests["validation"][name]),
            "best on test": output.number(bests["test"][name]),
            "test, at the chosen alpha": output.number(chosen.get(name)),
        }
        for name, way in record.objectives.items()
    ]
    return output.table(rows)


def _chosen(record: Record) -> str:
    alpha = record.summary.get("chosen_on_validation", {}).get("alpha")
    return f"alpha chosen on validation: {_alpha(alpha)}" if alpha else ""


def _alpha(alpha: list[float]) -> str:
    return "(" + ", ".join(f"{entry:g}" for entry in alpha) + ")"


def _front(record: Record) -> list[str]:
    """The front on test: all points with all metrics, or the landmarks of a long one."""
    if not any(point["split"] == "test" for point in record.points):
        return []
    front = record.front("test")
    is_short = len(front.table) <= SHORT
    frame = front.to_frame() if is_short else landmarks(front)
    title = f"front on test, {len(front.table)} points"
    return [f"{title}{'' if is_short else ', some of them'}\n{output.table(_cells(frame))}"]


def _cells(frame: pd.DataFrame) -> list[dict[str, str]]:
    alphas = [name for name in frame if str(name).startswith("alpha_")]
    named = frame.index.dtype == object
    return [
        ({"point": str(name)} if named else {})
        | {"alpha": _alpha([row[alpha] for alpha in alphas])}
        | {str(n): _value(row[n]) for n in frame if n not in alphas and n != "non_dominated"}
        | {"dominated": "" if row["non_dominated"] else "yes"}
        for name, row in frame.iterrows()
    ]
