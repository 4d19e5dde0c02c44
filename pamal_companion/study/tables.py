"""The paper's tables beside ours: what was to be run, what was run, and what is printed, joined.

What is not run is a row, too. A verdict is of one number (`report`); what the verdicts of a table
are worth together is what they would be of numbers that say nothing (`joint`).
"""

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pamal_companion.plots.table import Html, drawn, intervals
from pamal_companion.plots.table import table as html
from pamal_companion.runs import grid
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Measure, OfSeeds, Runs, Setting
from pamal_companion.study.layout import TABLES, Column
from pamal_companion.study.paper import SEEDS, Row
from pamal_companion.study.statistics import (
    Estimate,
    Sample,
    bracket,
    rounded,
    seeds_needed,
    spread,
    verdict,
)

TOGETHER = OfSeeds("hypervolume", SEEDS)
"""How the paper measures a baseline on test (C2): by the points of its three seeds together."""
UNION = f"{TOGETHER} \N{UPWARDS ARROW}"
THEIRS, OURS = ["paper", "paper ±", "paper's seeds"], ["ours", "ours ±", "seeds"]
AWAY = ["difference", "error", "freedom"]
"""The columns of a report that are a `Sample`, and those of an `Estimate`."""
SHUFFLES = 2000
WORDS = ("agrees", "differs", "undecided")
NULLS = ("a constant", "the paper shuffled", "LS in every row")


@cache
def rows(name: str) -> dict[Setting, Row]:
    """Return the rows of the table `name` by their settings, in the paper's order."""
    of = TABLES[name]
    return {
        frame.setting(of.experiment, row.method, **of.fixed, **row.keys): row
        for row in paper.rows(name)
    }


def row_of(setting: Setting, name: str) -> Row | None:
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
    its standard error and degrees of freedom (Welch), and `verdict` what it means for the margin of
    its column. "seeds to decide" are how many of ours would give one if means and deviations stayed
    as they are, infinite where the paper's seeds are too few for any number of ours.
    """
    table, order = TABLES[name], [*rows(name).values()]
    chosen = planned(name) if settings is None else settings
    pairs = [(row, setting) for setting in chosen if (row := row_of(setting, name))]
    unsaid = table.any_value - {"task"} if short else ()
    cells = [
        {"setting": setting.label(*(key for key in table.keys if key in row.keys), without=unsaid)}
        | _cells(setting, column, row.numbers[printed], table.split, runs)
        for row, setting in sorted(pairs, key=lambda pair: order.index(pair[0]))
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
    if measure == "hypervolume" and split == "test" and setting.method != "pamal":
        measure, text, in_each, theirs = TOGETHER, UNION, SEEDS, theirs._replace(number=1)
    found = frame.measured(runs, setting, measure, split)
    ours = Sample.of(column.unit * found.to_numpy())
    away, margin = ours.minus(theirs), column.margin_at(float(theirs.mean))

    def decides(groups: int) -> bool:
        return bool(verdict(ours._replace(number=groups).minus(theirs), margin) != "undecided")

    return {
        "measure": text,
        **dict(zip(THEIRS, theirs, strict=True)),
        **dict(zip(OURS, ours._replace(number=ours.number * in_each), strict=True)),
        **dict(zip(AWAY, map(float, away), strict=True)),
        "margin": margin,
        "verdict": str(verdict(away, margin)) if ours.number else "not run",
        "seeds to decide": in_each * seeds_needed(decides) if away.error > 0 else np.nan,
    }


def joint(name: str, runs: Runs) -> pd.DataFrame:
    """Return what the verdicts of the table `name` say together, a row for each measure of three
    rows or more.

    The mean difference ours minus the paper's, with Student's 95 % interval over the rows; the rank
    correlation of the two columns and its one-sided permutation p; how many rows agree, and how
    many would if our results were each of `NULLS`: the mean of the paper's column in every row, the
    paper's own in another order (a mean over `SHUFFLES`), ours of LS in every row. A table tells
    its rows apart where more of them agree than with the first and the last of these, and than with
    all but 5 % of the shuffles.
    """
    found, table, rows = report(name, runs), TABLES[name], {}
    measures: dict[str, tuple[Measure, float]] = {
        column.text: (column.measure, column.unit) for column in table.columns.values()
    }
    measures[UNION] = TOGETHER, 1.0
    rng = np.random.default_rng(0)
    for text, of in found[found["seeds"] > 0].groupby(level=1, sort=False):
        if len(of) < 3:
            continue
        measure, unit = measures[text]
        of_ls = unit * frame.measured(runs, Setting(table.experiment, "ls"), measure, table.split)
        own, printed = (Sample(*of[columns].to_numpy().T) for columns in (OURS, THEIRS))
        own = own._replace(number=own.number / (SEEDS if text == UNION else 1))
        ours, theirs, margin = own.mean, printed.mean, of["margin"].to_numpy()
        orders = rng.permuted(np.tile(np.arange(len(of)), (SHUFFLES, 1)), axis=1)
        agree, constant, shuffled, as_ls = (
            (verdict(own._replace(mean=means).minus(printed), margin) == "agrees").sum(-1)
            for means in (ours, theirs.mean(), theirs[orders], of_ls.mean())
        )
        ranks = [rankdata(column) - (len(of) + 1) / 2 for column in (ours, theirs)]
        rank, scale = ranks[0] @ ranks[1], np.linalg.norm(ranks, axis=1).prod()
        by_chance = (1 + (shuffled >= agree).sum()) / (1 + SHUFFLES)
        shift = Estimate.of(of["difference"].to_numpy())
        rows[text] = {
            "rows": len(of),
            "mean difference": shift.value,
            **dict(zip(("low", "high"), shift.interval(), strict=True)),
            "rank correlation": rank / scale if scale else np.nan,
            "p of the rank": (1 + (ranks[1][orders] @ ranks[0] >= rank - 1e-9).sum())
            / (1 + SHUFFLES),
            "agree": int(agree),
            **dict(zip(NULLS, (constant, shuffled.mean(), as_ls), strict=True)),
            "p of the count": by_chance,
            "tells its rows apart": bool(agree > max(constant, as_ls) and by_chance < 0.05),
        }
    return pd.DataFrame.from_dict(rows, "index")


def _measures(found: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return each measure of a `report` with its rows, by the setting. What all settings begin
    with, such as the method, is the name of the index."""
    for text, of in found.groupby(level=1, sort=False):
        names = [label.partition(", ") for label in of.index.get_level_values(0)]
        one = len({first for first, _, _ in names}) == 1 < len(names)
        labels = [rest or first if one else first + comma + rest for first, comma, rest in names]
        yield str(text), of.set_axis(pd.Index(labels, name=names[0][0] if one else "method"))


def agreement(name: str, runs: Runs, digits: int = 4) -> Html:
    """Return each number of the table `name` with a verdict, for a page, drawn against the paper's,
    and above those of a measure what they say together (`joint`). A sentence where nothing is
    run."""
    found, whole, parts = report(name, runs, short=True), joint(name, runs), []
    missing = (found["verdict"] == "not run").sum()
    if missing == len(found):
        return Html(
            f"<p>None of the runs of this table is made, so that there is no number of ours. "
            f"<code>snakemake -s workflow/Snakefile {TABLES[name].target}</code> makes them.</p>"
        )
    for text, of in _measures(found[found["verdict"] != "not run"]):
        counts = ((word, (of["verdict"] == word).sum()) for word in WORDS)
        words = [f"{n} {word if n == 1 else word.removesuffix('s')}" for word, n in counts if n]
        said = f"<b>{text}</b>: {', '.join(words)}; margin {of['margin'].iloc[0]:g}."
        if text in whole.index:
            all_of_it = whole.loc[text]
            nulls = ", ".join(f"{all_of_it[null]:.3g} if ours were {null}" for null in NULLS)
            tells = "tells" if all_of_it["tells its rows apart"] else "does not tell"
            rank, count = (rounded(all_of_it[f"p of the {p}"], "= ") for p in ("rank", "count"))
            away = bracket(Estimate.of(of["difference"].to_numpy()), digits)
            said += (
                f"<br>All rows together: mean difference {away}; rank correlation with the paper's "
                f"{all_of_it['rank correlation']:.2f} (p {rank}). "
                f"{all_of_it['agree']} of {len(of)} rows agree; it would be {nulls}. So the number "
                f"of agreements {tells} the rows apart (p {count})."
            )
        ends = Estimate(*of[AWAY].to_numpy().T).interval()
        parts += [f"<p>{said}</p>", intervals(of.assign(low=ends[0], high=ends[1]), digits)]
    parts.append(f"<p>{missing} numbers of this table have no run of ours yet.</p>" * bool(missing))
    return Html("\n".join(parts))


def details(name: str, runs: Runs, digits: int = 4) -> Html:
    """Return the rows of a `report` in full for a page, a table for each measure."""
    found = _measures(report(name, runs, short=True))
    return Html("\n".join(f"<p><b>{text}</b></p>{shown(of, digits, text)}" for text, of in found))


def shown(found: pd.DataFrame, digits: int = 4, measure: str = "") -> Html:
    """Return rows of a `report` or of `compare` for a page; the best of ours in bold where all are
    of one `measure`. "seeds to decide" counts ours, where nothing is decided."""
    needed = found["seeds to decide"].map("{:.0f}".format)
    needed = needed.replace({"nan": "two or more", "inf": "more of the paper's"})
    rows = [
        {
            "paper ± sd": spread(Sample(*row[THEIRS]), digits),
            "ours ± sd": spread(Sample(*row[OURS]), digits),
            "seeds": row["seeds"] or "",
            "difference [95 %]": bracket(Estimate(*row[AWAY]), digits),
            "verdict": row["verdict"],
            "seeds to decide": count if row["verdict"] == "undecided" else "",
        }
        for (_, row), count in zip(found.iterrows(), needed, strict=True)
    ]
    best = {"ours ± sd": not measure.endswith("\N{DOWNWARDS ARROW}")} if measure else {}
    return html(pd.DataFrame(rows, found.index), best=best, filters=["verdict"])


def progress(runs: Runs) -> pd.DataFrame:
    """Return a row for each table: how many of its runs are made, their hours of training and
    evaluation, how many numbers agree, differ and are undecided, the mean over its measures of how
    far ours are from the paper's, in margins, and the target of the workflow that makes the
    rest."""
    found = {}
    for name, table in TABLES.items():
        wanted = [(s, seed) for s, seeds in planned(name).items() for seed in seeds]
        made = [runs[s][seed] for s, seed in wanted if seed in runs.get(s, {})]
        of = report(name, runs)
        verdicts = of["verdict"].value_counts()
        away = Estimate.of((of["difference"] / of["margin"]).dropna().to_numpy())
        found[table.title] = {
            **{word: verdicts.get(word, 0) for word in WORDS},
            "ours \N{MINUS SIGN} paper, \N{PLUS-MINUS SIGN}3 margins": drawn(
                away.value, *away.interval(), 1.0, 3.0, 2
            ),
            "runs made": len(made),
            "of": len(wanted),
            "hours": f"{sum(record.seconds for record in made) / 3600:.2f}",
            "target": table.target,
        }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("table")
