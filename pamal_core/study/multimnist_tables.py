"""MultiMNIST records beside the paper's numbers. No torch here."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pamal_core.front import Front, Objective
from pamal_core.runs.records import Record
from pamal_core.study.paper import table
from pamal_core.study.tables import ONE_NETWORK, PRINTED, REFERENCE, SEEDS, union

# What the authors' file calls some methods.
AUTHORS = {"nash_mtl": "nashmtl", "auto_lambda": "autol"}
TASKS = ("top-left/accuracy", "bottom-right/accuracy")


def read_runs(folder: Path) -> dict[str, list[Record]]:
    """The records the book shows, one per seed. InputError names the first that is missing."""
    names = {"pamal": "pamal", "ls": "ls", "stl top-left": "stl-0", "stl bottom-right": "stl-1"}
    return {
        method: [Record.read(folder / f"{name}_seed_{seed}.json") for seed in SEEDS]
        for method, name in names.items()
    }


def validation_table(runs: Mapping[str, Sequence[Record]]) -> pd.DataFrame:
    """PaMaL's validation hypervolume: per seed, mean and standard deviation, ours and printed."""
    ours = [r.summary["validation"]["hypervolume"] for r in runs["pamal"]]
    rows = table("multiforward_multimnist")
    paper = rows[(rows.W == 4) & (rows.lam == 0)].iloc[0]
    columns = [f"seed {seed}" for seed in SEEDS]
    printed = [paper[f"seed_{seed}"] for seed in SEEDS]
    found = pd.DataFrame([ours, printed], ["measured", "paper"], columns)
    return found.assign(mean=found.mean(axis=1), std=found.std(axis=1, ddof=0))


def results_table(runs: Mapping[str, Sequence[Record]]) -> pd.DataFrame:
    """The rows of the hypervolume table (appendix C2) that these runs have, ours and the paper's.

    On test. PaMaL: per seed the best of the subspace, each task on its own. LS: the mean accuracy
    of three seeds, and the hypervolume of their union, which is what the paper's number is.
    """
    printed = table("hypervolume").query("dataset == 'multimnist'")
    rows = {}
    for seed, record in zip(SEEDS, runs["pamal"], strict=True):
        paper = printed[(printed.method == "PML") & (printed.seed == seed)]
        rows[f"PaMaL, seed {seed}"] = _row([record], paper)
    rows["LS, three seeds"] = _row(runs["ls"], printed[printed.method == "LS"])
    return pd.DataFrame(rows).T


def single_task(runs: Mapping[str, Sequence[Record]]) -> tuple[float, float]:
    """Mean test accuracy of single-task learning on each task."""
    first, second = (
        np.mean([record.summary["test"]["best"][task] for record in runs[method]])
        for method, task in zip(("stl top-left", "stl bottom-right"), TASKS, strict=True)
    )
    return float(first), float(second)


def authors_fronts() -> list[Front]:
    """The authors' own PaMaL fronts on test, one per seed."""
    rows = table("authors_multimnist")
    rows = rows.query("method == 'pamal' and split == 'test' and metric == 'accuracy'")
    fronts = []
    for seed in SEEDS:
        wide = rows[rows.seed == seed].pivot(index="alpha_1", columns="task", values="value")
        wide = wide.sort_index(ascending=False).set_axis(TASKS, axis=1)
        alphas = np.c_[wide.index, 1 - wide.index]
        objectives = tuple(Objective(task, maximise=True) for task in TASKS)
        fronts.append(Front(alphas, wide.reset_index(drop=True), objectives))
    return fronts


def beside_the_authors(records: Sequence[Record]) -> pd.DataFrame:
    """Test accuracy of each baseline with our seeds and with the authors' three, a row per method
    and task: means, standard deviations over seeds (divided by one less), and their difference.

    Higher is better. Deviations are NaN for a single seed. `records` of other methods are left out.
    """
    rows = table("authors_multimnist").query("split == 'test' and metric == 'accuracy'")
    found = {}
    for method in ONE_NETWORK:
        runs = [record for record in records if record.method == method]
        for t, task in enumerate(TASKS, start=1):
            theirs = rows[(rows.method == AUTHORS.get(method, method)) & (rows.task == t)]["value"]
            ours = pd.Series([run.summary["test"]["best"][task] for run in runs], dtype=float)
            found[PRINTED[method], f"{task.replace('/', ', ')} ↑"] = {
                "authors": theirs.mean(),
                "authors ±": theirs.std(),
                "ours": ours.mean(),
                "ours ±": ours.std(),
                "seeds": len(ours),
                "difference": ours.mean() - theirs.mean(),
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


def _row(records: Sequence[Record], paper: pd.DataFrame) -> dict[tuple[str, str], float]:
    fronts = [record.front("test") for record in records]
    best = np.mean([list(f.best().values()) for f in fronts], axis=0)
    measured = dict(
        zip((*TASKS, "hypervolume"), (*best, union(fronts).hypervolume(REFERENCE)), strict=True)
    )
    printed = paper[["accuracy_1", "accuracy_2", "hypervolume"]].iloc[0]
    pairs = zip(measured.items(), printed, strict=True)
    return {
        (name, who): value
        for (name, ours), theirs in pairs
        for who, value in (("measured", ours), ("paper", theirs))
    }
