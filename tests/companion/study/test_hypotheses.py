"""What registered questions ask in words, on records whose numbers a test chooses."""

import numpy as np
import pytest
from made_up import record

from pamal_companion.study import hypotheses, registered
from pamal_companion.study.per_pass import Measure, pairs
from pamal_companion.study.registered import words

SEEDS = range(20, 26)
LINE = [(0.9, 0.3), (0.8, 0.6), (0.6, 0.8), (0.3, 0.9)]


def runs(*points, where="multimnist/pamal", **options):
    """By seed a record with these points, a little more or less of each."""
    noise = np.random.default_rng(0).normal(scale=1e-4, size=len(SEEDS))
    return {
        seed: record(where, [tuple(np.add(point, more)) for point in points], seed=seed, **options)
        for seed, more in zip(SEEDS, noise, strict=True)
    }


def ls(*point):
    return runs(point, where="multimnist/ls")


def dial(width, ours, theirs):
    short = {name: ls(*theirs) for name in hypotheses.sweep(width, 10)}
    return {f"{width}-pamal": runs(*ours), **short}


def people(*points, shift=0.0):
    """By seed a record whose points have right picks and gaps in picks, beside any objectives."""
    noise = np.random.default_rng(1).normal(scale=1e-4, size=len(SEEDS)) + shift
    others = {"top-left/accuracy": 0.5, "bottom-right/accuracy": 0.5}
    others |= {"top-left/loss": 0.5, "bottom-right/loss": 0.5}
    return {
        seed: record(
            points=[
                {"income/right picks": right + more, "parity/gap in picks": gap} | others
                for right, gap in points
            ],
            seed=seed,
        )
        for seed, more in zip(SEEDS, noise, strict=True)
    }


def test_by_picks_the_fair_network_of_four_counts_and_chance_where_none_is():
    fair = [(0.6, 0.07), (0.55, 0.04), (0.5, 0.029), (0.45, 0.01)]
    records = {"pamal": people(*fair), "soup": people((0.7, 0.05), (0.51, 0.02), shift=0.001)}
    records["ls"] = people((0.6, 0.05))
    records |= {f"sweep-{k}": people(point) for k, point in enumerate(fair, 1)}
    found = hypotheses.fairness_by_picks(records)
    assert [one.away.value for one in found] == pytest.approx([-0.011, 0.5 - 0.062, 0.0], abs=2e-4)
    assert words(found) == ["behind", "ahead", "level"]
    assert {one.margin for one in found} == {0.005}


def test_a_sweep_counts_with_all_its_networks():
    pairs = zip(hypotheses.sweep(3, 10), [*LINE, LINE[0]], strict=True)
    records = {"3-pamal": runs(*LINE)} | {name: ls(*point) for name, point in pairs}
    (found,) = hypotheses.fronts_along_the_dial(records, [3])
    assert abs(found.away.value) < 1e-12 and words([found]) == ["level"]


def test_the_dial_says_where_a_front_pays_and_that_its_span_falls():
    records = {}
    for width in hypotheses.WIDTHS:
        reach = 0.4 / width
        ours = [(0.5 + reach, 0.5 - reach), (0.5, 0.5), (0.5 - reach, 0.5 + reach)]
        records |= dial(width, ours, (0.5, 0.5) if width < 50 else (0.6, 0.6))
        records[f"{width}-ls-0.5"] = ls(0.55, 0.55)
    found = words(hypotheses.dial_of_conflict(records))
    assert found == ["ahead"] * 5 + ["behind"] + ["behind"] * 6 + ["holds"]


def test_four_points_are_chosen_on_validation_and_judged_on_test():
    one = record(points=[*LINE, (0.1, 0.1)], seed=20)

    def four():
        (pair,) = pairs({"pamal": {20: one}}, ["pamal"]).values()
        return Measure().of_four(pair)

    assert four() == pytest.approx(0.9 * 0.3 + 0.8 * 0.3 + 0.6 * 0.2 + 0.03)
    on_test = [point for point in one.points if point["split"] == "test"]
    on_test[-1]["metrics"] = dict.fromkeys(on_test[-1]["metrics"], 0.99)
    assert four() < hypotheses.volume(one.front("test")) == pytest.approx(0.99**2)


def test_one_run_is_compared_with_a_sweep_on_both_data_sets():
    records = {}
    for data in ("multimnist", "census"):
        records[f"{data}-pamal"] = runs(*LINE, where=f"{data}/pamal")
        for weight in (0.2, 0.4, 0.6, 0.8):
            records[f"{data}-ls-{weight}"] = runs((0.6, 0.6), where=f"{data}/ls")
    family = hypotheses.one_run_against_a_sweep(records)
    assert words(family) == ["ahead"] * 4
    assert family[0].away.value == pytest.approx(family[1].away.value)


def test_the_better_rate_is_chosen_on_validation():
    records = {f"{method}-0.001": ls(0.8, 0.8) for method in ("ls", "soup")}
    records |= {f"{method}-0.002": ls(0.7, 0.7) for method in ("ls", "soup")}
    for run in records["soup-0.002"].values():
        for point in run.points:
            if point["split"] == "test":
                point["metrics"] = dict.fromkeys(point["metrics"], 0.99)
    assert hypotheses.better(records, "soup") == "soup-0.001"
    records["pamal-one-draw"] = runs((0.85, 0.85), (0.9, 0.8))
    records["pamal-four-stratified"] = runs((0.7, 0.7), (0.75, 0.6))
    found = words(hypotheses.forty_passes(records))
    assert found == ["ahead", "behind", "ahead", "behind"]


def test_claim_1_holds_where_more_than_half_are_undominated():
    free, few = [*LINE], [(0.9, 0.9), (0.8, 0.8), (0.7, 0.7), (0.6, 0.6)]
    records = {"multimnist-ema": runs(*free), "census-ema": runs(*few, where="census/pamal")}
    family = hypotheses.claim_1(records)
    shares = [one.away.value + 0.5 for one in family]
    assert shares == pytest.approx([1.0, 0.25])


def test_every_question_in_words_has_what_it_asks():
    in_words = [
        name
        for path in registered.FOLDER.glob("*.toml")
        if (asked := registered.read(name := path.stem).asked).hypotheses
        and not asked.asked  # what these compare is in the file
    ]
    assert {*in_words} == {*hypotheses.IN_WORDS}
