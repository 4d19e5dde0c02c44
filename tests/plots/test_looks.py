"""However many lines a figure is given, it draws all of them, and no two look alike."""

from itertools import product

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from pamal_core.front import Front, Objective
from pamal_core.plots import fronts, lessons, pictures, studies, style
from pamal_core.simplex import lattice

matplotlib.use("Agg")
MANY = 30
OBJECTIVES = (Objective("a/accuracy", True), Objective("b/accuracy", True))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def front(shift=0.0):
    alphas = lattice(2, 4)
    table = pd.DataFrame(alphas + shift, columns=[o.name for o in OBJECTIVES])
    return Front(alphas, table.assign(**{"a/loss": table.iloc[:, 1], "b/loss": 0.5}), OBJECTIVES)


def named(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def look(line):
    return (str(line.get_color()), line.get_alpha(), line.get_marker(), line.get_linestyle())


def distinct(lines):
    return len({look(line) for line in lines})


@pytest.mark.parametrize("count", [0, 1, 5, 6, 13, 100])
def test_any_number_of_colours_and_markers_differ_and_begin_with_those_of_the_style(count):
    colours, markers = style.colours(count), style.markers(count)
    assert len(set(colours)) == len(set(markers)) == count
    assert colours[:5] == list(style.SEEDS[:count])
    assert markers[:12] == list(style.MARKERS[:count])


def test_panels_are_as_many_as_asked_for_and_the_rest_of_the_grid_is_empty():
    figure, axes = style.panels("abcdefg", 3, (2.0, 1.0))
    assert len(axes) == 7 and figure.get_size_inches().tolist() == [6, 3]
    assert [ax.axison for ax in figure.axes] == [True] * 7 + [False] * 2
    assert [ax.get_title() for ax in figure.axes] == [*"abcdefg", "", ""]


def test_every_p_has_its_lines_and_its_name_and_every_seed_its_shade():
    ps = [float(p) for p in range(MANY)]
    found = {p: [front(p / 100)] for p in ps}
    figure = studies.sampling_figure(found, {p: [np.ones(3)] for p in ps}, "made up")
    cosine = figure.axes[2]
    assert named(figure) == [f"p = {p:g}" for p in ps]
    assert len(cosine.lines) == MANY == distinct(cosine.lines)
    figure = studies.sampling_figure({1.0: [front()] * 9}, {1.0: [np.ones(3)] * 9}, "made up")
    assert len(figure.axes[2].lines) == 9 == distinct(figure.axes[2].lines)


def test_every_penalty_has_its_colour_and_every_seed_its_dashes():
    names = [f"penalty {k}" for k in range(MANY)]
    panels = {(1, 0.0): {name: [front()] for name in names}}
    (ax,) = studies.fronts_figure(panels, "made up").axes
    assert len(ax.lines) == 2 * MANY and distinct(ax.lines[::2]) == MANY
    (ax,) = studies.fronts_figure({(1, 0.0): {"one": [front()] * 9}}, "made up").axes
    assert len(ax.lines) == 18


def test_every_method_has_its_band_and_its_line():
    methods = {f"method {k}": [front(k / 100)] for k in range(MANY)}
    figure = studies.attainment_figure(methods, "made up")
    (ax,) = figure.axes
    assert named(figure) == list(methods)
    assert len(ax.lines) == MANY == distinct(ax.lines) and len(ax.collections) == 2 * MANY


def test_every_winner_of_a_criterion_is_drawn_and_named():
    winners = {f"method {k}": studies.Winner("x", [front()]) for k in range(MANY)}
    figure = studies.winners_figure({"volume": winners}, "made up")
    assert [len(ax.lines) for ax in figure.axes] == [2 * MANY] * 2
    assert distinct(figure.axes[0].lines[::2]) == MANY
    assert named(figure) == [*winners, "all weight on the first task"]


def test_every_seed_every_single_point_method_and_every_rival_is_drawn():
    points = {f"method {k}": [front()] for k in range(MANY)}
    rivals = {f"rival {k}": front() for k in range(MANY)}
    figure = fronts.seeds_figure(
        dict.fromkeys(range(MANY), front()), points, None, "made up", rivals
    )
    (ax,) = figure.axes
    seeds = [line for line in ax.lines if line.get_label().startswith("PaMaL, seed")]
    others = [line for line in ax.lines if line.get_label().startswith("rival")]
    assert len(seeds) == MANY == distinct(seeds) and len(others) == MANY == distinct(others)
    shapes = {c.get_paths()[0].vertices.tobytes() for c in ax.collections}
    assert len(ax.collections) == MANY == len(shapes)


def test_every_setting_has_its_line_over_the_rates():
    names = [*(f"PaMaL {k}" for k in range(MANY)), *(f"LS {k}" for k in range(MANY))]
    found = pd.DataFrame(product(names, (1e-3, 2e-3)), columns=["setting", "rate"])
    found = found.assign(weights="last", validation=0.5)
    found["setting"] = pd.Categorical(found.setting, names)
    figure = studies.rates_figure(found, ["last"], "made up")
    assert named(figure) == names
    lines = [container[0] for container in figure.axes[0].containers]
    assert len(lines) == 2 * MANY == distinct(lines)


def test_every_network_of_the_theorem_has_its_curve():
    curves = {f"network {k}": (np.arange(1.0, 4), np.ones(3)) for k in range(MANY)}
    figure = lessons.sizes_figure(curves, (np.arange(1.0, 4), np.ones(3)), "made up")
    assert len(figure.axes[0].lines) == MANY + 1 == distinct(figure.axes[0].lines)
    assert len(named(figure)) == MANY + 1


def test_every_digit_is_shown_when_the_last_row_is_short():
    figure = pictures.digits_figure([*np.zeros((MANY + 1, 1, 2, 2))], [[0] * (MANY + 1)], "made up")
    assert sum(len(ax.images) for ax in figure.axes) == MANY + 1
