"""One experiment under many settings: W times lambda, the draws of alpha, PHN and COSMOS.

They are given as `frame.Runs`, of full data or of a sample alike.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.plots.studies import Winner
from pamal_core.study import paper, tables
from pamal_core.study.frame import Runs, Setting, is_full
from pamal_core.study.measures import value
from pamal_core.study.statistics import differences

NONE = "none"
"""The penalty of a run at lambda = 0."""
THRESHOLDS = (None, -0.5, -0.6)
"""What Spearman's correlation must be below; None asks for nothing."""
CHANGED = {
    "hypervolume ↑": "hypervolume",
    "rank correlation ↓": "order",
    "ordered pairs ↑": "ordered pairs",
}
"""What a penalty changes on validation; the last two are -1, and 1, where the front is in order."""


def penalty(setting: Setting) -> str:
    """The penalty of `setting`: its sign, and the rule that skips it, if any; `NONE` at lambda =
    0."""
    values = setting.values
    if not values["lam"]:
        return NONE
    return values["penalty"] + ("" if values["skip"] == "never" else f"+{values['skip']}")


def multi_forward(runs: Runs, measures: Sequence[str]) -> pd.DataFrame:
    """A row for each run: penalty, W, lam, seed and `measures` on validation."""
    return pd.DataFrame(
        {
            "penalty": penalty(setting),
            "W": setting.values["W"],
            "lam": setting.values["lam"],
            "seed": seed,
            **{name: value(record, name, "validation") for name in measures},
        }
        for setting, by_seed in runs.items()
        for seed, record in by_seed.items()
    )


def of_penalty(found: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows of `multi_forward` with this penalty, and those at lambda = 0, which have none."""
    return found[found.penalty.isin([name, NONE])]


def hypervolumes(runs: Runs, penalties: Sequence[str]) -> pd.DataFrame:
    """The tables of appendix B1: validation hypervolume, higher is better, of each W and lambda.

    Mean, largest and standard deviation over seeds (n - 1), for each penalty and in the paper. The
    paper's are NaN where it has no number, as at W = 1, which it only draws, or where a run is not
    the paper's: of a sample, or with other options.
    """
    found, parts = multi_forward(runs, ["hypervolume"]), {}
    for name in penalties:
        by = of_penalty(found, name).groupby(["W", "lam"])["hypervolume"]
        parts[name] = by.agg(["mean", "max", "std"])
    ours = pd.concat(parts, axis=1).sort_index()
    name = f"multiforward_{next(iter(runs)).experiment}"
    printed = paper.table(name).astype({"lam": float}).set_index(["W", "lam"])
    printed = printed[["mean", "max", "std"]]
    printed["std"] *= np.sqrt(paper.TABLES[name].divisor / 2)
    theirs = printed.loc[printed.index.isin(_settings_of_the_paper(name, runs))]
    return ours.join(pd.concat({"paper": theirs.reindex(ours.index)}, axis=1))


def _settings_of_the_paper(name: str, runs: Runs) -> set[tuple[Any, ...]]:
    """The values of the keys of the table `name` with which all of `runs` are the paper's."""
    found: dict[bool, set[tuple[Any, ...]]] = {True: set(), False: set()}
    for setting, by_seed in runs.items():
        if setting.method in {row.method for row in paper.rows(name)}:
            full = all(map(is_full, by_seed.values()))
            belongs = full and tables.row_of(setting, name) is not None
            found[belongs].add(tuple(setting.values[key] for key in paper.TABLES[name].keys))
    return found[True] - found[False]


def agreement(found: pd.DataFrame) -> pd.DataFrame:
    """How a table of `hypervolumes` compares with the paper's: a row per penalty.

    Over the settings that both have, the mean of our means minus the paper's, the mean of its
    absolute value (lower is better), and the rank correlation of the two (1: the same order); NaN
    without the paper's numbers. And the setting with the largest mean.
    """
    means = found.xs("mean", axis=1, level=1)
    theirs, rows = means.pop("paper"), {}
    for name, mean in means.items():
        W, lam = mean.idxmax()
        rows[name] = {
            "mean difference": (mean - theirs).mean(),
            "mean absolute difference": (mean - theirs).abs().mean(),
            "rank correlation": mean.corr(theirs, method="spearman"),
            "best setting": f"W={W}, λ={lam:g}",
        }
    return pd.DataFrame(rows).T.infer_objects()


def effects(runs: Runs, penalties: Sequence[str]) -> pd.DataFrame:
    """What a penalty changes: runs without one, "without", and with it, on validation; a row for
    each of `CHANGED`, each of `penalties` and lambda. The number of a seed is a mean over those W
    for which it has both runs."""
    found, at = multi_forward(runs, [*CHANGED.values()]), ["seed", "W"]
    without, pairs = found[found.penalty == NONE].set_index(at), {}
    for text, measure in CHANGED.items():
        for name in penalties:
            for lam in sorted({*found.lam} - {0.0}):
                with_it = found[(found.penalty == name) & (found.lam == lam)].set_index(at)
                both = pd.concat([without[measure], with_it[measure]], axis=1, keys=range(2))
                means = both.dropna().groupby("seed").mean()
                pairs[text, name, f"{lam:g}"] = means[0], means[1]
    return differences(pairs, ("without", "with")).rename_axis(["validation", "penalty", "λ"])


def maps(runs: Runs, penalties: Sequence[str], measures: Mapping[str, str]) -> dict[str, Any]:
    """For each penalty and measure (by the text that names it) the means over seeds: a row for each
    W, a column for each lambda, NaN where there is no run."""
    found = multi_forward(runs, [*measures])
    return {
        name: {
            text: of_penalty(found, name).pivot_table(
                index="W", columns="lam", values=measure, dropna=False
            )
            for measure, text in measures.items()
        }
        for name in penalties
    }


def fronts(runs: Runs) -> dict[tuple[int, float], dict[str, list[Front]]]:
    """The validation fronts of each (W, lambda), by penalty, a front per seed."""
    found: dict[tuple[int, float], dict[str, list[Front]]] = {}
    for setting, by_seed in runs.items():
        panel = found.setdefault((setting.values["W"], setting.values["lam"]), {})
        panel[penalty(setting)] = [record.front() for record in by_seed.values()]
    return found


def sampling(runs: Runs) -> pd.DataFrame:
    """A row per p, the mean over its seeds on test: the best value of each objective along the
    subspace and its value in the middle of it, the hypervolume, and the cosine of the members at
    the end of training."""
    rows = []
    for setting, by_seed in runs.items():
        for record in by_seed.values():
            front = record.front("test")
            rows.append(
                {"p": setting.values["p"]}
                | {f"{name}, best": value for name, value in front.best().items()}
                | {f"{name}, middle": value for name, value in front.middle().items()}
                | {
                    name: value(record, name, "test")
                    for name in ("hypervolume", "cosine of the members")
                }
            )
    return pd.DataFrame(rows).groupby("p").mean()


# PHN and COSMOS (appendix B4)


def printed(name: str) -> pd.DataFrame:
    """The paper's table `name`, such as "phn_census": a row per setting, in its order, indexed by
    what it varies; validation, means over three seeds. Spearman: lower is better."""
    rows = paper.table(name).astype({"p": float})
    if "solver" in rows:
        rows["solver"] = rows.solver.str.lower()
    return rows.set_index([*paper.TABLES[name].keys])


def swept(name: str, runs: Runs) -> pd.DataFrame:
    """`printed`, with the task names for the accuracies, of our `runs` of its method; and `order`.

    Validation, means over the seeds. Spearman is `Front.competition`, which is as low where the
    trade-off works backwards. `order` tells: the rank correlation of a task's weight with its
    accuracy, mean over tasks, 1 is right and -1 backwards. Either is NaN where one task has the
    same accuracy at every alpha, with any of the seeds.
    """
    keys, rows = [*paper.TABLES[name].keys], []
    for setting, by_seed in runs.items():
        if setting.method == name.split("_")[0]:
            for record in by_seed.values():
                front = record.front()
                numbers = {
                    "hypervolume": value(record, "hypervolume", "validation"),
                    "spearman": front.competition(),
                    "order": front.spearman().mean(),
                }
                rows.append({key: setting.values[key] for key in keys} | front.best() | numbers)
    groups = pd.DataFrame(rows).groupby(keys, sort=False)
    return groups.mean().where(groups.count().eq(groups.size(), axis=0))


def beside_the_paper(name: str, runs: Runs) -> pd.DataFrame:
    """`swept` and `printed` side by side, as "measured" and "paper"; the latter is NaN where the
    paper has no such setting, or a run is not the paper's. `swept` alone where none is."""
    ours, papers = swept(name, runs), _settings_of_the_paper(name, runs)
    if not papers:
        return ours
    theirs = printed(name).set_axis([*ours.columns[:-1]], axis=1)
    theirs = theirs[theirs.index.isin(papers)].reindex(ours.index)
    return pd.concat({"measured": ours, "paper": theirs}, axis=1)


def winner(table: pd.DataFrame, threshold: float | None) -> tuple[Any, ...] | None:
    """The setting with the largest hypervolume among those with Spearman below `threshold`.

    None where there is none. A setting without a correlation is below no threshold. Of equal
    settings the first.
    """
    allowed = table if threshold is None else table[table.spearman < threshold]
    return None if allowed.empty else tuple(allowed.hypervolume.idxmax())


def criterion(threshold: float | None) -> str:
    """`threshold` in words."""
    return "no threshold" if threshold is None else f"S < \N{MINUS SIGN}{-threshold:g}"


def describe(names: Sequence[str], values: Sequence[Any] | None) -> str:
    """A setting in words; None is that of no winner."""
    if values is None:
        return "no setting passes"
    pairs = zip(names, values, strict=True)
    return ", ".join(f"{n} = {v}" if isinstance(v, str) else f"{n} = {v:g}" for n, v in pairs)


def winners(sweeps: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per method and threshold: the winning setting in `sweeps[method]`, and its numbers."""
    rows = {}
    for method, table in sweeps.items():
        known = table[[n for n in ("hypervolume", "spearman", "order") if n in table]]
        for threshold in THRESHOLDS:
            found = winner(table, threshold)
            numbers = {} if found is None else known.loc[found].to_dict()
            named = {"setting": describe(table.index.names, found)} | numbers
            rows[method, criterion(threshold)] = named
    return pd.DataFrame.from_dict(rows, "index").rename_axis(["method", "criterion"])


def panels(runs: Runs, sweeps: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, Winner]]:
    """For each threshold PaMaL and the winners in `sweeps`, with their validation fronts."""
    pamal = [r.front() for s, by in runs.items() if s.method == "pamal" for r in by.values()]
    shown = {}
    for threshold in THRESHOLDS:
        methods = {paper.PRINTED["pamal"]: Winner("default", pamal)}
        for method, table in sweeps.items():
            found, names = winner(table, threshold), table.index.names
            of_it = [
                record.front()
                for setting, by_seed in runs.items()
                if setting.method == method
                and found == tuple(setting.values[name] for name in names)
                for record in by_seed.values()
            ]
            methods[paper.PRINTED[method]] = Winner(describe(names, found), of_it)
        shown[criterion(threshold)] = methods
    return shown
