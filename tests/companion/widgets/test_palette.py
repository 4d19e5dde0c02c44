"""One palette: figures, widgets and pages have the same colours for the same things."""

import re
from itertools import combinations

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb

from pamal_companion.plots import dial as figure_of_dial
from pamal_companion.plots import pictures, style
from pamal_companion.widgets import html
from pamal_companion.widgets.dial import SIDES

PALETTE = html.PALETTE
GROUNDS = {"light": "#ffffff", "dark": "#14181e"}
# Viénot, Brettel and Mollon (1999): what who lacks a kind of cone sees, in linear light.
SEEN_BY = {
    "everybody": np.eye(3),
    "protan": [[0.1124, 0.8876, 0], [0.1124, 0.8876, 0], [0.004, -0.004, 1]],
    "deutan": [[0.2928, 0.7072, 0], [0.2928, 0.7072, 0], [-0.0223, 0.0223, 1]],
}
KINDS = {name: f"pw-{name}" for name in PALETTE["methods"]}


def linear(colour):
    share = np.array(to_rgb(colour))
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """As WCAG 2 defines it."""
    low, high = sorted(linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(light):
    """CIELAB of a linear colour, by which a distance of 2 can just be seen."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    share = np.clip(xyz @ light / [0.9505, 1, 1.089], 0, None)
    f = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seer", SEEN_BY)
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_methods_can_be_told_apart_by_colour_blind_readers(scheme, seer):
    hues = {row["hue"] for row in PALETTE["methods"].values() if row["hue"]}
    for pair in combinations(sorted(hues), 2):
        one, other = (
            lab(np.clip(SEEN_BY[seer] @ linear(PALETTE["hues"][name][scheme]), 0, 1))
            for name in pair
        )
        assert np.linalg.norm(one - other) > 10, pair


@pytest.mark.parametrize("name", sorted({*PALETTE["hues"]} - {PALETTE["front"]}))
def test_each_hue_can_be_seen_on_both_grounds(name):
    for colour, ground in zip(PALETTE["hues"][name], GROUNDS.values(), strict=True):
        assert contrast(colour, ground) >= 3


@pytest.mark.parametrize("name", [*PALETTE["tasks"], PALETTE["here"]])
def test_hues_of_words_can_be_read_on_both_grounds(name):
    for colour, ground in zip(PALETTE["hues"][name], GROUNDS.values(), strict=True):
        assert contrast(colour, ground) >= 4.5


def test_widgets_and_figures_map_numbers_to_the_same_colours():
    stops = np.array(PALETTE["map"]["stops"])
    shares = np.linspace(0, 1, len(stops))
    np.testing.assert_allclose(255 * colormaps[style.MAP](shares)[:, :3], stops, atol=2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_widget_has_the_colours_of_figures_for_methods_and_tasks(open_widget, scheme):
    page = open_widget("replay", replay(), color_scheme=scheme)
    page.evaluate("""(kinds) => kinds.forEach((kind) => {
        const mark = document.querySelector('.pw').appendChild(document.createElement('i'));
        mark.className = kind; mark.id = kind; mark.style.color = 'var(--pw-own)';
    })""", [*KINDS.values(), "pw-one", "pw-two", "pw-three"])  # fmt: skip
    k = [*GROUNDS].index(scheme)
    wanted = {KINDS[name]: row["hue"] for name, row in PALETTE["methods"].items() if row["hue"]}
    wanted |= dict(zip(("pw-one", "pw-two", "pw-three"), PALETTE["tasks"], strict=True))
    for kind, hue in wanted.items():
        seen = page.evaluate("(id) => getComputedStyle(document.getElementById(id)).color", kind)
        rgb = [int(part) / 255 for part in re.findall(r"\d+", seen)]
        np.testing.assert_allclose(rgb, to_rgb(PALETTE["hues"][hue][k]), atol=1e-6)


def replay():
    frame = {"epoch": 1, "values": [[0.9, 0.8], [0.8, 0.9]], "hypervolume": 0.7}
    frames = [{**frame, "epoch": k, "non_dominated": [True, True]} for k in range(3)]
    return {"frames": frames, "objectives": ["a", "b"], "options": {"W": 1, "lam": 0, "p": 1}}


def test_the_figure_and_the_widget_of_the_dial_have_the_same_colours(functions):
    kinds = functions("dial").call("(() => SIDES)")
    for side, name in SIDES.items():
        method = next(m for m, kind in KINDS.items() if kind == kinds[side]["kind"])
        hue = PALETTE["methods"][method]["hue"]
        assert figure_of_dial.LOOKS[name]["color"] == PALETTE["hues"][hue][0]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("PaMaL, one run", "pamal"),
        ("PaMaL, W = 1", "pamal"),
        ("LS, same cost", "ls"),
        ("one LS, as many passes", "ls"),
        ("four LS", "sweep"),
        ("LS, five runs of other weights", "sweep"),
        ("a sweep of four LS", "sweep"),
        ("rewarded soup, as many passes", "soup"),
        ("PHN, tuned", "phn"),
        ("COSMOS", "cosmos"),
        ("single-task learning", "stl"),
        ("uniform draws", None),
    ],
)
def test_a_name_has_the_colour_of_its_method_on_both_sides(functions, name, method):
    kind = functions("base").call("methodKind", name)
    assert kind == (KINDS[method] if method else "")
    expected = PALETTE["methods"][method]["name"] if method else None
    assert style.method_of(name) == expected
    look = style.looks([name, "another"])[name]
    if method:
        assert (look["color"], look["marker"]) == style.METHODS[expected]


def test_classes_of_scenes_are_no_hues_that_a_page_changes():
    light = {colours[0] for colours in PALETTE["hues"].values()}
    assert not light & {colour.lower() for colour in pictures.CLASSES.values()}
