"""Fronts: what a set of alphas achieves, and how good that is as a Pareto front. No torch here."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import moocore
import numpy as np
import pandas as pd

from pamal_core.errors import InputError, check_choice
from pamal_core.objectives import NO_BOUNDS, Bounds, Objective, PerObjective, Point, by_objective


@dataclass(frozen=True, eq=False, repr=False)
class Front:
    r"""Hold P points: their alphas, all their metrics, and the T objectives that compare them.

    `len(front)` is P. `front[i]` is a `Point`, as iteration gives them; a slice, a mask or a list
    of rows gives a front of these points.

    - `alphas`: [P, M], each row on the simplex of the M members.
    - `table`: a row per point and a column "task/metric" per metric, in the metric's own unit and
      direction.
    - `objectives`: a column of the table for each task, with its direction.
    - `task_weights`: the matrix W [M, T] of section 4.1, None for the identity. $\alpha^\top W$
      says how much a point prefers each objective.
    - `metrics`: direction and reference of other columns, if they are known.
    - `is_union`: points are of several networks, so that `plot` draws no line through them.

    If an objective of a point is NaN or infinite, every comparison leaves the point out with a
    warning, and raises InputError if no other is left. Other metrics may be NaN. Raises InputError
    if there is no point, or an objective without a column.
    """

    alphas: np.ndarray
    table: pd.DataFrame
    objectives: tuple[Objective, ...]
    task_weights: np.ndarray | None = None
    metrics: tuple[Objective, ...] = ()
    is_union: bool = False

    def __post_init__(self) -> None:
        missing = [o.name for o in self.objectives if o.name not in self.table]
        if missing or not len(self.table) == len(self.alphas) > 0:
            raise InputError(
                "A front needs points, a row of metrics for each, and a column for each objective. "
                f"Found {len(self.alphas)} alphas, {len(self.table)} rows, missing {missing}."
            )

    def __len__(self) -> int:
        return len(self.alphas)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, str):
            raise InputError(
                "A front is indexed by rows: numbers, a slice, a mask or a list. `table` has its "
                f"columns. Found {rows!r}."
            )
        if not isinstance(rows, int | np.integer):
            # As pandas takes them: a boolean Series is matched by its index.
            every = pd.Series(range(len(self)), self.table.index)
            is_mask = isinstance(rows, pd.Series) and rows.dtype == bool
            places = (every.loc if is_mask else every.iloc)[rows].to_numpy()
            table = self.table.iloc[places].reset_index(drop=True)
            return replace(self, alphas=self.alphas[places], table=table)
        row = range(len(self))[rows]
        return Point(self.alphas[row].copy(), row, self.table.iloc[row].to_dict())

    def __iter__(self) -> Iterator[Point]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        from pamal_core.printed import text  # which knows fronts, and so comes after them

        return text(self)

    def _repr_html_(self) -> str:
        from pamal_core.printed import html

        return html(self)

    @property
    def values(self) -> np.ndarray:
        """Return the objectives, each in its own unit and direction: [P, T]."""
        # Column by column, which pandas does ten times as fast as all at once.
        return np.stack([self.table[o.name].to_numpy(float) for o in self.objectives], axis=1)

    @property
    def better(self) -> np.ndarray:
        """Return the objectives, negated if lower is better, so that higher is better: [P, T]."""
        return np.where(self.maximise, 1, -1) * self.values

    @property
    def maximise(self) -> list[bool]:
        """Return for each objective if higher is better."""
        return [o.maximise for o in self.objectives]

    @property
    def reference(self) -> np.ndarray:
        """Return the reference of each objective, NaN if it has none: [T]."""
        return np.array([o.reference for o in self.objectives], dtype=float)

    @property
    def matrix(self) -> np.ndarray:
        """Return `task_weights`, or the identity if they are None: [M, T]."""
        return np.eye(len(self.objectives)) if self.task_weights is None else self.task_weights

    @property
    def preferences(self) -> np.ndarray:
        r"""Return how much each point prefers each objective, $\alpha^\top W$: [P, T]."""
        return (self.alphas @ self.matrix).round(9)  # sums that are equal but for rounding

    @property
    def alpha_names(self) -> list[str]:
        """Return the names of the entries of alpha: alpha/task if each member is trained on one
        task, else alpha_1 to alpha_M."""
        num_members, tasks = self.alphas.shape[1], [o.task for o in self.objectives]
        if len({*tasks}) == num_members and np.array_equal(self.matrix, np.eye(num_members)):
            return [f"alpha/{task}" for task in tasks]
        return [f"alpha_{k + 1}" for k in range(num_members)]

    @property
    def known(self) -> dict[str, Objective]:
        """Return the columns whose direction is known, by name."""
        return {o.name: o for o in (*self.metrics, *self.objectives)}

    @property
    def is_finite(self) -> np.ndarray:
        """Return which points have finite objectives: bool [P]."""
        return np.isfinite(self.values).all(1)

    def finite(self) -> "Front":
        """Return the points with finite objectives, with a warning if some are left out; raise
        InputError if all are."""
        kept, names = self.is_finite, ", ".join(o.name for o in self.objectives)
        if kept.all():
            return self
        if not kept.any():
            raise InputError(f"A front needs a point where {names} are finite. Found none.")
        warnings.warn(
            f"{(~kept).sum()} of {len(kept)} points of the front are left out: {names} must be "
            f"finite. The first is at alpha {self.alphas[kept.argmin()].round(3).tolist()}.",
            stacklevel=3,
        )
        return self[kept]

    def on(self, metric: str, maximise: bool | None = None) -> "Front":
        """Return the same points compared by another metric of each task. `maximise` says if higher
        is better; the front need not be told what it knows."""
        names, known = [f"{o.task}/{metric}" for o in self.objectives], self.known
        if maximise is not None:
            known |= {name: Objective(name, maximise) for name in names if name in self.table}
        for name in names:
            check_choice("metric of each task", name, [*known])
        chosen = tuple(known[name] for name in names)
        return replace(self, objectives=chosen, metrics=tuple(known.values()))

    def column(self, name: str) -> str:
        """Return the column of the objective of the task `name`; `name` itself if it is a column or
        nothing that the front knows."""
        objectives = {o.task: o.name for o in self.objectives}
        return name if name in self.table else objectives.get(name, name)

    def non_dominated(self) -> np.ndarray:
        """Return which points no other point dominates (Definition 1): bool [P]. Equal points are
        all kept."""
        self.finite()  # for its warning
        return self.kept()

    def kept(self) -> np.ndarray:
        """Return `non_dominated`, without a warning of points that are not finite."""
        kept = self.is_finite
        if kept.any():
            values = self.values[kept]
            kept[kept] = moocore.is_nondominated(values, maximise=self.maximise, keep_weakly=True)
        return kept

    @property
    def pareto(self) -> "Front":
        """Return the points that no other point dominates."""
        return self[self.non_dominated()]

    def hypervolume(self, reference: PerObjective | None = None) -> float:
        """Return the volume between the points and `reference`. Higher is better.

        - `reference`: a number per objective, in its unit, by the names of tasks or columns (a dict
          or a Series) or in the order of the objectives. Points that are worse in any objective add
          nothing. By default each objective's own. Losses have none: give, for example, what a
          constant answer gets.

        It is exact, which takes time with many objectives: in eight, a second for 120 points that
        are not dominated and 20 for 240. Raises InputError if a number is missing or a name wrong.
        """
        if reference is None:  # None for a loss, which an error then names
            reference = {o.name: o.reference for o in self.objectives}
        ref, front = by_objective(self.objectives, "reference", reference), self.finite()
        is_better = front.better > np.where(front.maximise, ref, -ref)
        inside = front.kept() & is_better.all(1)
        if not inside.any():
            return 0.0
        # Other points add no volume, but time: with many objectives too much. With few they stay,
        # because without them the last bit of a record may be another one.
        points = front.values if len(ref) <= 4 else front.values[inside]
        return float(moocore.hypervolume(points, ref=ref, maximise=front.maximise))

    def spearman(self) -> np.ndarray:
        """Return the rank correlation of how much a point prefers an objective with the objective:
        [T], in [-1, 1].

        The ideal is 1 for an accuracy and -1 for a loss: more weight ought to mean better. It is
        NaN if all weights or all values are equal.
        """
        front = self.finite()
        # By pandas: scipy.stats takes two seconds to import.
        both = pd.DataFrame(np.hstack([front.preferences, front.values])).corr("spearman")
        return np.diag(both, k=len(self.objectives))

    def task_correlation(self) -> float:
        """Return the mean over all pairs of tasks of the rank correlation between what the points
        achieve on the two, in [-1, 1]: -1 on a perfect front.

        This is the paper's criterion for PHN and COSMOS (appendix B4). It is NaN for a single task
        or point.
        """
        every = pd.DataFrame(self.finite().better).corr("spearman").to_numpy()
        pairs = every[np.triu_indices(len(every), k=1)]
        return float(pairs.mean()) if len(pairs) else float("nan")

    def ideal_point(self) -> dict[str, float]:
        """Return the best value of each objective on its own: "the best of the sampled subspace" of
        the paper's tables."""
        front = self.finite()
        rows = zip(self.objectives, front.better.argmax(0), front.values.T, strict=True)
        return {o.name: float(column[row]) for o, row, column in rows}

    def choose(
        self,
        *,
        best: str | None = None,
        at_least: Bounds = NO_BOUNDS,
        at_most: Bounds = NO_BOUNDS,
        weights: PerObjective | None = None,
    ) -> Point:
        """Return the best point among those that meet every bound.

        Without `best` and `weights` it is the point whose worst objective is best, each scaled to 0
        at its worst and 1 at its best over the non-dominated points (achievement scalarisation,
        Wierzbicki 1980). If these are equal, the second worst decides, and so on. So an end is
        chosen only if nothing lies between. An objective that is the same everywhere counts for
        nothing.

        - `best`: the task, or its objective, that is to be best. If several points are, it is the
          one that would be chosen without `best`.
        - `at_least`, `at_most`: bounds of tasks, whose objectives are meant, or of other columns.
          They mean what they say; a warning says if only the better side is bounded.
        - `weights`: a number >= 0 per objective, by name or in order. The point has the highest
          weighted mean of the scaled objectives.

        Raises InputError if no point meets all bounds, and names the nearest point.
        """
        from pamal_core.choose import choose  # which knows fronts, and so comes after them

        self.finite()  # for its warning
        return choose(self, best, at_least, at_most, weights)

    def plot(self, ax: Any = None, beside: Mapping[str, "Front"] = MappingProxyType({})) -> Any:
        """Draw the front, and return the first axes; their `figure` is the picture.

        Up to four tasks have a panel for each two, with the points that are not dominated filled
        and a line where there are two members. Three have the triangle of alphas as well, if
        mpltern is installed. More have one panel with a line for each front: its best in each task.

        - `ax`: matplotlib's axes, one for each panel but the triangle; by default new ones.
        - `beside`: other fronts with the same objectives, by the name that the legend gives them.
        """
        from pamal_core.plot import plot  # which knows fronts, and so comes after them

        return plot(self, ax, beside)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per point: its alpha, every metric, and "non_dominated"."""
        alphas = dict(zip(self.alpha_names, self.alphas.T, strict=True))
        columns = [*alphas, *self.table, "non_dominated"]
        return self.table.assign(**alphas, non_dominated=self.kept())[columns]
