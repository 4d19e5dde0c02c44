"""Fronts: what a set of alphas achieves, and how good that is as a Pareto front. No torch here."""

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import moocore
import numpy as np
import pandas as pd
from scipy.special import stdtrit

from pamal_core.errors import InputError, check_choice, check_type, is_number
from pamal_core.files import replacing
from pamal_core.simplex import as_array

Weights = Mapping[str, float | int] | Sequence[float | int] | np.ndarray
"""One number >= 0 per objective, by the name of its task or column, or in their order."""
Bounds = Mapping[str, float | int]
"""Tasks, or columns of a front's table, and the least, or the most, that is accepted of each."""
NO_BOUNDS: Bounds = MappingProxyType({})
LONG = 1e11
"""Of n points in T > 4 objectives an exact hypervolume takes some n^(T-2) steps: here seconds."""
WORSE = 0.1
"""Members do not belong together where the middle is worse than the worst end by more than this
share of that end's value."""


@dataclass(frozen=True)
class Objective:
    """A column of a front's table, "task/metric": its direction and, where there is one, its
    reference, the value that is worth nothing in a hypervolume."""

    name: str
    maximise: bool
    reference: float | None = field(default=None, compare=False)

    @property
    def task(self) -> str:
        """The task of "task/metric"."""
        return self.name.rpartition("/")[0]

    @property
    def words(self) -> str:
        """The same as "metric on task"."""
        task, _, metric = self.name.rpartition("/")
        return f"{metric} on {task}"

    @property
    def label(self) -> str:
        """The words, and which direction is better."""
        return f"{self.words} ({'higher' if self.maximise else 'lower'} is better)"


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a front: its alpha [M], its row, counted from 0, and all its metrics."""

    alpha: np.ndarray
    row: int
    metrics: dict[str, float]


class OverSeeds(NamedTuple):
    """What several runs achieve: the mean of each point, half the width of the 95% interval of each
    mean (Student's t, a row per point), and the corners [K, T] of what at least half of the runs
    attain; these of two or three objectives only, else K is 0."""

    mean: "Front"
    half_width: pd.DataFrame
    attained: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Front:
    r"""P points: their alphas [P, M], a table of all their metrics, and the objectives by which
    they are compared.

    `len(front)` is P. `front[i]` is a `Point`, as iteration gives them; a slice, a mask or a list
    of rows gives a front of these.

    - `task_weights`: the matrix W [M, T] of section 4.1 for the T objectives, None for the
      identity. $\alpha^\top W$ says how much a point cares about each objective.
    - `metrics`: direction and reference of columns that are no objectives, where they are known.

    A point with an objective that is NaN or infinite counts nowhere: whatever compares points
    leaves it out with a warning, and raises InputError where no other is left. Other metrics may be
    NaN.
    """

    alphas: np.ndarray
    table: pd.DataFrame
    objectives: tuple[Objective, ...]
    task_weights: np.ndarray | None = None
    metrics: tuple[Objective, ...] = ()

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
        if not isinstance(rows, int | np.integer):
            # As pandas takes them: a mask of rows that were sorted means these rows.
            places = pd.Series(range(len(self)), self.table.index).iloc[rows].to_numpy()
            table = self.table.iloc[places].reset_index(drop=True)
            return replace(self, alphas=self.alphas[places], table=table)
        row = range(len(self))[rows]
        return Point(self.alphas[row].copy(), row, self.table.iloc[row].to_dict())

    def __iter__(self) -> Iterator[Point]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"{self._summary()}\n{self._brief().to_string(max_rows=11, max_cols=8)}"

    def _repr_html_(self) -> str:
        table = self._brief().to_html(max_rows=11, max_cols=8, border=0)
        return f"<p>{escape(self._summary())}</p>\n{table}"

    def _summary(self) -> str:
        labels, kept = ", ".join(o.label for o in self.objectives), self._non_dominated().sum()
        points, members = self.alphas.shape
        return f"{points} points of {members} members, {kept} not dominated, by {labels}"

    def _brief(self) -> pd.DataFrame:
        others = {*self.table} - {o.name for o in self.objectives}
        return self.to_frame().drop(columns=[*others]).round(4)

    @property
    def values(self) -> np.ndarray:
        """The objectives, each in its own direction: [P, T]."""
        # Column by column, which pandas does ten times as fast as all at once.
        return np.stack([self.table[o.name].to_numpy(float) for o in self.objectives], axis=1)

    @property
    def better(self) -> np.ndarray:
        """The objectives with the signs with which higher is better: [P, T]."""
        return np.where(self.maximise, 1, -1) * self.values

    @property
    def F(self) -> np.ndarray:  # noqa: N802 - pymoo's name
        """The objectives with the signs with which lower is better, as pymoo takes them: [P, T]."""
        return -self.better

    @property
    def maximise(self) -> list[bool]:
        """Direction per objective."""
        return [o.maximise for o in self.objectives]

    @property
    def cares(self) -> np.ndarray:
        r"""How much each point cares about each objective, $\alpha^\top W$: [P, T]."""
        return (self.alphas @ self._matrix).round(9)  # sums that are equal but for rounding

    @property
    def is_finite(self) -> np.ndarray:
        """Which points have finite objectives: bool [P]."""
        return np.isfinite(self.values).all(1)

    def finite(self) -> "Front":
        """Return the points with finite objectives, with a warning that says how many are left out;
        raise InputError where there is none."""
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
        """Return the same points compared by another metric of each task. `maximise` says whether
        higher is better, where the front does not know."""
        names, known = [f"{o.task}/{metric}" for o in self.objectives], self._known()
        if maximise is not None:
            known |= {name: Objective(name, maximise) for name in names}
        for name in names:
            check_choice("metric of each task", name, [*known])
        chosen = tuple(known[name] for name in names)
        return replace(self, objectives=chosen, metrics=tuple(known.values()))

    def non_dominated(self) -> np.ndarray:
        """Return which points no other point dominates (Definition 1): bool [P]. All of several
        equal points are kept."""
        self.finite()
        return self._non_dominated()

    @property
    def pareto(self) -> "Front":
        """The points that no other point dominates."""
        found: Front = self[self.non_dominated()]
        return found

    def hypervolume(
        self, reference: Sequence[float] | np.ndarray | None = None, *, exact: bool | None = None
    ) -> float:
        """Return the volume between the points and `reference`. Higher is better.

        - `reference`: [T], in the units of the objectives; points that are worse in any of them add
          nothing. By default that of each objective. Losses have none: give, for example, what a
          constant answer gets.
        - `exact`: by default for T <= 4, and for n non-dominated points with n^(T-2) <= 10^11: 68
          in eight objectives. Beyond that the exact one takes from seconds to hours; it is then
          `moocore.hv_approx`, within about 1%, and a warning says so.
        """
        ref = as_array([o.reference for o in self.objectives] if reference is None else reference)
        if ref.shape != (len(self.objectives),) or not np.isfinite(ref).all():
            raise InputError(
                f"`reference` must be {len(self.objectives)} finite numbers, one per objective, "
                "and given where one has none, as losses: what a constant answer gets. "
                f"Found {ref.tolist()}."
            )
        front = self.finite()
        sign = np.where(front.maximise, 1, -1)
        inside = front._non_dominated() & (front.values * sign > ref * sign).all(1)
        if exact is None:
            exact = len(ref) <= 4 or float(inside.sum()) ** (len(ref) - 2) <= LONG
            if not exact:
                warnings.warn(
                    f"The hypervolume of {inside.sum()} points in {len(ref)} objectives is "
                    "approximate, to about 1%; `exact=True` waits for the exact one.",
                    stacklevel=2,
                )
        if not inside.any():
            return 0.0
        if exact:
            points = front.values if len(ref) <= 4 else front.values[inside]
            return float(moocore.hypervolume(points, ref=ref, maximise=front.maximise))
        beyond = (front.values[inside] - ref) * sign
        span = beyond.max(0)  # the approximation draws directions, which must not depend on units
        near = moocore.hv_approx(beyond / span, ref=np.zeros(len(ref)), maximise=True)
        return float(near * span.prod())

    def spearman(self) -> np.ndarray:
        """Return the rank correlation of how much a point cares about a task with the objective:
        [T], in [-1, 1].

        The ideal is 1 for an accuracy and -1 for a loss: more weight ought to mean better. NaN
        where all weights or all values are equal.
        """
        front = self.finite()
        pairs = zip(front.cares.T, front.values.T, strict=True)
        return np.array([_rank_correlation(w, v) for w, v in pairs])

    def competition(self) -> float:
        """Return the mean over all pairs of tasks of the rank correlation between what the points
        achieve on the two: -1 on a perfect front.

        This is the paper's criterion for PHN and COSMOS (appendix B4). NaN for a single task or
        point.
        """
        pairs = [_rank_correlation(a, b) for a, b in combinations(self.finite().better.T, 2)]
        return float(np.mean(pairs)) if pairs else float("nan")

    def barrier(self) -> dict[str, float]:
        r"""Return by how much the middle is worse than the line between the ends, for each
        objective and in its unit: 0.05 of an accuracy is 0.05 below the line, 0.05 of a loss 0.05
        above. A negative number is better than the line.

        The middle is the point nearest to (1/M, ..., 1/M), the line $\sum_k \alpha_k v_k$ with the
        objective $v_k$ at corner k. Frankle et al., "Linear mode connectivity and the lottery
        ticket hypothesis" (ICML 2020), call the largest gap along it the error barrier: small for
        networks that share the first part of their training, and large for those that do not.

        Warns where the middle is worse than every end by more than a tenth of the worst end's
        value. Raises InputError unless every corner is a point of the front.
        """
        front = self.finite()
        alphas, num_members = front.alphas, front.alphas.shape[1]
        is_end = np.isclose(alphas, 1, atol=1e-6)
        if num_members < 2 or not is_end.any(0).all() or is_end.any(1).all():
            raise InputError(
                "A barrier needs a front of two members or more with every corner of the simplex "
                f"and a point between them, as `evaluate` gives it. Found {len(front)} points of "
                f"{num_members} members, {int(is_end.any(0).sum())} of the corners among them."
            )
        middle = np.linalg.norm(alphas - 1 / num_members, axis=1).argmin()
        sign, values = np.where(front.maximise, -1, 1), front.values
        ends = values[is_end.argmax(0)]
        worst = (sign * ends).max(0)
        apart = sign * values[middle] - worst > WORSE * abs(worst)
        if apart.any():
            found = " and ".join(
                f"{self.objectives[t].name} is {values[middle, t]:.3g} in the middle and "
                f"{', '.join(f'{end:.3g}' for end in ends[:, t])} at the ends"
                for t in np.flatnonzero(apart)
            )
            warnings.warn(
                "The members do not belong together, as networks do that were trained from one or "
                f"together: {found}.",
                stacklevel=2,
            )
        gaps = sign * (values[middle] - alphas[middle] @ ends)
        return dict(zip((o.name for o in self.objectives), gaps.tolist(), strict=True))

    def best(self) -> dict[str, float]:
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
        weights: Weights | None = None,
    ) -> Point:
        """Return the best point among those that meet every bound.

        Without `best` and `weights` it is the point whose worst objective is best, each scaled to 0
        at its worst and 1 at its best over the non-dominated points (achievement scalarisation,
        Wierzbicki 1980); where these are equal, the second worst decides, and so on. So an end is
        chosen only where nothing lies between. An objective that is the same everywhere counts for
        nothing.

        - `best`: the task, or its objective, that is to be best; of several that are, the point
          that would be chosen without it.
        - `at_least`, `at_most`: bounds of tasks, whose objectives are meant, or of other columns.
          They mean what they say; a warning says where only the better side is bounded.
        - `weights`: a number >= 0 per objective. The point has the highest weighted mean of the
          scaled objectives.

        Raises InputError where no point meets all bounds, which names the nearest point.
        """
        finite, rows = self.finite(), np.flatnonzero(self.is_finite)
        missed = finite._missed(at_least, at_most)
        met = np.flatnonzero(sum(missed.values(), np.zeros(len(finite))) == 0)
        if not len(met):
            none = [text for text, short in missed.items() if short.min() > 0]
            nearest = np.sum([*missed.values()], axis=0).argmin()
            raise InputError(
                f"No point of the front meets {' nor '.join(none) or ' and '.join(missed)}. "
                f"The nearest is row {rows[nearest]}, with "
                f"{finite.table.round(4).iloc[nearest].to_dict()}."
            )
        better = finite.better
        # An objective of weight 0 leaves points alike of which one dominates the other.
        met = met[moocore.is_nondominated(better[met], maximise=True, keep_weakly=True)]
        scaled, differs = finite.scaled(better[met])
        ranks = [*np.sort(scaled).T]  # the worst objective of each point, the second worst, ...
        if weights is not None:
            ranks = [(self._in_order(weights)[differs] * scaled).sum(1)]
        if best is not None:
            names = [o.name for o in self.objectives]
            check_choice("best", self._column(best), names)
            ranks.insert(0, better[met, names.index(self._column(best))])
        # The last key counts most; of equal points the first is taken.
        order = np.lexsort([-rank for rank in reversed(ranks)]) if ranks else [0]
        found: Point = self[rows[met[order[0]]]]
        return found

    def scaled(self, better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is `better`, [P, T] with the signs with which higher is better, scaled to 0
        at the worst and 1 at the best over the non-dominated points, or over all that there are of
        an objective in which these are alike, for the D objectives that differ: [P, D]; and which
        these are: bool [T]."""
        kept = self.pareto.better
        every = np.vstack([kept, better])
        alike = np.ptp(kept, axis=0) == 0
        low = np.where(alike, every.min(0), kept.min(0))
        span = np.where(alike, every.max(0), kept.max(0)) - low
        differs = span > 0
        return (better - low)[:, differs] / span[differs], differs

    def compare(
        self, *, reference: Sequence[float] | np.ndarray | None = None, **others: "Front"
    ) -> pd.DataFrame:
        """Return a row for this front, "this", and for each of `others`, by its name, judged
        against the others together; raise InputError unless all have the same objectives.

        The columns, in the units of the objectives, are "hypervolume" (higher is better), from
        `reference` [T], by default that of each objective or, of one that has none, the worst value
        over the non-dominated points of all; "additive epsilon" (lower is better), the least that
        must be added to each objective to reach all of the others; "IGD+" (lower is better; units
        should be alike), the mean distance by which the others are ahead; and "attained" (higher is
        better), the share of the others' non-dominated points for which this front has a point that
        is as good in every objective.
        """
        if not others or "this" in others:
            raise InputError(
                "Fronts are compared by names of their own, as in front.compare(LS=other). Found "
                f"{', '.join(others) or 'none'}."
            )
        self._check_same(others.values())
        fronts = {"this": self.finite()} | {name: one.finite() for name, one in others.items()}
        values = {name: one.values[one._non_dominated()] for name, one in fronts.items()}
        up, every = np.array(self.maximise), np.concatenate([*values.values()])
        if reference is None:
            worst = zip(self.objectives, np.where(up, every.min(0), every.max(0)), strict=True)
            reference = [value if o.reference is None else o.reference for o, value in worst]
        rows = {}
        for name, ours in values.items():
            theirs = np.concatenate([v for other, v in values.items() if other != name])
            theirs = theirs[moocore.is_nondominated(theirs, maximise=up, keep_weakly=True)]
            reached = np.where(up, ours >= theirs[:, None], ours <= theirs[:, None])
            rows[name] = {
                "hypervolume": fronts[name].hypervolume(reference),
                "additive epsilon": moocore.epsilon_additive(ours, theirs, maximise=up),
                "IGD+": moocore.igd_plus(ours, theirs, maximise=up),
                "attained": reached.all(2).any(1).mean(),
            }
        return pd.DataFrame(rows).T

    def union(self, *others: "Front") -> "Front":
        """Return all points as one front, with a column "run": 0 for those of this front, 1 for
        those of the next. Where the networks differ in `num_members` or `task_weights`, its alphas
        are how much each point cares about each objective."""
        self._check_same(others)
        fronts, weights = (self, *others), self.task_weights
        tables, number = [], 0
        for front in fronts:  # of which some may be unions
            runs = front.table.get("run", pd.Series(0, front.table.index))
            tables.append(front.table.assign(run=runs + number))
            number += int(runs.max()) + 1
        alphas = [front.alphas for front in fronts]
        if not all(np.array_equal(front._matrix, self._matrix) for front in others):
            alphas, weights = [front.cares for front in fronts], None
        table = pd.concat(tables, ignore_index=True)
        return replace(self, alphas=np.concatenate(alphas), table=table, task_weights=weights)

    @staticmethod
    def over_seeds(fronts: Sequence["Front"]) -> OverSeeds:
        """Return what `fronts` achieve together: the front of the means, half the width of their
        95% intervals, and the attained surface, as `OverSeeds` has them.

        - `fronts`: at least two with the same alphas, each from another seed.
        """
        are_alike = all(
            np.array_equal(front.alphas, fronts[0].alphas)
            and np.array_equal(front._matrix, fronts[0]._matrix)
            for front in fronts
        )
        if len(fronts) < 2 or not are_alike:
            raise InputError(
                "Means over seeds need two fronts or more, all with the same alphas and "
                "`task_weights`."
            )
        first = fronts[0]
        first._check_same(fronts)
        names = [*first.table]
        tables = np.stack([front.table[names].to_numpy(float) for front in fronts])
        half_width = stdtrit(len(fronts) - 1, 0.975) * tables.std(0, ddof=1) / len(fronts) ** 0.5
        mean = replace(first, table=pd.DataFrame(tables.mean(0), columns=names))
        corners = np.empty((0, len(first.objectives)))
        if len(first.objectives) in (2, 3):
            corners = attained(fronts, 0.5)
        return OverSeeds(mean, pd.DataFrame(half_width, columns=names), corners)

    def plot(self, ax: Any = None, beside: Mapping[str, "Front"] = MappingProxyType({})) -> Any:
        """Draw the front, the points that are not dominated filled, and return the axes.

        - `ax`: matplotlib's axes, one for every two tasks; by default new ones.
        - `beside`: other fronts with the same objectives, by the name that the legend gives them.
        """
        check_type("beside", beside, Mapping, '{"LS": front}')
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise ImportError(
                "Found no matplotlib. The extra `plots` brings it: pip install '.[plots]'."
            ) from None
        self._check_same(beside.values())
        pairs = [*combinations(range(len(self.objectives)), 2)]
        if ax is None:
            size = 4.5 * len(pairs), 4
            ax = plt.subplots(1, len(pairs), figsize=size, layout="constrained")[1]
        front = self.finite()
        kept, along = front._non_dominated(), front.alphas[:, 0].argsort(kind="stable")
        for panel, pair in zip(np.ravel(ax), pairs, strict=True):
            points = front.values[:, pair]
            if front.alphas.shape[1] == 2 and "run" not in front.table:  # a segment, no union
                panel.plot(*points[along].T, color="C0", lw=1)
            panel.plot(*points[kept].T, "o", color="C0", label="not dominated")
            if not kept.all():
                panel.plot(*points[~kept].T, "o", color="C0", mfc="none", label="dominated")
            for number, (name, other) in enumerate(beside.items(), start=1):
                values = other.finite().values[:, pair]
                panel.plot(*values.T, "*", color=f"C{number}", ms=12, label=name)
            x, y = (self.objectives[t].label for t in pair)
            panel.set(xlabel=x, ylabel=y)
        panel.legend()
        return ax

    def to_frame(self) -> pd.DataFrame:
        """Return a row per point: its alpha, every metric, and whether the point is non-dominated.

        The entries of alpha are alpha/task where each member is trained on one task, else alpha_1
        ... alpha_M.
        """
        num_members, tasks = self.alphas.shape[1], [o.task for o in self.objectives]
        names = [f"alpha_{k + 1}" for k in range(num_members)]
        if len({*tasks}) == num_members and np.array_equal(self._matrix, np.eye(num_members)):
            names = [f"alpha/{task}" for task in tasks]
        alphas = dict(zip(names, self.alphas.T, strict=True))
        return self.table.assign(**alphas, non_dominated=self._non_dominated())[
            [*alphas, *self.table, "non_dominated"]
        ]

    def save(self, path: str | Path) -> None:
        """Write everything into the file `path`, as JSON, in one atomic step.

        Finite numbers are kept to the last bit; others are null, and NaN when they are loaded. The
        rows of the table are counted anew.
        """
        content = {
            "objectives": [asdict(o) for o in self.objectives],
            "metrics": [asdict(o) for o in self.metrics],
            "task_weights": None if self.task_weights is None else self.task_weights.tolist(),
            "alphas": _plain(self.alphas.tolist()),
            "table": {name: _plain(self.table[name].tolist()) for name in self.table},
            "dtypes": {name: str(self.table[name].dtype) for name in self.table},
        }
        text = json.dumps(content, indent=1, allow_nan=False)
        with replacing(Path(path)) as file:
            file.write(text.encode())

    @classmethod
    def load(cls, path: str | Path) -> "Front":
        """Return what `save` wrote."""
        content = json.loads(Path(path).read_text("utf-8"))
        weights = content["task_weights"]
        return cls(
            np.array(content["alphas"], dtype=float),
            pd.DataFrame(content["table"]).astype(content["dtypes"]),
            tuple(Objective(**o) for o in content["objectives"]),
            None if weights is None else np.array(weights, dtype=float),
            tuple(Objective(**o) for o in content["metrics"]),
        )

    def _non_dominated(self) -> np.ndarray:
        kept = self.is_finite
        if kept.any():
            values = self.values[kept]
            kept[kept] = moocore.is_nondominated(values, maximise=self.maximise, keep_weakly=True)
        return kept

    @property
    def _matrix(self) -> np.ndarray:
        """The matrix W, the identity where it is None: [M, T]."""
        return np.eye(len(self.objectives)) if self.task_weights is None else self.task_weights

    def _known(self) -> dict[str, Objective]:
        """Return every column whose direction is known."""
        return {o.name: o for o in (*self.metrics, *self.objectives)}

    def _column(self, name: str) -> str:
        """Return the column that is meant by the name of a task, or else `name`."""
        objectives = {o.task: o.name for o in self.objectives}
        return name if name in self.table else objectives.get(name, name)

    def _in_order(self, weights: Weights) -> np.ndarray:
        """Return the `weights` of `choose` in the order of the objectives: [T]."""
        names = [o.name for o in self.objectives]
        given: Any = weights
        if isinstance(weights, Mapping):
            named = {self._column(name): weight for name, weight in weights.items()}
            given = [named[name] for name in names] if {*named} == {*names} else []
        right = isinstance(given, Sequence | np.ndarray) and len(given) == len(names)
        if not right or not all(is_number(w) and w >= 0 for w in given) or not any(given):
            raise InputError(
                f"`weights` must be finite numbers >= 0, not all 0, one for each of {names}, by "
                f"name or in this order. Found {weights!r}."
            )
        return np.array(given, dtype=float)

    def _missed(self, at_least: Bounds, at_most: Bounds) -> dict[str, np.ndarray]:
        """Return for each bound, in words, by what share of the extent of its column each point
        misses it: 0 where it is met, inf where there is no number."""
        known, missed = self._known(), {}
        bounds = {"at_least": at_least, "at_most": at_most}
        for side, other, sign in ("at_least", "at_most", 1), ("at_most", "at_least", -1):
            limits = bounds[side]
            bounded = {*map(self._column, bounds[other])}
            for given, limit in limits.items():
                name = self._column(given)
                if name not in self.table or not is_number(limit):
                    raise InputError(
                        f"A bound must be a finite number, and name one of {[*self.table]}. "
                        f"Found {limit!r} for {given!r}."
                    )
                if name in known and known[name].maximise != (sign > 0) and name not in bounded:
                    way, good = ("below", "lower") if sign > 0 else ("above", "higher")
                    warnings.warn(
                        f"`{side}` bounds {name} from {way}, where {good} is better: `{other}` is "
                        "the bound that keeps it good.",
                        stacklevel=3,
                    )
                column = self.table[name].to_numpy(float)
                numbers = column[np.isfinite(column)]
                extent = np.ptp(numbers) if len(numbers) else 0.0
                short = np.clip(sign * (limit - column), 0, None) / (extent or 1.0)
                text = f"{name} {side.replace('_', ' ')} {limit:.4g}"
                missed[text] = np.where(np.isfinite(column), short, np.inf)
        return missed

    def _check_same(self, others: Any) -> None:
        """Raise InputError unless all fronts have the same objectives."""
        for other in others:
            if self.objectives != other.objectives:
                raise InputError(
                    "Fronts must have the same objectives, in the same directions. Found "
                    f"{self.objectives} and {other.objectives}."
                )


def attained(fronts: Sequence[Front], share: float) -> np.ndarray:
    """Return the empirical attainment surface of `fronts`, each from another seed: the corners
    [K, T] of what at least `share` of them reach or surpass, in the units of the objectives."""
    fronts = [front.finite() for front in fronts]
    points = np.concatenate([front.F for front in fronts])
    sets = np.repeat(np.arange(len(fronts)), [len(front) for front in fronts])
    corners = moocore.eaf(points, sets, percentiles=[100 * share])[:, :-1]
    return corners * np.where(fronts[0].maximise, -1, 1)


def _plain(values: Any) -> Any:
    """Return `values`, of nested lists, with None for each number that JSON has no word for."""
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    # Not scipy.stats, which takes two seconds to import.
    return float(pd.DataFrame({"a": a, "b": b}).corr(method="spearman").iloc[0, 1])
