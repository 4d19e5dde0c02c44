"""Fronts: what a set of alphas achieves, and how good that is as a Pareto front. No torch here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import moocore
import numpy as np
import pandas as pd

from pamal_core.errors import InputError

LOWER, HIGHER = ("loss", "error"), ("accuracy", "IoU")
"""How the names of metrics end that are better the lower, or the higher, they are."""


@dataclass(frozen=True)
class Objective:
    """A column of a front's table, "task/metric", and its direction."""

    name: str
    maximise: bool

    @property
    def task(self) -> str:
        """Of "task/metric" the task."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, eq=False)
class Front:
    """P points: their alphas [P, M], a table of all their metrics, and the objectives compared.

    `task_weights` is the matrix W [M, T] of section 3.1 for the T objectives, the identity if None;
    alpha^T W is how much a point cares about each of them.
    """

    alphas: np.ndarray
    table: pd.DataFrame
    objectives: tuple[Objective, ...]
    task_weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        missing = [o.name for o in self.objectives if o.name not in self.table]
        if missing or not len(self.table) == len(self.alphas) > 0:
            raise InputError(
                "A front needs points, a row of metrics for each, and a column for each objective. "
                f"Found {len(self.alphas)} alphas, {len(self.table)} rows, missing {missing}."
            )

    @property
    def values(self) -> np.ndarray:
        """The objectives, each in its own direction: [P, T]."""
        return self.table[[o.name for o in self.objectives]].to_numpy(float)

    @property
    def maximise(self) -> list[bool]:
        """Direction per objective."""
        return [o.maximise for o in self.objectives]

    def on(self, metric: str, maximise: bool | None = None) -> "Front":
        """The same points compared by another metric of each task. Without `maximise` its name
        tells the direction: lower is better where it ends in "loss" or "error", higher in
        "accuracy" or "IoU"; InputError where it does not."""
        if maximise is None:
            if not metric.endswith(LOWER + HIGHER):
                raise InputError(
                    f"`maximise` must say whether higher is better: the names of metrics that are "
                    f"known end in {', '.join(LOWER + HIGHER)}. Found {metric}."
                )
            maximise = metric.endswith(HIGHER)
        chosen = (f"{o.task}/{metric}" for o in self.objectives)
        return replace(self, objectives=tuple(Objective(name, maximise) for name in chosen))

    def upwards(self) -> "Front":
        """The same points with all objectives to be maximised, as in the paper's Figure 5: where
        lower was better "age/loss" becomes "age/negative loss", its negative."""
        names = {o.name: _negative(o.name) for o in self.objectives if not o.maximise}
        negated = self.table.assign(**{name: -self.table[name] for name in names})
        objectives = tuple(Objective(names.get(o.name, o.name), True) for o in self.objectives)
        return replace(self, table=negated.rename(columns=names), objectives=objectives)

    def non_dominated(self) -> np.ndarray:
        """Which points no other point dominates (Definition 1): bool [P]. Of equal points all are
        kept."""
        return moocore.is_nondominated(self.values, maximise=self.maximise, keep_weakly=True)

    def hypervolume(self, reference: Sequence[float] | np.ndarray) -> float:
        """The volume between the points and `reference` [T], given in the units and directions of
        the objectives.

        Points that are worse than the reference in any objective add nothing. The paper's tables
        use accuracies with reference (0, 0); its figure uses losses with reference (1, 1). Higher
        is better for either.
        """
        ref = np.asarray(reference, dtype=float)
        if ref.shape != (len(self.objectives),):
            raise InputError(
                f"`reference` must have {len(self.objectives)} entries, one per objective. "
                f"Found shape {ref.shape}."
            )
        return float(moocore.hypervolume(self.values, ref=ref, maximise=self.maximise))

    def spearman(self) -> np.ndarray:
        """Rank correlation of how much a point cares about a task, alpha^T W, with the objective:
        [T].

        More weight ought to mean better, so the ideal is 1 for an accuracy and -1 for a loss. NaN
        where all weights or all values are equal.
        """
        pairs = zip(self._weights().T, self.values.T, strict=True)
        return np.array([_rank_correlation(w, v) for w, v in pairs])

    def ordered_pairs(self) -> np.ndarray:
        """Of the pairs of points that differ in how much they care about a task, alpha^T W, the
        share in which the one that cares more is better at it: [T].

        1 is a front in order, 0 a reversed one; NaN where all weights are equal.
        """
        weights, better = self._weights(), np.where(self.maximise, 1, -1) * self.values
        cares = weights[:, None] < weights
        with np.errstate(invalid="ignore"):
            return (cares & (better[:, None] < better)).sum((0, 1)) / cares.sum((0, 1))

    def competition(self) -> float:
        """Mean rank correlation between the achievements on two tasks, over all pairs: -1 on a
        perfect front.

        This is the paper's criterion for PHN and COSMOS (appendix B4). NaN for a single task or
        point.
        """
        better = np.where(self.maximise, 1, -1) * self.values
        rows, columns = np.triu_indices(better.shape[1], k=1)
        pairs = [
            _rank_correlation(better[:, i], better[:, j])
            for i, j in zip(rows, columns, strict=True)
        ]
        return float(np.mean(pairs)) if pairs else float("nan")

    def middle(self) -> dict[str, float]:
        """The value of each objective at the point whose alpha is nearest to (1/M, ..., 1/M)."""
        nearest = np.linalg.norm(self.alphas - 1 / self.alphas.shape[1], axis=1).argmin()
        return {
            o.name: float(v) for o, v in zip(self.objectives, self.values[nearest], strict=True)
        }

    def best(self) -> dict[str, float]:
        """Best value of each objective on its own, "the best of the sampled subspace" of the
        paper's tables."""
        pick = np.where(self.maximise, self.values.max(0), self.values.min(0))
        return {o.name: float(v) for o, v in zip(self.objectives, pick, strict=True)}

    def choose(self, at_least: Mapping[str, float] | None = None) -> np.ndarray:
        """The alpha [M] with the best compromise among the points that meet every bound.

        Each objective is scaled to 0 at its worst and 1 at its best over the front, so that units
        do not matter; the compromise is the mean. `at_least` maps the name of an objective to the
        worst value accepted ("at most" where lower is better). InputError where no point qualifies.
        """
        better = np.where(self.maximise, 1, -1) * self.values
        allowed = np.ones(len(better), dtype=bool)
        names = [o.name for o in self.objectives]
        for name, bound in (at_least or {}).items():
            if name not in names:
                raise InputError(f"A bound must name one of {names}. Found {name!r}.")
            t = names.index(name)
            allowed &= better[:, t] >= (bound if self.maximise[t] else -bound)
        if not allowed.any():
            raise InputError(
                f"No point of the front meets {dict(at_least or {})}. Best found: {self.best()}."
            )
        span = np.ptp(better, axis=0)
        scaled = (better - better.min(0)) / np.where(span > 0, span, 1)
        return self.alphas[np.where(allowed, scaled.mean(1), -np.inf).argmax()]

    def to_frame(self) -> pd.DataFrame:
        """One row per point: alpha_1 ... alpha_M, every metric, and whether the point is
        non-dominated."""
        alphas = {f"alpha_{k + 1}": column for k, column in enumerate(self.alphas.T)}
        return self.table.assign(**alphas, non_dominated=self.non_dominated())[
            [*alphas, *self.table, "non_dominated"]
        ]

    def to_points(self, split: str) -> list[dict[str, Any]]:
        """The points as a record keeps them."""
        metrics = self.table.to_dict("records")
        return [
            {"alpha": alpha.tolist(), "split": split, "metrics": m}
            for alpha, m in zip(self.alphas, metrics, strict=True)
        ]

    def _weights(self) -> np.ndarray:
        """alpha^T W, [P, T]."""
        weights = self.alphas if self.task_weights is None else self.alphas @ self.task_weights
        if weights.shape[1] != len(self.objectives):
            raise InputError(
                f"`task_weights` must have {len(self.objectives)} columns, one per objective, and "
                f"may be None for one member per task. Found weights of shape {weights.shape}."
            )
        return weights.round(9)  # sums that are equal but for rounding

    @classmethod
    def from_points(
        cls, points: Sequence[Mapping[str, Any]], objectives: Sequence[Objective], split: str
    ) -> "Front":
        """The points of one split of a record."""
        chosen = [p for p in points if p["split"] == split]
        alphas = np.array([p["alpha"] for p in chosen])
        return cls(alphas, pd.DataFrame([p["metrics"] for p in chosen]), tuple(objectives))


def attained(fronts: Sequence[Front], share: float) -> np.ndarray:
    """The empirical attainment surface of `fronts`, each from another seed: the corners [K, T] of
    what at least `share` of them reach or surpass, in the units of the objectives."""
    sign = np.where(fronts[0].maximise, -1, 1)
    points = np.concatenate([front.values * sign for front in fronts])
    sets = np.repeat(np.arange(len(fronts)), [len(front.values) for front in fronts])
    return moocore.eaf(points, sets, percentiles=[100 * share])[:, :-1] * sign


def _negative(name: str) -> str:
    task, _, metric = name.rpartition("/")
    return f"{task}/negative {metric}"


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    # Not scipy.stats, which takes two seconds to import.
    return float(pd.DataFrame({"a": a, "b": b}).corr(method="spearman").iloc[0, 1])
