"""The paper's tables beside ours: what was to be run, what was run, and what is printed, joined.

What is not run is a row, too. A number "differs" if the 95 % interval of its difference from the
paper's lies wholly beyond the tolerance (`report`); there is no other word for one number, and none
is counted. What a table says is its order and its mean shift (`joint`).
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_companion.plots.table import Html, folded, intervals, mark
from pamal_companion.plots.table import table as html
from pamal_companion.runs import grid
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Measure, OfSeeds, Runs, Setting
from pamal_companion.study.layout import TABLES, Column, Table
from pamal_companion.study.order import of_order
from pamal_companion.study.paper import SEEDS
from pamal_companion.study.statistics import Estimate, Sample, bracket, differs, spread

TOGETHER = OfSeeds("hypervolume", SEEDS)
"""The paper's measure of a baseline on test (C2): of the points of its three seeds together."""
UNION = f"{TOGETHER} \N{UPWARDS ARROW}"
THEIRS, OURS = ["paper", "paper ±", "paper's seeds"], ["ours", "ours ±", "seeds"]
AWAY = ["difference", "error", "freedom"]
"""The columns of a report that are a `Sample`, and those of an `Estimate`."""


class PrintedRow(NamedTuple):
    """A row of a table: the keys, and what the seeds measured by column."""

    keys: Mapping[str, Any]
    numbers: Mapping[str, Sample]


@cache
def rows(name: str) -> dict[Setting, PrintedRow]:
    """Return the rows of the table `name` by their settings, in the paper's order, in the units
    that it prints.

    Deviations divide by one less than the number of seeds, which is three. Where the paper has a
    row for each seed they are taken together; where it has no deviation but the authors' seeds are
    published, it is theirs. A CSV without a column for the method is of the one that its name
    begins with, or of PaMaL.
    """
    of = TABLES[name]
    ours = {printed: method for method, printed in paper.PRINTED.items()} | {"PML": "pamal"}
    found = paper.table(of.csv).query(of.rows or "index >= 0")
    if "method" not in found:
        found = found.assign(method=paper.PRINTED.get(name.split("_")[0], "PaMaL"))
    keys, made = [key for key in of.keys if key in found], dict[Setting, PrintedRow]()
    for (printed, *values), group in found.groupby(["method", *keys], sort=False, dropna=False):
        given = {k: value for k, value in zip(keys, values, strict=True) if value == value}
        setting = frame.setting(of.experiment, ours[printed], **of.fixed, **given)
        numbers = {column: _printed(setting, group, column, of) for column in of.columns}
        made[setting] = PrintedRow(given, numbers)
    return made


def _printed(setting: Setting, group: pd.DataFrame, name: str, of: Table) -> Sample:
    """Return what the column `name` has of a `setting`, whose rows are `group`."""
    column = of.columns[name]
    if column.of_authors:
        return paper.authors_volumes(setting.method)
    # Without a column of deviations they are those of the rows, if there are several.
    if column.deviation in group:
        deviation = group[column.deviation].mean() * np.sqrt(of.divisor / 2)
    else:
        deviation = group[name].std()
    if np.isnan(deviation) and of.experiment == "multimnist" and column.task:
        task = paper.TASKS["multimnist"].index(column.task) + 1
        of_row = f"method == {setting.method!r} and task == {task} and alpha_1.isna()"
        deviation = paper.authors().query(of_row)["value"].std()
    return Sample(float(group[name].mean()), float(deviation), SEEDS)


def row_of(setting: Setting, name: str) -> PrintedRow | None:
    """Return the row of the table `name` that runs of `setting` belong to: the one that has its
    value of every option that is not free. None where it has none."""
    free = TABLES[name].any_value
    told = tuple(pair for pair in setting.options if pair[0] not in free)
    return rows(name).get(setting._replace(options=told))


def planned(name: str) -> dict[Setting, dict[int, grid.Run]]:
    """Return the runs that the grid has for the table `name`."""
    table = TABLES[name]
    at, every = (table.place, table.target), grid.runs(table.target)
    return frame.runs(r for r in every if at in zip(r.places, r.targets, strict=True))


def report(
    name: str, runs: Runs, settings: Iterable[Setting] | None = None, short: bool = False
) -> pd.DataFrame:
    """Return the table `name` of the paper with every setting that it asks for, run or not; or with
    those of `settings` that belong to it. A `short` one does not say what the paper leaves open.

    "±" are standard deviations over seeds (n - 1). The difference is ours minus the paper's, with
    its standard error and degrees of freedom (Welch), and `verdict` is "differs" where its 95 %
    interval leaves the whole tolerance out, "not run", or nothing.
    """
    table = TABLES[name]
    chosen = planned(name) if settings is None else settings
    pairs = [(row_of(setting, name), setting) for setting in chosen]
    unsaid = table.any_value - {"task"} if short else ()
    cells = [
        {"setting": setting.label(*row.keys, without=unsaid)}
        | _cells(setting, column, row.numbers[printed], table.split, runs)
        for row in rows(name).values()
        for own, setting in pairs
        if own is row
        for printed, column in table.columns.items()
        if setting.method != "stl" or column.task in ("", setting.task)
    ]
    return pd.DataFrame(cells).set_index(["setting", "measure"])


def compare(runs: Runs) -> pd.DataFrame:
    """Return the rows of every table that any of `runs` belongs to, under the table's title; those
    of sample data belong to none."""
    found = {}
    for name, table in TABLES.items():
        if settings := [setting for setting in runs if row_of(setting, name)]:
            found[table.title] = report(name, runs, settings)
    return pd.concat(found, names=["table"]) if found else pd.DataFrame()


def _cells(
    setting: Setting, column: Column, theirs: Sample, split: str, runs: Runs
) -> dict[str, object]:
    measure: Measure = column.measure
    text, in_each = column.text, 1
    is_of_baseline = setting.method != "pamal" and not column.of_authors
    if measure == "hypervolume" and split == "test" and is_of_baseline:
        measure, text, in_each, theirs = TOGETHER, UNION, SEEDS, theirs._replace(number=1)
    found = frame.measured(runs, setting, measure, split)
    ours = Sample.of(column.unit * found)
    away, tolerance = ours.minus(theirs), column.tolerance
    if column.in_percent:
        tolerance *= theirs.mean / 100
    word = "differs" if differs(away, tolerance) else ""
    return {
        "measure": text,
        **dict(zip(THEIRS, theirs, strict=True)),
        **dict(zip(OURS, ours._replace(number=ours.number * in_each), strict=True)),
        **dict(zip(AWAY, map(float, away), strict=True)),
        "tolerance": tolerance,
        "verdict": word if ours.number else "not run",
    }


def joint(name: str, runs: Runs) -> pd.DataFrame:
    """Return what the table `name` says as a whole, a row for each measure of three rows or more:
    the `word` on its order with the rank correlation and its p (`of_order`), and the mean shift,
    ours minus the paper's, with Student's 95 % interval over the rows."""
    found, lines = report(name, runs), {}
    for text, of in found[found["seeds"] > 0].groupby(level=1, sort=False):
        if len(of) < 3:
            continue
        ours, theirs = (Sample(*of[columns].to_numpy(float).T) for columns in (OURS, THEIRS))
        ours = ours._replace(number=ours.number / (SEEDS if text == UNION else 1))
        shift = Estimate.of(of["difference"])
        lines[text] = {
            "rows": len(of),
            **of_order(ours, theirs)._asdict(),
            "mean shift": shift.value,
            **dict(zip(("low", "high"), shift.interval(), strict=True)),
            "tolerance": of["tolerance"].mean(),
        }
    return pd.DataFrame.from_dict(lines, "index")


def _named(of: pd.DataFrame) -> pd.DataFrame:
    """Return rows by setting with what all settings begin with, such as the method, as the name of
    the index alone."""
    names = [label.partition(", ") for label in of.index]
    one = len({first for first, _, _ in names}) == 1 < len(names)
    labels = [rest or first if one else first + comma + rest for first, comma, rest in names]
    return of.set_axis(pd.Index(labels, name=names[0][0] if one else "method"))


def beside(name: str, runs: Runs, digits: int = 4) -> Html:
    """Return all rows of the table `name` for a page, folded: ours drawn against the paper's, a
    table for each measure, with what its rows say together (`joint`) in its caption. Where nothing
    is run, the paper's numbers in one table."""
    found, whole = report(name, runs, short=True), joint(name, runs)
    parts = [_not_run(found)]
    if found["seeds"].any():
        parts = [
            _drawn(text, of.droplevel(1), whole.loc[text] if text in whole.index else None, digits)
            for text, of in found.groupby(level=1, sort=False)
        ]
    number = len(found.index.get_level_values(0).unique())
    return folded(f"{TABLES[name].title}, {number} rows", *parts)


def _drawn(text: str, of: pd.DataFrame, whole: "pd.Series[Any] | None", digits: int) -> Html:
    """Return the rows of one measure, drawn, below what they say together."""
    caption = f"<b>{text}</b>, tolerance {of['tolerance'].iloc[0]:g}"
    if whole is not None:
        shift = bracket(Estimate.of(of["difference"].dropna()), digits)
        p = "&lt; 0.001" if whole["p"] < 0.0005 else f"= {whole['p']:.3f}"  # no p is 0
        caption += (
            f". Order: <b>{whole['word']}</b>, rank correlation {whole['correlation']:.2f}, "
            f"p {p}. Mean shift: {shift}"
        )
    of = _named(of)
    low, high = Estimate(*of[AWAY].to_numpy().T).interval()
    texts = pd.DataFrame([_written(row, digits) for _, row in of.iterrows()], of.index)
    return intervals(of.assign(low=low, high=high), texts, digits, caption)


def _not_run(found: pd.DataFrame) -> Html:
    """Return the paper's numbers with the digits that it prints, a column for each measure."""
    columns = {}
    for text, of in found.groupby(level=1, sort=False):
        exact = (k for k in range(4) if np.allclose(of["paper"], of["paper"].round(k), atol=1e-9))
        digits = next(exact, 4)
        samples = (Sample(*row) for row in of[THEIRS].to_numpy(float))
        columns[text] = pd.Series([spread(one, digits) for one in samples], of.droplevel(1).index)
    settings = found.index.get_level_values(0).unique()
    texts = _named(pd.DataFrame(columns).reindex(settings).fillna(""))
    return html(texts.assign(ours="not run"), caption="The paper's numbers, mean ± sd")


def shown(found: pd.DataFrame, digits: int = 4) -> Html:
    """Return rows of a `report` or of `compare` for a page. The tolerance stands in the head of its
    column, or in a column of its own if rows have unlike ones."""
    is_one = found["tolerance"].nunique() == 1
    rows = []
    for _, row in found.iterrows():
        tolerance = f"\N{PLUS-MINUS SIGN}{row['tolerance']:.2g}"
        said = {"difference [95 %]": bracket(Estimate(*row[AWAY]), digits)}
        if is_one:
            said[f"beyond {tolerance}"] = row["verdict"]
        else:
            said |= {"tolerance": tolerance, "beyond it": row["verdict"]}
        rows.append(_written(row, digits) | said)
    return html(pd.DataFrame(rows, found.index).fillna(""))


def by_setting(found: pd.DataFrame, digits: int = 4) -> Html:
    """Return rows of `compare` for a page, one for each setting, with ours and the paper's of each
    measure; and folded below them all that `shown` has."""
    rows: dict[str, dict[str, object]] = {}
    for (_, setting, measure), row in found.iterrows():
        said = _written(row, digits)
        cells = rows.setdefault(setting, {"seeds": said["seeds"]})
        cells[measure] = f"{said['ours ± sd']} ({said['paper ± sd']})"
    of_each = pd.DataFrame.from_dict(rows, "index").fillna("").rename_axis("setting")
    short = html(of_each, caption="Ours, and in brackets the paper's: mean ± sd")
    return Html(f"{short}\n{folded('The differences and their intervals', shown(found, digits))}")


def _written(row: "pd.Series[Any]", digits: int) -> dict[str, object]:
    """Return both sides of a row of a `report` in words."""
    theirs, ours = (Sample(*row[columns]) for columns in (THEIRS, OURS))
    said = {"paper ± sd": spread(theirs, digits), "ours ± sd": spread(ours, digits)}
    return said | {"seeds": row["seeds"] or ""}


def progress(runs: Runs) -> pd.DataFrame:
    """Return a row for each table with a run, linked to its section of our page: in how many of its
    columns the order is reproduced or not, how far these are shifted in the mean, in tolerances,
    and how many of its rows and of its runs are made, with their hours of training and evaluation.
    """
    lines: dict[Html, dict[str, object]] = {}
    for name, of in sorted(TABLES.items(), key=lambda pair: pair[1].number):
        wanted = [(s, seed) for s, seeds in planned(name).items() for seed in seeds]
        made = [runs[s][seed] for s, seed in wanted if seed in runs.get(s, {})]
        if not made:
            continue
        whole = joint(name, runs)
        is_run = report(name, runs)["seeds"].groupby(level=0).any()
        link = Html(f'<a href="../results/tables.html#{of.anchor}">{of.title}</a>')
        lines[link] = {
            "order of its columns": _orders(whole),
            "mean shift, in tolerances": _shifts(whole),
            "rows": f"{is_run.sum()} of {len(is_run)}",
            "runs": f"{len(made)} of {len(wanted)}",
            "hours": f"{sum(record.seconds for record in made) / 3600:.1f}",
        }
    return pd.DataFrame.from_dict(lines, "index").rename_axis("table of the paper")


def _orders(whole: pd.DataFrame) -> Html:
    """Return the words on the columns of a table, each with its number of columns."""
    if whole.empty:
        return Html("")
    counts = whole["word"].value_counts(sort=False)
    if len(counts) == 1:
        return mark(counts.index[0])
    return Html(", ".join(f"{mark(word)} in {count}" for word, count in counts.items()))


def _shifts(whole: pd.DataFrame) -> str:
    """Return from where to where the mean shifts of a table go."""
    if whole.empty:
        return ""
    shifts = whole["mean shift"] / whole["tolerance"]
    ends = dict.fromkeys(f"{end:+.1f}" for end in (shifts.min(), shifts.max()))
    return " to ".join(ends)
