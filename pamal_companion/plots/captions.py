"""Say in a sentence what a figure of fronts shows, counted from the fronts that it draws.

A sentence ends with a space, so that what the marks mean can follow it. A function returns "" where
there is nothing to say.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from pamal_companion.fronts import attained
from pamal_companion.plots import style
from pamal_companion.plots.words import listed, out_of, ranged
from pamal_core.front import Front

NO_PENALTY = "none"
"""The name of the penalty of a run at lambda = 0."""
PUNISHES = {"ordered": "the wrong order", "printed": "the right order"}
"""Says what a penalty punishes, by the sign that its name begins with."""
Winner = tuple[str, Sequence[Front]]
"""A setting in words, and its fronts, one per seed; none where nothing meets the criterion."""


def beaten(ours: np.ndarray, theirs: np.ndarray) -> int:
    """Count the points `theirs` [n, 2] than which one of `ours` [m, 2] is higher in both."""
    return int((ours[:, None] > theirs).all(2).any(0).sum())


def line_by_line(fronts: Sequence[Front], lines: Mapping[str, Sequence[Front]]) -> str:
    """Return two sentences: for most networks of which `lines`, each of several runs, one of the
    `fronts` has a network that is better in both objectives, and of which lines for at most half.
    Nothing without lines, or if lower is better."""
    if not lines or not all(fronts[0].maximise):
        return ""
    ours = np.concatenate([front.values for front in fronts])
    theirs = {name: np.concatenate([run.values for run in runs]) for name, runs in lines.items()}
    counts = {name: beaten(ours, values) for name, values in theirs.items()}
    most: list[str] = []
    few: list[str] = []
    for name in sorted(counts, key=lambda name: -counts[name]):
        number = len(theirs[name])
        text = f"“{style.literal(name)}” ({counts[name]} of {number})"
        (most if 2 * counts[name] > number else few).append(text)
    words = ""
    if most:
        words = f"PaMaL has a better network on both tasks for most networks of {listed(most)}. "
    if few:
        words += f"For at most half of those of {listed(few)} PaMaL has one. "
    return words


def where_best(stars: Sequence[np.ndarray]) -> str:
    """Return a sentence that says where the best networks lie, by the alpha of each, the share of
    the task's own member first; nothing without one."""
    if not stars:
        return ""
    near = sum(bool(np.isclose(alpha[0], alpha.max())) for alpha in stars)
    corner = sum(alpha[0] == 1 for alpha in stars)
    reason = "" if corner else ", probably because a mixture is steadier than a member alone"
    return (
        f"In {out_of(near, len(stars))} triangles no corner is nearer to the best network (star) "
        f"than that of its own task. That corner is itself the best network in {corner or 'none'}"
        f"{reason}. "
    )


def not_dominated(fronts: Iterable[Front]) -> str:
    """Return a sentence that counts the networks of each front that no other one dominates, and the
    members among them."""
    counts, sizes, members, kept_members = [], [], 0, 0
    for front in fronts:
        kept, member = front.kept(), front.alphas.max(1) == 1
        counts.append(int(kept.sum()))
        sizes.append(len(kept))
        members += int(member.sum())
        kept_members += int((kept & member).sum())
    number = ranged(counts, "d")
    words = f"Of the {ranged(sizes, 'd')} networks of a run {number} are not dominated. "
    if kept_members:
        verb = "is" if kept_members == 1 else "are"
        return f"{words}Of the {members} members {kept_members} {verb} among them. "
    return (
        f"{words}None of the {members} members is among them, so for each member a mixture is at "
        "least as good at every task and better at one. "
    )


def bend(fronts: Iterable[Front]) -> str:
    """Return a sentence that counts the mixtures that are better at all tasks than the mean of the
    members, each weighted by its share."""
    above, number = 0, 0
    for front in fronts:
        members = np.stack([front.values[front.alphas[:, k].argmax()] for k in range(3)])
        mixed = front.alphas.max(1) < 1
        flat = front.alphas[mixed] @ members
        above += int((front.values[mixed] > flat).all(1).sum())
        number += int(mixed.sum())
    so = ", so the surface bends towards you" if 2 * above > number else ""
    count = out_of(above, number).capitalize()
    return (
        f"{count} mixtures are better at all three tasks than their members are on average, each "
        f"weighted by its share{so}. "
    )


def beyond_the_median(methods: Mapping[str, Sequence[Front]]) -> str:
    """Return a sentence that counts the single networks of each other method, or the corners of its
    median line, that lie beyond the median line of PaMaL; nothing without PaMaL's."""
    is_line = {name: any(len(front) > 1 for front in of) for name, of in methods.items()}
    ours = [name for name in methods if is_line[name] and style.method_of(name) == "PaMaL"]
    if not ours or len(methods) == 1:
        return ""
    median = attained(methods[ours[0]], 0.5)
    texts = []
    for name, of_method in methods.items():
        if name == ours[0]:
            continue
        points, what = attained(of_method, 0.5), "corners of the line"
        if not is_line[name]:
            points, what = np.concatenate([front.values for front in of_method]), "networks"
        beyond = int((~(median[:, None] >= points).all(2).any(0)).sum())
        texts.append(f"{out_of(beyond, len(points))} {what} of “{name}”")
    where = "PaMaL's line" if len(ours) == 1 else f"the line of “{ours[0]}”"
    return f"Beyond {where} lie {listed(texts)}. "


def penalty(name: str) -> str:
    """Return the name of a penalty as a figure shows it: "printed, as released"."""
    return name.replace("+", ", ").replace("_", " ")


def _punished(name: str) -> str:
    """Return the reason of what a penalty does, which is what it punishes; "" for another name."""
    punished = PUNISHES.get(name.partition("+")[0])
    return f", because this penalty punishes {punished}" if punished else ""


def in_order(name: str, tables: Sequence[pd.DataFrame]) -> str:
    """Return a sentence that counts in how many rows the largest lambda makes a correlation, which
    is -1 in order, smaller, or larger if those are more; nothing without a row."""
    changes = np.concatenate([_changes(table) for table in tables] or [np.empty(0)])
    if not len(changes):
        return ""
    falls, rises = (int((sign * changes > 0).sum()) for sign in (-1, 1))
    way, count = ("better", falls) if falls >= rises else ("worse", rises)
    least, most = tables[0].columns.min(), tables[0].columns.max()
    return (
        f"With the penalty “{penalty(name)}” the losses come into {way} order from λ = {least:g} "
        f"to {most:g} in {out_of(count, len(changes))} rows{_punished(name)}. "
    )


def largest(quantity: str, table: pd.DataFrame) -> str:
    """Return a sentence that says in how many rows a quantity grows with lambda, and with how many
    draws and which lambda it is largest."""
    i, j = np.unravel_index(np.nanargmax(table), table.shape)
    window, lam, changes = table.index[i], table.columns[j], _changes(table)
    draws = "one draw" if window == 1 else f"{window} draws"
    grows = f"grows in {out_of(int((changes > 0).sum()), len(changes))} rows, and "
    return (
        f"The {quantity} {grows if len(changes) else ''}is largest with {draws} per step and "
        f"λ = {lam:g}. "
    )


def _changes(table: pd.DataFrame) -> np.ndarray:
    """Return the change of a table from the least lambda to the largest: a number for each W that
    has both."""
    changes = (table[table.columns.max()] - table[table.columns.min()]).to_numpy(float)
    return changes[np.isfinite(changes)]


def directions(found: Mapping[str, Sequence[int]]) -> str:
    """Return a sentence for each penalty that counts the panels in which its front runs forwards,
    and those in which it runs backwards, by the `direction` of each."""
    sentences = []
    for name, panels in found.items():
        right, wrong = (sum(one == way for one in panels) for way in (1, -1))
        where = "Without a penalty" if name == NO_PENALTY else f"With the penalty “{penalty(name)}”"
        worse = f", and worse in {wrong}" if wrong else ""
        sentences.append(
            f"{where} each member is better than the other one at its own task in "
            f"{out_of(right, len(panels))} panels{worse}{_punished(name)}. "
        )
    return "".join(sentences)


def backwards(panels: Mapping[str, Mapping[str, Winner]]) -> str:
    """Return a sentence that says whose fronts run backwards in how many of the columns in which it
    has one, and who has none that does."""
    columns: dict[str, list[bool]] = {}
    for winners in panels.values():
        for name, (_, fronts) in winners.items():
            ways = [any(direction(front) < 0 for front in fronts)] if fronts else []
            columns.setdefault(name, []).extend(ways)
    shown = {name: found for name, found in columns.items() if found}
    wrong = {name: found for name, found in shown.items() if any(found)}
    right = [name for name in shown if name not in wrong]
    if not wrong:
        return f"No front of {listed(right)} runs backwards. " if right else ""
    texts = [f"{name} in {out_of(sum(one), len(one))} columns" for name, one in wrong.items()]
    # COSMOS alone has a penalty that asks for the larger loss where a task has more weight.
    reason = ", probably because its penalty outweighs the losses" if [*wrong] == ["COSMOS"] else ""
    never = f", and with {listed(right)} in none" if right else ""
    return (
        f"The front runs backwards with {listed(texts)}{reason}{never}. On such a front the "
        "network with all weight on the first task is worse at this task than the other end. "
    )


def direction(front: Front) -> int:
    """Return 1 if the front of two tasks runs forwards: the first member is better than the last
    one at the first task, and worse at the second. Return -1 if it runs backwards, and else 0."""
    shares, better = front.alphas[:, 0], front.better
    first, second = np.sign(better[shares.argmax()] - better[shares.argmin()])
    return int(first) if first == -second else 0
