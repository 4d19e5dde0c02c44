"""One run with two, four and eight tasks, beside the networks that it replaces."""

from collections.abc import Iterable

import pandas as pd

from pamal_companion.study import frame
from pamal_companion.study.hypotheses import NUMBERS_OF_TASKS, numbers, of_tasks
from pamal_companion.study.measures import order
from pamal_companion.study.per_pass import Records
from pamal_companion.study.statistics import summary

SPLIT = "test"


def table(records: Records, counts: Iterable[int] = NUMBERS_OF_TASKS) -> pd.DataFrame:
    """Return what each method reaches and costs, a row for each number of tasks and method: mean ±
    standard deviation over seeds (n - 1).

    The hypervolume is that of accuracies, from 0; networks of one task each have none. The order is
    that of the losses of one run. In memory are all members of PaMaL, and of the others one network
    at a time.
    """
    rows = []
    for count in counts:
        labels = {"pamal": "PaMaL, one run", "ls": f"{count} LS", "stl": f"{count} STL"}
        for side, label in labels.items():
            names = of_tasks(records, count, side)
            runs = [next(iter(records[name].values())) for name in names]
            row = {
                "tasks": count,
                "method": label,
                "hypervolume ↑": "",
                "best accuracy ↑": summary(best_accuracy(records, names)),
                "order in loss ↓": "",
                "passes": sum(frame.of(run).passes for run in runs),
                "networks in memory": len(runs[0].points[0]["alpha"]),
            }
            if side != "stl":
                row["hypervolume ↑"] = summary(numbers(records, names, SPLIT))
            if side == "pamal":
                orders = [order(run, SPLIT) for run in records[names[0]].values()]
                row["order in loss ↓"] = summary(pd.Series(orders))
            rows.append(row)
    return pd.DataFrame(rows).set_index(["tasks", "method"])


def best_accuracy(records: Records, names: Iterable[str]) -> "pd.Series[float]":
    """Return by seed the mean over the tasks of the best accuracy that a network of `names` has."""
    return best_of_each(records, names).mean(axis=1)


def best_of_each(records: Records, names: Iterable[str]) -> pd.DataFrame:
    """Return the best accuracy that a network of `names` has, a row for each seed and a column for
    each task."""
    runs = pd.DataFrame({name: records[name] for name in names})
    fronts = ([run.front(SPLIT).ideal_point() for run in row] for row in runs.to_numpy())
    return pd.DataFrame([pd.DataFrame(bests).max() for bests in fronts], runs.index)
