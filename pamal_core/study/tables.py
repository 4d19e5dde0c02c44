"""The paper's tables beside ours: what was to be run, what was run, and what is printed, joined.

What is not run is a row, too. A verdict is of one number (`report`); what the verdicts of a table
are worth together is what they would be of numbers that say nothing (`joint`).
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study import frame, paper
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import value
from pamal_core.study.paper import SEEDS, TABLES, Row, Table
from pamal_core.study.statistics import Estimate, Sample, seeds_needed, verdict

UNION = f"hypervolume of {SEEDS} seeds \N{UPWARDS ARROW}"
"""How the paper measures a baseline on test (C2): by the points of its three seeds together."""
SHUFFLES = 2000
WORDS = ("agrees", "differs", "undecided")
NULLS = ("a constant", "the paper shuffled", "LS in every row")


def row_of(setting: Setting, name: str) -> Row | None:
    """The row of the table `name` that runs of `setting` belong to, None where it has none.

    A run is the paper's where every option that it has differently is free there, or has the value
    of the row.
    """
    table, values = TABLES[name], setting.values
    differing = {option: v for option, v in setting.options if option not in table.free}
    for row in paper.rows(name):
        told = {**table.fixed, **row.keys}
        if (
            (setting.experiment, setting.method) == (table.experiment, row.method)
            and all(told.get(option) == v for option, v in differing.items())
            and all(values[option] == v for option, v in told.items())
        ):
            return row
    return None


def planned(name: str) -> dict[Setting, list[int]]:
    """The settings that the grid has for the table `name`, each with its seeds."""
    table = TABLES[name]
    found: dict[Setting, list[int]] = {}
    for run in grid.runs(table.target):
        if (table.place, table.target) in zip(run.places, run.targets, strict=True):
            found.setdefault(frame.of(run), []).append(run.seed)
    return found


def report(name: str, runs: Runs, settings: Iterable[Setting] | None = None) -> pd.DataFrame:
    """The table `name` of the paper with every setting that it asks for, run or not; or with those
    of `settings` that belong to it.

    Ours is the mean over the seeds that there are, the paper's over three; "±" are standard
    deviations over seeds (n - 1). The difference is ours minus the paper's, with its standard error
    and degrees of freedom (Welch); `verdict` says what it means for the margin that `columns.csv`
    declares; and "seeds to decide" how many of ours would give a verdict if means and deviations
    stayed as they are, infinite where the paper's seeds are too few for any number of ours.
    """
    table, order = TABLES[name], paper.rows(name)
    chosen = planned(name) if settings is None else settings
    pairs = [(row, setting) for setting in chosen if (row := row_of(setting, name))]
    rows = [
        _cells(setting, row, printed, table, runs.get(setting, {}))
        for row, setting in sorted(pairs, key=lambda pair: order.index(pair[0]))
        for printed, column in table.columns.items()
        if setting.method != "stl"
        or column.task in ("", paper.TASKS[table.experiment][setting.values["task"]])
    ]
    return pd.DataFrame(rows).set_index(["setting", "measure"]).rename_axis([None, None])


def compare(runs: Runs) -> pd.DataFrame:
    """The rows of every table that any of `runs` belongs to, under the table's title; those of
    sample data belong to none."""
    found = {}
    for name, table in TABLES.items():
        if settings := [setting for setting in runs if row_of(setting, name)]:
            found[table.title] = report(name, runs, settings)
    return pd.concat(found) if found else pd.DataFrame()


def _cells(
    setting: Setting, row: Row, printed: str, table: Table, runs: Mapping[int, Record]
) -> dict[str, object]:
    column, theirs = table.columns[printed], row.numbers[printed]
    text, in_each = column.text, 1
    every = [column.unit * value(record, column.measure, table.split) for record in runs.values()]
    if column.measure == "hypervolume" and table.split == "test" and row.method != "pamal":
        text, in_each, theirs = UNION, SEEDS, theirs._replace(number=1)
        every = [frame.volume(group, "test") for group in frame.disjoint(runs, SEEDS)]
    ours = Sample.of([number for number in every if not np.isnan(number)])
    away, margin = ours.minus(theirs), column.margin_at(float(theirs.mean))

    def decides(groups: int) -> bool:
        return bool(verdict(ours._replace(number=groups).minus(theirs), margin) != "undecided")

    return {
        "setting": setting.label(*(key for key in table.keys if key in row.keys)),
        "measure": text,
        "paper": theirs.mean,
        "paper ±": theirs.deviation,
        "paper's seeds": theirs.number,
        "ours": ours.mean,
        "ours ±": ours.deviation,
        "seeds": ours.number * in_each,
        "difference": float(away.value),
        "error": float(away.error),
        "freedom": float(away.freedom),
        "margin": margin,
        "verdict": str(verdict(away, margin)) if ours.number else "not run",
        "seeds to decide": in_each * seeds_needed(decides) if away.error > 0 else np.nan,
    }


def joint(name: str, runs: Runs) -> pd.DataFrame:
    """What the verdicts of the table `name` say together, a row for each measure of three rows or
    more.

    The mean difference ours minus the paper's, with Student's 95 % interval over the rows; the rank
    correlation of the two columns and its one-sided permutation p; how many rows agree, and how
    many would if our results were each of `NULLS`: the mean of the paper's column in every row, the
    paper's own in another order (a mean over `SHUFFLES`), ours of LS in every row. A table tells
    its rows apart where more of them agree than with the first and the last of these, and than with
    all but 5 % of the shuffles.
    """
    found, table, rows = report(name, runs), TABLES[name], {}
    ls = runs.get(Setting(table.experiment, "ls"), {}).values()
    rng = np.random.default_rng(0)
    for text, of in found[found["seeds"] > 0].groupby(level=1, sort=False):
        if len(of) < 3:
            continue
        if text == UNION:
            of_ls = of.loc[[label == paper.PRINTED["ls"] for label, _ in of.index], "ours"]
        else:
            (column,) = (c for c in table.columns.values() if c.text == text)
            of_ls = [column.unit * value(record, column.measure, table.split) for record in ls]
        ours, spread, theirs, margin = (
            of[column].to_numpy() for column in ("ours", "ours ±", "paper", "margin")
        )
        number = of["seeds"].to_numpy() / (SEEDS if text == UNION else 1)
        printed = Sample(theirs, of["paper ±"].to_numpy(), of["paper's seeds"].to_numpy())
        orders = rng.permuted(np.tile(np.arange(len(of)), (SHUFFLES, 1)), axis=1)
        agree, constant, shuffled, as_ls = (
            (verdict(Sample(means, spread, number).minus(printed), margin) == "agrees").sum(-1)
            for means in (
                ours,
                np.full_like(theirs, theirs.mean()),
                theirs[orders],
                np.full_like(theirs, np.mean([*of_ls] or [np.nan])),
            )
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


def shown(found: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """A `report` for a page: numbers with as many digits, an interval in one cell, the number of
    seeds that would decide only where nothing is decided, nothing for NaN."""

    def text(number: float, sign: str = "") -> str:
        return "" if np.isnan(number) else f"{number:{sign}.{digits}f}"

    def spread(mean: float, deviation: float) -> str:
        return text(mean) + ("" if np.isnan(deviation) else f" ± {text(deviation)}")

    rows = []
    for _, of in found.iterrows():
        away = Estimate(of["difference"], of["error"], of["freedom"])
        ends = {
            f"{100 * c:.0f} %": [text(end, "+") for end in away.interval(c)] for c in (0.9, 0.95)
        }
        rows.append(
            {
                "paper": spread(of["paper"], of["paper ±"]),
                "ours": spread(of["ours"], of["ours ±"]),
                "seeds": of["seeds"],
                "difference": text(of["difference"], "+"),
                **{name: " to ".join(filter(None, pair)) for name, pair in ends.items()},
                "margin": text(of["margin"]),
                "verdict": of["verdict"],
                "seeds to decide": _count(of["seeds to decide"])
                if of["verdict"] == "undecided"
                else "",
            }
        )
    return pd.DataFrame(rows, found.index)


def _count(seeds: float) -> str:
    if np.isnan(seeds):
        return "two or more"
    return f"{seeds:.0f}" if np.isfinite(seeds) else "more of the paper's"


def shown_jointly(found: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """A `joint` for a page; empty where no measure has three rows."""
    if found.empty:
        return found
    return pd.DataFrame(
        {
            "rows": found["rows"],
            "mean difference": found["mean difference"].map(f"{{:+.{digits}f}}".format),
            "95 %": [
                f"{low:+.{digits}f} to {high:+.{digits}f}"
                for low, high in found[["low", "high"]].to_numpy()
            ],
            "rank correlation": found["rank correlation"].map("{:.2f}".format),
            "p of the rank": found["p of the rank"].map("{:.3f}".format),
            "agree": found["agree"],
            **{null: found[null].map("{:.3g}".format) for null in NULLS},
            "p of the count": found["p of the count"].map("{:.3f}".format),
            "tells its rows apart": found["tells its rows apart"].map({True: "yes", False: "no"}),
        }
    )


def progress(runs: Runs) -> pd.DataFrame:
    """A row for each table: how many of its runs are made, their hours of training and evaluation,
    how many numbers agree, differ and are undecided, and the target of the workflow that makes the
    rest."""
    found = {}
    for name, table in TABLES.items():
        wanted = [(s, seed) for s, seeds in planned(name).items() for seed in seeds]
        made = [runs[s][seed] for s, seed in wanted if seed in runs.get(s, {})]
        verdicts = report(name, runs)["verdict"].value_counts()
        found[table.title] = {
            "runs made": len(made),
            "of": len(wanted),
            "hours": round(sum(record.seconds for record in made) / 3600, 2),
            **{word: verdicts.get(word, 0) for word in WORDS},
            "TARGET": table.target,
        }
    return pd.DataFrame.from_dict(found, orient="index")
