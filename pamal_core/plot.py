"""The picture of a front, beside others."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from pamal_core.choose import scaled
from pamal_core.errors import InputError, check_type, shown
from pamal_core.front import Front
from pamal_core.objectives import check_same_objectives

AS_PAIRS = 4
"""Up to so many tasks each pair of them has a panel; of more a panel has all."""


def plot(front: Front, ax: Any, beside: Mapping[str, Front]) -> Any:
    """Draw `front` as `Front.plot` says, and return the first axes."""
    check_type("beside", beside, Mapping, '{"LS": front}')
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ImportError(
            "Found no matplotlib. The extra `plots` brings it: pip install '.[plots]'."
        ) from None
    if unnamed := [name for name in beside if not isinstance(name, str) or not name]:
        raise InputError(f"Each front of `beside` must have a text as its name. Found {unnamed}.")
    check_same_objectives([front, *beside.values()])
    fronts = {"": front.finite()} | {name: other.finite() for name, other in beside.items()}
    number = len(front.objectives)
    pairs = [*combinations(range(number), 2)] if number <= AS_PAIRS else []
    panels, needed = np.ravel([] if ax is None else ax), len(pairs) or 1
    if ax is None:
        panels = _panels(plt, needed, has_triangle=number == 3 == front.alphas.shape[1])
    if len(panels) < needed or not all(hasattr(panel, "set_xlabel") for panel in panels):
        raise InputError(
            f"`ax` must be matplotlib's axes, one for each panel: {needed}. Found {shown(ax)}."
        )
    if not pairs:
        _draw_all_tasks(panels[0], fronts)
    for panel, pair in zip(panels, pairs, strict=False):
        _draw_pair(panel, fronts, pair)
    if ax is None and len(panels) > len(pairs) > 1:
        _draw_triangle(panels[-1], fronts[""])
    place = {} if pairs else {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    for text in panels[0].legend(**place).get_texts():
        text.set_parse_math(False)
    if ax is None:
        others = f", beside {' and '.join(beside)}" if beside else ""
        caption = f"{len(front)} networks, mixtures of {front.alphas.shape[1]} members{others}."
        panels[0].figure.set_label(caption)
    return panels[0]


def _panels(plt: Any, number: int, has_triangle: bool) -> np.ndarray:
    """Return new axes, at most three in a row; the last is a triangle, if mpltern is there."""
    if has_triangle:
        try:
            import mpltern  # noqa: F401  (which brings the projection)
        except ImportError:
            has_triangle = False
    columns = min(number, 2 if has_triangle else 3)
    rows = -(-(number + has_triangle) // columns)
    figure = plt.figure(figsize=(4.5 * columns, 4 * rows), layout="constrained")
    panels = [figure.add_subplot(rows, columns, k + 1) for k in range(number)]
    if has_triangle:
        panels.append(figure.add_subplot(rows, columns, number + 1, projection="ternary"))
    return np.array(panels, dtype=object)


def _draw_pair(panel: Any, fronts: Mapping[str, Front], pair: tuple[int, int]) -> None:
    for number, (name, front) in enumerate(fronts.items()):
        points, color = front.values[:, pair], f"C{number}"
        if front.alphas.shape[1] == 2 and len(front) > 1 and not front.is_union:
            along = front.alphas[:, 0].argsort(kind="stable")
            panel.plot(*points[along].T, color=color, lw=1)
        if name:
            marker, size = ("*", 12) if len(front) == 1 else ("s", 4)
            panel.plot(*points.T, marker, color=color, ms=size, label=name, zorder=3)
            continue
        kept = front.non_dominated()
        panel.plot(*points[kept].T, "o", color=color, label="not dominated")
        if not kept.all():
            panel.plot(*points[~kept].T, "o", color=color, mfc="none", label="dominated")
    x, y = (fronts[""].objectives[t].label for t in pair)
    panel.set_xlabel(x, parse_math=False)
    panel.set_ylabel(y, parse_math=False)


def _draw_all_tasks(panel: Any, fronts: Mapping[str, Front]) -> None:
    """Draw a line for each front: the best that it achieves in each task, from 0 for the worst to 1
    for the best of all non-dominated points; and the point that is chosen of the first."""
    first = fronts[""]
    every = np.vstack([front.pareto.better for front in fronts.values()])
    low, span = every.min(0), np.ptp(every, axis=0)
    tasks = range(len(first.objectives))
    for number, (name, front) in enumerate(fronts.items()):
        best = (front.better.max(0) - low) / np.where(span > 0, span, 1)
        label = name or "best of each task"
        panel.plot(tasks, best, "o-", color=f"C{number}", label=label)
    chosen = (first.better[first.choose().row] - low) / np.where(span > 0, span, 1)
    panel.plot(tasks, chosen, "o--", color="C0", mfc="none", label="the point of choose()")
    names = [objective.words for objective in first.objectives]
    panel.set_xticks(tasks, names, rotation=45, ha="right", parse_math=False)
    panel.set_ylabel("0: the worst point, 1: the best")


def _draw_triangle(panel: Any, front: Front) -> None:
    """Draw each alpha in the color of its worst task, on the scale by which `choose` decides."""
    shares, _ = scaled(front, front.better)
    worst = shares.min(1).clip(0, 1) if shares.size else np.ones(len(front))
    drawn = panel.scatter(*front.alphas.T, c=worst, cmap="viridis", s=40, vmin=0, vmax=1)
    chosen = front.alphas[front.choose().row]
    panel.scatter(*chosen[:, None], marker="*", s=120, color="C3")
    names = front.alpha_names
    for axis, name in zip((panel.taxis, panel.laxis, panel.raxis), names, strict=True):
        axis.set_label_text(name)
        axis.label.set_parse_math(False)
    panel.figure.colorbar(drawn, ax=panel, label="share of the worst task", shrink=0.8)
    panel.set_title("star: the point of choose()", fontsize="medium", pad=24)
