"""Landmarks of a front, how its tasks compete, and Claim 1 on its points."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Bool

from pamal_companion.study.statistics import summary
from pamal_core.front import Front


def landmarks(front: Front) -> pd.DataFrame:
    """Return some rows of `front.to_frame()`, for a front too long to read: each member, the point
    nearest to the centre, and the (first) best point of each objective; alphas and objectives
    alone."""
    members = front.alphas.shape[1]
    named = {f"member {k + 1}": front.alphas[:, k].argmax() for k in range(members)}
    named["centre"] = np.linalg.norm(front.alphas - 1 / members, axis=1).argmin()
    best = zip(front.objectives, front.better.argmax(0), strict=True)
    named |= {f"best {objective.words}": point for objective, point in best}
    names = {objective.name for objective in front.objectives}
    rows = front.to_frame().drop(columns=[name for name in front.table if name not in names])
    return rows.iloc[list(named.values())].set_axis(list(named))


def competition(front: Front) -> pd.DataFrame:
    """Return `Front.task_correlation` of every two tasks, by metric and by loss: -1 if one task
    always gains what the other loses, NaN for a single point.

    It is over all points, on which it cannot be low for every two tasks: the weights themselves, on
    the lattice of 66 points, have -0.47. And it is over the edge between the members of the two
    tasks, on which -1 is possible.
    """
    rows: dict[str, dict[str, float]] = {}
    for two in combinations(range(len(front.objectives)), 2):
        edge = pair = replace(front, objectives=tuple(front.objectives[t] for t in two))
        if front.alphas.shape[1] == len(front.objectives):
            kept = ~np.delete(front.alphas, two, axis=1).any(axis=1)
            edge = replace(pair, alphas=front.alphas[kept], table=front.table[kept])
        rows[" and ".join(objective.task for objective in pair.objectives)] = {
            f"{where}, {metric}": view.task_correlation()
            for where, part in (("all points", pair), ("edge", edge))
            for metric, view in (("metric", part), ("loss", part.on("loss")))
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def middle(front: Front) -> dict[str, float]:
    """Return each objective at the point whose alpha is nearest to (1/M, ..., 1/M)."""
    front = front.finite()
    nearest = np.linalg.norm(front.alphas - 1 / front.alphas.shape[1], axis=1).argmin()
    names = [objective.name for objective in front.objectives]
    return dict(zip(names, front.values[nearest].tolist(), strict=True))


def span(front: Front) -> float:
    """Return the largest extent in an objective of the points that no other dominates."""
    return float(np.ptp(front.values[front.non_dominated()], axis=0).max())


def ordered_pairs(front: Front) -> np.ndarray:
    """Return the share of pairs of points in order, for each task: [T]. Among the pairs that differ
    in how much they prefer the task, a pair is in order if the point that prefers it more is better
    at it.

    1 is a front in order, 0 a reversed one. It is NaN if all weights are equal.
    """
    front = front.finite()
    preferences, better = front.preferences, front.better
    prefers = preferences[:, None] < preferences
    with np.errstate(invalid="ignore"):
        return (prefers & (better[:, None] < better)).sum((0, 1)) / prefers.sum((0, 1))


def dominates(one: Front, other: Front) -> Bool[np.ndarray, "P Q"]:
    """Return whether point p of `one` dominates point q of `other` (Definition 1), both with the
    objectives of `one`."""
    a, b = one.better[:, None], other.better
    return np.all(a >= b, axis=-1) & np.any(a > b, axis=-1)


def dominated_by_a_neighbour(front: Front) -> Bool[np.ndarray, " P"]:
    """Return which points a neighbour dominates, in the order of the points."""
    next_to = np.eye(len(front.alphas), k=1, dtype=bool)
    return np.any(dominates(front, front) & (next_to | next_to.T), axis=0)


def correlations(front: Front) -> np.ndarray:
    """Return for each task Spearman's correlation of alpha_t with being good at it, 1 where it is
    right: [T]."""
    return np.where(front.maximise, 1, -1) * front.spearman()


def claim_1(front: Front, baseline: Front) -> dict[str, int | float]:
    """Return how far Claim 1 holds for P points of two members, in the order of their alphas: how
    many no other point of the front dominates, how many neither neighbour does (the paper's relaxed
    reading on the lattice), and how many points `baseline` dominates. The order is that of
    `correlations`. The span is what the points have to be non-dominated over: copies of one network
    have none."""
    kept, order = front.non_dominated(), correlations(front)
    return {
        "points": len(kept),
        "non-dominated": int(kept.sum()),
        "span": span(front),
        "by no neighbour": int((~dominated_by_a_neighbour(front)).sum()),
        "members among them": int(kept[[0, -1]].sum()),
        "order, task 1": order[0],
        "order, task 2": order[1],
        "dominated by LS": int(dominates(baseline, front).any(0).sum()),
    }


def claim_1_table(fronts: Mapping[str, Mapping[str, Sequence[Front]]]) -> pd.DataFrame:
    """Return `claim_1` of each run of `fronts`, by split a front and its baseline, in losses and in
    accuracies."""
    rows = {
        (name, split, metric): claim_1(*(front.on(metric) for front in pair))
        for name, splits in fronts.items()
        for split, pair in splits.items()
        for metric in ("loss", "accuracy")
    }
    frame = pd.DataFrame(rows).T.rename_axis(["run", "split", "metric"])
    counts = [column for column in frame if not column.startswith(("order", "span"))]
    return frame.astype(dict.fromkeys(counts, int))


def undominated_table(fronts: Mapping[tuple[str, str], Sequence[Front]]) -> pd.DataFrame:
    """Return over the runs of each setting on each split, in losses and in accuracies, the share of
    points that no other of the same run dominates, in how many runs that are all, and the span."""
    rows = {}
    for name, runs in fronts.items():
        for metric in ("loss", "accuracy"):
            views = [front.on(metric) for front in runs]
            shares = pd.Series([view.non_dominated().mean() for view in views])
            rows[(*name, metric)] = {
                "share non-dominated": summary(shares),
                "all": f"in {sum(shares == 1)} of {len(views)} runs",
                "span": summary(pd.Series([*map(span, views)])),
            }
    return pd.DataFrame(rows).T.rename_axis(["setting", "split", "metric"])
