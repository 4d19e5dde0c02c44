"""A claim holds, fails or is open by the intervals of its parts, at equal epochs and cost."""

import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from made_up import record, runs_of, staircase
from scipy import stats

from pamal_companion.runs import grid
from pamal_companion.study import claims, frame
from pamal_companion.study.claim import Claim, baselines, check, judge
from pamal_companion.study.frame import Away, Near, OfSeeds
from pamal_companion.study.statistics import Estimate
from pamal_core.errors import InputError

PAMAL, LS, UW, STL = "multimnist/pamal", "multimnist/ls", "multimnist/uw", "multimnist/stl"


def claim(ours, theirs="", measure="hypervolume", low=0, need="all", split="test", **others):
    """A claim on settings, in words and separated by " | "; above 0 unless `low` says otherwise."""
    ours, theirs = (
        [frame.select(text) for text in each.split(" | ") if text] for each in (ours, theirs)
    )
    limits = {"low": low, "theirs": theirs, "need": need} | others
    return Claim("5.1", ours, measures=[measure], split=split, **limits)


def word(row, *records):
    return judge(row, runs_of(*records)).word


def seeds(where, volumes, first=0, **options):
    """Runs of one network whose hypervolumes, the product of two accuracies, are `volumes`."""
    return [record(where, [(v, 1.0)], seed=first + s, **options) for s, v in enumerate(volumes)]


# Levels and differences.


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ((0.6, 0.61, 0.6), "holds"),
        ((0.4, 0.41, 0.4), "fails"),
        ((0.9, 0.4, 0.6), "open"),  # above 0.5 in the mean, and nobody knows
        ((0.6,), "open"),
        ((), "not run"),
    ],
)
def test_a_level_is_judged_by_its_interval(volumes, expected):
    assert word(claim(PAMAL, low=0.5), *seeds(PAMAL, volumes)) == expected


def test_seeds_of_one_draw_are_two_samples_those_with_own_draws_are_pairs():
    rng = np.random.default_rng(0)
    both = rng.uniform(0.5, 0.6, 5)  # what a seed brings to both
    ours, theirs = both + rng.normal(0.01, 0.001, 5), both
    row, made = claim(PAMAL, LS), seeds(PAMAL, ours, 3) + seeds(LS, theirs, 3)
    found = judge(row, runs_of(*made))
    assert found.word == "open" and found.parts[0].seeds == (5, 5)
    p = stats.ttest_ind(ours, theirs, equal_var=False, alternative="greater").pvalue
    assert row.tested([found.parts[0].estimate])[0] == pytest.approx(p, rel=0.05)
    drawn = {
        select: {seed: run.model_copy(update={"options": {**run.options, "draw": seed}})
                 for seed, run in by_seed.items()}
        for select, by_seed in runs_of(*made).items()
    }  # fmt: skip
    found = judge(row, drawn)
    assert found.word == "holds" and found.parts[0].seeds == (5,)
    p = stats.ttest_rel(ours, theirs, alternative="greater").pvalue
    assert row.tested([found.parts[0].estimate])[0] == pytest.approx(p)
    other = drawn | {frame.select(LS): runs_of(*seeds(LS, theirs, 3))[frame.select(LS)]}
    assert judge(row, other).parts[0].seeds == (5, 5)  # one side alone has draws of its own


def test_without_seeds_in_common_too_the_difference_is_of_two_samples():
    ours, theirs = (0.9, 0.91, 0.9), (0.8, 0.79, 0.8)
    found = judge(claim(PAMAL, LS), runs_of(*seeds(PAMAL, ours), *seeds(LS, theirs, first=7)))
    expected = stats.ttest_ind(ours, theirs, equal_var=False, alternative="greater").pvalue
    assert found.parts[0].seeds == (3, 3)
    assert found.claim.tested([found.parts[0].estimate])[0] == pytest.approx(expected)


def test_losses_are_compared_in_the_direction_that_is_better():
    row = claim("utkface/pamal", "utkface/ls", "age/loss")
    for ours, theirs, expected in ((0.1, 0.3, "holds"), (0.3, 0.1, "fails")):
        made = [
            record(f"utkface/{method}", [(loss + seed / 1000, 0.9, 0.9)], seed=seed)
            for method, loss in (("pamal", ours), ("ls", theirs))
            for seed in (0, 1, 4)
        ]
        for seed, one in enumerate(made):  # not the same in each pair
            one.points[0]["metrics"]["age/loss"] += 0.001 * (seed % 2)
            one.summary["test"]["best"]["age/loss"] = one.points[1]["metrics"]["age/loss"]
        made[0].summary["test"]["best"]["age/loss"] += 0.001
        assert word(row, *made) == expected


def test_a_ratio_is_of_means_of_logarithms():
    made = [record(PAMAL, seed=s) for s in range(3)] + [record(LS, seed=s) for s in range(3)]
    for one, time in zip(made, (10, 12, 11, 5, 6.5, 5.2), strict=True):
        one.cost["train_seconds"] = float(time)
    row = claim(PAMAL, LS, "training time", -np.inf, high=3, of_ratio=True)
    found = judge(row, runs_of(*made))
    ratio = np.exp(np.mean(np.log([10 / 5, 12 / 6.5, 11 / 5.2])))
    assert found.word == "holds" and f"{ratio:.2f} times" in found.evidence[0]
    assert word(replace(row, high=1.2), *made) == "fails"


# Parts.


@pytest.mark.parametrize(
    ("good", "need", "expected"),
    [
        (2, "all", "holds"),
        (1, "all", "fails"),
        (1, "any", "holds"),
        (0, "any", "fails"),
        (1, "most", "fails"),
        (2, "most", "holds"),
    ],
)
def test_how_many_parts_must_meet_the_condition(good, need, expected):
    made = seeds(PAMAL, (0.8, 0.81, 0.8))
    for k, where in enumerate((LS, UW)):
        made += seeds(where, np.array([0.7, 0.7, 0.71]) if k < good else np.array([0.9, 0.9, 0.91]))
    assert word(claim(PAMAL, f"{LS} | {UW}", need=need), *made) == expected


def test_a_part_without_records_lets_nothing_be_true_of_all():
    made = seeds(PAMAL, (0.8, 0.81, 0.8)) + seeds(LS, (0.7, 0.7, 0.71))
    row = claim(PAMAL, f"{LS} | {UW}")
    found = judge(row, runs_of(*made))
    assert found.word == "open" and found.evidence[-1] == "1 not run"
    assert word(replace(row, need="any"), *made) == "holds"
    assert word(claim(PAMAL, UW), *made) == "not run"


@pytest.mark.parametrize("where", [PAMAL, LS])
@pytest.mark.parametrize("measure", ["objectives", "order of objectives", "hypervolume"])
def test_a_claim_of_which_one_side_is_recorded_is_not_run(where, measure):
    made = seeds(where, (0.8, 0.81, 0.8))
    assert word(claim(PAMAL, LS, measure), *made) == "not run"


def test_settings_are_compared_one_by_one_or_each_with_each():
    def names(*cells):
        pairs = claim(*cells).pairs()
        return [(one.values["p"], two.values["p"]) for one, two in pairs]

    ours = " | ".join(f"{PAMAL} W=1; p={p}" for p in (0.1, 1, 100))
    assert names(ours, " | ".join(f"{PAMAL} W=1; p={p}" for p in (0, 0.1, 1))) == [
        (0.1, 0),
        (1, 0.1),
        (100, 1),
    ]
    assert names(ours, f"{PAMAL} W=1; p=2") == [(0.1, 2), (1, 2), (100, 2)]
    assert names(f"{PAMAL} p=1 | {PAMAL} p=2", f"{PAMAL} p=3 | {PAMAL} p=4") == [(1, 3), (2, 4)]


def test_the_evidence_names_both_settings_in_full():
    row = claim(f"{PAMAL} average=0.99; lam=2.0", f"{LS} average=0.99; epochs=40")
    found = judge(row, runs_of())
    assert found.asked.startswith("Asked of PaMaL, W = 4, λ = 2, ordered sign, EMA 0.99")
    assert [part.name for part in found.parts] == ["LS, 40 epochs, EMA 0.99"]


def test_baselines_have_one_network():
    methods = [two.method for _, two in replace(claim(LS), theirs=baselines).pairs()]
    assert "uw" in methods and "cagrad" in methods and len(methods) == 11
    assert not {"ls", "pamal", "phn", "cosmos", "stl"} & {*methods}


def test_each_objective_is_a_part_and_single_task_learning_has_its_own():
    row = claim(PAMAL, f"{STL} task=0 | {STL} task=1", "objectives", -0.005)
    made = [
        record(PAMAL, [(0.9 + s / 1000, 0.8), (0.7, 0.85 - s / 1000)], seed=s) for s in range(3)
    ]
    for t, value in enumerate((0.9, 0.85)):
        made += [record(STL, [(value,)], task=t, seed=s) for s in range(3)]
    found = judge(row, runs_of(*made))
    values = {p.name.split("/")[0]: round(float(p.estimate.value), 4) for p in found.parts}
    assert values == {"top-left": 0.001, "bottom-right": -0.001}
    assert found.word == "holds" and word(replace(row, low=0), *made) == "open"


def test_measures_of_each_side_and_of_groups_of_seeds():
    corners = [(0.9, 0.5), (0.5, 0.9), (0.4, 0.4), (0.8, 0.6), (0.6, 0.8), (0.1, 0.1), (1, 1)]
    corners_of_ls = [record(LS, [corner], seed=2 * s) for s, corner in enumerate(corners)]
    found = frame.measured(
        runs_of(*corners_of_ls), frame.select(LS), OfSeeds("hypervolume", 3), "test"
    )
    assert [*found] == pytest.approx([staircase(corners[:3]), staircase(corners[3:6])])
    away = frame.measured(runs_of(*corners_of_ls), frame.select(LS), OfSeeds("distance", 2), "test")
    assert [*away] == pytest.approx([0.4, 0.4, 0.7])
    made = [record(PAMAL, [(0.9, 0.9 - s / 100)], seed=s) for s in range(3)]
    row = claim(PAMAL, LS, their_measure=OfSeeds("hypervolume", 3))
    (part,) = judge(row, runs_of(*made, *corners_of_ls)).parts
    assert part.seeds == (3, 2)
    expected = np.mean([0.81, 0.9 * 0.89, 0.9 * 0.88]) - np.mean([*found])
    assert part.estimate.value == pytest.approx(expected)


def test_the_share_of_points_that_are_near_a_setting():
    baseline = record(LS, [(0.8, 0.7)])
    front = [(0.8, 0.7), (0.795, 0.695), (0.9, 0.695), (0.9, 0.68)]
    setting, measure = frame.select(PAMAL), Near(0.01, frame.select(LS))
    found = frame.measured(runs_of(record(PAMAL, front), baseline), setting, measure, "test")
    assert [*found] == [0.75]
    assert frame.measured(runs_of(record(PAMAL, front)), setting, measure, "test").empty


# How often a verdict is wrong.


@pytest.mark.parametrize("need", ["all", "any", "most"])
def test_what_says_nothing_holds_or_fails_in_one_case_of_twenty_at_most(need):
    """A constant with noise against another with the same: at the edge of its condition."""
    rng, number, words = np.random.default_rng(0), 300, []
    row = claim(PAMAL, f"{LS} | {UW} | multimnist/dwa", need=need)
    made = runs_of(
        *(record(w, [(1, 1)], seed=s) for w in (PAMAL, LS, UW, "multimnist/dwa") for s in (0, 1, 2))
    )
    for _ in range(number):
        for by_seed in made.values():
            for one in by_seed.values():
                one.summary["test"]["hypervolume"] = 0.9 + 0.003 * rng.normal()
        words.append(judge(row, made).word)
    at_most = 0.025 + 3 * np.sqrt(0.025 * 0.975 / number)
    assert max(words.count("holds"), words.count("fails")) / number <= at_most
    assert {*words} <= {"holds", "fails", "open"}


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_what_is_on_its_bound_holds_or_fails_in_one_case_of_twenty_at_most(margin):
    """A comparison and a level whose truth is the bound itself."""
    rng, cases, words = np.random.default_rng(3), 300, []
    rows = claim(PAMAL, LS, low=margin), claim(LS, low=0.9)
    made = runs_of(*(record(w, [(1, 1)], seed=s) for w in (PAMAL, LS) for s in (0, 1, 2, 3)))
    for _ in range(cases):
        for setting, by_seed in made.items():
            for one in by_seed.values():
                mean = 0.9 + margin * (setting.method == "pamal")
                one.summary["test"]["hypervolume"] = mean + 0.003 * rng.normal()
        words.append([judge(row, made).word for row in rows])
    at_most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / cases)
    for said in zip(*words, strict=True):
        assert said.count("holds") / cases <= at_most and said.count("fails") / cases <= at_most


# The evidence, and the table.


def test_the_evidence_has_each_interval_and_the_seeds_that_would_decide():
    row = claim(PAMAL, LS)
    ours, theirs = (0.83, 0.8, 0.82), (0.8, 0.79, 0.81)
    made = seeds(PAMAL, ours) + seeds(LS, theirs)
    found = judge(row, runs_of(*made))
    low, high = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    number = f"+0.0167 [{low:+.4f}, {high:+.4f}]"
    assert found.word == "open" and found.estimate == number
    assert found.evidence == [f"LS: {number}, 3 against 3 seeds"]
    needed = int(found.to_decide)
    error = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 3)

    def decided(seeds):
        return stats.t.isf(0.025, seeds - 1) * error * np.sqrt(3 / seeds) < 0.05 / 3

    assert decided(needed) and not decided(needed - 1)
    nothing = judge(row, {})
    assert nothing.estimate == nothing.to_decide == ""


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ((0.7, 0.701, 0.7), "ahead"),
        ((0.9, 0.901, 0.9), "behind"),
        ((0.8, 0.8003, 0.8), "level"),
        ((0.7, 0.9, 0.8), "open"),
        ((), "not run"),
    ],
)
def test_two_that_are_compared_have_words_of_their_own(theirs, expected):
    row = claim(PAMAL, LS, of_two=True)
    assert word(row, *seeds(PAMAL, (0.8, 0.8002, 0.8)), *seeds(LS, theirs)) == expected


def test_a_loss_is_level_by_no_margin_of_accuracies():
    made = [record(f"utkface/{m}", [(0.1 + s / 1e5, 0.9, 0.9)], seed=s + 9 * (m == "ls"))
            for m in ("pamal", "ls") for s in range(3)]  # fmt: skip
    for measure, expected in (("age/loss", "open"), ("gender/accuracy", "level")):
        row = claim("utkface/pamal", "utkface/ls", measure, of_two=True)
        assert word(row, *made) == expected


@pytest.mark.parametrize(
    ("need", "values", "expected"),
    [
        *(("all", (0.1, 0.003, 0.1), "ahead"), ("all", (0.1, 0.001, 0.1), "open")),
        *(("any", (0.001, 0.003, 0.001), "ahead"), ("any", (0.001, 0.0015, 0.001), "level")),
        *(("most", (0.003, 0.001, 0.003), "ahead"), ("most", (0.003, 0.001, 0.001), "open")),
        *(("all", (-0.003, 0.001, 0.1), "behind"), ("all", (-0.001, 0.001, 0.1), "open")),
        *(("any", (-0.1, -0.1, -0.003), "behind"), ("any", (-0.1, -0.1, -0.001), "open")),
        *(("most", (-0.1, -0.003, 0.1), "behind"), ("most", (-0.1, -0.001, 0.1), "open")),
        *(("all", (0.1, 0.1, np.nan), "open"), ("any", (0.1, np.nan, np.nan), "ahead")),
    ],
)
def test_as_many_parts_as_it_takes_must_be_beyond_the_margin(need, values, expected):
    """Each is sure to 0.0001: only how large it is counts."""
    parts = [Estimate(value, 0.0001 if np.isfinite(value) else np.nan, 20) for value in values]
    for order in permutations(parts):
        assert claim(PAMAL, LS, of_two=True, need=need).word(order) == expected


def test_a_share_of_points_that_none_dominates_has_its_span_beside_it():
    front = [(0.9, 0.5), (0.8, 0.6), (0.7, 0.7), (0.1, 0.1)]
    copies = [(0.9, 0.5)] * 4
    for points, said in ((front, "0.7500, span 0.2000"), (copies, "1.0000, span 0.0000")):
        made = [record(PAMAL, points, seed=s) for s in range(3)]
        found = judge(claim(PAMAL, "", "non-dominated", 0.5), runs_of(*made))
        assert found.estimate == said and said in found.evidence[0]


def test_many_comparisons_are_shown_by_their_ends():
    made = seeds(PAMAL, (0.8, 0.81, 0.8))
    for k, where in enumerate((LS, UW, "multimnist/dwa", "multimnist/rlw")):
        made += seeds(where, np.array([0.7, 0.7, 0.71]) + k / 100)
    row = replace(claim(PAMAL), theirs=baselines)
    found = judge(row, runs_of(*made))
    assert found.estimate == "+0.0700 to +0.1000"
    first, *_, last, missing = found.evidence
    assert first.startswith("RLW: +0.0700 [") and missing == "8 not run"
    assert last.startswith("LS: +0.1000 [")


@pytest.mark.parametrize("accuracy", [0.4, 0.7])
def test_what_is_alike_at_every_seed_is_judged_without_an_interval(accuracy):
    row = claim(LS, "", "top-left/accuracy", 0.3, high=0.5)
    found = judge(row, runs_of(*seeds(LS, (accuracy,) * 3)))
    assert found.word == ("holds" if accuracy == 0.4 else "fails")
    assert found.estimate == f"{accuracy:.4f}" and "3 seeds, all alike" in found.evidence[0]


def test_the_table_has_a_row_for_each_claim():
    row = claim(PAMAL, LS, "top-left/accuracy")
    other = replace(row, theirs=[frame.select(UW)])
    made = seeds(PAMAL, (0.8, 0.81, 0.8)) + seeds(LS, (0.7, 0.7, 0.71))
    found = claims.table(runs_of(*made), {"a claim": row, "another": other})
    assert found.loc[1, ["claim", "data", "where", "verdict"]].tolist() == [
        *("a claim", "MultiMNIST", "5.1", "holds")
    ]
    ours = "PaMaL, W = 4, λ = 0: top-left/accuracy"
    asked = f"Asked of {ours}, test, ours ahead by > 0"
    assert found.loc[1, "evidence"].splitlines()[0] == asked
    assert found.loc[2, "verdict"] == "not run"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"need": "some"}, "`need` must be one of all, any, most"),
        ({"measures": ["volume"]}, "A measure is one of"),
        ({"measures": ["chosen age/loss"]}, "A measure is one of"),
        ({"their_measure": OfSeeds("distance", 0)}, "`number` must be a whole number >= 2"),
        (
            {"measures": [Near("5%", frame.setting("multimnist", "ls"))]},
            "`margin` must be a finite",
        ),
        ({"split": "tset"}, "`split` must be one of validation, test"),
        ({"low": 1.0, "high": 0.5}, "`low` must be a number below `high`"),
        ({"low": np.nan}, "`low` must be a number below `high`"),
        ({"low": "5%"}, "`low` must be a number below `high`. Found low='5%'"),
        ({"of_ratio": True}, "and theirs if `of_ratio`"),
        ({"of_two": True}, "and theirs if `of_ratio` or `of_two`"),
        ({"of_two": True, "theirs": [frame.select(LS)], "low": 0.1}, "no bound, no ratio"),
        ({"of_two": True, "theirs": [frame.select(LS)], "of_ratio": True}, "no bound, no ratio"),
        ({"measures": [Away("volume")]}, "A measure is one of"),
        ({"ours": []}, "must have settings of ours"),
        (
            {"their_measure": OfSeeds("volume", 3)},
            "`name` must be one of hypervolume, least hypervolume",
        ),
        ({"theirs": [frame.setting("mnist", "ls")]}, "`experiment` must be one of"),
        ({"theirs": [frame.setting("multimnist", "lss")]}, "'lss'"),
        ({"theirs": [frame.setting("multimnist", "ls", epoch=3)]}, "epoch"),
        ({"theirs": [frame.setting("multimnist", "ls", draw=-1)]}, "draw"),
        ({"theirs": [frame.setting("multimnist", "ls", seed=3)]}, "No record would have"),
        ({"theirs": [frame.setting("multimnist", "ls", W=3)]}, "No record would have"),
        ({"theirs": [frame.Setting("multimnist", "pamal", (("W", 4),))]}, "No record would have"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused_by_its_name(change, said):
    check({"It is good": claim(PAMAL)})
    with pytest.raises(InputError, match=said) as refused:
        check({"It is good": replace(claim(PAMAL), **change)})
    assert str(refused.value).startswith("The claim 'It is good' cannot be judged.")


def test_methods_on_other_labels_are_not_compared_one_on_both_is():
    row = claim("census/pamal", "census/ls masters=mended")
    with pytest.raises(InputError, match=r"must have the same data\. Found .*masters"):
        check({"a claim": row})
    for theirs in ("census/ls masters=mended", "census/pamal"):
        check({"a claim": claim("census/pamal masters=mended", theirs)})


def test_seeds_to_decide_are_counted_for_several_comparisons_too():
    made = seeds(PAMAL, (0.83, 0.8, 0.82))
    made += seeds(LS, (0.8, 0.8, 0.8)) + seeds(UW, (0.81, 0.8, 0.8))
    row = claim(PAMAL, f"{LS} | {UW}")
    needed = judge(row, runs_of(*made)).to_decide
    alone = [claim(PAMAL, one) for one in (LS, UW)]
    each = [int(judge(one, runs_of(*made)).to_decide or 3) for one in alone]
    assert int(needed) == max(each) > 3  # all of them must hold
    assert judge(row, runs_of(*made[:3])).to_decide == ""  # not run


def test_a_verdict_of_the_printed_sign_only_says_so():
    found = pd.DataFrame(
        {
            "claim": [f"It gains{sign}: Census" for sign in (claims.AS_PRINTED, claims.AS_IN_TEXT)],
            "data": "Census",
            "verdict": ["holds", "open"],
            **{"estimate": "", "seeds to decide": ""},
            **{"where": "5.1", "evidence": "a\nb"},
        }
    )
    note = "With the sign of the text: open"
    assert claims.shown(found).count(note) == 1
    assert note not in claims.shown(found.assign(verdict="holds"))
    names = re.findall('<th scope="row">(.*?)</th>', claims.shown(found))
    assert names == ["It gains, with the sign as printed", "It gains, with the sign of the text"]


def test_every_claim_has_an_anchor_of_its_own_on_the_page():
    anchors = [claims.anchor(text) for text in claims.CLAIMS | claims.FINDINGS]
    assert len({*anchors}) == len(anchors)
    page = (grid.ROOT / "book/results/claims.ipynb").read_text("utf-8")
    for text in claims.CLAIMS:
        assert page.count(f'id=\\"{claims.anchor(text)}\\"') == 1
