"""Beyond the paper: what its front costs, and what makes it better. No torch here.

Hypervolumes are of validation, from (0, 0), higher is better; they are compared seed by seed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study.pairs import differences
from pamal_core.study.tables import ONE_NETWORK, PRINTED, REFERENCE, SEEDS, union

SPLIT = "validation"


class Data(NamedTuple):
    """One data set: PaMaL's W and lambda there; `rivals` are LS and, by hypervolume, the best two
    baselines."""

    setting: str
    rivals: tuple[str, ...]

    @property
    def label(self) -> str:
        """PaMaL as in the paper."""
        return f"PaMaL, {self.setting}"


DATA = {
    "multimnist": Data("W = 4, λ = 0", ("ls", "uw", "dwa")),
    "census": Data("W = 2, λ = 5", ("ls", "rlw", "nash_mtl")),
}


FIVE = "LS, five runs of other weights"


class Group(NamedTuple):
    """What was trained with one seed, a network or several, and its front on validation."""

    records: Sequence[Record]

    @property
    def front(self) -> Front:
        """The points of all its networks."""
        return union([record.front(SPLIT) for record in self.records])

    @property
    def hypervolume(self) -> float:
        """Of all its points."""
        return self.front.hypervolume(REFERENCE)

    @property
    def passes(self) -> int:
        """How often a training example has gone forward and back."""
        return sum(r.options["epochs"] * r.options.get("W", 1) for r in self.records)

    @property
    def minutes(self) -> float:
        """Of training, one thread on a machine that had other work, too."""
        return sum(r.cost["train_seconds"] or 0.0 for r in self.records) / 60


def groups(results: Path, *names: str) -> dict[int, Group]:
    """By seed the runs `names` together, where the folder `results` has them all."""
    paths = {seed: [results / f"{name}_seed_{seed}.json" for name in names] for seed in SEEDS}
    return {
        seed: Group([Record.read(path) for path in found])
        for seed, found in paths.items()
        if all(path.exists() for path in found)
    }


def contenders(data: str, results: Path) -> dict[str, dict[int, Group]]:
    """Who is compared at equal cost on `data`: PaMaL as in the paper and with stratified draws, one
    network for the paper's epochs and for as many passes as PaMaL, and a front of five runs of LS
    with other weights."""
    own, ours = DATA[data], extras(data)
    names = {own.label: [f"{data}/pamal"]}
    names |= {row.label: [row.name] for row in ours if "draws" in row.options}
    names |= {PRINTED[method]: [f"{data}/{method}"] for method in own.rivals}
    names |= {row.label: [row.name] for row in ours if "epochs" in row.options}
    weighted = [row.name for row in ours if "weights" in row.options]
    names[FIVE] = [*weighted, f"{data}/ls"]
    return {label: groups(results, *of_it) for label, of_it in names.items()}


class Row(NamedTuple):
    """A row of the grid: a setting."""

    name: str
    method: str
    options: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Its method and those of its options that have a name."""
        values = [text.format(self.options[n]) for n, text in LABELS.items() if n in self.options]
        return ", ".join([PRINTED[self.method], *values])

    @property
    def weights(self) -> str:
        """Which weights are kept: the last, or their mean and how slowly it forgets."""
        return f"mean, {decay}" if (decay := self.options.get("average")) else "last"

    def without(self, *names: str) -> "Row":
        """The setting with the options `names` left out."""
        left = {name: value for name, value in self.options.items() if name not in names}
        return self._replace(options=left)


LABELS = {
    "W": "W = {}",
    "lam": "λ = {}",
    "epochs": "{} epochs",
    "batch_size": "batches of {:,}",
    "lr": "lr = {}",
    "draws": "{} draws",
    "average": "mean of the weights",
}


def rows(data: str) -> list[Row]:
    """The settings on `data`, the paper's and those beyond it."""
    return [
        Row(f"{row['folder']}/{row['name']}", row["method"], grid.parameters(row["options"]))
        for row in grid.read("grid")
        if row["folder"].rpartition("/")[2] == data
    ]


def extras(data: str) -> list[Row]:
    """The settings beyond the paper."""
    return [row for row in rows(data) if row.name.startswith("beyond/")]


def of_equal_cost(data: str, results: Path) -> dict[str, list[Front]]:
    """The fronts of PaMaL, of the best network trained for as many passes and of the five runs, by
    seed."""
    found = contenders(data, results)
    longer = [row.label for row in extras(data) if LABELS.keys() & row.options == {"epochs"}]
    best = max(
        (label for label in longer if found[label]),
        key=lambda label: np.mean([group.hypervolume for group in found[label].values()]),
    )
    chosen = (DATA[data].label, best, FIVE)
    return {label: [group.front for group in found[label].values()] for label in chosen}


def tricks(data: str, results: Path) -> dict[str, tuple[dict[int, Group], dict[int, Group]]]:
    """Each method of `data` with its last weights, and with a mean of its weights; PaMaL besides
    with stratified draws, beside the mean without."""
    pairs = {}
    for row in extras(data):
        if "average" in row.options and not {"draws", "epochs", "lr"} & row.options.keys():
            last = row.without("average")
            name = next(r.name for r in rows(data) if r[1:] == last[1:])
            pairs[f"{last.label}: mean of the weights, {row.options['average']}"] = name, row.name
    stratified = f"beyond/{data}/pamal-average", f"beyond/{data}/pamal-stratified-average"
    pairs["PaMaL: stratified draws, both with the mean"] = stratified
    return {label: (groups(results, a), groups(results, b)) for label, (a, b) in pairs.items()}


def paired(pairs: Mapping[str, tuple[Mapping[int, Group], Mapping[int, Group]]]) -> pd.DataFrame:
    """`pairs.differences` in hypervolume of each pair (without, with)."""
    volumes = {label: (_volumes(one), _volumes(two)) for label, (one, two) in pairs.items()}
    return differences(volumes, ("without", "with"))


def _volumes(runs: Mapping[int, Group]) -> dict[int, float]:
    return {seed: run.hypervolume for seed, run in runs.items()}


def costs(found: Mapping[str, Mapping[int, Group]]) -> pd.DataFrame:
    """A row for each contender, "not run" without records: forward passes for each training
    example, minutes of training (the median over seeds), mean and deviation of the hypervolume."""
    return pd.DataFrame({label: _cost([*runs.values()]) for label, runs in found.items()}).T


def _cost(runs: Sequence[Group]) -> dict[str, Any]:
    if not runs:
        return {"passes": "not run", "seeds": 0}
    volumes = [run.hypervolume for run in runs]
    return {
        "passes": runs[0].passes,
        "minutes": f"{np.median([run.minutes for run in runs]):.1f}",
        "hypervolume ↑": f"{np.mean(volumes):.4f}",
        "±": f"{np.std(volumes, ddof=1):.4f}" if len(volumes) > 1 else "",
        "networks": len(runs[0].front.alphas),
        "seeds": len(runs),
    }


def against_baselines(data: str, results: Path) -> pd.DataFrame:
    """`paired` of each baseline, without, and PaMaL, with."""
    ours = groups(results, f"{data}/pamal")
    pairs = {PRINTED[m]: (groups(results, f"{data}/{m}"), ours) for m in ONE_NETWORK}
    return paired({name: pair for name, pair in pairs.items() if len(pair[0]) > 1})


def order(data: str, results: Path) -> pd.DataFrame:
    """For each setting of PaMaL that has been run the rank correlation of how much a point cares
    about a task with its loss, by task: -1 is a front in order; and the hypervolume. Means over
    seeds."""
    paper = [row for row in rows(data) if row.name == f"{data}/pamal"]
    found = {}
    for row in paper + [row for row in extras(data) if row.method == "pamal"]:
        if runs := [*groups(results, row.name).values()]:
            label = row.without("average").label, row.weights
            found[label] = _ordered(runs)
    return pd.DataFrame(found).T.rename_axis(["setting", "weights"])


def _ordered(runs: Sequence[Group]) -> dict[str, Any]:
    fronts = [run.front.on("loss") for run in runs]
    tasks = [objective.task for objective in fronts[0].objectives]
    means = np.mean([front.spearman() for front in fronts], axis=0)
    volume = np.mean([run.hypervolume for run in runs])
    row = {task: f"{mean:.3f}" for task, mean in zip(tasks, means, strict=True)}
    return row | {"hypervolume ↑": f"{volume:.4f}", "seeds": len(runs)}
