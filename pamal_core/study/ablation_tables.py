"""The records of an ablation as tables, some beside the paper's numbers. No torch here."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.runs.records import Record
from pamal_core.study.pairs import BySeed, differences
from pamal_core.study.paper import table

NONE = "none"
"""The penalty of a run at lambda = 0."""

MEASURES: dict[str, Callable[[Record], float]] = {
    "hypervolume ↑": Record.hypervolume,
    "rank correlation ↓": Record.order,
    "ordered pairs ↑": lambda record: float(record.front().on("loss").ordered_pairs().mean()),
}
"""What is compared on validation. The last two are of a task's loss and how much a point cares
about it, means over the tasks: -1, and a share of 1, where the front is in order."""


def penalty_of(record: Record) -> str:
    """The penalty of a run by its name in `ablation_multiforward.PENALTIES`, or `NONE`."""
    if not record.options["lam"]:
        return NONE
    sign = str(record.options.get("penalty", "ordered"))
    skip = record.options.get("skip", "never")
    return sign if skip == "never" else f"{sign}+{skip}"


def long(records: Sequence[Record]) -> pd.DataFrame:
    """A row per run: penalty, W, lam, seed; on validation its hypervolume, and the rank correlation
    of each task's weight with its loss, -1 if in order."""
    rows = []
    for record in records:
        correlations = record.summary["validation"]["spearman"].items()
        order = {n: value for n, value in correlations if n.endswith("/loss")}
        setting = {name: record.options[name] for name in ("W", "lam")}
        measured = {"hypervolume": record.hypervolume()} | order
        rows.append({"penalty": penalty_of(record)} | setting | {"seed": record.seed} | measured)
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(frame.columns[4:], float))


def grid(records: Sequence[Record], penalty: str, column: str) -> pd.DataFrame:
    """The mean over seeds of a column of `long` for one penalty: a row per W, a column per lambda.

    lambda = 0, which has none, is in the grid of each penalty. NaN where there is no run.
    """
    runs = long(records)
    chosen = runs[runs.penalty.isin([penalty, NONE])]
    return chosen.pivot_table(index="W", columns="lam", values=column, dropna=False)


def hypervolume_table(records: Sequence[Record], penalties: Sequence[str]) -> pd.DataFrame:
    """The tables of appendix B1: validation hypervolume, higher is better, of each W and lambda.

    Mean, largest and (population) standard deviation over the seeds, for each penalty and in the
    paper. Its columns are NaN for other data than the full set it used, and at W = 1, which it only
    draws. With a single seed there is no deviation: NaN.
    """
    runs = long(records)
    parts = {}
    for name in penalties:
        chosen = runs[runs.penalty.isin([name, NONE])].groupby(["W", "lam"]).hypervolume
        std = chosen.std(ddof=0).where(chosen.count() > 1)
        parts[name] = pd.DataFrame({"mean": chosen.mean(), "max": chosen.max(), "std": std})
    found = pd.concat(parts, axis=1).sort_index()
    printed = _printed(records[0]).reindex(found.index)
    return found.join(pd.concat({"paper": printed}, axis=1))


def agreement(hypervolumes: pd.DataFrame) -> pd.DataFrame:
    """How a table of `hypervolume_table` compares with the paper's: a row per penalty.

    Over the settings that both have, the mean of our means minus the paper's, the mean of its
    absolute value (lower is better), and the rank correlation of the two (1: the same order). NaN
    without the paper's numbers. And the setting with the largest mean.
    """
    means = hypervolumes.xs("mean", axis=1, level=1)
    paper = means.pop("paper")
    rows = {}
    for name, mean in means.items():
        difference = mean - paper
        W, lam = mean.idxmax()
        rows[name] = {
            "mean difference": difference.mean(),
            "mean absolute difference": difference.abs().mean(),
            "rank correlation": mean.corr(paper, method="spearman"),
            "best setting": f"W={W}, λ={lam:g}",
        }
    return pd.DataFrame(rows).T.infer_objects()


def effects(records: Sequence[Record], penalties: Sequence[str]) -> pd.DataFrame:
    """What a penalty changes: `pairs.differences` of runs without one, "without", and with it, on
    validation; a row for each of `MEASURES`, each of `penalties` and lambda.

    The number of a seed is a mean over those W for which it has both runs.
    """
    rows = [
        {"penalty": penalty_of(r), "lam": r.options["lam"], "seed": r.seed, "W": r.options["W"]}
        | {name: measure(r) for name, measure in MEASURES.items()}
        for r in records
    ]
    runs = pd.DataFrame(rows)
    lams = sorted({r.options["lam"] for r in records} - {0.0})
    pairs = {
        (measure, name, f"{lam:g}"): _by_seed(runs, measure, name, lam)
        for measure in MEASURES
        for name in penalties
        for lam in lams
    }
    return differences(pairs, ("without", "with")).rename_axis(["validation", "penalty", "λ"])


def _by_seed(runs: pd.DataFrame, measure: str, penalty: str, lam: float) -> tuple[BySeed, BySeed]:
    """`measure` without a penalty and with this one, means over the W that have both."""
    chosen = [
        runs[(runs.penalty == name) & (runs.lam == value)].set_index(["seed", "W"])[measure]
        for name, value in ((NONE, 0.0), (penalty, lam))
    ]
    both = pd.concat(chosen, axis=1, keys=range(2)).dropna().groupby("seed").mean()
    return both[0].to_dict(), both[1].to_dict()


def sampling_table(records: Sequence[Record]) -> pd.DataFrame:
    """A row per p, the mean over its seeds on test: the best value of each objective along the
    subspace and its value in the middle of it, the hypervolume, and the cosine of the members at
    the end of training."""
    rows = []
    for record in records:
        front = record.front("test")
        rows.append(
            {"p": record.options["p"]}
            | {f"{name}, best": value for name, value in front.best().items()}
            | {f"{name}, middle": value for name, value in front.middle().items()}
            | {"hypervolume": record.hypervolume("test")}
            | {"cosine of the members": record.summary["member_similarity"]}
        )
    return pd.DataFrame(rows).groupby("p").mean()


def similarities(records: Sequence[Record]) -> dict[float, list[np.ndarray]]:
    """The cosine of the members after each epoch, for each p a row per seed."""
    return {
        p: [np.array([row["member_similarity"] for row in r.history]) for r in runs]
        for p, runs in by_p(records).items()
    }


def fronts(records: Sequence[Record]) -> dict[tuple[int, float], dict[str, list[Front]]]:
    """The validation fronts of each (W, lambda), by penalty, a front per seed."""
    found: dict[tuple[int, float], dict[str, list[Front]]] = {}
    for record in records:
        panel = found.setdefault((record.options["W"], record.options["lam"]), {})
        panel.setdefault(penalty_of(record), []).append(record.front("validation"))
    return found


def by_p(records: Sequence[Record]) -> dict[float, list[Record]]:
    """The runs of each p, in their order."""
    found: dict[float, list[Record]] = {}
    for record in records:
        found.setdefault(record.options["p"], []).append(record)
    return found


def _printed(record: Record) -> pd.DataFrame:
    """Mean, max and std of the paper's multi-forward table by W and lambda; no rows for data that
    is not what it used."""
    rows = table(f"multiforward_{record.experiment}").set_index(["W", "lam"])
    own = {"census": "census/full/age+education/as_released/"}
    comparable = record.data.startswith(own.get(record.experiment, f"{record.experiment}/full/"))
    return rows[["mean", "max", "std"]].iloc[: len(rows) if comparable else 0]
