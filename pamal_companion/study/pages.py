"""Tell what one run found, for its page: first what was found, last how it is made."""

from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import Any

import numpy as np

from pamal_companion.plots.words import in_words, listed
from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import beside_ls, frame, paper, tables
from pamal_companion.study.frame import Runs
from pamal_companion.study.fronts import span
from pamal_companion.study.statistics import Estimate, with_minus
from pamal_core.front import Front

OF_SHARES = ("accuracy", "mIoU", "pixel accuracy")
"""Metrics that are shares, which a reader counts in points."""
COMPETE = -0.3
"""The rank correlation below which a page says that its tasks compete; the bound is ours."""


def opening(record: Record, runs: Runs) -> str:
    """Return what the run of `record` leaves a reader with, in the mean over `runs`, which are
    those of its setting; how it is beside LS, and beside the paper. In Markdown."""
    setting, full = frame.of(record), frame.is_full(record)
    data, count = paper.DATA[record.experiment], len(record.front("validation").alphas)
    what = setting.label() if full else paper.PRINTED[record.method]
    where = data if full else f"the built-in sample of {data}"
    if count == 1:
        told = [f"One run of {what} on {where} leaves you one network."]
    else:
        fronts = [one.front("validation") for one in next(iter(runs.values())).values()]
        told = [
            f"One run of {what} on {where} leaves you **{in_words(count)} networks to choose "
            f"from**. {trade(fronts)}"
        ]
    if full:
        told += [*beside_ls.paragraphs(record, {**frame.read(), **runs}), beside_the_paper(runs)]
    else:
        told.append(
            "The sample is small. You can see in it how a method behaves, but nothing about the "
            "numbers of the paper follows from it."
        )
    return "\n\n".join(told)


def trade(fronts: Sequence[Front]) -> str:
    """Return how many networks no other one dominates, how far apart these are, and whether a gain
    on one task costs another: means over `fronts`, one for each seed."""
    every = in_words(len(fronts[0].alphas))
    kept = np.mean([front.non_dominated().sum() for front in fronts])
    of_which = f"Of the {every},"
    if len(fronts) > 1:
        of_which = f"On average over {in_words(len(fronts))} seeds,"
    if kept == 1:
        return f"{of_which} only one is worth choosing, because no other one is better at any task."
    few = " or ".join(map(in_words, dict.fromkeys([floor(kept), ceil(kept)])))
    return (
        f"{of_which} {few} are not dominated: no other one is as good at every task and better at "
        f"one. Among these networks {_change(fronts)}. {_competition(fronts)}"
    )


def _change(fronts: Sequence[Front]) -> str:
    """Return how much the tasks change between the networks that no other one dominates: the spread
    of the front if all are accuracies, else each task in its unit."""
    objectives = fronts[0].objectives
    if all(objective.name.endswith("/accuracy") for objective in objectives):
        points = 100 * np.mean([span(front) for front in fronts])
        return f"accuracy on a task changes by up to {points:.1f} points"
    extents = [np.ptp(front.values[front.non_dominated()], axis=0) for front in fronts]
    each = zip(objectives, np.mean(extents, axis=0), strict=True)
    return listed(
        [
            f"{objective.words} changes by {100 * extent:.1f} points"
            if objective.name.endswith(OF_SHARES)
            else f"{objective.words} changes by {extent:.3f}"
            for objective, extent in each
        ]
    )


def _competition(fronts: Sequence[Front]) -> str:
    """Return whether the tasks compete, by the rank correlation of what the networks achieve."""
    mean = np.mean([front.task_correlation() for front in fronts])
    number = with_minus(f"{mean:.2f}")
    if mean < COMPETE:
        return (
            "Along the front a network that gains on one task tends to lose on another (rank "
            f"correlation {number})."
        )
    return f"Along the front the tasks hardly compete (rank correlation {number})."


def beside_the_paper(runs: Runs) -> str:
    """Return the last hypervolume, or else the first number, that the paper has for `runs`, beside
    ours, and whether the two differ."""
    found = tables.compare(runs)
    if not len(found):
        return "The paper has no number for this setting."
    volumes = found[found.index.get_level_values(-1) == "hypervolume ↑"]
    row = volumes.iloc[-1] if len(volumes) else found.iloc[0]
    measure, _, unit = str(row.name[-1]).rstrip(" ↑↓").partition(", ")
    ours, theirs = (f"{value:#.4g} {unit}".strip() for value in (row.ours, row.paper))
    numbers = f"The mean {measure} is {theirs} in the paper and {ours} here."
    if not len(volumes):
        task = measure.split()[-1]
        numbers = f"The best network at {task} reaches {theirs} in the paper and {ours} here."
    numbers = f"**Beside the paper.** {numbers}"
    tolerance = f"{row.tolerance:.2g}{' points' if unit == '%' else ''}"
    if row["verdict"] == "differs":
        return (
            f"{numbers} We call the two different, because the 95% interval of the difference lies "
            f"wholly beyond our tolerance of {tolerance}."
        )
    if np.isnan(Estimate(*row[tables.AWAY]).interval()[0]):
        return numbers
    return (
        f"{numbers} We do not call the two different: for that the 95% interval of the difference "
        f"would have to lie wholly beyond our tolerance of {tolerance}."
    )


def making(notebook: str, namespace: Mapping[str, Any], record: Record, runs: Runs) -> str:
    """Return how the page is made, in Markdown: its command, cost and expectation. `namespace` are
    the `globals()` of the notebook."""
    volumes = frame.measured(runs, frame.of(record), "hypervolume", "validation")
    expect = "the same numbers on the same machine"
    if record.seed in volumes:
        expect = f"validation hypervolume {volumes[record.seed]:.4f} with seed {record.seed}"
        if len(volumes) > 1:
            expect += f"; {volumes.mean():.4f} ± {volumes.std():.4f} over {len(volumes)} seeds"
        if not frame.is_full(record):
            expect += ". So short a training ends elsewhere on another processor"
    return (
        f"| | |\n| --- | --- |\n| command | `{command(notebook, namespace)}` |\n"
        f"| cost | {cost(record)} |\n| expect | {expect} |"
    )


def command(notebook: str, namespace: Mapping[str, Any]) -> str:
    """Return what makes the page again: every parameter that is not as in the notebook, and every
    other option of its `options` that is not as the method has it."""
    cell, options = grid.notebook_defaults(notebook), namespace["options"]
    usual = type(options).create(method=options.method)
    given = {n: namespace[n] for n, value in cell.items() if namespace.get(n, value) != value}
    others = [n for n in type(options).model_fields if n in options.model_fields_set - cell.keys()]
    given |= {n: v for n in others if (v := getattr(options, n)) != getattr(usual, n)}
    return grid.papermill(notebook, given)


def cost(record: Record) -> str:
    """Return what a run of the kind of `record` takes, in words."""
    if not frame.is_full(record):
        return "a minute or less on two cores, without any files"
    costs = grid.cost(record.experiment, record.method)
    if np.isnan(costs.seconds):
        return "not measured: it wants a GPU"
    where = "on a GPU that three runs shared" if costs.gpu else "with one thread"
    minutes = f"{costs.seconds / 60:.1f} minutes a seed {where}"
    return f"{minutes}, the median of {costs.runs} runs of any options"
