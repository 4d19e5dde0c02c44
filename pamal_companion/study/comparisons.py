"""Settings against settings: choices, equal cost, rates, and the authors' own seeds. Numbers are of
validation, from (0, 0), unless a column says otherwise; differences are of two samples (Welch).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pamal_companion.plots.fronts import seeds_figure
from pamal_companion.plots.words import ranged
from pamal_companion.runs import grid
from pamal_companion.runs.options import OF_DATA
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, paper, tables
from pamal_companion.study.frame import Runs, Setting, planned, united, volume
from pamal_companion.study.measures import is_better_high, margin
from pamal_companion.study.statistics import Sample, bracket, differences, spread, summary
from pamal_core.errors import InputError
from pamal_core.front import Front

SPLITS = ("validation", "test")
OTHER_DATA = "other data"
FIVE = "LS, five runs of other weights"
BEST = {"hypervolume ↑ ± sd": True}
"""The column of `costs` whose best is bold in a page."""
RIVALS = {"multimnist": ("ls", "uw", "dwa"), "census": ("ls", "rlw", "nash_mtl")}
"""LS and, by hypervolume over the first three seeds, the best two baselines."""


def choices(runs: Runs, measure: str = "hypervolume", method: str | None = None) -> pd.DataFrame:
    """Return a row for each row of `workflow/choices.csv`, two settings that differ in an option:
    `measure` with our default and with the other value, their difference, and whether the other is
    ahead; "not run" without records of both. `method` leaves the pairs of other methods out."""
    pairs, names = {}, ("default", "other")
    for row in grid.read("choices"):
        setting, option = frame.select(row["setting"]), row["option"]
        if method in (None, setting.method):
            key = row["topic"], row["runs"], f"{option}: {row['default']} → {row['other']}"
            pairs[key] = [setting.having(**{option: grid.value(row[name])}) for name in names]
    found = _compared(runs, pairs, names, measure).rename_axis(["choice", "runs", "option"])
    return found.reset_index(["runs", "option"])


def _compared(
    runs: Runs,
    pairs: Mapping[Any, Sequence[Setting]],
    names: tuple[str, str] = ("without", "with"),
    measure: str = "hypervolume",
    split: str = "validation",
    within: float | None = None,
) -> pd.DataFrame:
    """Return `differences` of a measure between two settings, level `within` its margin or the one
    given."""
    within = margin(measure) if within is None else within
    numbers = {
        text: [frame.measured(runs, setting, measure, split) for setting in pair]
        for text, pair in pairs.items()
    }
    return differences(numbers, names, is_better_high(measure), within)


def labels(data: str, folder: str) -> dict[Setting, str]:
    """Return the settings of records in `folder`, each with its name, in which what all of them
    share is left out."""
    found = planned(data, folder)
    shared = dict(set.intersection(*(set(setting.options) for setting in found)))
    always = {"pamal": ["W"]}
    return {s: s.label(*always.get(s.method, ()), without=shared) for s in found}


def methods(
    named: Mapping[Setting, Any], runs: Runs, measures: Mapping[str, str], split: str = "test"
) -> pd.DataFrame:
    """Return a row for each setting, by its name: its seeds, and mean ± deviation of each of the
    `measures`, named by their headings; "not run" without records, nothing where a network has no
    such number, as one for a single task."""
    rows: dict[Any, dict[str, Any]] = {}
    for setting, name in named.items():
        rows[name] = {"seeds": len(runs.get(setting, ()))}
        for heading, measure in measures.items():
            found = frame.measured(runs, setting, measure, split)
            rows[name][heading] = "" if found.empty and setting in runs else summary(found)
    return pd.DataFrame.from_dict(rows, "index", dtype=object)


def ahead(
    named: Mapping[Setting, Any],
    runs: Runs,
    measures: Mapping[str, str],
    method: str = "pamal",
    within: float | None = None,
) -> pd.DataFrame:
    """Return each setting of `method`, by its name, minus each setting of another method of all
    tasks, by each of the `measures`, on test. The verdict is "other data" where both were trained
    on other data: the difference is not of the methods alone. `within` replaces the margin of each
    measure."""
    ours = [setting for setting in named if setting.method == method]
    others = [s for s in named if s.method not in (method, "stl") and s in runs]
    pairs = {(named[one], named[other]): (other, one) for one in ours for other in others}
    names = "other", paper.PRINTED.get(method, method)
    found = {h: _compared(runs, pairs, names, m, "test", within) for h, m in measures.items()}
    other = [pair for pair, settings in pairs.items() if frame.have_other_data(runs, *settings)]
    for table in found.values():
        table.loc[other, "verdict"] = OTHER_DATA
    return pd.concat(found)


def contenders(data: str) -> dict[str, list[Setting]]:
    """Return who is compared at equal cost on `data`, by name the settings that are one front
    together: PaMaL as in the paper and with stratified draws, one network for the paper's epochs
    and for as many passes as PaMaL, and five runs of LS with other weights."""

    def having(option: str) -> list[Setting]:
        return [s for s in planned(data, "beyond/") if option in dict(s.options)]

    single = [Setting(data, method) for method in RIVALS[data]]
    alone = [Setting(data, "pamal"), *having("draws"), *single, *having("epochs")]
    return {s.name(): [s] for s in alone} | {FIVE: [*having("weights"), Setting(data, "ls")]}


def costs(data: str, runs: Runs) -> pd.DataFrame:
    """Return a row for each contender, "not run" without records: passes, mean and deviation of the
    hypervolume, and its difference to that of the first row."""
    rows: dict[str, dict[str, Any]] = {}
    volumes: dict[str, pd.Series[float]] = {}
    for name, settings in contenders(data).items():
        rows[name] = {"passes": "not run"}
        if fronts := united(runs, settings):
            volumes[name] = pd.Series({seed: volume(front) for seed, front in fronts.items()})
            rows[name] = {
                "passes": sum(setting.passes for setting in settings),
                "hypervolume ↑ ± sd": spread(Sample.of(volumes[name])),
                "networks": str(len(next(iter(fronts.values())).alphas)),
                "seeds": str(len(fronts)),
            }
    found = pd.DataFrame.from_dict(rows, "index", dtype=object).rename_axis("method")
    first = volumes.pop(Setting(data, "pamal").name(), None)
    if first is None or not volumes:
        return found
    away = differences({name: (first, its) for name, its in volumes.items()}, ("first", "its"))
    return found.join(away["difference [95 %]"].rename("minus the first [95 %]"))


def of_equal_cost(data: str, runs: Runs) -> dict[str, list[Front]]:
    """Return the fronts by seed of PaMaL, of LS trained for as many passes, and of the five runs,
    as far as there are records."""
    ours, every = Setting(data, "pamal"), contenders(data)
    chosen = ours.name(), Setting(data, "ls").having(epochs=ours.passes).name(), FIVE
    found = {name: [*united(runs, every[name]).values()] for name in chosen}
    return {name: fronts for name, fronts in found.items() if fronts}


def tricks(data: str, runs: Runs) -> pd.DataFrame:
    """Compare each method with an EMA of the weights and without, and PaMaL's stratified draws with
    independent ones, both with the EMA."""
    found, last = {}, {}
    for setting in planned(data, "beyond/"):
        own, without = dict(setting.options), setting.having(average=None)
        if "average" in own and not {"draws", "epochs", "lr"} & own.keys():
            found[f"{without.name()}: EMA {own['average']}"] = without, setting
        if own.keys() == {"draws", "average"}:
            changed = "PaMaL: stratified draws, both with the EMA"
            last[changed] = setting.having(draws=None), setting
    return _compared(runs, found | last).rename_axis("change")


def order(data: str, runs: Runs) -> pd.DataFrame:
    """Return for each setting of PaMaL, the paper's and those beyond it, how much each task's loss
    is in order (-1 is a front in order) and the hypervolume, over seeds on validation."""
    every = [Setting(data, "pamal"), *planned(data, "beyond/")]
    made = [s for s in every if s.method == "pamal" and s in runs]
    named = {s: (s.name("average"), weights(s)) for s in made}
    measures = {f"order in loss, {t} ↓": f"order of {t}/loss" for t in paper.TASKS[data]}
    found = methods(named, runs, measures | {"hypervolume ↑": "hypervolume"}, "validation")
    return found.rename_axis(["setting", "weights"] if made else ["setting"])


def weights(setting: Setting) -> str:
    """Return which weights are kept: the last, or their moving average with its factor."""
    return f"EMA {setting.values['average']}" if setting.values["average"] else "last"


def rates(data: str, runs: Runs) -> pd.DataFrame:
    """Return a row for each run of a setting that PaMaL or one network has with several rates of
    Adam on the paper's data: the `setting`, the `rate`, the `weights`, the `seed` and the
    hypervolume on each split. One that has not been run has a row without a seed or numbers."""
    rows: list[dict[str, Any]] = []
    for s in planned(data):
        if s.method not in ("pamal", *paper.ONE_NETWORK) or OF_DATA & dict(s.options).keys():
            continue
        name = s.name("lr", "lr_scaling", "average")
        said = {"setting": name, "rate": s.rate, "weights": weights(s)}
        rows += [
            said | {"seed": seed} | {split: run.hypervolume(split) for split in SPLITS}
            for seed, run in runs.get(s, {}).items()
        ] or [said]
    found = pd.DataFrame(rows, columns=["setting", "rate", "weights", "seed", *SPLITS])
    several = found.groupby("setting")["rate"].transform("nunique") > 1
    found = found[several].reset_index(drop=True)
    return found.assign(setting=pd.Categorical(found.setting, pd.unique(found.setting)))


def rates_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return mean ± deviation over seeds of `rates`, by setting, weights and rate, on each split;
    "not run" without records."""
    by = found.groupby(["setting", "weights", "rate"], observed=True)
    return by[[*SPLITS]].agg(summary).rename_axis(index={"rate": "rate of Adam"})


def of_the_lead(runs: Runs, split: str) -> dict[str, tuple[Sample, Sample]]:
    """Return the hypervolumes of PaMaL and of LS on MultiMNIST, by whose seeds they are: those that
    the "authors" kept, and "ours"."""
    theirs = paper.authors_volumes("pamal", split), paper.authors_volumes("ls", split)
    pamal, ls = (
        Sample.of(frame.measured(runs, Setting("multimnist", method), "hypervolume", split))
        for method in ("pamal", "ls")
    )
    return {"authors": theirs, "ours": (pamal, ls)}


def leads(runs: Runs) -> pd.DataFrame:
    """Return PaMaL's lead over LS on MultiMNIST, one seed against one seed: that of the authors'
    own seeds and ours, on each split, hypervolumes with the 95 % interval of the difference."""
    lines = {}
    for split in ("test", "validation"):
        for whose, (pamal, ls) in of_the_lead(runs, split).items():
            lines[split, whose] = {
                "LS": spread(ls) or "not run",
                "PaMaL": spread(pamal) or "not run",
                "lead [95 %]": bracket(pamal.minus(ls)),
                "seeds": f"{pamal.number} and {ls.number}",
            }
    index = pd.MultiIndex.from_tuples(lines, names=["split", "seeds of"])
    return pd.DataFrame([*lines.values()], index)


def figure_4(data: str, runs: Runs) -> Figure:
    """Draw Figure 4 of the paper, left (MultiMNIST) or right (Census), on test, as far as there are
    records: the first three seeds of PaMaL and of every baseline, and of PHN and COSMOS those of
    the default setting and of the one with the largest hypervolume on validation of all that the
    paper tried. Raise InputError without PaMaL or single-task learning."""
    single = _single(data, runs, "test")

    def first(setting: Setting) -> dict[int, Front]:
        made = [*runs.get(setting, {}).items()][: paper.SEEDS]
        return {seed: record.front("test") for seed, record in made}

    if not (ours := first(Setting(data, "pamal"))) or np.isnan(single).any():
        raise InputError(f"Figure 4 needs runs of PaMaL and of STL. Found none of both on {data}.")
    points = {
        paper.PRINTED[method]: [*first(Setting(data, method)).values()]
        for method in paper.ONE_NETWORK
    }
    default, tuned = dict[str, list[Front]](), dict[str, list[Front]]()
    for method in ("phn", "cosmos"):
        if not (own := first(Setting(data, method))):
            continue
        default[paper.PRINTED[method]] = [*own.values()]
        tried = [s for s in tables.planned(f"{method}_{data}") if s in runs]
        volumes = [frame.measured(runs, s, "hypervolume", "validation").mean() for s in tried]
        if tried:
            best = first(tried[int(np.argmax(volumes))])
            tuned[f"{paper.PRINTED[method]}, tuned"] = [*best.values()]
    provenance = f"{paper.DATA[data]}, full data, test."
    for said, found in {
        "Baselines": points,
        f"{' and '.join(default)} by default": default,
        "As tuned on validation": tuned,
    }.items():
        if counts := {len(fronts) for fronts in found.values() if fronts}:
            provenance += f" {said}: {ranged(counts)} seed{'s' if max(counts) > 1 else ''} each."
    return seeds_figure(ours, points, single, provenance, default | tuned)


def _single(data: str, runs: Runs, split: str) -> list[float]:
    """Return what single-task learning reaches on each task of the paper, NaN without a record."""
    tasks = enumerate(paper.TASKS[data])
    stl = [(Setting(data, "stl").having(task=t), f"{task}/accuracy") for t, task in tasks]
    return [frame.measured(runs, *learnt, split)[: paper.SEEDS].mean() for learnt in stl]


ALIKE = {"W", "lam", "penalty"}
"""Options of PaMaL in which a setting may differ from the paper's and still have its baselines."""


def ls_beside(record: Record) -> dict[str, Setting]:
    """Return LS after as many epochs as the run of `record` and after as many passes, by name, or
    nothing if its setting has no baselines: on a sample, of other tasks, and of other methods."""
    setting = frame.of(record)
    is_usual = setting.method == "pamal" and {*dict(setting.options)} <= ALIKE
    if not (is_usual and frame.is_full(record) and len(record.objectives) == 2):
        return {}
    ls, epochs = Setting(record.experiment, "ls"), int(setting.values["epochs"])
    passes = epochs * int(setting.values["W"])
    return {f"LS, {epochs} epochs": ls, f"LS, {passes} epochs": ls.having(epochs=passes)}


def front_beside_ls(record: Record, by_seed: Mapping[int, Record], runs: Runs) -> Figure | None:
    """Draw the fronts `by_seed` of the setting of `record` on validation, with `ls_beside` and
    single-task learning, three seeds of each. Return None if `runs` have no such baselines."""
    setting, data = frame.of(record), record.experiment
    points = {
        name: [run.front("validation") for run in [*runs.get(one, {}).values()][: paper.SEEDS]]
        for name, one in ls_beside(record).items()
    }
    if not points:
        return None
    single = _single(data, runs, "validation")
    if not all(points.values()) or np.isnan(single).any():
        return None
    fronts = {seed: one.front("validation") for seed, one in by_seed.items()}
    said = (
        f"{paper.DATA[data]}, full data, validation. W = {setting.values['W']}, "
        f"{setting.values['epochs']} epochs; "
    )
    return seeds_figure(fronts, points, single, f"{said}LS: three seeds each.")


def at_seed(record: Record, runs: Runs) -> dict[str, dict[str, float]]:
    """Return what `ls_beside` and single-task learning achieve on validation with the seed of
    `record`, by name the columns of its front, as far as `runs` have them."""
    named = ls_beside(record)
    if named:
        stl = Setting(record.experiment, "stl")
        tasks = enumerate(paper.TASKS[record.experiment])
        named |= {f"{task} alone": stl.having(task=t) for t, task in tasks}
    made = {name: runs.get(one, {}).get(record.seed) for name, one in named.items()}
    fronts = {name: run.front("validation") for name, run in made.items() if run is not None}
    return {name: front.table.round(6).iloc[0].to_dict() for name, front in fronts.items()}


def draws(runs: Runs) -> pd.DataFrame:
    """Return how far the draw of MultiMNIST's data moves a number, on test: a row for each method
    that has been run on several and each measure, means over the seeds that all draws have, and the
    standard deviations between draws and between seeds (within a draw, pooled)."""
    accuracies, found = [f"{task}/accuracy" for task in paper.TASKS["multimnist"]], {}
    of_a_draw = (s.having(draw=None) for s in runs if "draw" in dict(s.options))
    for usual in dict.fromkeys(one for one in of_a_draw if one in runs):
        drawn = {s.values["draw"]: s for s in runs if s.having(draw=None) == usual}
        for measure in (*accuracies, "hypervolume"):
            columns = {k: frame.measured(runs, drawn[k], measure, "test") for k in sorted(drawn)}
            by_seed = pd.DataFrame(columns).dropna()
            found[usual.name(), measure] = {
                **{f"draw {k}": mean for k, mean in by_seed.mean().items()},
                "± draws": by_seed.mean().std(),
                "± seeds": np.sqrt(by_seed.var().mean()),
                "seeds": len(by_seed),
            }
    index = pd.MultiIndex.from_tuples(found, names=["method", "measure"])
    return pd.DataFrame([*found.values()], index)
