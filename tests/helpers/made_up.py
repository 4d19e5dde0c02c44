"""Records with numbers that a test chooses, and hypervolumes by hand."""

import numpy as np
import pandas as pd

from pamal_companion.experiments import census, cityscapes, multimnist, multimnist3, utkface
from pamal_companion.runs.methods import affects
from pamal_companion.runs.options import NOT_IDENTITY
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, paper
from pamal_core.front import Front
from pamal_core.objectives import Objective

DATA = {
    "multimnist": "multimnist/full/offset=6/seed=0/x",
    "census": "census/full/age+education/as_released/seed=0/x",
    "multimnist3": "multimnist3/full/offset=14/seed=0/x",
    "utkface": "utkface/full/size=64/split=70/10/20/seed=0/x",
    "cityscapes": "cityscapes/full/II/seed=0/128x256/multiply/x",
    "toy": "formula",
}
EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (multimnist, census, multimnist3, utkface, cityscapes)
}
DEFAULT = {1: [(0.9,)], 2: [(0.9, 0.7), (0.8, 0.8)], 3: [(0.1, 0.9, 0.7), (0.2, 0.8, 0.8)]}
"""The points of each number of tasks, of which none dominates another."""


def objectives(experiment):
    """The compared metrics of `experiment`, with their directions."""
    if experiment == "utkface":
        return {"age/loss": "min", "gender/accuracy": "max", "ethnicity/accuracy": "max"}
    if experiment == "cityscapes":
        return {"segmentation/mIoU": "max", "depth/absolute error": "min"}
    return {f"{task}/accuracy": "max" for task in paper.TASKS[experiment]}


def record(where="multimnist/pamal", points=None, *, seed=0, data=None, changes=None, **options):
    """A run of the paper's setting with these `options` instead.

    `points` [P, T] are the objectives on both splits; a loss is one less an accuracy. They may be
    dicts of every metric instead. The summary is that of the points but for `changes`, by split.
    """
    experiment, method = where.split("/")
    usual = paper.options_of_run(experiment, method).items()
    options = {n: v for n, v in usual if affects(n, method) and n not in NOT_IDENTITY} | options
    ways = objectives(experiment)
    if method == "stl":
        ways = dict([[*ways.items()][options["task"]]])
    points = DEFAULT[len(ways)] if points is None else points
    rows = [p if isinstance(p, dict) else metrics(dict(zip(ways, p, strict=True))) for p in points]
    members = len(ways) if len(rows) > 1 else 1
    ends = np.linspace(1, 0, len(rows)) if members > 1 else np.ones(1)
    alphas = [
        [a, *[(1 - a) / (members - 1)] * (members - 1)] if members > 1 else [1.0] for a in ends
    ]
    found = Record(
        experiment=experiment,
        method=method,
        options=options,
        seed=seed,
        data=data or DATA[experiment],
        objectives=ways,
        points=[
            {"alpha": alpha, "split": split, "metrics": row}
            for split in ("validation", "test")
            for alpha, row in zip(alphas, rows, strict=True)
        ],
        summary={},
        history=[{"member_similarity": 0.1}, {"member_similarity": 0.25}],
        cost={"train_seconds": 60.0, "evaluate_seconds": 1.0, "peak_memory_bytes": None},
        versions={},
    )
    for split in ("validation", "test"):
        found.summary[split] = summary(found.front(split)) | (changes or {})
    found.summary["member_similarity"] = 0.25
    return found


def metrics(values):
    losses = {n.replace("accuracy", "loss"): 1 - v for n, v in values.items() if "accuracy" in n}
    return losses | values


def summary(front):
    """As a run writes it."""
    reference = [0.0 if way else 1.0 for way in front.maximise]
    with_losses = all(f"{o.task}/loss" in front.table for o in front.objectives)
    many = len(front.alphas) > 1 and front.alphas.shape[1] == len(front.objectives)
    views = [front, front.on("loss")] if with_losses else [front]
    spearman = {
        o.name: float(v) if many and not np.isnan(v) else None
        for view in views
        for o, v in zip(
            view.objectives, view.spearman() if many else [0] * len(view.objectives), strict=True
        )
    }
    return {
        "hypervolume": front.hypervolume(reference) if len(front.objectives) > 1 else None,
        "competition": front.task_correlation() if many else None,
        "best": front.ideal_point(),
        "spearman": spearman,
    }


def runs_of(*records):
    """Records as the study has them."""
    return frame.runs(records)


def staircase(points):
    """The area between points [P, 2] and the origin, step by step."""
    area, height = 0.0, 0.0
    for x, y in sorted(map(tuple, points), reverse=True):
        area += x * max(0.0, y - height)
        height = max(height, y)
    return area


def front_of(values, alphas=None, *, maximise=(True, True), metric="metric"):
    """A front of points [P, T] with tasks a, b, ..."""
    names = [f"{task}/{metric}" for task in "abc"[: len(maximise)]]
    table = pd.DataFrame(np.asarray(values, float), columns=names)
    alphas = np.ones((len(table), 1)) if alphas is None else alphas
    return Front(alphas, table, tuple(map(Objective, names, maximise)))
