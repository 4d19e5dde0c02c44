"""The claims of the paper: what each says, against the grid and the paper; what says nothing meets
none; and two judged again from the JSON of the records, without the package (`test_recomputed` has
more)."""

import json
import re

import numpy as np
import pytest
from made_up import record, runs_of
from scipy import stats

from pamal_companion.experiments.multimnist import EXPERIMENT
from pamal_companion.runs import grid
from pamal_companion.study import frame, of_the_paper, paper
from pamal_companion.study.claim import baselines, judge
from pamal_companion.study.frame import Near
from pamal_companion.study.measures import value

CLAIMS = of_the_paper.CLAIMS
SECTIONS = ["abstract", "1", "4.1", "4.2", "5", "5.1", "5.2", "5.3", "6", "A1", "A2"]
SECTIONS += ["B1", "B2", "B3", "B4", "C2", "C3", "C4"]
PLACES = {*SECTIONS, "Claim 1", *(f"Fig. {n}" for n in range(1, 23))} | {
    f"Table {n}" for n in range(1, 12)
}


def rows(pattern):
    found = {text: claim for text, claim in CLAIMS.items() if re.search(pattern, text)}
    assert found, pattern
    return found.items()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_is_of_the_paper_and_can_be_judged(claim):
    assert {*claim.where.split(", ")} <= PLACES
    assert claim.is_compared or not claim.of_ratio
    assert (claim.split in ("validation", "test")) != (claim.ours[0].experiment == "toy")
    judge(claim, {})


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_settings_that_are_compared_are_in_the_grid(claim):
    for pair in claim.pairs():
        for setting in filter(None, pair):
            assert setting in frame.planned(setting.experiment), setting


def test_settings_are_of_one_experiment_unless_two_data_sets_are_compared():
    mixed = [
        text.partition(": ")[0]
        for text, claim in CLAIMS.items()
        if len({setting.experiment for pair in claim.pairs() for setting in pair if setting}) > 1
    ]
    assert mixed == ["Without a penalty fewer pairs of points are out of order than on Census"]


def test_no_setting_is_compared_with_itself_by_the_same_measure():
    for claim in CLAIMS.values():
        assert claim.their_measure or all(one != two for one, two in claim.pairs())


def test_what_is_claimed_to_be_better_has_a_threshold_of_0():
    better = "above (?!0)|[Aa]head|larger hypervolume|(?<!not )[Bb]etter (than|on|in|front|at seg)"
    more = "longer than|shorter|further apart|front (better|worse)|lower loss|lower hypervolume"
    for text, claim in rows(f"{better}|{more}|brings|best setting of the paper's table"):
        if claim.is_compared:
            assert (claim.low, claim.high) == (0, np.inf), text
    for text, claim in rows("is worse at|is the worst of"):
        assert (claim.low, claim.high) == (-np.inf, 0), text


def test_what_is_claimed_to_be_as_good_has_a_margin_of_its_data():
    for text, claim in rows("as good as|on a par|not better than one|within 0.005"):
        margin = 0.001 if "Census" in text else 0.005
        found = -claim.low if claim.is_compared else claim.measures[0].margin
        assert found == margin, text


def test_a_bound_that_the_paper_does_not_give_is_said_to_be_ours():
    for text, claim in CLAIMS.items():
        said = judge(claim, {}).asked
        is_plain = 0 in (claim.low, claim.high) and not isinstance(claim.measures[0], Near)
        assert said.endswith("(the bound is ours)") != is_plain, text


def test_what_the_caption_of_table_9_says_is_not_so_in_its_own_numbers():
    ((_, claim),) = rows("Every seed of PaMaL has .*: MultiMNIST")
    printed = paper.table("hypervolume").query("dataset == 'multimnist'").set_index("method")
    best, least = printed.loc["Auto-lambda", "hypervolume"], printed.loc["PML"].hypervolume.min()
    said = f"Auto-lambda has {best}, a seed of PaMaL {least}"
    assert best > least and claim.in_print.startswith(said)
    census = paper.table("hypervolume").query("dataset == 'census'")
    census = census.set_index("method").hypervolume
    assert census.drop("PML").max() < census["PML"].min()  # and so it needs no note


def test_the_weights_that_are_counted_are_those_of_the_networks():
    for method in ("ls", "phn"):
        options = EXPERIMENT.options.create(method=method, data="sample", device="cpu")
        network = EXPERIMENT.method(options, EXPERIMENT.load(options)).network
        number = sum(weights.numel() for weights in network.parameters())
        assert number == frame.WEIGHTS["multimnist", method]


def test_how_far_seeds_lie_apart_is_the_test_of_brown_and_forsythe(runs):
    ((_, claim),) = rows("More draws per step make the hypervolume vary less")
    found = judge(claim, runs)
    one = frame.measured(runs, claim.theirs[0], "hypervolume", "validation")
    for setting in claim.ours:
        (part,) = (part for part in found.parts if f"W = {setting.values['W']}," in part.name)
        many = frame.measured(runs, setting, "hypervolume", "validation")
        expected = stats.levene(many, one, center="median").statistic
        assert (part.estimate.value / part.estimate.error) ** 2 == pytest.approx(expected, rel=0.3)
        less = (one - one.median()).abs().mean() - (many - many.median()).abs().mean()
        assert part.estimate.value == pytest.approx(less)
    assert found.word == "open"


def test_a_claim_on_the_penalty_says_the_sign_and_has_the_other_one():
    for text, claim in CLAIMS.items():
        settings = [setting for pair in claim.pairs() for setting in filter(None, pair)]
        signs = {s.values["penalty"] for s in settings if s.method == "pamal" and s.values["lam"]}
        if "lambda" in text:
            assert len(signs) <= 1
        if "as printed" in text:
            assert signs == {"printed"} and text.replace("as printed", "of the text") in CLAIMS
        elif "of the text" in text:
            assert signs == {"ordered"} and text.replace("of the text", "as printed") in CLAIMS


# What says nothing.


def test_points_without_any_order_make_no_front_and_no_order():
    rng, words = np.random.default_rng(0), {}
    made = [record(points=rng.uniform(0.8, 0.9, (11, 2)), seed=s) for s in range(10)]
    for claim in CLAIMS.values():
        (measure, *_) = claim.measures
        is_of_points = isinstance(measure, str) and not claim.is_compared
        if [*claim.ours] == [frame.select("multimnist/pamal")] and is_of_points:
            words[measure] = judge(claim, runs_of(*made)).word
    assert len(words) >= 4 and {*words.values()} == {"fails"}


def test_one_network_many_times_over_is_above_nothing():
    """PaMaL and every baseline with the same numbers but for noise."""
    rng = np.random.default_rng(1)
    methods = ["pamal", *paper.ONE_NETWORK]
    made = [
        record(f"multimnist/{m}", [(0.9 + 0.002 * rng.normal(), 0.9)] * 2, seed=s)
        for m in methods
        for s in range(6)
    ]
    found = runs_of(*made)
    for text, claim in CLAIMS.items():
        if [*claim.ours] == [frame.select("multimnist/pamal")] and claim.theirs is baselines:
            assert judge(claim, found).word != "holds", text


# From the JSON.


def accuracies(name):
    """The accuracies [P, T] on test in the record of this name."""
    found = json.loads((grid.ROOT / "results" / f"{name}.json").read_text())
    rows = [point["metrics"] for point in found["points"] if point["split"] == "test"]
    return np.array([[row[objective] for objective in found["objectives"]] for row in rows])


def test_the_share_of_the_front_that_keeps_up_with_ls_on_three_digits(runs):
    ((_, row),) = rows("Most networks of one run are within .*: MultiMNIST3")
    ls, pamal = (
        [accuracies(f"multimnist3/{method}_seed_{seed}") for seed in range(3)]
        for method in ("ls", "pamal")
    )
    least = np.concatenate(ls).mean(0) - 0.005
    shares = np.array([(values > least).all(1).mean() for values in pamal])
    first_seeds = {s: {n: run for n, run in by.items() if n < 3} for s, by in runs.items()}
    found = judge(row, first_seeds)
    assert found.parts[0].estimate.value == pytest.approx(shares.mean())
    p = stats.ttest_1samp(shares, 0.5, alternative="less").pvalue
    assert row.tested([part.estimate for part in found.parts])[1] == pytest.approx(p, rel=1e-6)


def test_the_toy_problem(runs):
    found = json.loads((grid.ROOT / "results/toy/all_seed_0.json").read_text())
    toy = runs[frame.select("toy/all")][0]
    for variant in ("PaMaL, c = 1", "PaMaL, c = 0.1"):
        by_pair = found["summary"][variant]["runs"].values()
        within = {"PaMaL, c = 1": 0.1, "PaMaL, c = 0.1": 1.0}[variant]
        part = [run["gap"] > within >= run["excess"] for run in by_pair]
        assert value(toy, "pairs on a part", variant) == sum(part)
