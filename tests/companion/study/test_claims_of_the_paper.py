"""The claims of the paper: what each says, against the grid and the paper; what says nothing meets
none; and a handful judged again from the JSON of the records, without the package."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from made_up import record, runs_of
from scipy import stats

from pamal_companion.experiments.multimnist import EXPERIMENT
from pamal_companion.runs import grid
from pamal_companion.study import frame, of_the_paper, paper
from pamal_companion.study.claim import baselines, judge
from pamal_companion.study.findings import FINDINGS
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
    better = "above (?!0)|Ahead|[Bb]etter (than|on|in|front)|longer than|shorter|further|gains|harm"
    for text, claim in rows(f"{better}|lower loss|brings|best of the table"):
        if claim.is_compared:
            assert (claim.low, claim.high) == (0, np.inf), text
    for text, claim in rows("is worse at|is the worst of"):
        assert (claim.low, claim.high) == (-np.inf, 0), text


def test_what_is_claimed_to_be_as_good_has_a_margin_of_its_data():
    for text, claim in rows("as good as|On a par|does not gain|within 0.005"):
        margin = 0.001 if "Census" in text else 0.005
        found = -claim.low if claim.is_compared else claim.measures[0].margin
        assert found == margin, text


def test_a_bound_that_the_paper_does_not_give_is_said_to_be_ours():
    for text, claim in CLAIMS.items():
        said = judge(claim, {}).asked
        is_plain = 0 in (claim.low, claim.high) and not isinstance(claim.measures[0], Near)
        assert said.endswith("(the bound is ours)") != is_plain, text


def test_what_the_caption_of_table_9_says_is_not_so_in_its_own_numbers():
    ((_, claim),) = rows("Every seed has .*: MultiMNIST")
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
    ((_, claim),) = rows("More draws a step reduce the variance")
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


def numbers(name, read, folder="ablation_sampling/census", seeds=(0, 1, 2)):
    """`read` of each record of the setting with this file name."""
    paths = [grid.ROOT / "results" / folder / f"{name}_seed_{seed}.json" for seed in seeds]
    return np.array([read(json.loads(path.read_text())) for path in paths])


def points(found, split, metric):
    """The metric [P, T] of all points of a split."""
    tasks = [name.rpartition("/")[0] for name in found["objectives"]]
    rows = [p["metrics"] for p in found["points"] if p["split"] == split]
    return np.array([[row[f"{task}/{metric}"] for task in tasks] for row in rows])


def area(found, split):
    """Between the accuracies and (0, 0), by the staircase."""
    total, height = 0.0, 0.0
    for x, y in sorted(map(tuple, points(found, split, "accuracy")), reverse=True):
        total, height = total + x * max(0.0, y - height), max(height, y)
    return total


def greater(ours, theirs):
    """The one-sided p of two samples of as many seeds."""
    return stats.ttest_ind(ours, theirs, equal_var=False, alternative="greater").pvalue


def holding(found):
    return found.claim.tested([part.estimate for part in found.parts])


def first_seeds(runs, seeds=(0, 1, 2)):
    """The runs with those seeds alone."""
    return {s: {n: r for n, r in by.items() if n in seeds} for s, by in runs.items()}


def test_the_rate_on_multimnist(runs):
    row = FINDINGS["MultiMNIST: PaMaL at M times the rate against PaMaL at the plain rate"]
    ours = numbers("pamal", lambda r: area(r, "validation"), "multimnist")
    theirs = numbers("pamal-plain", lambda r: area(r, "validation"), "choices/multimnist")
    found = judge(row, first_seeds(runs))
    assert holding(found)[0] == pytest.approx(greater(ours, theirs), rel=1e-6)
    assert found.parts[0].estimate.value == pytest.approx((ours - theirs).mean())


def test_the_members_on_census(runs):
    row = CLAIMS["The larger p, the more alike the members: Census"]
    ladder = [
        numbers(f"pamal-W=1-lam=0.0-p={p}", lambda r: r["summary"]["member_similarity"])
        for p in ("0.0", "0.1", "1.0", "100.0")
    ]
    found = judge(row, first_seeds(runs))
    steps = [greater(high, low) for low, high in pairwise(ladder)]
    # They are claimed to be the less alike the smaller p: the cosine is the better the lower.
    assert holding(found)[0] == pytest.approx(max(steps), rel=1e-6) and found.word == "holds"


def test_the_middle_on_multimnist(runs):
    row = CLAIMS["With p = 0.1 the middle is worse than with p = 100: MultiMNIST"]
    near, far = (
        numbers(
            f"pamal-W=1-lam=0.0-p={p}",
            lambda r: points(r, "test", "accuracy")[5].mean(),
            "ablation_sampling/multimnist",
        )
        for p in ("0.1", "100.0")
    )
    found = judge(row, first_seeds(runs))
    assert holding(found)[0] == pytest.approx(greater(far, near), rel=1e-6)


def test_the_penalty_as_printed_turns_the_order_on_census(runs):
    ((_, row),) = rows("The penalty brings losses into order.* as printed: Census")

    def order(found):
        alphas = np.array([p["alpha"] for p in found["points"] if p["split"] == "test"])
        losses = points(found, "test", "loss")
        return np.mean([stats.spearmanr(alphas[:, t], losses[:, t]).statistic for t in (0, 1)])

    folder = "ablation_multiforward/census"
    printed = numbers("pamal-W=2-lam=5.0-penalty=printed-skip=as_released", order, folder)
    without = numbers("pamal-W=2-lam=0.0", order, folder)
    found = judge(row, first_seeds(runs))
    assert holding(found)[0] == pytest.approx(greater(without, printed), rel=1e-6)
    assert found.parts[0].estimate.value == pytest.approx((without - printed).mean())
    assert found.word == "fails"


def test_the_best_of_the_front_on_three_digits(runs):
    name = "The best of the front is above linear scalarisation on each task: MultiMNIST3"
    ours, theirs = (
        numbers(m, lambda r: points(r, "test", "accuracy").max(0), "multimnist3")
        for m in ("pamal", "ls")
    )
    found = judge(CLAIMS[name], first_seeds(runs))
    expected = [greater(ours[:, t], theirs[:, t]) for t in range(3)]
    assert holding(found)[0] == pytest.approx(max(expected), rel=1e-6)
    estimates = [part.estimate.value for part in found.parts]
    assert estimates == pytest.approx(sorted((ours - theirs).mean(0)))


def test_the_share_of_the_front_that_keeps_up_with_ls_on_three_digits(runs):
    ((_, row),) = rows("Most of the subspace has high performance .*: MultiMNIST3")
    folder = "multimnist3"
    least = numbers("ls", lambda r: points(r, "test", "accuracy")[0], folder).mean(0) - 0.005
    shares = numbers(
        "pamal", lambda r: (points(r, "test", "accuracy") > least).all(1).mean(), folder
    )
    found = judge(row, first_seeds(runs))
    assert found.parts[0].estimate.value == pytest.approx(shares.mean())
    p = stats.ttest_1samp(shares, 0.5, alternative="less").pvalue
    assert holding(found)[1] == pytest.approx(p, rel=1e-6)


def test_the_toy_problem(runs):
    found = json.loads((grid.ROOT / "results/toy/all_seed_0.json").read_text())
    toy = runs[frame.select("toy/all")][0]
    for variant in ("PaMaL, c = 1", "PaMaL, c = 0.1"):
        by_pair = found["summary"][variant]["runs"].values()
        within = {"PaMaL, c = 1": 0.1, "PaMaL, c = 0.1": 1.0}[variant]
        part = [run["gap"] > within >= run["excess"] for run in by_pair]
        assert value(toy, "pairs on a part", variant) == sum(part)
