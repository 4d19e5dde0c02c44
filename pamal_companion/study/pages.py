"""What the page of one run says of its own records: first what was found, last how it is made."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pamal_companion.runs import grid
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, paper, tables
from pamal_companion.study.frame import Runs, Setting
from pamal_companion.study.measures import points_apart
from pamal_companion.study.registered import OF_ACCURACIES
from pamal_companion.study.statistics import number
from pamal_core.front import Front


def opening(record: Record, runs: Runs) -> str:
    """Return what the run of `record` ends with, in the mean over `runs`, which are those of its
    setting, and how it stands beside LS and beside the paper, in Markdown."""
    full, data = frame.is_full(record), paper.DATA[record.experiment]
    fronts = [one.front("validation") for one in next(iter(runs.values())).values()]
    count, method = len(fronts[0].alphas), paper.PRINTED[record.method]
    if count == 1:
        told = [f"One run of {method} on {data} ends with one network, so there is no choice."]
    else:
        told = [f"**One run of {method} on {data} leaves you {count} networks to choose from.**"]
        told.append(trade(fronts))
    if not full:
        told.append(
            f"This run is on the built-in sample of {data}, so it shows how the method behaves and "
            "says nothing of the paper's numbers."
        )
        return " ".join(told)
    setting = frame.of(record)
    if not setting.options and setting.method != "ls":
        told.append(beside_ls(setting, runs))
    told.append(beside_the_paper(runs))
    return " ".join(filter(None, told))


def trade(fronts: Sequence[Front]) -> str:
    """Return how many networks are not dominated and how far apart these are, and whether a gain on
    one task costs another, by the rank correlation of what they achieve: means over `fronts`, one
    for each seed."""
    kept = np.mean([front.non_dominated().sum() for front in fronts])
    competition = np.mean([front.task_correlation() for front in fronts])
    over = f"On average over {len(fronts)} seeds" if len(fronts) > 1 else "On validation"
    tasks = "both tasks" if len(fronts[0].objectives) == 2 else "every task"
    price = f"{competition:.2f}".replace("-", "\N{MINUS SIGN}")
    few = f"{kept:.1f}".removesuffix(".0")
    worth = f"{over} {few} of them are worth choosing, because no other one beats them at {tasks}"
    if kept == 1:
        return f"{worth}. So there is nothing to trade."
    reach = f"{worth}. From one end of these to the other, {furthest(fronts)}."
    if competition < -0.3:
        return (
            f"{reach} What you gain on one task you pay for on another: along the front the rank "
            f"correlation of what two tasks achieve is {price}, and \N{MINUS SIGN}1 would be a "
            "price for every gain."
        )
    return (
        f"{reach} But there is little to trade: the rank correlation of what two tasks achieve is "
        f"{price}, where \N{MINUS SIGN}1 would be a price for every gain."
    )


def furthest(fronts: Sequence[Front]) -> str:
    """Return the objective that changes most between networks that are not dominated, and by how
    much: the spread of the front, in the mean over `fronts`."""
    spreads = np.mean([np.ptp(one.values[one.non_dominated()], axis=0) for one in fronts], axis=0)
    most = int(spreads.argmax())
    name, _, task = fronts[0].objectives[most].name.partition("/")[::-1]
    if name in SHARES:
        return f"the {name} on {task} changes by {100 * spreads[most]:.1f} points"
    return f"the {name} on {task} changes by {number(spreads[most])}"


SHARES = ("accuracy", "mIoU", "pixel accuracy", "average precision")
"""Metrics between 0 and 1, of which a hundredth is a point."""


def beside_ls(setting: Setting, runs: Runs) -> str:
    """Return how the front of `setting`, and its best network, stand beside one network of LS after
    as many epochs; nothing where LS has not been run."""
    both, ls = {**frame.read(), **runs}, Setting(setting.experiment, "ls")
    theirs, front, best = (
        frame.measured(both, of, measure, "validation").mean()
        for of, measure in (
            (ls, "hypervolume"),
            (setting, "hypervolume"),
            (setting, "chosen hypervolume"),
        )
    )
    if np.isnan([theirs, front]).any():
        return ""
    method = paper.PRINTED[setting.method]
    text = (
        f"After as many epochs the mean hypervolume is {theirs:.4f} for the one network of LS and "
        f"{front:.4f} for {method}{in_points(setting, front, theirs)}."
    )
    if not np.isnan(best) and setting.method not in paper.ONE_NETWORK:
        side = "above" if best > theirs else "below"
        text += f" The best single network of the front has {best:.4f}, which is {side} LS."
    draws = setting.values.get("W", 1)
    if setting.method == "pamal" and draws > 1:
        text += (
            f" But PaMaL had {draws:g} times the compute of LS, because each of its {draws:g} "
            "draws is a pass. [At equal compute](beyond.html) has both after as many "
            "passes."
        )
    return text


def in_points(setting: Setting, ours: float, theirs: float) -> str:
    """Return two hypervolumes of accuracies as points of accuracy on each task; nothing where a
    task has no accuracy."""
    if setting.experiment not in OF_ACCURACIES:
        return ""
    away = points_apart(ours, theirs, len(paper.TASKS[setting.experiment]))
    if abs(away) < 0.05:
        return ", the same to a tenth of a point of accuracy"
    side = "above" if away > 0 else "below"
    return f", that is {abs(away):.1f} points of accuracy on each task {side} LS"


def beside_the_paper(runs: Runs) -> str:
    """Return the last hypervolume, or else the first number, that the paper has for `runs`, and
    whether ours differs."""
    found = tables.compare(runs)
    if not len(found):
        return "The paper has no number for this setting."
    volumes = found[found.index.get_level_values(-1) == "hypervolume ↑"]
    row = volumes.iloc[-1] if len(volumes) else found.iloc[0]
    measure, _, percent = str(row.name[-1]).rstrip(" ↑↓").partition(", ")
    best = "" if len(volumes) else "best "
    ours, theirs = (f"{value:#.4g} {percent}".strip() for value in (row.ours, row.paper))
    if row["verdict"] == "differs":
        return f"The paper has a mean {best}{measure} of {theirs}. Ours is {ours}, which differs."
    return f"The paper has a mean {best}{measure} of {theirs}, and ours is {ours}."


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
