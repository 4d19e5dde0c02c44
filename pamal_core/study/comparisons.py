"""Settings against settings, seed by seed: choices, equal cost, rates, and the authors' own seeds.

Numbers are of validation, from (0, 0), unless a column says otherwise; higher hypervolume is
better.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pamal_core.errors import InputError
from pamal_core.front import Front, Objective
from pamal_core.plots.fronts import seeds_figure
from pamal_core.runs import grid
from pamal_core.study import frame, paper
from pamal_core.study.frame import Runs, Setting
from pamal_core.study.measures import value
from pamal_core.study.pool import Group, groups
from pamal_core.study.statistics import deviation, differences

SPLITS = ("validation", "test")
BySeed = Mapping[int, Group]
FIVE = "LS, five runs of other weights"
RIVALS = {"multimnist": ("ls", "uw", "dwa"), "census": ("ls", "rlw", "nash_mtl")}
"""LS and, by hypervolume, the best two baselines."""


def choices(runs: Runs, measure: str = "hypervolume", method: str | None = None) -> pd.DataFrame:
    """A row for each pair of `workflow/choices.csv`, two settings that differ in one option: what
    `measure` is with our default and with the other value, and their difference; "not run" where no
    seed has both. `method` leaves the pairs of other methods out."""
    rows = [(row, frame.select(row["setting"])) for row in grid.read("choices")]
    chosen = [(row, setting) for row, setting in rows if method in (None, setting.method)]
    pairs = {}
    for number, (row, setting) in enumerate(chosen):
        values = (grid.parameters(f"{row['option']}={row[w]}") for w in ("default", "other"))
        one, two = (
            frame.measured(runs, setting.having(**value), measure, "validation") for value in values
        )
        pairs[number] = one, two
    found = differences(pairs, ("default", "other"))
    found.insert(0, "option", [f"{r['option']}: {r['default']} → {r['other']}" for r, _ in chosen])
    found.insert(0, "runs", [row["runs"] for row, _ in chosen])
    return found.set_index(pd.Index([row["topic"] for row, _ in chosen]))


def settings(data: str, *, beyond: bool = False) -> list[Setting]:
    """The settings of the grid on `data`; those `beyond` the paper alone."""
    found = [
        frame.of(run)
        for run in grid.by_record().values()
        if run.experiment == data
        and (not beyond or any(r.startswith("beyond/") for r in run.records))
    ]
    return list(dict.fromkeys(found))


def label(setting: Setting, *without: str) -> str:
    """As `Setting.label`; PaMaL always with its W and lambda."""
    always = ("W", "lam") if setting.method == "pamal" else ()
    return setting.label(*always, without=without)


def contenders(data: str, runs: Runs) -> Mapping[str, BySeed]:
    """Who is compared at equal cost on `data`, by seed: PaMaL as in the paper and with stratified
    draws, one network for the paper's epochs and for as many passes as PaMaL, and a front of five
    runs of LS with other weights."""
    extras = [(setting, dict(setting.options)) for setting in settings(data, beyond=True)]
    ours = [Setting(data, "pamal"), *(s for s, own in extras if "draws" in own)]
    single = [Setting(data, method) for method in RIVALS[data]]
    single += [setting for setting, own in extras if "epochs" in own]
    weighted = [setting for setting, own in extras if "weights" in own]
    found = {label(setting): groups(runs, [setting]) for setting in [*ours, *single]}
    return found | {FIVE: groups(runs, [*weighted, Setting(data, "ls")])}


def costs(found: Mapping[str, BySeed]) -> pd.DataFrame:
    """A row for each contender, "not run" without records: forward passes for each training
    example, minutes of training (the median over seeds), mean and deviation of the hypervolume."""
    return pd.DataFrame({name: _cost([*by_seed.values()]) for name, by_seed in found.items()}).T


def _cost(found: Sequence[Group]) -> dict[str, Any]:
    if not found:
        return {"passes": "not run", "seeds": 0}
    volumes = [group.hypervolume() for group in found]
    return {
        "passes": found[0].passes,
        "minutes": f"{np.median([group.minutes for group in found]):.1f}",
        "hypervolume ↑": f"{np.mean(volumes):.4f}",
        "±": f"{deviation(volumes):.4f}" if len(volumes) > 1 else "",
        "networks": len(found[0].front().alphas),
        "seeds": len(found),
    }


def of_equal_cost(data: str, runs: Runs) -> dict[str, list[Front]]:
    """The fronts by seed of PaMaL, of the best network trained for as many passes, and of the five
    runs, as far as there are records."""
    found = contenders(data, runs)
    longer = [
        label(s)
        for s in settings(data, beyond=True)
        if [name for name, _ in s.options] == ["epochs"]
    ]
    volumes = {
        name: np.mean([group.hypervolume() for group in found[name].values()])
        for name in longer
        if found[name]
    }
    best = [max(volumes, key=lambda name: volumes[name])] if volumes else []
    chosen = [label(Setting(data, "pamal")), *best, FIVE]
    return {
        name: [group.front() for group in found[name].values()] for name in chosen if found[name]
    }


def tricks(data: str, runs: Runs) -> pd.DataFrame:
    """What a mean of the weights changes for each method that has one, and stratified draws for
    PaMaL, both with the mean."""
    found, last = {}, {}
    for setting in settings(data, beyond=True):
        own = dict(setting.options)
        if "average" in own and not {"draws", "epochs", "lr"} & own.keys():
            without = setting.having(average=0.0)
            found[f"{label(without)}: mean of the weights, {own['average']}"] = without, setting
        if own.keys() == {"draws", "average"}:
            independent = setting.having(draws="independent")
            last["PaMaL: stratified draws, both with the mean"] = independent, setting
    return _without_and_with(runs, found | last)


def against_baselines(data: str, runs: Runs) -> pd.DataFrame:
    """PaMaL minus each baseline that has been run with more than one seed."""
    ours = Setting(data, "pamal")
    rivals = [Setting(data, method) for method in paper.ONE_NETWORK]
    pairs = {label(rival): (rival, ours) for rival in rivals if len(runs.get(rival, ())) > 1}
    return _without_and_with(runs, pairs)


def _without_and_with(runs: Runs, pairs: Mapping[str, tuple[Setting, Setting]]) -> pd.DataFrame:
    volumes = {
        text: (_volumes(runs, without), _volumes(runs, with_it))
        for text, (without, with_it) in pairs.items()
    }
    return differences(volumes, ("without", "with"))


def _volumes(runs: Runs, setting: Setting) -> "pd.Series[float]":
    return frame.measured(runs, setting, "hypervolume", "validation")


def order(data: str, runs: Runs) -> pd.DataFrame:
    """For each setting of PaMaL, the paper's and those beyond it, the rank correlation of how much
    a point cares about a task with its loss, by task (-1 is a front in order), and the hypervolume;
    means over seeds."""
    chosen = [Setting(data, "pamal"), *settings(data, beyond=True)]
    found = {}
    for setting in dict.fromkeys(s for s in chosen if s.method == "pamal"):
        if by_seed := runs.get(setting):
            fronts = [record.front().on("loss") for record in by_seed.values()]
            means = np.mean([front.spearman() for front in fronts], axis=0)
            tasks = [objective.task for objective in fronts[0].objectives]
            found[label(setting, "average"), weights(setting)] = {
                **{task: f"{mean:.3f}" for task, mean in zip(tasks, means, strict=True)},
                "hypervolume ↑": f"{_volumes(runs, setting).mean():.4f}",
                "seeds": len(fronts),
            }
    rows = pd.MultiIndex.from_tuples(found, names=["setting", "weights"])
    return pd.DataFrame([*found.values()], rows)


def weights(setting: Setting) -> str:
    """Which weights are kept: the last, or their mean and how slowly it forgets."""
    return f"mean, {setting.values['average']}" if setting.values["average"] else "last"


def rates(data: str, runs: Runs) -> pd.DataFrame:
    """A row for each run of a setting that PaMaL or one network has with several rates of Adam on
    the paper's data: the `setting`, the `rate`, the `weights`, the `seed` and the hypervolume on
    each split. A setting that has not been run has one row without a seed or numbers."""
    rows = []
    for setting in settings(data):
        is_papers = not paper.OF_DATA & dict(setting.options).keys()
        if is_papers and setting.method in ("pamal", *paper.ONE_NETWORK):
            name = {"setting": label(setting, "lr", "lr_scaling", "average")}
            where = name | {"rate": setting.rate, "weights": weights(setting)}
            rows += [
                where | {"seed": seed} | {s: value(r, "hypervolume", s) for s in SPLITS}
                for seed, r in runs.get(setting, {}).items()
            ] or [where]
    found = pd.DataFrame(rows, columns=["setting", "rate", "weights", "seed", *SPLITS])
    several = found.groupby("setting")["rate"].transform("nunique") > 1
    found = found[several].reset_index(drop=True)
    return found.assign(setting=pd.Categorical(found.setting, pd.unique(found.setting)))


def rates_table(found: pd.DataFrame) -> pd.DataFrame:
    """Of `rates`, by setting, weights and rate: mean ± deviation over seeds on each split; "not
    run" without records."""
    by = found.groupby(["setting", "weights", "rate"], observed=True)
    return by[[*SPLITS]].agg(_text).rename_axis(index={"rate": "rate of Adam"})


def _text(values: pd.Series) -> str:
    if not values.count():
        return "not run"
    return f"{values.mean():.4f}" + (f" ± {values.std():.4f}" if values.count() > 1 else "")


AUTHORS = {"nash_mtl": "nashmtl", "auto_lambda": "autol"}
"""What the authors' file calls some methods."""


def authors(split: str = "test") -> pd.DataFrame:
    """The authors' own accuracies on MultiMNIST, published with a later paper: a row for each
    method, by our name, seed, alpha and task."""
    ours = {theirs: method for method, theirs in AUTHORS.items()}
    rows = paper.table("authors_multimnist").query("split == @split and metric == 'accuracy'")
    tasks = dict(enumerate(paper.TASKS["multimnist"], start=1))
    return rows.assign(method=rows.method.replace(ours), task=rows.task.map(tasks))


def authors_fronts() -> dict[int, Front]:
    """The authors' fronts of PaMaL on test, by seed."""
    objectives = tuple(Objective(f"{task}/accuracy", True) for task in paper.TASKS["multimnist"])
    fronts = {}
    for seed, rows in authors().query("method == 'pamal'").groupby("seed"):
        wide = rows.pivot(index="alpha_1", columns="task", values="value").add_suffix("/accuracy")
        wide = wide.sort_index(ascending=False).rename_axis(columns=None)
        alphas = np.c_[wide.index, 1 - wide.index]
        fronts[int(seed)] = Front(alphas, wide.reset_index(drop=True), objectives)
    return fronts


def beside_the_authors(runs: Runs) -> pd.DataFrame:
    """Test accuracy of each baseline on MultiMNIST with our seeds and with the authors' three, a
    row for each method and task: means, deviations over seeds (n - 1), and their difference; higher
    is better."""
    theirs, found = authors().groupby(["method", "task"])["value"], {}
    for method in paper.ONE_NETWORK:
        for task in paper.TASKS["multimnist"]:
            values = theirs.get_group((method, task))
            setting = Setting("multimnist", method)
            ours = frame.measured(runs, setting, f"{task}/accuracy", "test")
            found[paper.PRINTED[method], f"{task}, accuracy ↑"] = {
                "authors": values.mean(),
                "authors ±": values.std(),
                "ours": ours.mean(),
                "ours ±": ours.std(),
                "seeds": len(ours),
                "difference": ours.mean() - values.mean(),
            }
    return pd.DataFrame(found).T.astype({"seeds": int})


def agreement(beside: pd.DataFrame, tolerance: float = 0.006) -> dict[str, int | float]:
    """What `beside_the_authors` comes to: how many methods there are, for how many no accuracy is
    further than `tolerance` from the authors', and Spearman's correlation between the two rankings
    of methods by the mean of both accuracies (1 is the same order)."""
    made = beside[beside["seeds"] > 0]
    close = made["difference"].abs().groupby(level=0).max() <= tolerance
    means = made[["authors", "ours"]].groupby(level=0).mean()
    return {
        "methods": len(close),
        "within the tolerance": int(close.sum()),
        "rank correlation": float(means.corr(method="spearman").iloc[0, 1]),
    }


def figure_4(data: str, runs: Runs) -> Figure:
    """Figure 4 of the paper, left (MultiMNIST) or right (Census), on test: PaMaL's front of each
    seed, every seed of every baseline, and a run of PHN and one of COSMOS with the settings of
    their authors, as far as there are records. InputError without PaMaL or single-task learning."""
    single = [
        frame.measured(runs, Setting(data, "stl").having(task=t), f"{task}/accuracy", "test").mean()
        for t, task in enumerate(paper.TASKS[data])
    ]
    if Setting(data, "pamal") not in runs or np.isnan(single).any():
        raise InputError(f"Figure 4 needs runs of PaMaL and of STL. Found none of both on {data}.")

    def fronts(method: str) -> dict[int, Front]:
        by_seed = runs.get(Setting(data, method), {})
        return {seed: record.front("test") for seed, record in by_seed.items()}

    points = {paper.PRINTED[method]: [*fronts(method).values()] for method in paper.ONE_NETWORK}
    found = {method: fronts(method) for method in ("phn", "cosmos")}
    rivals = {paper.PRINTED[m]: by[min(by)] for m, by in found.items() if by}
    provenance = f"{paper.DATA[data]}, full data, test."
    if counts := {len(found) for found in points.values() if found}:
        seeds = " to ".join(map(str, sorted({min(counts), max(counts)})))
        provenance += f" Baselines: {seeds} seeds each."
    if rivals:
        provenance += f" {' and '.join(rivals)}: one seed, the setting of their authors."
    return seeds_figure(fronts("pamal"), points, single, provenance, rivals)
