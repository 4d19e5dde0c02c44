"""Several runs as one: their points as one front, their cost added up."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pamal_core.front import Front
from pamal_core.runs.records import Record
from pamal_core.study.frame import Runs, Setting, of


def union(fronts: Sequence[Front]) -> Front:
    """The points of all `fronts`, which have the same objectives."""
    return Front(
        np.concatenate([front.alphas for front in fronts]),
        pd.concat([front.table for front in fronts], ignore_index=True),
        fronts[0].objectives,
    )


class Group(NamedTuple):
    """What was trained with one seed: a network, or several that make a front together."""

    records: Sequence[Record]

    def front(self, split: str = "validation") -> Front:
        """The points of all of them."""
        return union([record.front(split) for record in self.records])

    def hypervolume(self, split: str = "validation") -> float:
        """Of all points, which are of accuracies, from 0."""
        front = self.front(split)
        return front.hypervolume([0.0] * len(front.objectives))

    @property
    def passes(self) -> int:
        """How often a training example has gone forward and back."""
        return sum(of(record).passes for record in self.records)

    @property
    def minutes(self) -> float:
        """Of training, one thread on a machine that had other work, too."""
        return sum(record.cost["train_seconds"] or 0.0 for record in self.records) / 60


def groups(runs: Runs, settings: Iterable[Setting]) -> dict[int, Group]:
    """By seed the runs of all `settings` together, where all have been made."""
    found = [runs.get(setting, {}) for setting in settings]
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in found)))
    return {seed: Group([by_seed[seed] for by_seed in found]) for seed in seeds}
