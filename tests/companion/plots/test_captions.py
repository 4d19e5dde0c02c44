"""A caption says what a figure shows: each sentence for fronts made by hand, and the same counted
point by point."""

import re

import numpy as np
import pandas as pd
import pytest
from made_up import front_of

from pamal_companion.plots import captions, dial, pictures, ternary
from pamal_companion.plots.recipes import within_figure
from pamal_companion.plots.space import space_figure
from pamal_companion.plots.studies import attainment_figure, heat_maps_figure, winners_figure
from pamal_companion.plots.words import listed, out_of, ranged
from pamal_core.front import Front
from pamal_core.objectives import Objective
from pamal_core.simplex import lattice

THREE = lattice(3, 3)  # corners and the middles of the sides
LOSSES = ("a/loss", "b/loss")


def caption(figure):
    return str(figure.get_label())


def sentences(text):
    return re.split(r"(?<=[.]) (?=[A-Z])", text)


def along(*points):
    """A front of two tasks along alpha, from all weight on the second task to all on the first."""
    front = front_of(points, lattice(2, len(points))[::-1])
    assert front.alphas[0].tolist() == [0, 1]
    losses = {name: 1 - front.values[:, t] for t, name in enumerate(LOSSES)}
    return Front(front.alphas, front.table.assign(**losses), front.objectives)


@pytest.mark.parametrize(
    ("names", "text"), [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ((1, 2), "1 and 2")]
)
def test_names_stand_in_a_row(names, text):
    assert listed(names) == text


@pytest.mark.parametrize(("count", "text"), [(0, "none of the 3"), (2, "2 of the 3"), (3, "all 3")])
def test_a_count_says_of_how_many(count, text):
    assert out_of(count, 3) == text


@pytest.mark.parametrize(
    ("numbers", "form", "text"),
    [([5, 2, 3], "d", "2 to 5"), ([2], "d", "2"), ([2.04, 1.96], ".1f", "2.0")],
)
def test_a_range_is_one_number_where_both_ends_are_written_alike(numbers, form, text):
    assert ranged(numbers, form) == text


# Fronts beside others


def reached(points, others):
    """Count the `others` than which a point is better in all objectives."""
    return sum(any(all(p > o for p, o in zip(a, b, strict=True)) for a in points) for b in others)


def test_lines_are_told_by_how_much_of_them_is_beaten():
    ours = along((0.1, 0.9), (0.5, 0.5), (0.9, 0.1))
    lines = {
        "far": [along((0.2, 0.95), (0.7, 0.7))],
        "half": [front_of([(0.4, 0.4)]), front_of([(0.6, 0.6)])],  # two runs
        "near": [along((0.05, 0.8), (0.4, 0.4), (0.6, 0.6))],
    }
    counts = {
        name: sum(reached(ours.values, run.values) for run in runs) for name, runs in lines.items()
    }
    assert counts == {"far": 0, "half": 1, "near": 2}
    assert captions.line_by_line([ours], lines) == (
        "PaMaL has a better network on both tasks for most networks of “near” (2 of 3). "
        "For at most half of those of “half” (1 of 2) and “far” (0 of 2) PaMaL has one. "
    )
    assert captions.line_by_line([ours], {}) == ""


def test_single_networks_are_counted_beyond_the_line_of_the_median_seed():
    ours = [along((0.2, 0.8), (0.8, 0.2)), along((0.3, 0.9), (0.9, 0.3)), along((0.1, 0.1), (0, 0))]
    ls = [front_of([point]) for point in ((0.15, 0.7), (0.25, 0.7), (0.85, 0.1))]
    sweep = [along((0.5, 0.5), (0, 0)), along((0.5, 0.6), (0, 0))]
    # Beyond the median line lies what fewer than half of the seeds reach.
    above = [
        sum(any((p >= one.values[0]).all() for p in front.values) for front in ours) < 1.5
        for one in ls
    ]
    assert above == [False, True, True]
    text = caption(attainment_figure({"PaMaL": ours, "LS": ls, "five LS": sweep}, "here"))
    assert text.startswith(
        "Beyond PaMaL's line lie 2 of the 3 networks of “LS” and 1 of 1 corners of the line of "
    )
    assert (
        captions.beyond_the_median({"PaMaL": ours}) == captions.beyond_the_median({"LS": ls}) == ""
    )


@pytest.mark.parametrize(
    ("points", "way"),
    [
        (((0.1, 0.9), (0.9, 0.1)), 1),
        (((0.9, 0.1), (0.1, 0.9)), -1),
        (((0.1, 0.1), (0.9, 0.9)), 0),
        (((0.5, 0.1), (0.5, 0.9)), 0),
    ],
)
def test_a_front_runs_forwards_if_each_member_is_better_at_its_own_task(points, way):
    assert captions.direction(along(*points)) == way
    assert captions.direction(along(*points).on("loss", maximise=False)) == way


def test_winners_whose_front_runs_backwards_are_named():
    right, wrong = along((0.1, 0.9), (0.9, 0.1)), along((0.9, 0.1), (0.1, 0.9))
    panels = {
        title: {"PaMaL": ("default", [right]), "COSMOS": ("lam = 2", found)}
        for title, found in {"no threshold": [right], "one": [wrong], "two": [wrong]}.items()
    }
    text = caption(winners_figure(panels, "Made up."))
    assert text.startswith(
        "The front runs backwards with COSMOS in 2 of the 3 columns, probably because its penalty "
        "outweighs the losses, and with PaMaL in none. "
    )
    panels["two"]["PHN"] = ("p = 1", [wrong])
    assert "COSMOS in 2 of the 3 columns and PHN in 1 of 1 columns, and with" in (
        captions.backwards(panels)
    )
    del panels["one"], panels["two"]
    assert captions.backwards(panels) == "No front of PaMaL and COSMOS runs backwards. "


def test_directions_of_the_panels_are_counted_for_each_penalty():
    found = {"none": [1, 1], "ordered": [1, 0], "printed+as_released": [-1, -1, 0]}
    assert sentences(captions.directions(found).strip()) == [
        "Without a penalty each member is better than the other one at its own task in all 2 "
        "panels.",
        "With the penalty “ordered” each member is better than the other one at its own task in "
        "1 of the 2 panels, because this penalty punishes the wrong order.",
        "With the penalty “printed, as released” each member is better than the other one at its "
        "own task in none of the 3 panels, and worse in 2, because this penalty punishes the right "
        "order.",
    ]


# Settings of a sweep


def test_a_heat_map_says_what_the_largest_lambda_changes():
    volume = pd.DataFrame(
        {0.0: [0.5, 0.4, 0.3], 5.0: [np.nan, 0.9, 0.1], 10.0: [np.nan, 0.6, 0.2]}, [1, 2, 3]
    )
    order = pd.DataFrame(
        {0.0: [-0.1, 0.0, 0.3], 5.0: [np.nan, 1, 1], 10.0: [np.nan, -1, 0.2]}, [1, 2, 3]
    )
    row = {"hypervolume  (higher is better)": volume, "order": order}
    text = caption(heat_maps_figure({"ordered": row}, ["order"], "Made up."))
    assert sentences(text) == [
        "With the penalty “ordered” the losses come into better order from λ = 0 to 10 in all 2 "
        "rows, because this penalty punishes the wrong order.",
        "The hypervolume grows in 1 of the 2 rows, and is largest with 2 draws per step and λ = 5.",
        "Means over seeds.",
        "Made up.",
    ]
    text = captions.in_order("printed+as_released", [-order, order[:1]])
    assert "“printed, as released” the losses come into worse order" in text
    assert "all 2 rows, because this penalty punishes the right order" in text
    assert captions.in_order("ordered", []) == captions.in_order("ordered", [order[:1]]) == ""
    assert captions.largest("hypervolume", volume[:1]) == (
        "The hypervolume is largest with one draw per step and λ = 0. "
    )


# Three members


def triangle(values, name="accuracy"):
    names = [f"{task}/{name}" for task in "abc"]
    table = pd.DataFrame(np.asarray(values, float), columns=names)
    return Front(THREE, table, tuple(Objective(one, True) for one in names))


def bent(extra):
    """Each task is as good as the share of its member, and mixtures are better by `extra`."""
    return triangle(THREE + extra * (THREE.max(1, keepdims=True) < 1))


def test_triangles_say_where_the_best_networks_lie():
    text = caption(ternary.triangles_figure({"one": bent(0.1), "two": bent(0.6)}, "made up"))
    assert sentences(text)[:3] == [
        "In all 6 triangles no corner is nearer to the best network (star) than that of its own "
        "task.",
        "That corner is itself the best network in 3.",
        "From the worst network to the best the accuracy on a task differs by 100.0 to 110.0 "
        "points.",
    ]
    values = np.zeros((6, 3))
    best = [(0.5, 0.5, 0), (1, 0, 0), (0, 0.5, 0.5)]  # near its own corner, far from it, near it
    for t, alpha in enumerate(best):
        values[(alpha == THREE).all(1), t] = 1
    near = [alpha[t] == max(alpha) for t, alpha in enumerate(best)]
    assert near == [True, False, True]
    text = caption(ternary.triangles_figure(triangle(values), "made up"))
    assert text.startswith("In 2 of the 3 triangles no corner is nearer to the best network (star)")
    assert "in none, probably because a mixture is steadier than a member alone." in text
    plain = caption(ternary.triangles_figure(triangle(THREE, "score"), "made up"))
    assert "the accuracy on a task" not in plain


def test_a_member_for_several_tasks_has_no_corner_of_its_own():
    front = bent(0.1)
    several = Front(front.alphas, front.table, front.objectives, np.full((3, 3), 1 / 3))
    assert "star" not in caption(ternary.triangles_figure(several, "made up"))


def is_dominated(values, point):
    return any((one >= point).all() and (one > point).any() for one in values)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (0.1, "Of the 6 networks of a run 6 are not dominated. Of the 3 members 3 are among them."),
        (0.6, "Of the 6 networks of a run 3 are not dominated. None of the 3 members is among"),
    ],
)
def test_pairs_of_tasks_say_how_many_networks_are_not_dominated(extra, said):
    values = bent(extra).values
    kept = [not is_dominated(values, point) for point in values]
    members = [keep for keep, alpha in zip(kept, THREE, strict=True) if alpha.max() == 1]
    assert said.startswith(f"Of the 6 networks of a run {sum(kept)} are not dominated.")
    assert (sum(members) == 0) == ("None" in said)
    assert caption(ternary.pairwise_figure(bent(extra), "made up")).startswith(said)


def test_one_member_alone_is_among_the_networks_that_are_not_dominated():
    values = bent(0.6).values.copy()
    values[0] = 2.0
    assert captions.not_dominated([triangle(values), bent(0.1)]) == (
        "Of the 6 networks of a run 1 to 6 are not dominated. Of the 6 members 4 are among them. "
    )
    assert captions.not_dominated([triangle(values)]).endswith("Of the 3 members 1 is among them. ")


@pytest.mark.parametrize(("extra", "count"), [(0.1, "All 3"), (-0.1, "None of the 3")])
def test_a_front_in_space_says_whether_it_bends_towards_the_reader(extra, count):
    text = caption(space_figure({"": bent(extra)}, "made up"))
    assert text.startswith(f"{count} mixtures are better at all three tasks than their members")
    assert ("bends towards you" in text) == (extra > 0)


# Recipes, the dial and pictures


def within(*means, band=0.01):
    values = pd.DataFrame({"mean": means}, index=[0.01, 0.02, 0.05])
    return values.assign(low=values["mean"] - band, high=values["mean"] + band)


def test_recipes_say_at_which_limits_one_is_the_best():
    found = {"Rewarded soup": within(0.5, 0.61, 0.7), "PHN": within(0.4, 0.6, 0.71, band=0.001)}
    text = caption(within_figure(found, "x", "y", 0.1, (0.4, 0.8), "Made up."))
    assert sentences(text)[:2] == [
        "Rewarded soup has the highest mean at 2 of the 3 limits; at 0.01 its band is above all "
        "others.",
        "PHN has the highest mean at 1 of the 3 limits.",
    ]
    low, high = (found[name].loc[0.02] for name in ("Rewarded soup", "PHN"))
    assert low["low"] < high["high"] < low["mean"]  # why 0.02 is not named


def test_the_figure_of_one_width_counts_the_networks_that_pamal_beats():
    fronts = {
        dial.PAMAL: [along((0.1, 0.9), (0.5, 0.5), (0.9, 0.1))],
        dial.FIVE: [front_of([(0.4, 0.4), (0.05, 0.8), (0.6, 0.6)])],
        dial.ONE: [front_of([(0.45, 0.55)])],
    }
    points = [fronts[name][0].values for name in (dial.PAMAL, dial.FIVE, dial.ONE)]
    assert [reached(points[0], points[k]) for k in (1, 2)] == [2, 0]
    text = caption(dial.width_figure(fronts, "Made up."))
    assert sentences(text)[:2] == [
        "PaMaL has a network that is better at both digits than 2 of the 3 networks of five LS, "
        "probably because each of these trains for a fifth as long.",
        "PaMaL has no network that is better at both digits than one LS.",
    ]
    del fronts[dial.PAMAL]
    assert caption(dial.width_figure(fronts, "Made up.")).startswith("Each line is one run")


def scene():
    """Two classes and a void pixel, in two scenes of 2 x 2 pixels."""
    labels = np.array([[[0, 0], [3, -1]], [[0, 3], [3, 4]]])
    depths = np.array([[[[0.5, 0.3], [0.2, 0.4]]], [[[0.4, 0.1], [0.0, 0.0]]]])
    return np.zeros((2, 3, 2, 2), np.uint8), labels, depths


def test_scenes_say_which_class_is_near_and_what_is_hatched():
    assert sentences(caption(pictures.scenes_figure(*scene(), "made up")))[:2] == [
        "Of the classes with a measured depth “flat” is the nearest on average and “nature” the "
        "furthest, so the class of a pixel says something about its depth.",
        "Hatched: no class (12 % of the pixels), or no depth measured (25 %). made up",
    ]


def test_predictions_say_which_is_the_best_at_each_task():
    image, label, depth = (part[0] for part in scene())
    labels = np.array([[[0, 0], [3, 5]], [[0, 1], [1, 5]]])
    depths = np.stack([depth + 0.2, depth - 0.1])
    told = [image, label, depth]
    text = caption(pictures.prediction_figure(*told, labels, depths, ["one", "two"], "made up"))
    assert sentences(text)[0].startswith(
        "one has the most classes right, 100 % of the pixels (the worst has 33 %). two errs the "
        "least in inverse depth, by 0.100 (the worst by 0.200), so no network is the best at both."
    )
    text = caption(pictures.prediction_figure(*told, labels[1:], depths[1:], ["two"], "made up"))
    assert text.startswith("On this scene 33 % of the classes are right, and the inverse depth is")


@pytest.mark.parametrize(
    "text",
    [
        captions.directions({"printed+as_released": [1] * 6 + [-1] * 6}),
        captions.where_best([np.array([0.6, 0.4, 0.0])] * 9),
        captions.not_dominated([bent(0.6)] * 3),
        captions.bend([bent(0.6)] * 3),
    ],
)
def test_no_sentence_is_long(text):
    assert text and all(len(sentence.split()) <= 35 for sentence in sentences(text))
