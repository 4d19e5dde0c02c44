"""A claim holds, fails or is undecided by the intervals of its parts, at equal epochs and cost."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import record, runs_of, staircase
from scipy import stats

from pamal_companion.runs import grid
from pamal_companion.study import claims, frame
from pamal_companion.study.claim import Claim, at_equal_cost, baselines, check, judge
from pamal_companion.study.frame import Near, OfSeeds
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
        ((0.9, 0.4, 0.6), "undecided"),  # above 0.5 in the mean, and nobody knows
        ((0.6,), "undecided"),
        ((), "not run"),
    ],
)
def test_a_level_is_judged_by_its_interval(volumes, expected):
    assert word(claim(PAMAL, low=0.5), *seeds(PAMAL, volumes)) == expected


def test_a_difference_is_paired_by_seed_as_scipy_has_it():
    rng = np.random.default_rng(0)
    both = rng.uniform(0.5, 0.6, 5)  # what a seed brings to both
    ours, theirs = both + rng.normal(0.01, 0.001, 5), both
    row, made = claim(PAMAL, LS), seeds(PAMAL, ours, 3) + seeds(LS, theirs, 3)
    found = judge(row, runs_of(*made))
    assert found.word == "holds" and found.parts[0].seeds == (5,)
    assert found.p[0] == pytest.approx(stats.ttest_rel(ours, theirs, alternative="greater").pvalue)
    assert found.p[1] == pytest.approx(1 - found.p[0])
    # A seed that one side alone has counts for nothing; the other way round it fails.
    assert judge(row, runs_of(*made, *seeds(LS, [0.1], 99))).p == pytest.approx(found.p)
    assert word(claim(LS, PAMAL), *made) == "fails"


def test_without_seeds_in_common_the_difference_is_of_two_samples():
    ours, theirs = (0.9, 0.91, 0.9), (0.8, 0.79, 0.8)
    found = judge(claim(PAMAL, LS), runs_of(*seeds(PAMAL, ours), *seeds(LS, theirs, first=7)))
    expected = stats.ttest_ind(ours, theirs, equal_var=False, alternative="greater").pvalue
    assert found.parts[0].seeds == (3, 3) and found.p[0] == pytest.approx(expected)


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
    assert word(replace(row, high=1.5), *made) == "fails"


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
    assert found.word == "undecided" and found.evidence[-1] == "1 not run"
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
    rivals = [two.method for _, two in replace(claim(LS), theirs=baselines).pairs()]
    assert "uw" in rivals and "cagrad" in rivals and len(rivals) == 11
    assert not {"ls", "pamal", "phn", "cosmos", "stl"} & {*rivals}


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
    assert found.word == "holds" and word(replace(row, low=0), *made) == "undecided"


def test_measures_of_each_side_and_of_groups_of_seeds():
    corners = [(0.9, 0.5), (0.5, 0.9), (0.4, 0.4), (0.8, 0.6), (0.6, 0.8), (0.1, 0.1), (1, 1)]
    rivals = [record(LS, [corner], seed=2 * s) for s, corner in enumerate(corners)]
    found = frame.measured(runs_of(*rivals), frame.select(LS), OfSeeds("hypervolume", 3), "test")
    assert [*found] == pytest.approx([staircase(corners[:3]), staircase(corners[3:6])])
    away = frame.measured(runs_of(*rivals), frame.select(LS), OfSeeds("distance", 2), "test")
    assert [*away] == pytest.approx([0.4, 0.4, 0.7])
    made = [record(PAMAL, [(0.9, 0.9 - s / 100)], seed=s) for s in range(3)]
    row = claim(PAMAL, LS, their_measure=OfSeeds("hypervolume", 3))
    (part,) = judge(row, runs_of(*made, *rivals)).parts
    assert part.seeds == (3, 2)
    expected = np.mean([0.81, 0.9 * 0.89, 0.9 * 0.88]) - np.mean([*found])
    assert part.estimate.value == pytest.approx(expected)


def test_the_share_of_points_that_are_near_a_setting():
    rival = record(LS, [(0.8, 0.7)])
    front = [(0.8, 0.7), (0.795, 0.695), (0.9, 0.695), (0.9, 0.68)]
    setting, measure = frame.select(PAMAL), Near(0.01, frame.select(LS))
    found = frame.measured(runs_of(record(PAMAL, front), rival), setting, measure, "test")
    assert [*found] == [0.75]
    assert frame.measured(runs_of(record(PAMAL, front)), setting, measure, "test").empty


# Equal cost.


def test_a_claim_has_a_verdict_at_equal_cost():
    made = seeds(PAMAL, (0.8, 0.81, 0.8)) + seeds(LS, (0.7, 0.7, 0.71))
    longer = seeds(LS, (0.9, 0.9, 0.91), epochs=40)
    lower = seeds(LS, (0.7, 0.7, 0.71), epochs=40)
    row = claim(PAMAL, LS)
    assert word(row, *made, *longer) == "holds"
    for one, others, expected in (
        (row, longer, "fails"),
        (row, [], "not run"),  # four times the passes
        (claim(PAMAL, f"{LS} | {UW}"), longer, "fails"),  # whatever the other would be
        (claim(PAMAL, f"{LS} | {UW}"), lower, "undecided"),  # the other has not been run as long
        (claim(f"{PAMAL} W=1", LS), seeds(f"{PAMAL}", (0.8, 0.81, 0.8), W=1), "holds"),  # as many
        (
            claim(f"{PAMAL} W=1", PAMAL),
            seeds(PAMAL, (0.8, 0.81, 0.8), W=1),
            "not run",
        ),  # 2.5 epochs
    ):
        found = runs_of(*made, *others)
        assert at_equal_cost(judge(one, found), found).word == expected
    for one in (
        claim(PAMAL, low=0.5),  # of one side alone
        claim(f"{LS} epochs=40", LS),  # of the cost itself
        claim(PAMAL, LS, "training time", -np.inf, high=1.5, of_ratio=True),
    ):
        found = runs_of(*made, *longer)
        assert at_equal_cost(judge(one, found), found) is None


@pytest.mark.parametrize(
    "setting", ["pamal", "pamal W=1", "pamal W=3; epochs=20", "ls", "soup shared_epochs=4"]
)
def test_a_setting_with_other_passes_has_as_many(setting):
    one = frame.select(f"multimnist/{setting}")
    assert one.with_passes(one.passes) == one
    assert one.with_passes(68).passes == pytest.approx(68)


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
    assert {*words} <= {"holds", "fails", "undecided"}


def test_what_is_true_by_far_holds_and_what_is_false_fails():
    rng = np.random.default_rng(1)
    for shift, expected in ((0.05, "holds"), (-0.05, "fails")):
        for _ in range(20):
            made = seeds(PAMAL, 0.9 + shift + 0.002 * rng.normal(size=5))
            made += seeds(LS, 0.9 + 0.002 * rng.normal(size=5))
            assert word(claim(PAMAL, LS), *made) == expected


# The evidence, and the table.


def test_the_evidence_has_each_interval_and_the_seeds_that_would_decide():
    row = claim(PAMAL, LS)
    made = seeds(PAMAL, (0.83, 0.8, 0.82)) + seeds(LS, (0.8, 0.8, 0.8))
    found = judge(row, runs_of(*made))
    low, high = stats.t.interval(0.95, 2, 0.05 / 3, stats.sem([0.03, 0, 0.02]))
    number = f"+0.0167 [{low:+.4f}, {high:+.4f}]"
    assert found.word == "undecided" and found.estimate == number
    assert found.evidence == [f"LS: {number}, 3 seeds"]
    needed = int(found.to_decide)
    spread = np.std([0.03, 0, 0.02], ddof=1)

    def decided(seeds):
        return stats.t.isf(0.025, seeds - 1) * spread / np.sqrt(seeds) < 0.05 / 3

    assert decided(needed) and not decided(needed - 1)
    nothing = judge(row, {})
    assert nothing.estimate == nothing.to_decide == ""


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


def test_verdicts_at_equal_cost_are_corrected_with_the_others():
    both = [claim(PAMAL, LS), claim(f"{PAMAL} W=1", LS)]  # the second has equal passes anyway
    made = seeds(PAMAL, (0.8, 0.81, 0.8)) + seeds(PAMAL, (0.8, 0.82, 0.8), W=1)
    made += seeds(LS, (0.7, 0.7, 0.71)) + seeds(LS, (0.79, 0.8, 0.78), epochs=40)
    runs = runs_of(*made)
    found = claims.table(runs, dict(enumerate(both)))
    own = [judge(both[0], runs), judge(both[0], runs, equal_cost=True), judge(both[1], runs)]
    p = np.sort([2 * min(one.p) for one in own]) * [3, 2, 1]
    expected = np.minimum(1, np.maximum.accumulate(p))
    together = [found.loc[1, "p"], found.loc[1, "p at equal cost"], found.loc[2, "p"]]
    np.testing.assert_allclose(np.sort(together), expected)
    assert found.loc[2, "p at equal cost"] == found.loc[2, "p"]
    text = found.loc[1, "evidence"].splitlines()
    assert text[2] == claims.AT_COST and text[3].startswith("LS, 40 epochs: +")


@pytest.mark.parametrize("accuracy", [0.4, 0.7])
def test_what_is_alike_at_every_seed_is_judged_without_an_interval_and_a_p(accuracy):
    both = [claim(where, "", "top-left/accuracy", 0.3, high=0.5) for where in (LS, PAMAL)]
    drawn = seeds(PAMAL, (0.4, 0.41, 0.39))
    runs = runs_of(*seeds(LS, (accuracy,) * 3), *drawn)
    found = claims.table(runs, dict(enumerate(both)))
    assert found.loc[1, "equal epochs"] == ("holds" if accuracy == 0.4 else "fails")
    assert found.loc[1, "estimate"] == f"{accuracy:.4f}" and np.isnan(found.loc[1, "p"])
    assert f": {accuracy:.4f}, 3 seeds, all alike" in found.loc[1, "evidence"]
    # Nor does it count in the correction of the others.
    assert found.loc[2, "p"] == pytest.approx(judge(both[1], runs).two_sided)
    assert "[" in found.loc[2, "estimate"] and "alike" not in found.loc[2, "evidence"]
    # What is bold stands in that correction.
    rows = claims.shown(found.assign(claim=["alike", "drawn"])).split("</tr>")[1:3]
    assert [f"{found.loc[k + 1, 'equal epochs']} weak" in row for k, row in enumerate(rows)] == [
        True,
        bool(found.loc[2, "p"] > 0.05),
    ]


def test_the_table_has_a_row_for_each_claim():
    row = claim(PAMAL, LS, "top-left/accuracy")
    other = replace(row, theirs=[frame.select(UW)])
    made = seeds(PAMAL, (0.8, 0.81, 0.8)) + seeds(LS, (0.7, 0.7, 0.71))
    found = claims.table(runs_of(*made), {"a claim": row, "another": other})
    assert found.loc[1, ["claim", "data", "where", "equal epochs", "equal cost"]].tolist() == [
        *("a claim", "MultiMNIST", "5.1", "holds", "not run"),
    ]
    assert found.loc[1, "p"] == pytest.approx(2 * min(judge(row, runs_of(*made)).p))
    ours = "PaMaL, W = 4, λ = 0: top-left/accuracy"
    asked = f"Asked of {ours}, test, ours ahead by > 0"
    assert found.loc[1, "evidence"].splitlines()[0] == asked
    assert found.loc[2, "equal epochs"] == "not run" and np.isnan(found.loc[2, "p"])


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
        ({"ours": []}, "must have settings of ours"),
        ({"their_measure": OfSeeds("volume", 3)}, "`name` must be one of hypervolume, distance"),
        ({"theirs": [frame.setting("mnist", "ls")]}, "`experiment` must be one of"),
        ({"theirs": [frame.setting("multimnist", "lss")]}, "'lss'"),
        ({"theirs": [frame.setting("multimnist", "ls", epoch=3)]}, "epoch"),
        ({"theirs": [frame.setting("multimnist", "ls", draw=-1)]}, "draw"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused_by_its_name(change, said):
    check({"It is good": claim(PAMAL)})
    with pytest.raises(InputError, match=said) as refused:
        check({"It is good": replace(claim(PAMAL), **change)})
    assert str(refused.value).startswith("The claim 'It is good' cannot be judged.")


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
            "claim": [f"It gains{sign}: Census" for sign in (claims.PRINTED, claims.TEXT)],
            "data": "Census",
            "equal epochs": ["holds", "undecided"],
            "equal cost": "",
            **{"estimate": "", "seeds to decide": "", "p": 0.5, "p at equal cost": np.nan},
            **{"where": "5.1", "evidence": "a\nb"},
        }
    )
    note = "; undecided with that of the text"
    assert claims.shown(found).count(note) == 1
    assert note not in claims.shown(found.assign(**{"equal epochs": "holds"}))


def test_every_claim_has_an_anchor_of_its_own_on_the_page(runs):
    anchors = [claims.anchor(text) for text in claims.CLAIMS | claims.FINDINGS]
    assert len({*anchors}) == len(anchors)
    page = (grid.ROOT / "book/results/reproduction.ipynb").read_text("utf-8")
    for text in claims.CLAIMS:
        assert page.count(f'id=\\"{claims.anchor(text)}\\"') == 1
