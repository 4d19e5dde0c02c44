"""The paper's tables beside ours: every number is that of a record, or of the paper."""

from collections import Counter

import numpy as np
import pytest
from made_up import DATA, record, runs_of, staircase

from pamal_core.runs import grid
from pamal_core.study import frame, paper, tables
from pamal_core.study.frame import Setting, select
from pamal_core.study.paper import TABLES, table
from pamal_core.study.statistics import deviation

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
    "options", ["penalty=printed", "skip=as_released", "lr_scaling=plain", "precision=bfloat16"]
)
def test_what_the_paper_leaves_open_may_be_any(options):
    assert belongs(f"{PAMAL} {options}") == belongs(PAMAL)


@pytest.mark.parametrize("name", TABLES)
def test_every_setting_of_the_grid_has_a_row_and_every_row_a_setting_of_its_method(name):
    rows = [tables.row_of(setting, name) for setting in tables.planned(name)]
    assert None not in rows and rows
    printed = {row.method for row in paper.rows(name)}
    assert {row.method for row in rows} <= printed
    at_least = {"multiforward": 16, "phn": 14, "cosmos": 16, "utkface": 16}.get(
        name.split("_")[0], 12
    )
    assert len(tables.planned(name)) >= at_least


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_every_setting_of_its_runs_and_without_records_none_is_run(name):
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
                expected = staircase(np.concatenate([front.values for front in fronts]))
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


def test_a_verdict_takes_the_spread_of_all_settings_and_the_papers():
    """By hand: seeds 0.9 and 0.92 of one setting, 0.91 alone of another."""
    made = [record(points=[(v, 1.0)], seed=s) for s, v in enumerate((0.9, 0.92))]
    made.append(record(points=[(0.91, 1.0)], W=3))
    found = tables.report("multiforward_multimnist", runs_of(*made)).droplevel(1)
    printed = table("multiforward_multimnist").query("lam == 0").set_index("W")
    for W in (3, 4):
        cells = found.loc[f"PaMaL, W = {W}, λ = 0"]
        theirs = printed.loc[W, "std"] * np.sqrt(3 / 2)
        spread = np.hypot(deviation([0.9, 0.92]), theirs)
        assert cells["in spreads"] == pytest.approx((0.91 - printed.loc[W, "mean"]) / spread)
        word = "reproduced" if abs(cells["in spreads"]) <= 2 else "not reproduced"
        assert cells["verdict"] == word


def test_three_seeds_of_a_baseline_are_one_hypervolume_as_in_the_paper_whatever_else_there_is():
    corners = {3: (0.9, 0.5), 5: (0.5, 0.9), 7: (0.4, 0.4), 11: (1.0, 1.0)}
    made = [record("multimnist/ls", [point], seed=seed) for seed, point in corners.items()]
    for records in (made[:3], made, made[::-1]):  # of four the first three by number
        cells = tables.compare(runs_of(*records)).loc[
            "C2, MultiMNIST", "LS", "hypervolume of 3 seeds ↑"
        ]
        assert cells["ours"] == pytest.approx(0.9 * 0.5 + 0.5 * 0.9 - 0.5 * 0.5)
        assert (cells["paper"], cells["seeds"]) == (0.907, 3)
    two = tables.compare(runs_of(*made[:2])).loc["C2, MultiMNIST", "LS"]
    assert two.loc["hypervolume of 3 seeds ↑", "verdict"] == "not run"
    assert two["seeds"].tolist() == [2, 2, 0]


def test_twenty_seeds_are_means_over_all():
    number = 20
    made = [record(points=[(0.9 + s / 1000, 1.0)], seed=s) for s in range(3, 3 + number)]
    cells = tables.report("multimnist", runs_of(*made)).loc["PaMaL", "hypervolume ↑"]
    expected = [0.9 + s / 1000 for s in range(3, 3 + number)]
    assert cells["ours"] == pytest.approx(np.mean(expected)) and cells["seeds"] == number
    assert cells["ours ±"] == pytest.approx(np.std(expected, ddof=1))


def test_samples_stand_beside_nothing_of_the_paper():
    samples = runs_of(
        *(record(f"{name}/ls", data=SAMPLES[name]) for name in ("multimnist", "census"))
    )
    assert tables.compare(samples).empty and tables.compare({}).empty
    assert (tables.report("multimnist", samples)["verdict"] == "not run").all()
    both = runs_of(record(seed=1, data=SAMPLES["multimnist"]), record(points=[(1.0, 1.0)]))
    cells = tables.report("multimnist", both).loc["PaMaL", "hypervolume ↑"]
    assert (cells["ours"], cells["seeds"]) == (1.0, 1)


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
    found, names = tables.compare(runs), ["ours", "in spreads"]
    for name, of in TABLES.items():
        report = tables.report(name, runs)
        made = report[report["verdict"] != "not run"]
        assert (of.title in found.index) == (len(made) > 0)
        if len(made):
            rows = found.loc[of.title].loc[made.index]
            np.testing.assert_allclose(rows[names], made[names], atol=1e-12)
            assert rows["verdict"].tolist() == made["verdict"].tolist()


def test_what_is_compared_alone_has_the_spread_of_the_whole_table_if_that_is_given(runs):
    setting = select("census/pamal")  # the grid has its other sign in the table of appendix B1
    alone, all_ = {setting: runs[setting]}, tables.compare(runs)
    for found, same in ((tables.compare(alone, runs), True), (tables.compare(alone), False)):
        row = found.loc["B1, Census"].iloc[0]
        whole = all_.loc["B1, Census"].loc["PaMaL, W = 2, λ = 5"].iloc[0]
        assert np.isclose(row["in spreads"], whole["in spreads"]) == same
        assert row["ours ±"] == pytest.approx(whole["ours ±"])
    row = tables.compare(alone).loc["B1, Census"].iloc[0]
    own = np.hypot(row["ours ±"], row["paper ±"])
    assert row["in spreads"] == pytest.approx(row["difference"] / own)


@pytest.mark.parametrize(("data", "reproduced"), [("multimnist", 16), ("census", 15)])
def test_as_many_settings_of_multi_forward_training_are_reproduced_as_the_page_says(
    data, reproduced, runs
):
    found = tables.report(f"multiforward_{data}", runs)
    assert (len(found), (found["verdict"] == "reproduced").sum()) == (16, reproduced)
    assert (found["seeds"] == 3).all()


def test_the_numbers_quoted_in_the_book_and_the_readme_are_those_of_the_records(runs):
    cells = tables.report("multiforward_multimnist", runs).loc["PaMaL, W = 4, λ = 0"].iloc[0]
    assert abs(cells["ours"] - 0.9184) < 0.005
    for page in ("README.md", "book/index.md"):
        assert f"{cells['ours']:.4f}" in (grid.ROOT / page).read_text("utf-8")
    ls = tables.report("multimnist", runs).loc["LS", "hypervolume of 3 seeds ↑"]
    assert abs(ls["ours"] - 0.907) < 0.006
    for seed, one in runs[select(PAMAL)].items():
        assert one.hypervolume() > runs[select("multimnist/ls")][seed].hypervolume()


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
    exact = tables.report("multimnist", runs)
    shown = tables.shown(exact)
    texts = [float(text or "nan") for text in shown["ours"]]
    assert texts == pytest.approx(exact["ours"].tolist(), abs=5.1e-5, rel=0, nan_ok=True)
    assert {len(text.partition(".")[2]) for text in shown["in spreads"] if text} == {1}


def test_progress_counts_runs_hours_and_verdicts(runs):
    found = tables.progress(runs)
    assert len(found) == len(TABLES) and found.index.is_unique
    row = found.loc["B1, MultiMNIST"]
    assert (row["runs made"], row["of"]) == (48, 48)
    assert (row["reproduced"], row["not reproduced"]) == (16, 0)
    assert found.loc["B3, UTKFace", "runs made"] == 0 < found.loc["B3, UTKFace", "of"]
    hours = (
        sum(one.seconds for s in tables.planned("multimnist3") for one in runs[s].values()) / 3600
    )
    assert found.loc["C3, MultiMNIST3", "hours"] == pytest.approx(hours, abs=0.006)
    assert (tables.progress({})["runs made"] == 0).all()


# Adding a table, and a row.


def test_a_table_is_added_by_a_csv_and_its_rows_in_two_others(tmp_path, monkeypatch):
    for name, text in {
        "epochs": "method,epochs,volume,sd\nLS,20,0.5,0.1\nPaMaL,20,0.6,0.2\n",
        "tables": "table,title,experiment,place,csv,rows,split,keys,fixed,free,divisor\n"
        "nine,Table 9,multimnist,tab:nine,epochs,,validation,epochs,,,2\n",
        "columns": "table,column,measure,text,deviation\n"
        "nine,volume,hypervolume,hypervolume ↑,sd\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    monkeypatch.setattr(paper, "FOLDER", tmp_path)
    monkeypatch.setitem(TABLES, "nine", paper.read_tables(tmp_path)["nine"])
    made = record("multimnist/ls", [(0.8, 0.5)], epochs=20)
    found = tables.compare(runs_of(made)).loc["Table 9"]
    assert found.index.tolist() == [("LS, 20 epochs", "hypervolume ↑")]
    cells = found.iloc[0]
    assert (cells["paper"], cells["paper ±"], cells["ours"]) == (0.5, 0.1, pytest.approx(0.4))


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
    assert new == ("PaMaL, W = 3, λ = 2, rate plain", "hypervolume ↑")
    assert after.loc[new, "verdict"] == "not run"
    assert (
        after.loc[new, "paper"]
        == table("multiforward_census").query("W==3 and lam==2")["mean"].item()
    )


# UTKFace.

FACES = [(0.085, 0.905, 0.8)]
OURS = {"age, Huber loss ↓": 0.085, "gender, % ↑": 90.5, "ethnicity, % ↑": 80.0}


def test_faces_have_every_row_of_the_paper():
    found, printed = tables.report("utkface", {}), table("utkface")
    methods = found.index.get_level_values(0)
    assert {*methods.str.split(",").str[0]} == {*printed["method"]}
    assert [name for name in methods.unique() if name.startswith("PaMaL")] == [
        "PaMaL, W = 1, p = 1, gradient balancing",
        "PaMaL, W = 3, p = 2, loss balancing",
        "PaMaL, W = 3, p = 2, gradient balancing",
    ]
    for column, measure in zip(("age", "gender", "ethnicity"), OURS, strict=True):
        ls = found.loc["LS", measure]
        row = printed.set_index("method").loc["LS"]
        assert (ls["paper"], ls["paper ±"]) == (row[column], pytest.approx(row[f"{column}_std"]))


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
    found = tables.compare(runs_of(record("utkface/pamal", FACES, **options))).loc["B3, UTKFace"]
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
    cells = tables.compare(runs_of(made)).loc["5.3 and C4, CityScapes, setting II"]
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


@pytest.mark.parametrize("changed", [{"validation": 475}, {"depth_scaling": "divide"}], ids=str)
def test_what_the_paper_leaves_open_of_streets_may_be_any(changed):
    made = record("cityscapes/pamal", [street()], **changed)
    assert tables.compare(runs_of(made))["ours"].tolist() == pytest.approx(
        [70.0, 92.0, 0.015, 50.0]
    )


def test_the_two_settings_of_streets_do_not_mix():
    first = runs_of(record("cityscapes/pamal", [street()], setting="I"))
    assert tables.compare(first).index.get_level_values(0).unique().tolist() == [
        "C4, CityScapes, setting I"
    ]
    assert tables.report("cityscapes_II", first)["ours"].isna().all()
    planned = {s.values["setting"] for s in tables.planned("cityscapes_I")}
    assert planned == {"I"} and Setting("cityscapes", "ls") in tables.planned("cityscapes_II")


def test_the_frame_of_a_page_has_its_own_run_beside_the_paper(tmp_path):
    """As a notebook does: a run, the other seeds of it, and their rows."""
    record(seed=3).write(tmp_path / "pamal_seed_3.json")
    found = tables.compare(frame.with_others(record(seed=5), tmp_path))
    assert (found["seeds"] == 2).all() and set(found.index.get_level_values(0)) == {
        "C2, MultiMNIST", "B1, MultiMNIST",
    }  # fmt: skip
