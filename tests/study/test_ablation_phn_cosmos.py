"""The sweeps of PHN and COSMOS (appendix B4)."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy.stats import spearmanr

from pamal_core.errors import InputError
from pamal_core.experiments.ablations import SweepOptions, runs
from pamal_core.runs.records import Record
from pamal_core.runs.sweep import file_name
from pamal_core.study import ablation_phn_cosmos as ablation
from pamal_core.study.paper import table

TABLES = [(e, m) for e in ("census", "multimnist") for m in ("phn", "cosmos")]
HAND_MADE = {
    "in order": [(0.9, 0.5), (0.8, 0.6), (0.7, 0.7)],
    "reversed": [(0.7, 0.5), (0.8, 0.6), (0.9, 0.7)],
    "with ties": [(0.9, 0.5), (0.9, 0.6), (0.7, 0.6), (0.6, 0.4), (0.6, 0.9)],
    "without order": [(0.9, 0.5), (0.6, 0.4), (0.7, 0.8), (0.65, 0.6)],
}


def record(points, method="cosmos", seed=0, data="census/full/x", **options):
    names = ("age", "education")
    alphas = np.linspace(1, 0, len(points))
    rows = [
        {
            "alpha": [a, 1 - a],
            "split": "validation",
            "metrics": {f"{n}/accuracy": v for n, v in zip(names, point, strict=True)}
            | {f"{n}/loss": 1 - v for n, v in zip(names, point, strict=True)},
        }
        for a, point in zip(alphas, points, strict=True)
    ]
    given = Record(
        experiment="census",
        method=method,
        options={"p": 0.1, "lam": 1.0, "epochs": 10} | options,
        seed=seed,
        data=data,
        objectives={f"{name}/accuracy": "max" for name in names},
        points=rows,
        summary={},
        cost={},
        versions={},
    )
    volume = given.front().hypervolume((0.0, 0.0))
    return given.model_copy(update={"summary": {"validation": {"hypervolume": volume}}})


def by_brute_force(rows, threshold):
    """The winner among (setting, hypervolume, spearman) by looking at each."""
    best = None
    for key, volume, spearman in rows:
        passes = threshold is None or spearman < threshold
        if passes and (best is None or volume > best[1]):
            best = key, volume
    return best and best[0]


@pytest.mark.parametrize("points", HAND_MADE.values(), ids=HAND_MADE)
def test_spearman_is_scipys_correlation_of_the_two_accuracies(points):
    (row,) = ablation.measured([record(points)]).itertuples(index=False)
    assert row.spearman == pytest.approx(spearmanr(*zip(*points, strict=True)).statistic)


def test_spearman_is_minus_one_on_a_front_in_order_whichever_way_alpha_runs():
    points = HAND_MADE["in order"]
    for order, ordered in ((1, points), (-1, points[::-1])):
        (row,) = ablation.measured([record(ordered)]).itertuples(index=False)
        assert row.spearman == pytest.approx(-1) and row.order == pytest.approx(order)


def test_the_measured_table_has_the_means_over_the_seeds_of_each_setting():
    seeds = [record(HAND_MADE[name], seed=k) for k, name in enumerate(HAND_MADE)]
    other = record(HAND_MADE["in order"], lam=5.0, lr=1e-4)
    found = ablation.measured([seeds[0], other, *seeds[1:]])
    assert found.index.tolist() == [(0.1, 1.0, 1e-3), (0.1, 5.0, 1e-4)]
    one = found.iloc[0]
    assert one["age/accuracy"] == pytest.approx(0.9)
    assert one["education/accuracy"] == pytest.approx((0.7 + 0.7 + 0.9 + 0.8) / 4)
    each = [spearmanr(*zip(*points, strict=True)).statistic for points in HAND_MADE.values()]
    assert one.spearman == pytest.approx(np.mean(each))
    volumes = [r.summary["validation"]["hypervolume"] for r in seeds]
    assert one.hypervolume == pytest.approx(np.mean(volumes))


def test_a_setting_whose_metric_never_moves_in_one_seed_meets_no_threshold():
    stuck = record([(0.9, 0.9), (0.9, 0.95)], seed=1)
    found = ablation.measured([record(HAND_MADE["in order"]), stuck])
    assert math.isnan(found.spearman.item())
    assert ablation.winner(found, None) == (0.1, 1.0, 1e-3)
    assert ablation.winner(found, -0.5) is None


def test_the_options_a_record_leaves_out_are_the_defaults():
    assert ablation.setting(record([(1, 1)], "phn")) == (0.1, "linear", 1e-3)
    assert ablation.setting(record([(1, 1)], "phn", solver="epo", lr=1e-4)) == (0.1, "epo", 1e-4)


def test_winners_are_those_found_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(100):
        rows = [((p, "linear", 1e-3), *rng.uniform(-1, 1, 2).round(1)) for p in (0.1, 1.0, 2.0)]
        keys = pd.MultiIndex.from_tuples([row[0] for row in rows], names=ablation.SWEPT["phn"])
        found = pd.DataFrame([row[1:] for row in rows], keys, ["hypervolume", "spearman"])
        for threshold in ablation.THRESHOLDS:
            assert ablation.winner(found, threshold) == by_brute_force(rows, threshold)


@pytest.mark.parametrize(
    ("experiment", "method", "expected"),
    [
        ("census", "phn", [(0.1, "epo", 1e-4), (2, "epo", 1e-4), (0.01, "linear", 1e-4)]),
        ("census", "cosmos", [(2, 0.1, 1e-4), (1, 5, 1e-3), (1, 5, 1e-3)]),
        ("multimnist", "phn", [(0.5, "linear", 1e-3)] * 3),
        ("multimnist", "cosmos", [(5, 1, 1e-3), (0.1, 1, 1e-3), (0.1, 1, 1e-3)]),
    ],
)
def test_the_winners_of_the_papers_tables_are_those_read_off_by_hand(experiment, method, expected):
    printed = ablation.printed(experiment, method)
    assert [ablation.winner(printed, t) for t in ablation.THRESHOLDS] == expected


def test_a_threshold_that_nobody_meets_has_no_winner_and_says_so():
    printed = ablation.printed("census", "cosmos")
    assert ablation.winner(printed, -1.0) is None  # the lowest is -1 itself
    loose = printed.assign(spearman=-0.55)
    found = ablation.winners({"cosmos": loose})
    assert found.setting.tolist()[1:] == ["p = 2, lam = 0.1, lr = 0.0001", "no setting passes"]
    assert found.hypervolume.isna().tolist() == [False, False, True]


@pytest.mark.parametrize(("experiment", "method"), TABLES)
def test_a_grid_is_the_rows_of_the_papers_table(experiment, method):
    rows = table(f"{method}_{experiment}").iloc[:, :3].values.tolist()
    lowered = [[v.lower() if isinstance(v, str) else v for v in row] for row in rows]
    chosen = SweepOptions.create(experiment=experiment, methods=method)
    found = chosen.settings(is_sample=False)[1:]
    assert [[*setting.values()][1:-1] for setting in found] == lowered
    assert {setting["method"] for setting in found} == {method}
    few = chosen.settings(is_sample=True)[1:]
    assert 0 < len(few) <= 4 and all(setting in found for setting in few)


def test_learning_rates_narrow_a_grid_and_others_are_refused():
    slow = {"lrs": 1e-4}
    chosen = SweepOptions.create(experiment="census", methods="cosmos", **slow)
    assert len(chosen.settings(is_sample=False)) == 1 + 24
    with pytest.raises(InputError, match=r"phn on multimnist, \[0.001\]. Found \(0.0001,\)"):
        SweepOptions.create(experiment="multimnist", **slow).settings(is_sample=False)


def test_each_seed_has_pamal_and_every_setting_under_a_name_of_its_own():
    options = SweepOptions.create(seeds="0,2", methods="phn, cosmos")
    found = options.settings(is_sample=False)
    assert len(found) == 2 * (1 + 20 + 48)
    assert len({file_name(setting) for setting in found}) == len(found)
    assert [s["seed"] for s in found if s["method"] == "pamal"] == [0, 2]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"methods": "phn,pamal"}, "`methods` must be 'phn' or 'cosmos'"),
        ({"seeds": "0,x"}, "`seeds` must be a valid integer"),
        ({"lrs": "fast"}, "`lrs` must be a valid number"),
        ({"W": 2}, "This notebook has no `W`. Known: experiment, seeds, results"),
        ({"recorded": True}, "`recorded` needs `results`"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_in_one_line(values, line):
    with pytest.raises(InputError, match=line):
        SweepOptions.create(**values)


def test_only_full_data_and_the_papers_epochs_are_set_beside_its_numbers():
    points = HAND_MADE["in order"]
    assert ablation.is_comparable(record(points))
    assert not ablation.is_comparable(record(points, data="census/sample/x"))
    assert not ablation.is_comparable(record(points, epochs=3))
    ours = ablation.measured([record(points, lam=2.0)])
    both = ablation.beside_the_paper(ours, ablation.printed("census", "cosmos"), True).iloc[0]
    assert both["paper"].tolist() == [0.8196, 0.7883, 0.6448, -0.9960]
    assert both["measured"].tolist() == ours.iloc[0].tolist()
    assert both.index.get_level_values(1).tolist().count("order") == 1
    assert ablation.beside_the_paper(ours, ours, False).equals(ours)


def test_the_sample_is_swept_and_the_figure_shows_the_winners_and_who_has_none(tmp_path):
    options = SweepOptions.create(
        methods="cosmos", data="sample", epochs=1, device="cpu", results=str(tmp_path)
    )
    found, splits = runs(options, progress=False)
    records = {m: [r for r in found if r.method == m] for m in ("pamal", "cosmos")}
    assert splits.is_sample and len(records["pamal"]) == 1 and len(records["cosmos"]) == 4
    tables = {"cosmos": ablation.measured(records["cosmos"]).assign(spearman=-0.55)}
    panels = ablation.panels(records, tables)
    assert [*panels] == ["no threshold", "S < \N{MINUS SIGN}0.5", "S < \N{MINUS SIGN}0.6"]
    won = ablation.winner(tables["cosmos"], None)
    (shown,) = panels["S < \N{MINUS SIGN}0.5"]["COSMOS"].fronts
    (mine,) = (r for r in records["cosmos"] if ablation.setting(r) == won)
    assert np.array_equal(shown.values, mine.front().values)
    from pamal_core.plots.criterion import winners_figure

    figure = winners_figure(panels, "Sample.")
    top, bottom = np.array(figure.axes).reshape(2, 3)
    assert [len(ax.lines) for ax in (*top, *bottom)] == [4, 4, 2, 4, 4, 2]
    assert "COSMOS: no setting passes" in top[2].get_title()
    assert top[0].lines[2].get_xydata().tolist() == mine.front().values.tolist()
    assert bottom[0].lines[2].get_xydata().tolist() == mine.front().on("loss").values.tolist()
    plt.close(figure)

    kept = [*tmp_path.glob("cosmos*.json")]
    kept[0].unlink()
    again, _ = runs(options.model_copy(update={"recorded": True}), progress=False)
    assert [r.method for r in again].count("cosmos") == 3 and not kept[0].exists()
    for path in kept[1:]:
        path.unlink()
    with pytest.raises(InputError, match="must have a record of cosmos"):
        runs(options.model_copy(update={"recorded": True}), progress=False)


def test_tables_and_winners_need_no_torch():
    code = "import sys, pamal_core.study.ablation_phn_cosmos; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
