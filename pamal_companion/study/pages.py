"""What the page of one run says of its own records: first what was found, last how it is made."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, paper, tables
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.fronts import span
from pamal_core.front import Front


def opening(record: Record, runs: Runs) -> str:
    """Return what the run of `record` ends with, in the mean over `runs`, which are those of its
    setting, what they are beside the paper, and beside LS, in Markdown."""
    setting, full = frame.of(record), frame.is_full(record)
    data, count = paper.DATA[record.experiment], len(record.front("validation").alphas)
    what = setting.label() if full else paper.PRINTED[record.method]
    told = f"One run of {what} on {data if full else f'the built-in sample of {data}'} ends with "
    if count == 1:
        told += "one network."
    else:
        fronts = [one.front("validation") for one in next(iter(runs.values())).values()]
        told += f"**{count} networks to choose from**. {trade(fronts)}"
    if not full:
        said = "A sample shows how a method behaves; it says nothing of the paper's numbers."
        return f"{told} {said}"
    said, one = beside_the_paper(runs), Setting(setting.experiment, "ls")
    if not setting.options and setting.method != "ls":
        both = {**frame.read(), **runs}
        ls, own, best = (
            frame.measured(both, of, measure, "validation").mean()
            for of, measure in (
                (one, "hypervolume"),
                (setting, "hypervolume"),
                (setting, "chosen hypervolume"),
            )
        )
        if not np.isnan([ls, own]).any():
            said += f" At equal epochs the mean hypervolume is {ls:.4f} for the one network of LS "
            said += f"and {own:.4f} for {paper.PRINTED[setting.method]}."
            if count > 1:
                said += f" The best of its networks has {best:.4f}."
    return f"{told} {said}"


def trade(fronts: Sequence[Front]) -> str:
    """Return how many networks are not dominated and how far these reach, and whether a gain on one
    task costs another, by the rank correlation of what they achieve: means over `fronts`, one for
    each seed."""
    reach = np.mean([span(front) for front in fronts])
    kept = np.mean([front.non_dominated().sum() for front in fronts])
    competition = np.mean([front.task_correlation() for front in fronts])
    mean = f", on average over {len(fronts)} seeds" if len(fronts) > 1 else ""
    told = "a gain on one task costs another" if competition < -0.3 else "there is little to trade"
    number = f"{competition:.2f}".replace("-", "\N{MINUS SIGN}")
    few = f"{kept:.1f}".removesuffix(".0")
    return (
        f"On validation {few} of them are not dominated{mean}, with a span of {reach:.3f}. Along "
        f"the front {told} (rank correlation {number})."
    )


def beside_the_paper(runs: Runs) -> str:
    """Return the last hypervolume, or else the first number, that the paper has for `runs`, and
    whether ours differs."""
    found = tables.compare(runs)
    if not len(found):
        return "The paper has no number for this setting."
    volumes = found[found.index.get_level_values(-1) == "hypervolume ↑"]
    row = volumes.iloc[-1] if len(volumes) else found.iloc[0]
    measure, _, percent = str(row.name[-1]).rstrip(" ↑↓").partition(", ")
    best = "" if len(volumes) else "of the best "
    ours, theirs = (f"{value:#.4g} {percent}".strip() for value in (row.ours, row.paper))
    word = ", which differs" if row["verdict"] == "differs" else ""
    return f"The mean {best}{measure} is {ours}; the paper has {theirs}{word}."


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
