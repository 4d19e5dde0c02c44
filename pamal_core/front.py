"""Fronts: what a set of alphas achieves, and how good that is as a Pareto front. No torch here."""

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import moocore
import numpy as np
import pandas as pd

from pamal_core.errors import InputError, is_number
from pamal_core.simplex import as_array

Weights = Mapping[str, float | int] | Sequence[float | int] | np.ndarray
"""One number >= 0 per objective, by name or in their order."""
Bounds = Mapping[str, float | int]
"""Columns of a front's table and the least, or the most, that is accepted of each."""
NO_BOUNDS: Bounds = MappingProxyType({})
LOWER, HIGHER = ("loss", "error"), ("accuracy", "IoU")
"""How the names of metrics end that are better the lower, or the higher, they are."""
LONG = 1e11
"""Of n points in T > 4 objectives an exact hypervolume takes some n^(T-2) steps: here seconds."""


@dataclass(frozen=True)
class Objective:
    """A column of a front's table, "task/metric", and its direction."""

    name: str
    maximise: bool

    @property
    def task(self) -> str:
        """The task of "task/metric"."""
        return self.name.rpartition("/")[0]

    @property
    def words(self) -> str:
        """The same as "metric on task"."""
        task, _, metric = self.name.rpartition("/")
        return f"{metric} on {task}"


@dataclass(frozen=True, eq=False)
class Choice:
    """What `Front.choose` chose: the alpha [M], its row in the front, counted from 0, and all its
    metrics."""

    alpha: np.ndarray
    row: int
    metrics: dict[str, float]


@dataclass(frozen=True, eq=False)
class Front:
    r"""P points: their alphas [P, M], a table of all their metrics, and the objectives by which
    they are compared.

    `task_weights` is the matrix W [M, T] of section 4.1 for the T objectives, None for the
    identity: $\alpha^\top W$ says how much a point cares about each objective.

    A point with an objective that is NaN or infinite counts nowhere: whatever compares points
    leaves it out with a warning, and raises InputError where no other is left. Other metrics may be
    NaN.
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
        # Column by column, which pandas does ten times as fast as all at once.
        return np.stack([self.table[o.name].to_numpy(float) for o in self.objectives], axis=1)

    @property
    def better(self) -> np.ndarray:
        """The objectives with the signs with which higher is better: [P, T]."""
        return np.where(self.maximise, 1, -1) * self.values

    @property
    def maximise(self) -> list[bool]:
        """Direction per objective."""
        return [o.maximise for o in self.objectives]

    @property
    def is_finite(self) -> np.ndarray:
        """Which points have finite objectives: bool [P]."""
        return np.isfinite(self.values).all(1)

    def finite(self) -> "Front":
        """The points with finite objectives, with a warning that says how many are left out;
        InputError where there is none."""
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
        return replace(self, alphas=self.alphas[kept], table=self.table[kept])

    def on(self, metric: str, maximise: bool | None = None) -> "Front":
        """The same points compared by another metric of each task.

        Without `maximise` the name of the metric tells the direction: lower is better if it ends in
        "loss" or "error", higher if in "accuracy" or "IoU". InputError for any other name.
        """
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
        """The same points with all objectives to be maximised, as in the paper's Figure 5:
        "age/loss", where lower is better, becomes "age/negative loss", its negative."""
        lower = [o.name for o in self.objectives if not o.maximise]
        names = {name: "/negative ".join(name.rsplit("/", 1)) for name in lower}
        negated = self.table.assign(**{name: -self.table[name] for name in names})
        objectives = tuple(Objective(names.get(o.name, o.name), True) for o in self.objectives)
        return replace(self, table=negated.rename(columns=names), objectives=objectives)

    def non_dominated(self) -> np.ndarray:
        """Which points no other point dominates (Definition 1): bool [P]. All of several equal
        points are kept."""
        self.finite()
        return self._non_dominated()

    def hypervolume(
        self, reference: Sequence[float] | np.ndarray, *, exact: bool | None = None
    ) -> float:
        """The volume between the points and `reference` [T], which is given in the units and
        directions of the objectives. Higher is better.

        Points that are worse than the reference in any objective add nothing. The paper's tables
        use accuracies with reference (0, 0), its figure losses with reference (1, 1).

        It is `exact` by default for T <= 4, and for n non-dominated points with n^(T-2) <= 10^11:
        68 in eight objectives. Beyond that the exact one takes from seconds to hours; it is then
        `moocore.hv_approx`, within about 1%, and a warning says so.
        """
        ref = as_array(reference)
        if ref.shape != (len(self.objectives),) or not np.isfinite(ref).all():
            raise InputError(
                f"`reference` must have {len(self.objectives)} entries, one per objective, all "
                f"finite. Found shape {ref.shape}, {ref.tolist()}."
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
        r"""Rank correlation of how much a point cares about a task, $\alpha^\top W$, with the
        objective: [T], in [-1, 1].

        The ideal is 1 for an accuracy and -1 for a loss: more weight ought to mean better. NaN
        where all weights or all values are equal.
        """
        front = self.finite()
        pairs = zip(front._weights().T, front.values.T, strict=True)
        return np.array([_rank_correlation(w, v) for w, v in pairs])

    def ordered_pairs(self) -> np.ndarray:
        r"""Of the pairs of points that differ in how much they care about a task, $\alpha^\top W$,
        the share in which the one that cares more is better at it: [T].

        1 is a front in order, 0 a reversed one. NaN where all weights are equal.
        """
        front = self.finite()
        weights, better = front._weights(), front.better
        cares = weights[:, None] < weights
        with np.errstate(invalid="ignore"):
            return (cares & (better[:, None] < better)).sum((0, 1)) / cares.sum((0, 1))

    def competition(self) -> float:
        """The mean over all pairs of tasks of the rank correlation between what the points achieve
        on the two: -1 on a perfect front.

        This is the paper's criterion for PHN and COSMOS (appendix B4). NaN for a single task or
        point.
        """
        pairs = [_rank_correlation(a, b) for a, b in combinations(self.finite().better.T, 2)]
        return float(np.mean(pairs)) if pairs else float("nan")

    def middle(self) -> dict[str, float]:
        """The value of each objective at the point whose alpha is nearest to (1/M, ..., 1/M)."""
        front = self.finite()
        nearest = np.linalg.norm(front.alphas - 1 / front.alphas.shape[1], axis=1).argmin()
        names = [o.name for o in self.objectives]
        return dict(zip(names, front.values[nearest].tolist(), strict=True))

    def best(self) -> dict[str, float]:
        """The best value of each objective on its own: "the best of the sampled subspace" of the
        paper's tables."""
        front = self.finite()
        rows = zip(self.objectives, front.better.argmax(0), front.values.T, strict=True)
        return {o.name: float(column[row]) for o, row, column in rows}

    def choose(
        self,
        *,
        weights: Weights | None = None,
        at_least: Bounds = NO_BOUNDS,
        at_most: Bounds = NO_BOUNDS,
        knee: bool = False,
    ) -> Choice:
        """The best compromise among the points that meet every bound: its alpha, row and metrics.

        Each objective is scaled to 0 at its worst and 1 at its best over the non-dominated points,
        so that neither units nor dominated outliers matter. The compromise has the highest mean of
        these, weighted by one number >= 0 per objective (`weights`, by name or in their order).
        With `knee` it is the point from which every move to another costs most per unit gained.

        `at_least` and `at_most` map names of columns of the table, objectives or not, to bounds.
        They mean what they say, whichever direction is better; a warning says where a column is
        bounded only on the side that is better. InputError where no point meets them
        all: it names those that none meets, or else all, and the nearest point.
        """
        finite, rows = self.finite(), np.flatnonzero(self.is_finite)
        better = finite.better
        kept = finite.non_dominated()
        low, span = better[kept].min(0), np.ptp(better[kept], axis=0)
        scaled = self._scale(weights) * ((better - low) / np.where(span > 0, span, 1))
        missed = finite._missed("at_least", at_least) | finite._missed("at_most", at_most)
        finite._warn_of_the_wrong_side(at_least, at_most)
        met = np.flatnonzero(sum(missed.values(), np.zeros(len(better))) == 0)
        if not len(met):
            none = [text for text, short in missed.items() if short.min() > 0]
            nearest = np.sum([*missed.values()], axis=0).argmin()
            raise InputError(
                f"No point of the front meets {' nor '.join(none) or ' and '.join(missed)}. "
                f"The nearest is row {rows[nearest]}, with "
                f"{finite.table.iloc[nearest].round(4).to_dict()}."
            )
        # An objective of weight 0 leaves points alike of which one dominates the other.
        met = met[moocore.is_nondominated(better[met], maximise=True, keep_weakly=True)]
        score = _trade_off(scaled[met], scaled[kept]) if knee else scaled[met].sum(1)
        row = int(rows[met[score.argmax()]])
        return Choice(self.alphas[row].copy(), row, self.table.iloc[row].to_dict())

    def compare(
        self, other: "Front", reference: Sequence[float] | np.ndarray | None = None
    ) -> pd.DataFrame:
        """This front (row "this") and `other` (row "other"), each judged against the other one.

        The columns, in the units of the objectives: "hypervolume" from `reference` [T], by default
        the worst value of each objective over the non-dominated points of both (higher is better);
        "additive epsilon", the least that must be added to each objective of a front for it to
        reach all of the other (lower is better); "IGD+", the mean distance by which the other is
        ahead (lower is better; units should be alike); "attained", the share of the other's
        non-dominated points that a front reaches in all objectives (higher is better). InputError
        where the objectives are not the same.
        """
        if self.objectives != other.objectives:
            raise InputError(
                "Fronts must have the same objectives, in the same directions. Found "
                f"{self.objectives} and {other.objectives}."
            )
        fronts = self.finite(), other.finite()
        values = [front.values[front.non_dominated()] for front in fronts]
        up, every = np.array(self.maximise), np.concatenate(values)
        reference = np.where(up, every.min(0), every.max(0)) if reference is None else reference
        rows = {}
        for name, front, (ours, theirs) in zip(
            ("this", "other"), fronts, (values, values[::-1]), strict=True
        ):
            reached = np.where(up, ours >= theirs[:, None], ours <= theirs[:, None])
            rows[name] = {
                "hypervolume": front.hypervolume(reference),
                "additive epsilon": moocore.epsilon_additive(ours, theirs, maximise=up),
                "IGD+": moocore.igd_plus(ours, theirs, maximise=up),
                "attained": reached.all(2).any(1).mean(),
            }
        return pd.DataFrame(rows).T

    def save(self, path: str | Path) -> None:
        """Write everything into the one file `path` (an npz)."""
        arrays = {f"column_{i}": self.table[name].to_numpy() for i, name in enumerate(self.table)}
        arrays |= {
            "columns": np.array([*self.table], str),
            "index": self.table.index.to_numpy(),
            "alphas": self.alphas,
            "objectives": np.array([o.name for o in self.objectives], str),
            "maximise": np.array(self.maximise, bool),
        }
        if self.task_weights is not None:
            arrays["task_weights"] = self.task_weights
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        Path(path).write_bytes(file.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Front":
        """What `save` wrote, the same to the last bit; InputError where the file is not whole."""
        content = io.BytesIO(Path(path).read_bytes())
        try:
            with np.load(content, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file}
            columns = {str(n): arrays[f"column_{i}"] for i, n in enumerate(arrays["columns"])}
            pairs = zip(arrays["objectives"], arrays["maximise"], strict=True)
            return cls(
                arrays["alphas"],
                pd.DataFrame(columns, arrays["index"]),
                tuple(Objective(str(name), bool(maximise)) for name, maximise in pairs),
                arrays.get("task_weights"),
            )
        except Exception as error:  # of many kinds, as the bytes are wrong
            raise InputError(f"{path} is not a whole front as `save` writes it: {error}.") from None

    def to_frame(self) -> pd.DataFrame:
        """One row per point: alpha_1 ... alpha_M, every metric, and whether the point is
        non-dominated."""
        alphas = {f"alpha_{k + 1}": column for k, column in enumerate(self.alphas.T)}
        return self.table.assign(**alphas, non_dominated=self._non_dominated())[
            [*alphas, *self.table, "non_dominated"]
        ]

    def to_points(self, split: str) -> list[dict[str, Any]]:
        """The points as a record keeps them."""
        metrics = self.table.to_dict("records")
        return [
            {"alpha": alpha.tolist(), "split": split, "metrics": m}
            for alpha, m in zip(self.alphas, metrics, strict=True)
        ]

    def _non_dominated(self) -> np.ndarray:
        kept = self.is_finite
        if kept.any():
            values = self.values[kept]
            kept[kept] = moocore.is_nondominated(values, maximise=self.maximise, keep_weakly=True)
        return kept

    def _weights(self) -> np.ndarray:
        """alpha^T W, [P, T]."""
        weights = self.alphas if self.task_weights is None else self.alphas @ self.task_weights
        if weights.shape[1] != len(self.objectives):
            raise InputError(
                f"`task_weights` must have {len(self.objectives)} columns, one per objective, and "
                f"may be None for one member per task. Found weights of shape {weights.shape}."
            )
        return weights.round(9)  # sums that are equal but for rounding

    def _scale(self, weights: Weights | None) -> np.ndarray:
        """What multiplies each scaled objective, by the `weights` of `choose`."""
        names = [o.name for o in self.objectives]
        if weights is None:
            return np.ones(len(names))
        given: list[Any] = []
        if isinstance(weights, Sequence | np.ndarray):
            given = [*weights]
        elif isinstance(weights, Mapping) and {*weights} == {*names}:
            given = [weights[name] for name in names]
        right = len(given) == len(names) and all(is_number(w) and w >= 0 for w in given)
        if not right or not any(given):
            raise InputError(
                f"`weights` must be finite numbers >= 0, not all 0, one for each of {names}, by "
                f"name or in this order. Found {weights!r}."
            )
        return np.array(given, dtype=float)

    def _missed(self, side: str, limits: Bounds) -> dict[str, np.ndarray]:
        """For the words of each bound by how much each point misses it [P], in shares of the extent
        of the column; inf where that is not finite."""
        missed = {}
        if not isinstance(limits, Mapping):
            raise InputError(f"`{side}` must be a dict of columns and bounds. Found {limits!r}.")
        for name, limit in limits.items():
            if name not in self.table or not is_number(limit):
                raise InputError(
                    f"A bound must be a finite number, and name one of {[*self.table]}. "
                    f"Found {limit!r} for {name!r}."
                )
            values = self.table[name].to_numpy(float)
            short = np.clip(limit - values if side == "at_least" else values - limit, 0, None)
            text = f"{name} {side.replace('_', ' ')} {limit:.4g}"
            known = values[np.isfinite(values)]
            extent = np.ptp(known) if len(known) else 0.0
            missed[text] = np.where(np.isfinite(values), short / (extent or 1.0), np.inf)
        return missed

    def _warn_of_the_wrong_side(self, at_least: Bounds, at_most: Bounds) -> None:
        """A warning for each column that is bounded on the side that is better, and only there."""
        maximise = {n: n.endswith(HIGHER) for n in self.table if n.endswith(LOWER + HIGHER)}
        maximise |= {o.name: o.maximise for o in self.objectives}
        for name, is_higher in maximise.items():
            if is_higher and name in at_most and name not in at_least:
                found, good, other = "`at_most` bounds {} from above", "higher", "at_least"
            elif not is_higher and name in at_least and name not in at_most:
                found, good, other = "`at_least` bounds {} from below", "lower", "at_most"
            else:
                continue
            warnings.warn(
                f"{found.format(name)}, where {good} is better: `{other}` is the bound that keeps "
                "it good.",
                stacklevel=3,
            )

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
    fronts = [front.finite() for front in fronts]
    points = np.concatenate([-front.better for front in fronts])
    sets = np.repeat(np.arange(len(fronts)), [len(front.table) for front in fronts])
    corners = moocore.eaf(points, sets, percentiles=[100 * share])[:, :-1]
    return corners * np.where(fronts[0].maximise, -1, 1)


def _trade_off(points: np.ndarray, front: np.ndarray) -> np.ndarray:
    """What the cheapest move from each point to another of the front loses per unit it gains
    (Rachmawati and Srinivasan, 2009); inf where no move gains anything."""
    scores = []
    for point in points:
        lost, gained = (np.clip(d, 0, None).sum(1) for d in (point - front, front - point))
        scores.append((lost[gained > 0] / gained[gained > 0]).min(initial=np.inf))
    return np.array(scores)


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    # Not scipy.stats, which takes two seconds to import.
    return float(pd.DataFrame({"a": a, "b": b}).corr(method="spearman").iloc[0, 1])
