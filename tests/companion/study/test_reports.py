"""The paper's tables beside ours: every number is that of a record, or of the paper."""

import re
from collections import Counter

import nbformat
import numpy as np
import pytest
from made_up import DATA, record, runs_of, staircase
from scipy import stats

from pamal_companion.runs import grid
from pamal_companion.study import paper, tables
from pamal_companion.study.frame import Setting, select
from pamal_companion.study.layout import TABLES
from pamal_companion.study.paper import table
from pamal_companion.study.statistics import Estimate

SAMPLES = {name: text.replace("/full", "/sample") for name, text in DATA.items()}
PAMAL = "multimnist/pamal"


def belongs(text):
    """The tables that runs of a setting belong to."""
    return {name for name in TABLES if tables.row_of(select(text), name)}


def ours(name, *records):
    """Our column of the table `name`, by setting and measure, as far as there are runs."""
    found = tables.report(name, runs_of(*records))["ours"]
    return found.dropna()


# Which row a run belongs to.


def test_a_run_of_the_papers_setting_belongs_to_each_table_that_has_it():
    assert belongs(PAMAL) == {"multimnist", "multiforward_multimnist"}
    assert belongs("multimnist/pamal W=2; lam=5") == {"multiforward_multimnist"}
    assert belongs("census/pamal") == {"census", "multiforward_census"}
    assert belongs("multimnist3/nash_mtl") == {"multimnist3"}
    assert belongs("census/phn p=0.1; lr=0.0001; solver=epo") == {"phn_census"}
    assert belongs("census/phn") == {"census", "phn_census"} & belongs("census/phn")
    assert belongs("multimnist/cosmos p=2; lam=1") == {"cosmos_multimnist"}
    assert belongs("cityscapes/pamal") == {"cityscapes_II"}
    assert belongs("cityscapes/pamal setting=I") == {"cityscapes_I"}


OTHER = {
    PAMAL: [
        *({"epochs": 1, "p": 100, "lr": 0.1, "average": 0.99}, {"epochs": 1}, {"p": 100.0}),
        *({"lr": 0.1}, {"average": 0.99}, {"W": 6}, {"lam": 3.0}, {"draws": "stratified"}),
        *({"offset": 8}, {"split": "released"}, {"balancing": "loss"}, {"limit": 100}),
        *({"batch_size": 1024}, {"data": SAMPLES["multimnist"]}),
    ],
    "utkface/pamal": [
        *({"lam": 1.0}, {"balancing": "none"}, {"W": 2}, {"p": 1.5}, {"p": [2.0, 2.0, 2.0]}),
        *({"epochs": 3}, {"width": 16}, {"size": 32}, {"limit": 2000}, {"stem": "torchvision"}),
        *({"lr": 1e-4}, {"augment": False}, {"data": SAMPLES["utkface"]}),
    ],
    "cityscapes/pamal": [
        *({"W": 4}, {"lam": 0.0}, {"p": 1.0}, {"balancing": "none"}, {"epochs": 99}),
        *({"limit": 20}, {"width": 8}, {"augment": False}, {"batch_norm": "recalibrated"}),
        *({"penalty": "printed"}, {"data": SAMPLES["cityscapes"]}),
    ],
    "utkface/ls": [{"balancing": "gradient"}],
    "utkface/stl": [{"balancing": "gradient", "task": 0}],
    "cityscapes/ls": [{"balancing": "gradient"}],
}
"""Options that the paper does not have, each for itself."""


@pytest.mark.parametrize("where", OTHER)
def test_other_options_and_other_data_stand_in_no_row_of_any_table(where):
    usual = {"task": 0} if "stl" in where else {}
    assert len(tables.compare(runs_of(record(where, **usual)))) > 0
    for options in OTHER[where]:
        made = runs_of(record(where, **options))
        assert tables.compare(made).empty, options
        assert not any(tables.row_of(setting, name) for setting in made for name in TABLES)


@pytest.mark.parametrize(
    ("where", "options"),
    [
        (PAMAL, ("penalty=printed", "skip=as_released", "lr_scaling=plain", "precision=bfloat16")),
        ("cityscapes/pamal", ("validation=475", "depth_scaling=divide")),
    ],
)
def test_what_the_paper_leaves_open_may_be_any(where, options):
    for option in options:
        assert belongs(f"{where} {option}") == belongs(where), option


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_every_setting_and_without_records_none_is_run(name):
    wanted = [
        row
        for row in grid.read("grid")
        if (row["place"], row["target"]) == (TABLES[name].place, TABLES[name].target)
    ]
    found = tables.report(name, {})
    labels = found.index.get_level_values(0)
    assert len(labels.unique()) == len(wanted) > 0 and (found["verdict"] == "not run").all()
    assert found.index.is_unique and (found["seeds"] == 0).all() and found["ours"].isna().all()
    names = [label.split(",")[0] for label in labels.unique()]
    assert Counter(names) == Counter(paper.PRINTED[row["method"]] for row in wanted)


# The numbers.


@pytest.mark.parametrize("name", ["multimnist", "census", "multiforward_census", "multimnist3"])
def test_the_numbers_are_those_of_the_points_of_the_records(name, runs):
    found, checked = tables.report(name, runs), 0
    for setting in tables.planned(name):
        if setting not in runs:
            continue
        fronts = [one.front(TABLES[name].split) for one in runs[setting].values()]
        keys = TABLES[name].keys
        for measure, cells in found.loc[setting.label(*keys)].iterrows():
            if "of 3 seeds" in measure:
                values = [front.values for front in fronts]
                groups = [values[k : k + 3] for k in range(0, len(values) - 2, 3)]
                expected = np.mean([staircase(np.concatenate(group)) for group in groups])
            else:
                expected = np.mean([by_hand(front, measure) for front in fronts])
            assert cells["ours"] == pytest.approx(expected, abs=1e-12), (setting, measure)
            assert cells["difference"] == pytest.approx(cells["ours"] - cells["paper"])
            checked += 1
    assert checked >= 16 and checked == (found["verdict"] != "not run").sum()


def by_hand(front, measure):
    if "hypervolume" in measure:
        return staircase(front.values)
    (t,) = (i for i, o in enumerate(front.objectives) if f"on {o.task}" in measure)
    return front.values[:, t].max() * (100 if "%" in measure else 1)


def test_a_mean_and_its_spread_are_taken_over_the_seeds_that_are_there():
    values = {3: 0.92, 5: 0.9, 7: 0.91}
    found = tables.report(
        "multiforward_multimnist",
        runs_of(*(record(points=[(v, 1)], seed=s) for s, v in values.items())),
    )
    cells = found.loc["PaMaL, W = 4, λ = 0"].iloc[0]
    printed = table("multiforward_multimnist").query("W == 4 and lam == 0").iloc[0]
    assert cells["ours"] == pytest.approx(0.91) and cells["ours ±"] == pytest.approx(0.01)
    # The paper divides by 3, we by 2.
    assert cells["paper"] == printed["mean"]
    assert cells["paper ±"] == pytest.approx(printed["std"] * np.sqrt(3 / 2))
    assert cells["seeds"] == 3 and (found["verdict"] == "not run").sum() == len(found) - 1


def test_a_verdict_is_of_the_tolerance_and_of_welchs_interval():
    """Against the paper's W = 4: three seeds of ours, 0.007 and 0.03 above it."""
    printed = table("multiforward_multimnist").query("W == 4 and lam == 0").iloc[0]
    spread, words = printed["std"] * np.sqrt(3 / 2), {}
    for shift in (0.007, 0.03):
        values = printed["mean"] + shift + np.array([-1e-3, 0, 1e-3])
        made = [record(points=[(v, 1.0)], seed=s) for s, v in enumerate(values)]
        cells = tables.report("multiforward_multimnist", runs_of(*made)).iloc[8]
        assert cells["error"] == pytest.approx(np.sqrt((spread**2 + 1e-6) / 3))
        low, _ = Estimate(shift, cells["error"], cells["freedom"]).interval()
        assert cells["tolerance"] == 0.005 and cells["difference"] == pytest.approx(shift)
        words[shift] = cells["verdict"], low > 0.005
    assert words == {0.007: ("", False), 0.03: ("differs", True)}


def test_a_tolerance_may_be_a_share_of_the_number():
    found = tables.report("utkface", {})
    cells = found.loc["LS"]
    assert cells["tolerance"].tolist() == pytest.approx([0.05 * cells["paper"].iloc[0], 0.5, 0.5])


def test_where_the_paper_has_no_deviation_it_is_that_of_the_authors_seeds():
    cells = tables.report("multimnist", {}).loc["UW", "accuracy on top-left ↑"]
    rows = table("authors_multimnist").query(
        "method == 'uw' and split == 'test' and task == 1 and metric == 'accuracy'"
    )
    assert len(rows) == 3 and cells["paper ±"] == pytest.approx(rows["value"].std())
    assert cells["paper"] == pytest.approx(rows["value"].mean(), abs=6e-4)  # they are its seeds
    assert np.isnan(tables.report("census", {}).loc["UW", "paper ±"]).all()


def test_three_seeds_of_a_baseline_are_one_hypervolume_as_in_the_paper():
    corners = {3: (0.9, 0.5), 5: (0.5, 0.9), 7: (0.4, 0.4), 11: (1.0, 1.0)}
    made = [record("multimnist/ls", [point], seed=seed) for seed, point in corners.items()]
    for records in (made[:3], made, made[::-1]):  # of four the first three by number
        cells = tables.compare(runs_of(*records)).loc[
            "Table 9: MultiMNIST", "LS", "hypervolume of 3 seeds ↑"
        ]
        assert cells["ours"] == pytest.approx(0.9 * 0.5 + 0.5 * 0.9 - 0.5 * 0.5)
        assert (cells["paper"], cells["seeds"]) == (0.907, 3)
    two = tables.compare(runs_of(*made[:2])).loc["Table 9: MultiMNIST", "LS"]
    assert two.loc["hypervolume of 3 seeds ↑", "verdict"] == "not run"
    assert two["seeds"].tolist() == [2, 2, 0, 2]


def test_more_seeds_of_a_baseline_are_more_groups_of_three():
    made = [record("multimnist/ls", [(0.9, 0.5 + s / 100)], seed=s) for s in range(11)]
    cells = tables.report("multimnist", runs_of(*made)).loc["LS", "hypervolume of 3 seeds ↑"]
    volumes = [0.9 * (0.5 + s / 100) for s in (2, 5, 8)]  # the last two are left over
    assert (cells["seeds"], cells["ours"]) == (9, pytest.approx(np.mean(volumes)))
    assert cells["ours ±"] == pytest.approx(np.std(volumes, ddof=1)) and cells["paper's seeds"] == 1
    assert cells["error"] == pytest.approx(np.std(volumes, ddof=1) * np.sqrt(1 / 3 + 1))


def test_a_run_without_a_number_counts_for_none():
    stuck, good = (
        record("multimnist/uw", [(0.5, 0.5)]),
        record("multimnist/uw", [(0.6, 0.6)], seed=1),
    )
    for split in ("validation", "test"):
        stuck.summary[split]["best"]["top-left/accuracy"] = float("nan")
    cells = tables.report("multimnist", runs_of(stuck, good)).loc["UW", "accuracy on top-left ↑"]
    assert (cells["ours"], cells["seeds"]) == (0.6, 1)


def test_compare_has_the_rows_of_report_for_what_was_run(runs):
    found, names = tables.compare(runs), ["ours", "error"]
    for name, of in TABLES.items():
        report = tables.report(name, runs)
        made = report[report["verdict"] != "not run"]
        assert (of.title in found.index) == (len(made) > 0)
        if len(made):
            rows = found.loc[of.title].loc[made.index]
            np.testing.assert_allclose(rows[names], made[names], atol=1e-12)
            assert rows["verdict"].tolist() == made["verdict"].tolist()
    assert tables.compare({}).empty


# The table as a whole.


def test_the_joint_row_of_the_records_is_by_hand(runs):
    found = tables.report("census", runs).xs("accuracy on age ↑", level=1)
    row = tables.joint("census", runs).loc["accuracy on age ↑"]
    assert row["rows"] == len(found)
    expected = stats.spearmanr(found["ours"], found["paper"], alternative="greater")
    assert row["correlation"] == pytest.approx(expected.statistic)
    assert row["p"] == pytest.approx(expected.pvalue, abs=0.02)
    ends = stats.t.interval(
        0.95, len(found) - 1, found["difference"].mean(), stats.sem(found["difference"])
    )
    assert (row["low"], row["high"]) == pytest.approx(ends)


def test_a_shift_of_all_rows_leaves_their_order():
    printed = {
        setting: row.numbers["mean"].mean
        for setting, row in tables.rows("multiforward_multimnist").items()
    }
    made = []
    for setting in tables.planned("multiforward_multimnist"):
        row = tables.row_of(setting, "multiforward_multimnist")
        for seed, away in enumerate((-1e-4, 0, 1e-4)):
            value = row.numbers["mean"].mean - 0.01 + away
            made.append(record(points=[(value, 1.0)], seed=seed, **dict(setting.options)))
    whole = tables.joint("multiforward_multimnist", runs_of(*made)).iloc[0]
    assert whole["rows"] == len(printed) == 16 and whole["word"] == "reproduced"
    assert whole["mean shift"] == pytest.approx(-0.01) and whole["high"] < -0.009


def test_one_seed_stands_beside_one_of_the_authors_seeds():
    made = [record("multimnist/ls", [(0.9, 0.5 + s / 100)], seed=s) for s in range(4)]
    cells = tables.report("multimnist", runs_of(*made)).loc["LS"]
    alike = cells.loc["hypervolume of a seed, the authors' ↑"]
    own = table("authors_multimnist").query(
        "method == 'ls' and split == 'test' and metric == 'accuracy'"
    )
    volumes = own.groupby("seed")["value"].prod()
    assert alike["paper"] == pytest.approx(volumes.mean()) and alike["paper's seeds"] == 3
    assert alike["paper ±"] == pytest.approx(volumes.std()) and alike["seeds"] == 4
    assert alike["ours"] == pytest.approx(np.mean([0.9 * (0.5 + s / 100) for s in range(4)]))
    assert alike["paper"] < cells.loc["hypervolume of 3 seeds ↑", "paper"]  # the union's


@pytest.mark.parametrize("data", ["multimnist", "census"])
def test_the_baselines_of_the_repository_are_within_a_point_of_the_paper(data, runs):
    found = tables.report(data, runs)
    accuracies = found[found.index.get_level_values(1).str.startswith("accuracy")]
    accuracies = accuracies.drop("PaMaL", level=0)
    assert {"LS", "UW", "MGDA", "PCGrad", "Nash-MTL"} <= {
        *accuracies.dropna(subset="difference").index.get_level_values(0)
    }
    ones = [paper.PRINTED[m] for m in paper.ONE_NETWORK]
    kept = accuracies[accuracies.index.get_level_values(0).isin(ones)]
    assert kept["difference"].abs().max() < 0.01


def test_a_page_shows_the_numbers_of_the_report_to_four_digits(runs):
    exact, page = tables.report("multimnist3", runs), tables.beside("multimnist3", runs, 2)
    for _, row in exact.iterrows():
        low, high = Estimate(*row[["difference", "error", "freedom"]]).interval()
        assert f"{row['difference']:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}" in page
        assert f">{row['ours']:.2f} ± {row['ours ±']:.2f}<" in page
    differs = (exact["verdict"] == "differs").sum()
    assert page.count('class="verdict differs"') == differs > 0
    assert page.count('class="verdict') == differs  # there is no other word for one number
    for word in tables.joint("multimnist3", runs)["word"]:
        assert f"Order: <b>{word}</b>" in page


@pytest.mark.parametrize("name", [*TABLES])
def test_a_page_has_every_row_of_the_paper_also_what_is_not_run(name, runs):
    for made in (runs, {}):
        page, report = tables.beside(name, made), tables.report(name, made)
        settings = report.index.get_level_values(0).unique()
        methods = report.index.get_level_values(0).str.split(",").str[0]
        assert {*methods} == {paper.PRINTED[setting.method] for setting in tables.rows(name)}
        assert f"{TABLES[name].title}, {len(settings)} rows</summary>" in page
        in_page = page.count('<th scope="row"')
        is_run = report["seeds"] > 0
        if is_run.any():
            assert in_page == len(report)
            assert page.count("verdict not-run") == (~is_run).sum()
        else:
            assert len(settings) >= len(tables.rows(name))
            assert in_page == page.count("verdict not-run") == len(settings)


def test_numbers_of_what_is_not_run_have_the_digits_of_the_paper():
    page = re.sub("<[^>]*>", "", tables.beside("cityscapes_II", {}))
    assert "LS 70.12 91.90 0.0192 124.061 \N{EN DASH} not run" in page
    assert "LS 0.100 ± 0.008 90.43 ± 0.76 80.49 ± 1.64" in re.sub(
        "<[^>]*>", "", tables.beside("utkface", {}, 3)
    )


def test_rows_of_one_method_are_called_by_what_differs(runs):
    page = tables.beside("multiforward_census", runs)
    assert ">W = 2, λ = 5</th>" in page and ">PaMaL</th>" in page and "printed" not in page


def test_progress_has_a_row_for_each_table_that_has_a_run(runs):
    found = tables.progress(runs)
    run = {name for name in TABLES if tables.report(name, runs)["seeds"].any()}
    assert len(found) == len(run) == 10
    for name in run:
        ((_, row),) = (pair for pair in found.iterrows() if f">{TABLES[name].title}<" in pair[0])
        whole, report = tables.joint(name, runs), tables.report(name, runs)
        counts = whole["word"].value_counts() if len(whole) else {}
        for word, count in counts.items():
            said = f"{word}</span> in {count}" if len(counts) > 1 else word
            assert said in row["order of its columns"]
        settings = report["seeds"].groupby(level=0).sum()
        assert row["rows"] == f"{(settings > 0).sum()} of {len(settings)}"
        wanted = [(s, seed) for s, seeds in tables.planned(name).items() for seed in seeds]
        made = [runs[s][seed] for s, seed in wanted if seed in runs.get(s, {})]
        hours = sum(one.seconds for one in made) / 3600
        assert float(row["hours"]) == pytest.approx(hours, abs=0.051)
        assert row["runs"] == f"{len(made)} of {len(wanted)}"
    ((_, row),) = (pair for pair in found.iterrows() if "Table 10: MultiMNIST3" in pair[0])
    assert row["mean shift, in tolerances"] == "+0.7 to +1.4"
    assert tables.progress({}).empty


def test_each_table_has_a_section_of_its_own_on_the_page():
    page = nbformat.read(grid.ROOT / "notebooks/tables.ipynb", as_version=4)
    headings = [cell.source.split("\n")[0] for cell in page.cells if cell.source.startswith("## ")]
    assert [h.removeprefix("## ") for h in headings if h.startswith("## Table")] == [
        table.title for table in sorted(TABLES.values(), key=lambda table: table.number)
    ]


# Adding a row.


def test_a_row_that_is_not_run_is_added_by_a_row_of_the_grid(monkeypatch):
    before = tables.report("multiforward_census", {})
    run = grid.Run(
        "census", "pamal", {"W": 3, "lam": 2.0, "masters": "as_released", "lr_scaling": "plain"}, 0,
        ("a.json",), ("ablations",), ("tab:hv analysis:census",),
    )  # fmt: skip
    every = grid._all()
    monkeypatch.setattr(grid, "_all", lambda: (*every, run))
    after = tables.report("multiforward_census", {})
    (new,) = {*after.index} - {*before.index}
    assert new == ("PaMaL, W = 3, λ = 2, plain rate", "hypervolume ↑")
    assert after.loc[new, "verdict"] == "not run"
    assert (
        after.loc[new, "paper"]
        == table("multiforward_census").query("W==3 and lam==2")["mean"].item()
    )


# UTKFace.

FACES = [(0.085, 0.905, 0.8)]
OURS = {"age, Huber loss ↓": 0.085, "gender, % ↑": 90.5, "ethnicity, % ↑": 80.0}


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, "PaMaL, W = 3, p = 2, gradient balancing"),
        ({"balancing": "loss"}, "PaMaL, W = 3, p = 2, loss balancing"),
        ({"W": 1, "p": 1.0}, "PaMaL, W = 1, p = 1, gradient balancing"),
        (
            {"precision": "bfloat16"},
            "PaMaL, W = 3, p = 2, gradient balancing, precision = bfloat16",
        ),
    ],
)
def test_a_face_run_of_pamal_stands_in_its_row_and_in_no_other(options, label):
    found = tables.compare(runs_of(record("utkface/pamal", FACES, **options))).loc[
        "Table 4: UTKFace"
    ]
    assert {*found.index.get_level_values(0)} == {label}
    assert found.loc[label, "ours"].to_dict() == pytest.approx(OURS)


@pytest.mark.parametrize("data", ["utkface", "cityscapes"])
def test_every_row_is_filled_by_the_method_that_it_names(data):
    names = {*table(data)["method"]}
    for method, name in paper.PRINTED.items():
        if method not in ("stl", "pamal"):
            found = tables.compare(runs_of(record(f"{data}/{method}")))
            labels = {*found.index.get_level_values(1)} if len(found) else set()
            assert labels == ({name} if name in names else set())


def test_single_task_learning_of_faces_is_a_record_for_each_task():
    made = [record("utkface/stl", [[v]], task=t) for t, v in enumerate(FACES[0])]
    found = ours("utkface", *made)
    labels = [("STL, age", "STL, gender", "STL, ethnicity")[t] for t in range(3)]
    assert found.to_dict() == pytest.approx(
        dict(zip(zip(labels, OURS, strict=True), OURS.values(), strict=True))
    )
    assert len(ours("utkface", *made[:2])) == 2


# CityScapes.

MIOU, PIXEL, ABSOLUTE, RELATIVE = (c.text for c in TABLES["cityscapes_II"].columns.values())


def street(miou=0.7, pixel=0.92, absolute=0.015, relative=50.0):
    return {
        "segmentation/mIoU": miou,
        "segmentation/pixel accuracy": pixel,
        "depth/absolute error": absolute,
        "depth/relative error": relative,
    }


@pytest.mark.parametrize(("number", "setting"), [(1, "I"), (2, "II")])
def test_streets_have_the_papers_rows_and_numbers(number, setting):
    found = tables.report(f"cityscapes_{setting}", {})
    rows = table("cityscapes").query("setting == @number").set_index("method")
    names = found.index.get_level_values(0)
    assert {*names.str.split(",").str[0]} == {*rows.index} and len(rows) == 15
    for text, column in zip((MIOU, PIXEL, ABSOLUTE, RELATIVE), rows.columns[1:], strict=True):
        for method in rows.index.drop("STL"):
            assert (
                found.xs(text, level=1)["paper"].filter(regex=f"^{method}(,|$)").iloc[0]
                == (rows.loc[method, column])
            )


def test_streets_have_the_best_on_test_of_each_metric_on_its_own():
    made = record(
        "cityscapes/pamal",
        [street(0.71234, 0.9, 0.016, 54.5204), street(0.69, 0.91235, 0.01406, 60.0)],
    )
    for point in made.points:  # better on validation, which does not count
        if point["split"] == "validation":
            point["metrics"] = street(0.99, 0.99, 0.001, 1.0)
    found = ours("cityscapes_II", made)
    assert found.tolist() == pytest.approx([71.234, 91.235, 0.01406, 54.5204])
    cells = tables.compare(runs_of(made)).loc["Table 1: CityScapes, setting II"]
    assert cells["paper"].tolist() == [70.35, 91.99, 0.0141, 54.520]


def test_single_task_learning_of_streets_is_two_records():
    made = [record("cityscapes/stl", [street()], task=t) for t in range(2)]
    found = ours("cityscapes_II", *made)
    assert found.to_dict() == pytest.approx(
        {
            ("STL, segmentation", MIOU): 70.0,
            ("STL, segmentation", PIXEL): 92.0,
            ("STL, depth", ABSOLUTE): 0.015,
            ("STL, depth", RELATIVE): 50.0,
        }
    )


def test_the_two_settings_of_streets_do_not_mix():
    first = runs_of(record("cityscapes/pamal", [street()], setting="I"))
    assert tables.compare(first).index.get_level_values(0).unique().tolist() == [
        "Table 11: CityScapes, setting I"
    ]
    assert tables.report("cityscapes_II", first)["ours"].isna().all()
    planned = {s.values["setting"] for s in tables.planned("cityscapes_I")}
    assert planned == {"I"} and Setting("cityscapes", "ls") in tables.planned("cityscapes_II")
