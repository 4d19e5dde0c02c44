"""Each kind of claim follows its records: it holds, holds in part, fails, or is not run."""

import csv
import runpy
import time

import numpy as np
import pytest
from made_up import record, runs_of

from pamal_core.errors import InputError
from pamal_core.networks.hypernetwork import Hypernetwork
from pamal_core.networks.models import lenet
from pamal_core.runs import grid
from pamal_core.study import claims, tables
from pamal_core.study.claims import judge, meets

PAMAL, LS, UW, STL = "multimnist/pamal", "multimnist/ls", "multimnist/uw", "multimnist/stl"
COLUMNS = ("claim", "where", "kind", "ours", "theirs", "measure", "split", "seeds", "holds", "part")
with claims.FILE.open(newline="") as file:
    ROWS = {row["claim"]: row for row in csv.DictReader(file)}
IN_PART = [
    "One run finds a whole front: MultiMNIST",
    "Its hypervolume is above that of every baseline: MultiMNIST",
    "Its hypervolume is above that of every baseline: Census",
    "Every point of the subspace is Pareto optimal (Claim 1): MultiMNIST",
    "Every point of the subspace is Pareto optimal (Claim 1): Census",
    "Three tasks: the best of the subspace is above linear scalarisation (MultiMNIST3)",
    "The best of 17 settings is W = 2, lambda = 5: Census",
    "Its front is better than that of PHN: MultiMNIST",
    "One run costs little more than one of a baseline: MultiMNIST",
]
NOT = [
    "One run finds a whole front: Census",
    "The penalty as printed and released puts the front in order",
    "COSMOS gives up hypervolume where its points are in order: Census",
]
NOT_RUN = [
    "With gradient balancing the faces' three tasks form a front (UTKFace)",
    "Gradient balancing lowers the loss on age (UTKFace)",
    "Depth is as good as the best baseline's (CityScapes)",
    "Segmentation is above that of most baselines (CityScapes)",
]
TEXTS = [
    "A line in weight space can hold a whole front (Theorem 1)",
    "PHN needs about a hundred times as many weights",
]


def claim(
    kind, ours, theirs="", measure="hypervolume", seeds="mean", holds="> 0", part="", split="test"
):
    values = ("a claim", "5.1", kind, ours, theirs, measure, split, seeds, holds, part)
    return dict(zip(COLUMNS, values, strict=True))


def verdict(row, *records):
    return judge(row, runs_of(*records))[1]


def points(where, volumes, first=0, **options):
    """Runs of one network whose hypervolumes, the product of two accuracies, are `volumes`."""
    return [record(where, [(v, 1.0)], seed=first + s, **options) for s, v in enumerate(volumes)]


# The committed records.


def test_the_verdicts_of_all_claims(runs):
    expected = dict.fromkeys(ROWS, "holds")
    for names, word in ((IN_PART, "holds in part"), (NOT, "does not hold"), (NOT_RUN, "not run")):
        expected |= dict.fromkeys(names, word)
    found = claims.table(runs)
    assert dict(zip(found["claim"], found["verdict"], strict=True)) == expected
    assert found["claim"].is_unique and [*found.index] == [*range(1, 44)]
    words = [*expected.values()]
    assert [words.count(w) for w in (*claims.WORDS.values(), "not run")] == [27, 3, 9, 4]


def test_without_records_only_texts_have_a_verdict():
    found = claims.table({}).set_index("claim")["verdict"]
    assert [*found[found != "not run"].index] == TEXTS


def test_every_row_is_whole():
    for row in ROWS.values():
        assert tuple(row) == COLUMNS and None not in row.values() and row["where"]
        assert row["kind"] == "text" or row["split"]
    assert {row["kind"] for row in ROWS.values()} == {*claims.KINDS, "text"}


def test_the_landing_page_has_the_verdicts_of_the_page_of_reproductions(runs):
    pytest.importorskip("sphinx", reason="needs the `book` extra")
    verdicts = runpy.run_path(str(grid.ROOT / "book/_ext/verdicts.py"))
    found, expected = dict(verdicts["claims"](verdicts["PAGE"])), claims.table(runs)
    for text, word in zip(expected["claim"], expected["verdict"], strict=True):
        assert found.get(text, word) == word or "MultiMNIST3" in text  # the page is made again
    assert {*found.values()} <= {*verdicts["ORDER"]}
    assert "```{verdicts}" in (grid.ROOT / "book/index.md").read_text("utf-8")


def test_the_hypernetwork_has_as_many_weights_as_the_claim_says():
    network = lenet(2)
    size = sum(parameter.numel() for parameter in network.parameters())
    hypernetwork = Hypernetwork(network, num_tasks=2)
    total = sum(parameter.numel() for parameter in hypernetwork.parameters())
    assert total == 101 * size + 10_400


# Conditions.


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("> 1", [False, False, True]),
        (">= 1", [False, True, True]),
        ("< 1", [True, False, False]),
        ("<= 1", [True, True, False]),
        ("= 1", [False, True, False]),
        ("0.5 to 1", [False, True, False]),
        ("> -0.5", [True, True, True]),
    ],
)
def test_conditions(condition, met):
    assert meets(np.array([0.0, 1.0, 2.0]), condition).tolist() == met
    assert not meets(np.array([np.nan]), condition).any()


@pytest.mark.parametrize("condition", ["", "high", "=> 1", "1"])
def test_what_is_no_condition_is_refused(condition):
    with pytest.raises(InputError, match="A condition is written"):
        meets(np.array([0.0]), condition)


# Each kind.


@pytest.mark.parametrize(
    ("volumes", "word"),
    [((0.9, 0.8), "holds"), ((0.9, 0.4), "holds in part"), ((0.9, 0.2), "does not hold")],
)
def test_a_level_is_met_by_each_seed(volumes, word):
    row = claim("level", PAMAL, seeds="each", holds="> 0.5", part="> 0.3")
    evidence, found = judge(row, runs_of(*points(PAMAL, volumes, first=5)))
    assert found == word and evidence == "hypervolume {:.4f}, {:.4f}".format(*volumes)
    assert verdict(row) == "not run"


def test_a_level_of_the_mean_is_that_of_its_seeds():
    row = claim("level", PAMAL, LS, holds="> 0.5")
    made = points(PAMAL, (0.9, 0.2)) + points(LS, (0.25,))
    assert judge(row, runs_of(*made)) == ("hypervolume 0.5500; LS 0.2500", "holds")
    assert verdict(row, *made[:2]) == "not run"  # linear scalarisation is missing


def test_the_share_of_points_that_are_near_the_rivals_means():
    row = claim("level", PAMAL, LS, "share within 0.01", "each", "> 0.5")
    rival = record(LS, [(0.8, 0.7)])
    front = [(0.8, 0.7), (0.795, 0.695), (0.9, 0.695), (0.9, 0.68)]
    evidence, found = judge(row, runs_of(record(PAMAL, front), rival))
    assert (evidence, found) == ("share within 0.01 0.7500", "holds")
    assert verdict(row, record(PAMAL, front[3:]), rival) == "does not hold"


def test_the_order_of_objectives_is_a_column_for_each():
    row = claim("level", PAMAL, measure="order of objectives", holds="> 0.5", part="> -1")
    in_order = [(0.9, 0.1), (0.5, 0.5), (0.1, 0.9)]
    assert verdict(row, record(points=in_order)) == "holds"
    assert verdict(row, record(points=in_order[::-1])) == "does not hold"
    row["part"] = ">= -1"
    assert verdict(row, record(points=in_order[::-1])) == "holds in part"


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [((0.9, 0.7), (0.6, 0.65), "holds"), ((0.9, 0.6), (0.5, 0.61), "does not hold")],
)
def test_a_difference_with_each_seed_is_of_the_worst_and_the_best(ours, theirs, word):
    row = claim("difference", PAMAL, LS, seeds="each")
    assert verdict(row, *points(PAMAL, ours), *points(LS, theirs, first=7)) == word
    row["seeds"] = "mean"
    assert verdict(row, *points(PAMAL, ours), *points(LS, theirs, first=7)) == "holds"


def test_a_difference_of_losses_is_in_the_direction_that_is_better():
    faces = "Gradient balancing lowers the loss on age (UTKFace)"
    for balanced, word in (((0.1, 0.2), "holds"), ((0.1, 0.5), "does not hold")):
        made = [
            record("utkface/pamal", [(loss, 0.9, 0.9)], seed=s, W=1, p=1.0, balancing=how)
            for how, losses in {"gradient": balanced, "none": (0.3, 0.4)}.items()
            for s, loss in enumerate(losses)
        ]
        evidence, found = judge(ROWS[faces], runs_of(*made))
        assert found == word and f"{balanced[0]:.4f}" in evidence and "0.3000" in evidence


def test_objectives_are_compared_each_in_its_own_direction():
    row = claim("difference", "utkface/pamal", "utkface/ls", "objectives", part="any")
    ours, theirs = (0.1, 0.9, 0.9), (0.2, 0.8, 0.8)
    for one, two, word in (
        (ours, theirs, "holds"),
        ((0.3, 0.9, 0.9), theirs, "holds in part"),
        (theirs, ours, "does not hold"),
    ):
        made = record("utkface/pamal", [one]), record("utkface/ls", [two])
        assert verdict(row, *made) == word


def test_single_task_learning_is_compared_task_by_task():
    row = claim(
        "difference", PAMAL, f"{STL} task=0 | {STL} task=1", "objectives", holds=">= 0", part="any"
    )
    stl = [record(STL, [(v,)], task=t) for t, v in enumerate((0.8, 0.85))]
    for best, word in (
        ((0.8, 0.85), "holds"),
        ((0.9, 0.7), "holds in part"),
        ((0.7, 0.7), "does not hold"),
    ):
        evidence, found = judge(row, runs_of(record(points=[best]), *stl))
        assert found == word
        assert "STL, top-left and STL, bottom-right 0.8000, 0.8500" in evidence
    assert verdict(row, record(), stl[0]) == "not run"


def test_the_first_of_several_measures_decides_whether_it_holds_in_part():
    row = claim("difference", PAMAL, LS, "hypervolume; centre", part="first")
    better, worse = [(0.9, 0.9)], [(0.5, 0.5)]
    narrow = [(0.9, 0.9), (0.2, 0.2), (0.9, 0.9)]  # larger, with a bad centre
    for ours, theirs, word in (
        (better, worse, "holds"),
        (narrow, worse, "holds in part"),
        (worse, narrow, "does not hold"),
    ):
        assert verdict(row, record(points=ours), record(LS, theirs)) == word


@pytest.mark.parametrize(
    ("seconds", "word"),
    [((10, 14, 500), "holds"), ((10, 30, 40), "holds in part"), ((90, 90, 90), "does not hold")],
)
def test_a_ratio_is_of_medians(seconds, word):
    name = "One run costs little more than one of a baseline: MultiMNIST"
    made = [record(PAMAL, seed=s) for s in range(3)] + points(LS, (0.5,))
    for one, time_ in zip(made, (*seconds, 10), strict=True):
        one.cost["train_seconds"] = float(time_)
    evidence, found = judge(ROWS[name], runs_of(*made))
    assert found == word and f"{sorted(seconds)[1] / 10:.1f} times that of LS" in evidence


@pytest.mark.parametrize(
    ("uw", "word"),
    [((0.5, 0.6), "holds"), ((0.72, 0.5), "holds in part"), ((0.9, 0.9), "does not hold")],
)
def test_no_rival_has_as_large_a_union(uw, word):
    """Ours is 0.8 in the mean, 0.7 at worst."""
    row = ROWS["Its hypervolume is above that of every baseline: MultiMNIST"]
    made = points(PAMAL, (0.9, 0.7)) + points(LS, (0.3,)) + points(UW, uw)
    evidence, found = judge(row, runs_of(*made))
    assert found == word and f"{max(uw):.4f} with all its seeds together" in evidence
    assert evidence.endswith(": UW") == (word != "holds")
    assert verdict(row, *made[:2]) == verdict(row, *made[:2], *made[3:]) == "not run"


@pytest.mark.parametrize(
    ("uw", "word"),
    [((0.5, 0.51), "holds"), ((0.5, 0.75), "holds in part"), ((0.1, 0.99), "does not hold")],
)
def test_no_two_seeds_of_a_rival_are_as_far_apart_as_a_front_reaches(uw, word):
    """Ours reach 0.2 and 0.6; of two pairs of seeds one may be farther apart than 0.4."""
    row = ROWS["Seeds of a baseline end alike, one front of PaMaL reaches further: MultiMNIST"]
    row = row | {"part": "< 0.5"} if word == "does not hold" else row
    made = [
        record(points=[(0.9, 0.9 - s), (0.9 - s, 0.9)], seed=k) for k, s in enumerate((0.2, 0.6))
    ]
    made += points(LS, (0.5, 0.5)) + points(UW, uw)
    evidence, found = judge(row, runs_of(*made))
    assert found == word and f"at most {abs(uw[0] - uw[1]):.4f} apart" in evidence
    assert verdict(row, *made[:3]) == "not run"  # no second seed of a baseline


@pytest.mark.parametrize(("better", "word"), [(0, "holds"), (1, "holds"), (2, "does not hold")])
def test_at_most_half_of_the_rivals_are_better_on_every_task(better, word):
    row = ROWS["Baselines do not consistently beat linear scalarisation: MultiMNIST"]
    made = [record(LS, [(0.5, 0.5)])]
    names = ("uw", "dwa")
    for k, name in enumerate(names):
        values = (0.6, 0.6) if k < better else (0.9, 0.4)
        made += [record(f"multimnist/{name}", [values])]
    evidence, found = judge(row, runs_of(*made))
    assert found == word and f"{better} of 2 are better" in evidence
    assert verdict(row) == "not run"


def test_depth_may_be_behind_by_the_margin():
    row = ROWS["Depth is as good as the best baseline's (CityScapes)"]
    for ours, word in ((0.0104, "holds"), (0.0106, "does not hold")):
        made = [record("cityscapes/pamal", [(0.5, ours)]), record("cityscapes/ls", [(0.5, 0.01)])]
        assert verdict(row, *made) == word


def test_a_trend_has_no_step_back():
    row = ROWS["Drawing only the centre (p = 100) makes the members alike: MultiMNIST"]
    for cosines, word in (((0.1, 0.2, 0.3, 0.4), "holds"), ((0.1, 0.3, 0.2, 0.4), "does not hold")):
        made = [record(W=1, p=p) for p in (0.0, 0.1, 1.0, 100.0)]
        for one, cosine in zip(made, cosines, strict=True):
            one.summary["member_similarity"] = cosine
        assert verdict(row, *made) == word
    assert verdict(row, *made[1:]) == "not run"


@pytest.mark.parametrize(
    ("theirs", "others", "word"),
    [(0.66, 0.65, "holds"), (0.65, 0.651, "holds in part"), (0.65, 0.66, "does not hold")],
)
def test_the_best_setting_is_best_by_more_than_seeds_differ(theirs, others, word):
    """Seeds are 0.001 to both sides of each mean, so the deviation is 0.001 times the root of 2."""
    row, made = ROWS["The best of 17 settings is W = 2, lambda = 5: Census"], []
    for setting in tables.planned(row["ours"]):
        W, lam = setting.values["W"], setting.values["lam"]
        mean = theirs if (W, lam) == (2, 5) else others - W / 1e6
        for seed, way in ((5, -1), (7, 1)):
            made.append(
                record(
                    "census/pamal", [(mean + 0.001 * way, 1.0)], seed=seed, **dict(setting.options)
                )
            )
    evidence, found = judge(row, runs_of(*made))
    assert found == word and "2 seeds, deviation 0.0014" in evidence
    evidence, found = judge(row, runs_of(*made[1:]))
    assert (evidence, found) == ("no record of every setting with the same two seeds", "not run")


@pytest.mark.parametrize(
    ("rank", "word", "said"),
    [
        (-0.5, "holds", "best below -0.6: 0.4000"),
        (-0.9, "does not hold", "best below -0.6: 0.6000"),
    ],
)
def test_a_criterion_costs_what_the_best_that_meets_it_is_behind(rank, word, said):
    row = ROWS["COSMOS gives up hypervolume where its points are in order: Census"]
    one, two = (s for s in [*tables.planned("cosmos_census")][:2])
    made = [
        record(
            "census/cosmos", [(volume, 1.0)], changes={"competition": r}, **dict(setting.options)
        )
        for setting, volume, r in ((one, 0.6, rank), (two, 0.4, -1.0))
    ]
    evidence, found = judge(row, runs_of(*made))
    assert found == word and said in evidence and "best of 2 runs 0.6000" in evidence
    assert verdict(row) == "not run"


def test_a_text_holds_where_it_says_so():
    row = claim("text", "", measure="shown there", holds="yes")
    assert judge(row, {}) == ("shown there", "holds")
    assert judge(row | {"holds": "no"}, {})[1] == "does not hold"


def test_a_claim_follows_its_records():
    """The sign of the penalty: the verdict turns when the order of the losses does."""
    row = ROWS["With the sign that the text describes it does"]
    order = {"age/loss": -1.0, "education/loss": -1.0}
    none = record("census/pamal", lam=0.0, changes={"spearman": dict.fromkeys(order, 0.5)})
    ordered = record("census/pamal", changes={"spearman": order})
    evidence, found = judge(row, runs_of(none, ordered))
    assert found == "holds" and evidence == "order -1; PaMaL, λ = 0 0.5000"
    turned = record("census/pamal", changes={"spearman": dict.fromkeys(order, 0.5)})
    assert verdict(row, none, turned) == "does not hold"


# Adding a claim; more seeds.


def test_a_claim_is_added_by_a_row(tmp_path, monkeypatch):
    path = tmp_path / "claims.csv"
    row = claim("difference", PAMAL, LS, "top-left/accuracy") | {"claim": "A new one"}
    path.write_text(f"{','.join(COLUMNS)}\n{','.join(row.values())}\n")
    monkeypatch.setattr(claims, "FILE", path)
    found = claims.table(runs_of(record(points=[(0.9, 0.1)]), record(LS, [(0.8, 0.9)])))
    assert found.loc[1].tolist() == [
        "A new one",
        "5.1",
        "top-left/accuracy 0.9000, LS 0.8000",
        "holds",
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "levels"}, "`kind` must be one of"),
        ({"ours": "pamal"}, "A setting is written"),
        ({"measure": "volume"}, "A measure is one of"),
        ({"holds": "large"}, "A condition is written"),
    ],
)
def test_a_row_that_says_nothing_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        verdict(claim("level", PAMAL) | changed, record())


def test_a_metric_that_no_run_has_is_not_run():
    row = claim("level", PAMAL, measure="top-left/F1")
    assert judge(row, runs_of(record())) == (
        "no record of top-left/F1 of multimnist/pamal",
        "not run",
    )


def test_many_seeds_are_judged_and_soon():
    number = 20
    rng = np.random.default_rng(0)
    made = [
        record(where, rng.uniform(0.5, 0.6, (11 if where == PAMAL else 1, 2)), seed=seed)
        for where in (PAMAL, LS, UW)
        for seed in range(3, 3 + number)
    ]
    found, start = runs_of(*made), time.process_time()
    for kind, name in (
        ("rivals", "Its hypervolume"),
        ("rivals", "Seeds of a baseline"),
        ("level", "One run finds"),
    ):
        (row,) = (r for n, r in ROWS.items() if n.startswith(name) and n.endswith(": MultiMNIST"))
        evidence, word = judge(row, found)
        assert row["kind"] == kind and word != "not run"
        if kind == "level":
            assert evidence.split(";")[0].count(",") == number - 1
    assert time.process_time() - start < 3
