"""Beyond the paper: what its front costs, and what makes it better. No torch here.

Hypervolumes are of validation, from (0, 0), higher is better; they are compared seed by seed.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pamal_core import grid
from pamal_core.experiments.tables import ONE_NETWORK, PRINTED, REFERENCE, SEEDS, union
from pamal_core.front import Front
from pamal_core.records import Record

SPLIT = "validation"


class Data(NamedTuple):
    """One data set: PaMaL's W and lambda there, and the epochs that give one network PaMaL's
    forward passes. `rivals` are LS and, by hypervolume, the best two baselines."""

    setting: str
    epochs: int
    rivals: tuple[str, ...]


DATA = {
    "multimnist": Data("W = 4", 40, ("ls", "uw", "dwa")),
    "census": Data("W = 2, λ = 5", 20, ("ls", "rlw", "nash_mtl")),
}


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
    """Who is compared at equal cost on `data`: PaMaL, one network for the paper's epochs and for as
    many passes as PaMaL, and a front of five runs of LS with other weights."""
    own, beyond = DATA[data], f"beyond/{data}"
    names = {f"PaMaL, {own.setting}": [f"{data}/pamal"]}
    names |= {PRINTED[method]: [f"{data}/{method}"] for method in own.rivals}
    longer = f"{own.epochs} epochs"
    for method in own.rivals:
        names[f"{PRINTED[method]}, {longer}"] = [f"{beyond}/{method}-{longer.replace(' ', '-')}"]
    weights = [f"{beyond}/ls-{text}" for text in ("9-1", "3-1", "1-3", "1-9")]
    names["LS, five runs of other weights"] = [*weights, f"{data}/ls"]
    return {label: groups(results, *of_it) for label, of_it in names.items()}


def of_equal_cost(found: Mapping[str, Mapping[int, Group]]) -> dict[str, list[Front]]:
    """The fronts of PaMaL, of the best network trained for as many passes and of the five runs, by
    seed."""
    pamal, *_, five = found
    longer = [label for label in found if label.endswith("epochs") and found[label]]
    best = max(longer, key=lambda label: np.mean([g.hypervolume for g in found[label].values()]))
    return {label: [g.front for g in found[label].values()] for label in (pamal, best, five)}


def tricks(data: str, results: Path) -> dict[str, tuple[dict[int, Group], dict[int, Group]]]:
    """Each method of `data` with its last weights, and with a mean of its weights; PaMaL besides
    with stratified draws, beside the mean without."""
    beyond, pairs = f"beyond/{data}", {}
    for row in grid.read("grid"):
        options = grid.parameters(row["options"])
        if row["folder"] == beyond and "average" in options and "draws" not in options:
            label = f"{PRINTED[row['method']]}: mean of the weights, {options['average']}"
            pairs[label] = f"{data}/{row['method']}", f"{beyond}/{row['name']}"
    stratified = f"{beyond}/pamal-average", f"{beyond}/pamal-stratified-average"
    pairs["PaMaL: stratified draws, both with the mean"] = stratified
    return {label: (groups(results, a), groups(results, b)) for label, (a, b) in pairs.items()}


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


def paired(pairs: Mapping[str, tuple[Mapping[int, Group], Mapping[int, Group]]]) -> pd.DataFrame:
    """A row for each pair (before, after): both mean hypervolumes over the seeds that both have,
    the mean difference, its 95 % bootstrap interval, and the difference with each seed."""
    return pd.DataFrame({label: _paired(*pair) for label, pair in pairs.items()}).T


def _paired(before: Mapping[int, Group], after: Mapping[int, Group]) -> dict[str, Any]:
    seeds = [seed for seed in SEEDS if seed in before and seed in after]
    if not seeds:
        return {"without": "not run", "seeds": 0}
    one, two = (np.array([of[seed].hypervolume for seed in seeds]) for of in (before, after))
    low, high = interval(two - one)
    return {
        "without": f"{one.mean():.4f}",
        "with": f"{two.mean():.4f}",
        "difference": f"{(two - one).mean():+.4f}",
        "95 %": f"{low:+.4f} to {high:+.4f}" if len(seeds) > 1 else "",
        "by seed": ", ".join(f"{difference:+.4f}" for difference in two - one),
        "seeds": len(seeds),
    }


def interval(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean of a few `values`, from every resample
    instead of a draw of them: n^n for n values. Of three values it is their range."""
    means = [np.mean(resample) for resample in product(values, repeat=len(values))]
    low, high = np.quantile(means, (0.025, 0.975), method="inverted_cdf")
    return float(low), float(high)


def against_baselines(data: str, results: Path) -> pd.DataFrame:
    """`paired` of each baseline, without, and PaMaL, with."""
    ours = groups(results, f"{data}/pamal")
    pairs = {PRINTED[m]: (groups(results, f"{data}/{m}"), ours) for m in ONE_NETWORK}
    return paired({name: pair for name, pair in pairs.items() if len(pair[0]) > 1})


def order(data: str, results: Path) -> pd.DataFrame:
    """For each front of PaMaL the rank correlation of how much a point cares about a task with its
    loss, by task, a mean over seeds: -1 is a front in order."""
    names = {
        "last weights": f"{data}/pamal",
        "mean of the weights": f"beyond/{data}/pamal-average",
        "longer mean": f"beyond/{data}/pamal-long-average",
        "and stratified draws": f"beyond/{data}/pamal-stratified-average",
    }
    rows = {}
    for label, name in names.items():
        fronts = [group.front.on("loss") for group in groups(results, name).values()]
        if fronts:
            means = np.mean([front.spearman() for front in fronts], axis=0)
            tasks = [o.name.rpartition("/")[0] for o in fronts[0].objectives]
            texts = [f"{mean:.3f}" for mean in means]
            rows[label] = dict(zip(tasks, texts, strict=True)) | {"seeds": len(fronts)}
    return pd.DataFrame(rows).T
