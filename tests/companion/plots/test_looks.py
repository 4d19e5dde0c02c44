"""However many lines a figure is given, it draws all of them, and no two look alike."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.legend import Legend

from pamal_companion.plots import fronts, studies, style
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

MANY = 30
OBJECTIVES = (Objective("a/accuracy", True), Objective("b/accuracy", True))


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
def test_any_number_of_colours_and_markers_differ(count):
    colours, markers = style.colours(count), style.markers(count)
    assert len(set(colours)) == len(set(markers)) == count
    assert colours[:5] == list(style.SEEDS[:count])
    assert markers[:12] == list(style.MARKERS[:count])


def test_panels_are_as_many_as_asked_for_and_the_rest_of_the_grid_is_empty():
    figure, axes = style.panels("abcdefg", 3, 1.0, 6.0)
    assert len(axes) == 7 and figure.get_size_inches().tolist() == [6, 3]
    assert [ax.axison for ax in figure.axes] == [True] * 7 + [False] * 2
    assert [ax.get_title(loc="left") + ax.get_title() for ax in figure.axes] == [*"abcdefg", "", ""]


def test_every_p_has_its_lines_and_its_name_and_every_seed_its_shade():
    ps = [float(p) for p in range(MANY)]
    found = {p: [front(p / 100)] for p in ps}
    figure = studies.sampling_figure(found, {p: [np.ones(3)] for p in ps}, "made up")
    cosine = figure.axes[2]
    assert named(figure) == [f"p = {p:g}" for p in ps]
    assert len(cosine.lines) == MANY == distinct(cosine.lines)
    figure = studies.sampling_figure({1.0: [front()] * 9}, {1.0: [np.ones(3)] * 9}, "made up")
    assert len(figure.axes[2].lines) == 9 == distinct(figure.axes[2].lines)


def test_every_penalty_has_a_colour_and_a_line_through_its_means():
    names = [f"penalty {k}" for k in range(MANY)]
    panels = {(1, 0.0): {name: [front()] for name in names}}
    (ax,) = studies.fronts_figure(panels, "made up").axes
    assert len(ax.lines) == 2 * MANY and distinct(ax.lines[::2]) == MANY
    (ax,) = studies.fronts_figure({(1, 0.0): {"one": [front(), front(0.2)]}}, "made up").axes
    line, first = ax.lines
    np.testing.assert_allclose(line.get_xydata(), front(0.1).values)
    np.testing.assert_allclose(first.get_xydata(), front(0.1).values[front().alphas[:, 0] == 1])


def test_a_method_has_one_colour_and_its_settings_differ_in_dashes():
    assert len({marker for _, marker in style.METHODS.values()}) == len(style.METHODS)
    looks = style.looks(["PaMaL", "LS", "PHN", "PHN, tuned", "PHN, other", "UW", "new", "newer"])
    longer = style.looks(["LS", "LS, longer"])
    assert longer["LS"]["marker"] != longer["LS, longer"]["marker"]
    for name in ("PaMaL", "LS", "PHN", "UW"):
        assert (looks[name]["color"], looks[name]["marker"]) == style.METHODS[name]
    three = [look for name, look in looks.items() if name.startswith("PHN")]
    assert len({look["color"] for look in three}) == 1
    assert len({(look["marker"], look["ls"]) for look in three}) == 3
    assert len({tuple(look.values()) for look in looks.values()}) == len(looks) == 8


def test_the_methods_of_the_package_are_those_of_the_table_of_colours():
    from pamal_companion.runs.methods import METHODS

    assert {row.printed for row in METHODS.values()} | {"sweep"} == {*style.METHODS}


def test_methods_that_are_compared_often_can_be_told_apart_without_colour():
    def lightness(colour):
        return np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722))

    colours = [style.METHODS[name][0] for name in ("PaMaL", "LS", "STL")]
    light = sorted(map(lightness, colours))
    assert min(np.diff(light)) > 0.15


def test_few_methods_share_a_panel_and_many_have_one_each():
    points = {f"method {k}": [front()] for k in range(MANY)}
    baselines = {f"baseline {k}": [front()] * 2 for k in range(MANY)}
    seeds = dict.fromkeys(range(MANY), front())
    figure = fronts.seeds_figure(seeds, {"LS": [front()]}, (0.5, 0.5), "made up")
    (ax,) = figure.axes
    assert len(ax.collections) == 1 and len(ax.lines) == 2 * MANY + 2
    figure = fronts.seeds_figure(seeds, points, None, "made up", baselines)
    panels = [ax for ax in figure.axes if ax.axison]
    assert [ax.get_title(loc="left") + ax.get_title() for ax in panels] == [*points, *baselines]
    limits = {(ax.get_xlim(), ax.get_ylim()) for ax in panels}
    assert len(limits) == 1  # what is compared has the same axes
    for ax in panels[:MANY]:
        assert len(ax.lines) == 2 * MANY and len(ax.collections) == 1
    for ax in panels[MANY:]:
        assert len(ax.lines) == 2 * MANY + 2 and not ax.collections


def test_a_baseline_far_away_is_counted_and_does_not_set_the_axes():
    points = {f"method {k}": [front()] for k in range(4)}
    figure = fronts.seeds_figure({0: front()}, points, None, "made up", {"far": [front(9.0)]})
    *_, far = (ax for ax in figure.axes if ax.axison)
    assert far.get_xlim()[1] < 2
    assert notes(far) == ["4 outside"]


def notes(ax):
    return [one.get_title().get_text() for one in ax.artists if isinstance(one, Legend)]


def test_networks_outside_the_axes_are_counted_in_each_panel():
    panels = {(W, 0.0): {"one": [front()], "two": [front(0.3)]} for W in range(1, 12)}
    panels[2, 0.0]["one"] = [front(-9.0)]
    figure = studies.fronts_figure(panels, "made up")
    for (W, _), ax in zip(panels, figure.axes, strict=True):
        points = np.concatenate([line.get_xydata() for line in ax.lines[::2]])
        outside = sum(not ax.viewLim.contains(*point) for point in points)
        assert outside >= 4 if W == 2 else outside == 0
        assert notes(ax) == ([f"{outside} outside"] if outside else [])


def test_every_setting_has_its_line_over_the_rates():
    names = [*(f"PaMaL {k}" for k in range(MANY)), *(f"LS {k}" for k in range(MANY))]
    found = pd.DataFrame(product(names, (1e-3, 2e-3)), columns=["setting", "rate"])
    found = found.assign(weights="last", validation=0.5)
    found["setting"] = pd.Categorical(found.setting, names)
    figure = studies.rates_figure(found, ["last"], "made up")
    assert named(figure) == names
    lines = [container[0] for container in figure.axes[0].containers]
    assert len(lines) == 2 * MANY == distinct(lines)
