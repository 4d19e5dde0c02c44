"""Claim 1 on trained subspaces: are the points of the lattice a Pareto front? No torch here."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool

from pamal_core.front import Front
from pamal_core.runs.records import Record

RUNS = {
    "MultiMNIST, seed 0": ("multimnist/pamal_seed_0", "multimnist/ls_seed_0"),
    "MultiMNIST, seed 1": ("multimnist/pamal_seed_1", "multimnist/ls_seed_1"),
    "MultiMNIST, seed 2": ("multimnist/pamal_seed_2", "multimnist/ls_seed_2"),
    "Census, ordered": ("census/pamal_seed_0", "census/ls_seed_0"),
    "Census, printed": ("census/pamal-printed_seed_0", "census/ls_seed_0"),
}
"""The records compared: a subspace, and linear scalarisation with the same data and seed."""


def read_runs(folder: Path) -> dict[str, tuple[Record, Record]]:
    """The records of `RUNS` in `folder`; InputError names the first that is missing."""
    return {
        name: (Record.read(folder / f"{pamal}.json"), Record.read(folder / f"{ls}.json"))
        for name, (pamal, ls) in RUNS.items()
    }


def dominates(one: Front, other: Front) -> Bool[np.ndarray, "P Q"]:
    """Whether point p of `one` dominates point q of `other` (Definition 1), both with the
    objectives of `one`."""
    sign = np.where(one.maximise, 1, -1)
    a, b = sign * one.values[:, None], sign * other.values
    return (a >= b).all(-1) & (a > b).any(-1)


def measure(front: Front, rival: Front) -> dict[str, int | float]:
    """How far the claim holds for P points of two members, in the order of their alphas.

    How many no other point of the front dominates, and how many neither neighbour does, which is
    the paper's relaxed reading on the lattice; how many of the two members are among the former;
    Spearman's correlation of alpha_t with being good at task t, where 1 is the right order for
    losses and for accuracies; and how many points of the front `rival` dominates.
    """
    beaten = dominates(front, front)
    near = np.abs(np.subtract.outer(*[np.arange(len(beaten))] * 2)) == 1
    kept = front.non_dominated()
    order = np.where(front.maximise, 1, -1) * front.spearman()
    return {
        "points": len(kept),
        "non-dominated": int(kept.sum()),
        "by no neighbour": int((~(beaten & near).any(0)).sum()),
        "members among them": int(kept[[0, -1]].sum()),
        "order, task 1": order[0],
        "order, task 2": order[1],
        "dominated by LS": int(dominates(rival, front).any(0).sum()),
    }


def table(runs: Mapping[str, tuple[Record, Record]]) -> pd.DataFrame:
    """`measure` for each run, split and metric."""
    rows = {
        (name, split, metric): measure(pamal.front(split).on(metric), ls.front(split).on(metric))
        for name, (pamal, ls) in runs.items()
        for split in ("validation", "test")
        for metric in ("loss", "accuracy")
    }
    frame = pd.DataFrame(rows).T.rename_axis(["run", "split", "metric"])
    counts = [column for column in frame if not column.startswith("order")]
    return frame.astype(dict.fromkeys(counts, int))
