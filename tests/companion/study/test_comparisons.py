"""Settings against settings, seed by seed."""

import copy

import numpy as np
import pytest
import torch
from made_up import EXPERIMENTS, record, runs_of, staircase
from scipy import stats
from scipy.stats import spearmanr
from torch.nn.utils import parameters_to_vector

from pamal_companion.plots.studies import rates_figure
from pamal_companion.runs import grid
from pamal_companion.study import comparisons, frame, paper, tables
from pamal_companion.study.frame import Setting, select
from pamal_core import WeightEnsemble
from pamal_core.errors import InputError

DATA = ("multimnist", "census")
OURS = "PaMaL, W = 4, λ = 0"
ROWS = grid.read("choices")


def one(where="multimnist/ls", value=0.9, seed=0, **options):
    """A run of one point, `value` on both tasks, that took a minute."""
    return record(where, [(value, value)], seed=seed, **options)


# Choices.


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['setting']}, {row['option']}")
def test_two_runs_of_a_choice_differ_in_the_option_alone(row):
    setting = select(row["setting"])
    both = [
        setting.having(**grid.parameters(f"{row['option']}={row[which]}"))
        for which in ("default", "other")
    ]
    planned = {frame.of(run) for run in grid.by_record().values()}
    assert {*both} <= planned
    values = [one.values for one in both]
    assert {n for n in values[0] if values[0][n] != values[1][n]} == {row["option"]}
    own = EXPERIMENTS[setting.experiment].options.create(method=setting.method).model_dump()
    assert str(own[row["option"]]) == row["default"]


def test_differences_of_choices_are_those_of_the_points_of_the_records(runs):
    volumes, checked = comparisons.choices(runs), 0
    for row, (_, cells) in zip(ROWS, volumes.iterrows(), strict=True):
        setting = select(row["setting"])
        pair = [
            [
                *runs.get(
                    setting.having(**grid.parameters(f"{row['option']}={row[which]}")), {}
                ).values()
            ]
            for which in ("default", "other")
        ]
        if all(pair) and len(pair[0][0].objectives) == 2:
            means = [np.mean([staircase(one.front().values) for one in found]) for found in pair]
            away = float(cells["difference [95 %]"].split()[0])
            assert away == pytest.approx(means[1] - means[0], abs=5e-5)
            assert float(cells["default"]) == pytest.approx(means[0], abs=5e-5)
            checked += 1
    assert checked > 3
    orders = comparisons.choices(runs, "order", "pamal")
    assert len(orders) == sum(row["runs"].startswith("PaMaL") for row in ROWS)


def test_an_order_is_ahead_where_it_is_less(runs):
    """-1 is a front in order."""
    found = comparisons.choices(runs, "order", "pamal").iloc[0]
    assert float(found["other"]) > float(found["default"]) and found["verdict"] == "behind"


def test_without_records_no_choice_is_measured():
    assert (comparisons.choices({})["verdict"] == "not run").all()


def test_the_order_is_the_mean_rank_correlation_of_the_losses():
    made = []
    for penalty, of_tasks in (("ordered", (-1.0, -0.8)), ("printed", (0.5, 0.7))):
        names = ("age/loss", "education/loss", "age/accuracy")
        found = {"spearman": dict(zip(names, (*of_tasks, 0.3), strict=True))}
        made.append(record("census/pamal", changes=found, seed=7, penalty=penalty))
    cells = comparisons.choices(runs_of(*made), "order", "pamal").iloc[0]
    numbers = cells["default"], cells["other"], cells["difference [95 %]"]
    assert numbers == ("-0.9000", "0.6000", "+1.5000")


# Equal cost.


def test_costs_are_those_of_all_networks_of_a_contender():
    made = [one("multimnist/pamal", v, seed=s) for s, v in ((5, 0.9), (7, 0.8))]
    made[1].cost["train_seconds"] = 120.0
    extras = [
        dict(s.options)["weights"]
        for s in frame.planned("multimnist", "beyond/")
        if "weights" in dict(s.options)
    ]
    made += [one(value=0.5 + 0.1 * k, weights=[*w]) for k, w in enumerate(extras)]
    rows = comparisons.costs("multimnist", runs_of(*made))
    pamal = rows.loc[OURS]
    assert (pamal["passes"], pamal["seeds"]) == (40, "2")
    deviation = np.std([0.81, 0.64], ddof=1)
    assert pamal["hypervolume ↑ ± sd"] == f"0.7250 ± {deviation:.4f}"
    assert rows.loc[comparisons.FIVE, "passes"] == "not run"  # one is missing
    made.append(one(value=0.4))
    five = comparisons.costs("multimnist", runs_of(*made)).loc[comparisons.FIVE]
    assert (five["passes"], five["hypervolume ↑ ± sd"]) == (50, "0.6400")
    assert five["networks"] == "5"


def test_a_contender_is_beside_the_first_as_another_sample():
    ours, theirs = {3: 0.9, 5: 0.8, 7: 0.85}, {5: 0.7, 7: 0.8, 9: 0.1}
    made = [one("multimnist/pamal", v, seed=s) for s, v in ours.items()]
    made += [one("multimnist/ls", v, seed=s) for s, v in theirs.items()]
    rows = comparisons.costs("multimnist", runs_of(*made))
    (column,) = (name for name in rows if "first" in name)
    pair = [np.square([*side.values()]) for side in (theirs, ours)]
    low, high = stats.ttest_ind(*pair, equal_var=False).confidence_interval(0.95)
    away = pair[0].mean() - pair[1].mean()
    value, ends = rows.loc["LS", column].split(" [")
    assert value == f"{away:+.4f}"
    # At most the freedom of equal deviations, which these have nearly.
    assert [float(end) for end in ends[:-1].split(",")] == pytest.approx([low, high], abs=0.002)
    assert rows[column].dropna().index.tolist() == ["LS"]


@pytest.mark.parametrize("data", DATA)
def test_at_equal_cost_ls_has_as_many_passes_as_pamal(data, runs):
    found = comparisons.of_equal_cost(data, runs)
    ours, longer, five = found
    assert ours.startswith("PaMaL") and five == comparisons.FIVE
    assert longer.startswith("LS, ") and "epochs" in longer
    rows = comparisons.costs(data, runs)
    assert rows.loc[ours, "passes"] == rows.loc[longer, "passes"]
    for name, fronts in found.items():
        assert rows.loc[name, "seeds"] == str(len(fronts))
    assert comparisons.of_equal_cost(data, {}) == {}


def test_a_trick_is_compared_over_all_seeds_of_either_side():
    made = []
    for seed, (before, after) in {3: (0.9, 0.8), 5: (0.7, 0.9), 7: (0.8, None)}.items():
        made.append(one(value=before, seed=seed))
        made += [one(value=after, seed=seed, average=0.99)] if after else []
    rows = comparisons.tricks("multimnist", runs_of(*made))
    row = rows.loc["LS: EMA 0.99"]
    assert (row["without"], row["with"], row["seeds"]) == ("0.6467", "0.7250", "3 and 2")
    assert row["difference [95 %]"].startswith("+0.0783 [")
    assert rows.loc[f"{OURS}: EMA 0.99", "verdict"] == "not run"
    assert rows.index[-1] == "PaMaL: stratified draws, both with the EMA" and rows.index.is_unique


@pytest.mark.parametrize("data", DATA)
def test_the_baselines_are_linear_scalarisation_and_the_two_best(data, runs):
    means = {
        method: frame.measured(runs, Setting(data, method), "hypervolume", "validation")[:3].mean()
        for method in paper.ONE_NETWORK
        if method != "ls"
    }
    best = sorted(means, key=means.get)[-2:]
    assert {*comparisons.RIVALS[data]} == {"ls", *best}


@pytest.mark.parametrize("data", DATA)
def test_longer_runs_have_the_passes_or_the_steps_of_pamal(data):
    ours = Setting(data, "pamal").values
    extras = frame.planned(data, "beyond/")
    longer = [s for s in extras if "epochs" in dict(s.options)]
    mixed = [s for s in longer if s.method in ("pamal", "soup")]
    assert {s.passes for s in mixed} == {10, Setting(data, "pamal").passes}
    longer = [s for s in longer if s not in mixed]
    assert {s.method for s in longer} == {*comparisons.RIVALS[data]}
    windows = {s.values["W"] for s in extras if s.method == "pamal"} | {ours["W"]}
    assert {s.values["epochs"] for s in longer} == {10 * W for W in windows - {1}}
    batches = {s.values["batch_size"] for s in longer} - {ours["batch_size"]}
    assert batches == {ours["batch_size"] * ours["W"]}


@pytest.mark.parametrize("data", DATA)
def test_the_order_of_each_setting_of_pamal_is_that_of_its_records(data, runs):
    table = comparisons.order(data, runs)
    assert table.index.is_unique and table.seeds.ge(3).all()
    label, task = Setting(data, "pamal").name(), paper.TASKS[data][0]
    assert table.columns[1] == f"order in loss, {task} ↓"
    correlations = []
    for found in runs[Setting(data, "pamal")].values():
        seen = [p for p in found.points if p["split"] == "validation"]
        cares, losses = zip(
            *[(p["alpha"][0], p["metrics"][f"{task}/loss"]) for p in seen], strict=True
        )
        correlations.append(spearmanr(cares, losses).statistic)
    mean, deviation = np.mean(correlations), np.std(correlations, ddof=1)
    assert table.loc[(label, "last"), table.columns[1]] == f"{mean:.4f} ± {deviation:.4f}"
    assert comparisons.order(data, {}).empty


# Rates.


def moved(optimiser, alpha):
    """How far the mixture at `alpha` of two equal members moves in one step of `optimiser`, in
    steps of one network with the same rate and the same gradient."""
    network = torch.nn.Linear(3, 1, dtype=torch.float64)
    ensemble = WeightEnsemble([network, copy.deepcopy(network)])
    at = torch.tensor(alpha, dtype=torch.float64)
    steps = []
    for trained, weights in (
        (network, lambda: parameters_to_vector(network.parameters())),
        (ensemble, lambda: parameters_to_vector(ensemble.weights(at).values())),
    ):
        before = weights().detach()
        step = optimiser(trained.parameters(), lr=0.01)
        (weights() * torch.linspace(0.5, 2, 4)).sum().backward()
        step.step()
        steps.append(weights().detach() - before)
    return steps[1] / steps[0]


@pytest.mark.parametrize("alpha", [(0.5, 0.5), (0.9, 0.1)])
def test_a_mixture_moves_as_one_network_under_adam_alone(alpha):
    ones = torch.ones(4, dtype=torch.float64)
    torch.testing.assert_close(moved(torch.optim.Adam, alpha), ones, atol=1e-6, rtol=0)
    descent = ones * np.square(alpha).sum()
    torch.testing.assert_close(moved(torch.optim.SGD, alpha), descent)


def test_the_table_of_rates_has_each_once_and_says_what_is_not_run():
    made = [one(value=v**0.5, seed=s) for s, v in ((5, 0.9), (7, 0.8))]
    made.append(one(value=0.7**0.5, lr=0.002))
    found = comparisons.rates("multimnist", runs_of(*made))
    table = comparisons.rates_table(found)
    assert table.index.is_unique
    deviation = np.std([0.9, 0.8], ddof=1)
    assert table.loc[("LS", "last", 0.001), "validation"] == f"0.8500 ± {deviation:.4f}"
    assert table.loc[("LS", "last", 0.002), "validation"] == "0.7000"
    assert table.loc[("LS", "last", 0.004), "test"] == "not run"
    ax = rates_figure(found, ["last"], "here").axes[0]
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_ls() == "-"]
    assert line.get_ydata().tolist() == pytest.approx([0.85, 0.7])


def test_the_legend_of_rates_has_what_one_panel_alone_shows():
    made = one(), one("multimnist/pamal", average=0.99)
    found = comparisons.rates("multimnist", runs_of(*made))
    figure = rates_figure(found, ["last", "EMA 0.99"], "here")
    assert [len(ax.containers) for ax in figure.axes] == [1, 1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LS", OURS]


@pytest.mark.parametrize("data", ["multimnist", "census", "multimnist3"])
def test_no_run_stands_twice_at_a_rate_and_each_setting_has_several(data, runs):
    found = comparisons.rates(data, runs)
    assert not found.duplicated(["setting", "weights", "rate", "seed"]).any()
    assert (found.groupby("setting", observed=True)["rate"].nunique() > 1).all()
    assert (comparisons.rates_table(comparisons.rates(data, {})) == "not run").all(axis=None)


# The authors' seeds.


def test_the_authors_fronts_have_their_published_hypervolumes():
    fronts = [*paper.authors_fronts()["pamal"].values()]
    assert [len(front.alphas) for front in fronts] == [11] * 3
    assert all((np.diff(front.alphas[:, 0]) < 0).all() for front in fronts)
    volumes = [front.hypervolume([0.0, 0.0]) for front in fronts]
    np.testing.assert_allclose(volumes, [0.9190, 0.9164, 0.9147], atol=5e-5)


def test_the_authors_lead_over_ls_is_that_of_one_seed_against_one_seed(runs):
    found = comparisons.leads(runs)["lead [95 %]"].str.partition(" ")[0]
    assert found["test", "authors"] == "+0.0151" and found["validation", "authors"] == "+0.0215"
    assert found["test", "ours"] == "+0.0214" and found["validation", "ours"] == "+0.0209"
    assert (comparisons.leads({})["lead [95 %]"].xs("ours", level=1) == "").all()


# Figure 4.


@pytest.mark.parametrize("data", DATA)
def test_figure_4_has_every_run_that_there_is(data, runs):
    figure = comparisons.figure_4(data, runs)
    panels = {ax.get_title(): ax for ax in figure.axes if ax.get_title()}
    lines = {name: [line.get_xydata() for line in ax.lines] for name, ax in panels.items()}

    def has(name, values):
        return any(len(xy) == len(values) and np.allclose(xy, values) for xy in lines[name])

    for found in [*runs[Setting(data, "pamal")].values()][:3]:
        assert all(has(name, found.front("test").values) for name in panels)
    for method in ("phn", "cosmos"):
        found = runs[Setting(data, method)][0]
        assert has(paper.PRINTED[method], found.front("test").values)
        tried = [runs[s] for s in tables.planned(f"{method}_{data}") if s in runs]
        best = max(tried, key=lambda made: np.mean([run.hypervolume() for run in made.values()]))
        for run in [*best.values()][:3]:
            assert has(paper.PRINTED[method], run.front("test").values)
    for method in paper.ONE_NETWORK:
        (dots,) = panels[paper.PRINTED[method]].collections
        for found in [*runs[Setting(data, method)].values()][:3]:
            near = np.isclose(dots.get_offsets(), found.front("test").values)
            assert near.all(1).any(), method
    assert len(panels) == len(paper.ONE_NETWORK) + 2


def few(data, *others, seeds=(0,)):
    """PaMaL, linear scalarisation and single tasks, and `others`."""
    stl = [record(f"{data}/stl", [(0.85,)], task=t) for t in range(2)]
    made = [record(f"{data}/{m}", seed=s) for m in ("pamal", "ls") for s in seeds]
    for found in made[len(seeds) :]:
        found.points[:] = [p for p in found.points if p["alpha"][0] == 1]
    return runs_of(*made, *stl, *others)


def test_figure_4_says_how_much_of_a_baseline_is_outside():
    alone = comparisons.figure_4("census", few("census"))
    assert alone.get_label().endswith("Baselines: 1 seed each.")
    away = record("census/cosmos", [(0.9, 0.7), (0.85, 0.75), (0.01, 0.01)])
    figure = comparisons.figure_4("census", few("census", away))
    assert "each. COSMOS by default: 1 seed each." in figure.get_label()
    (ax,) = figure.axes
    (line,) = (one for one in ax.lines if one.get_label().startswith("COSMOS"))
    values = line.get_xydata()
    assert np.allclose(values, away.front("test").values)
    outside = sum(not ax.viewLim.contains(*point) for point in values)
    assert outside == 1 and "1 outside" in [one.get_title().get_text() for one in ax.artists]


def test_figure_4_has_the_setting_of_a_baseline_that_is_best_on_validation():
    heights = {(0.1, 1.0): 0.7, (2.0, 0.1): 0.8, (1.0, 5.0): 0.75}  # by p and lambda
    tried = [
        record("census/cosmos", [(v + seed / 100, 0.7), (0.7, v)], p=p, lam=lam, seed=seed)
        for (p, lam), v in heights.items()
        for seed in range(4)
    ]
    own = record("census/cosmos", [(0.9, 0.9)])  # its authors' setting is not one of the paper's
    figure = comparisons.figure_4("census", few("census", own, *tried))
    drawn = figure.axes[0].lines
    (default,) = (line for line in drawn if line.get_label() == "COSMOS")
    assert np.allclose(default.get_xydata(), own.front("test").values)
    tuned = [line.get_xydata() for line in drawn if line.get_label() == "COSMOS, tuned"]
    assert np.allclose(tuned, [run.front("test").values for run in tried[4:7]])
    assert figure.get_label().endswith("As tuned on validation: 3 seeds each.")


def test_figure_4_needs_pamal_and_single_tasks_and_nothing_else():
    full = few("census")
    without = {s: found for s, found in full.items() if s.method != "ls"}
    assert comparisons.figure_4("census", without).get_label().endswith("test.")
    for method in ("pamal", "stl"):
        rest = {s: found for s, found in full.items() if s.method != method}
        with pytest.raises(InputError, match="Figure 4 needs"):
            comparisons.figure_4("census", rest)


@pytest.mark.parametrize(("seeds", "drawn"), [((3, 5), 2), ((3, 5, 7, 9, 11), 3)])
def test_figure_4_draws_three_of_many_seeds_and_names_them(seeds, drawn):
    (ax, *_) = comparisons.figure_4("census", few("census", seeds=seeds)).axes
    assert len([line for line in ax.lines if line.get_label().startswith("PaMaL")]) == drawn
    assert [text.get_text() for text in ax.texts] == [f"seed {seed}" for seed in seeds[:drawn]]


def test_draws_spread_by_their_means_and_seeds_within_them():
    values = {0: (0.8, 0.82), 1: (0.9, 0.92), 3: (0.85, 0.89)}
    made = [
        record("multimnist/ls", [(v, 0.5)], seed=s, draw=draw)
        for draw, of in values.items()
        for s, v in enumerate(of)
    ]
    made.append(record("multimnist/ls", [(0.1, 0.1)], seed=2))  # a seed that other draws have not
    made.append(record("multimnist/pamal"))  # not run on several draws
    found = comparisons.draws(runs_of(*made))
    assert [*found.index] == [("LS", f"{t}/accuracy") for t in ("top-left", "bottom-right")] + [
        ("LS", "hypervolume")
    ]
    row = found.iloc[0]
    assert [row[f"draw {k}"] for k in values] == pytest.approx([0.81, 0.91, 0.87])
    assert row["± draws"] == pytest.approx(np.std([0.81, 0.91, 0.87], ddof=1))
    within = np.mean([np.var(of, ddof=1) for of in values.values()])
    assert (row["± seeds"], row["seeds"]) == (pytest.approx(np.sqrt(within)), 2)
    assert found["seeds"].dtype == int
    assert comparisons.draws(runs_of(record("multimnist/ls"))).empty


def test_a_method_on_other_data_is_ahead_of_none_and_behind_none():
    """Labels move the hypervolume further than methods do."""
    other = {"masters": "mended", "data": "census/full/age+education/mended/seed=0/x"}
    good, bad = [(0.9, 0.9), (0.8, 0.95)], [(0.6, 0.6)]
    ours = [record("census/pamal", good, seed=seed) for seed in range(3)]
    theirs = [record("census/ls", bad, seed=seed) for seed in range(3)]
    mended = [record("census/uw", bad, seed=seed, **other) for seed in range(3)]
    runs = runs_of(*ours, *theirs, *mended)
    named = {setting: setting.method for setting in runs}
    found = comparisons.ahead(named, runs, {"HV": "hypervolume"})["verdict"]
    assert found.to_dict() == {("HV", "pamal", "ls"): "ahead", ("HV", "pamal", "uw"): "other data"}


def test_the_large_front_has_ls_of_equal_epochs_and_of_equal_compute(runs):
    by_seed = {seed: runs[select("multimnist/pamal")][seed] for seed in (0, 1, 2)}
    record = by_seed[0]
    (ax,) = comparisons.front_beside_ls(record, by_seed, runs).axes
    marks = {dots.get_label(): dots.get_offsets() for dots in ax.collections}
    epochs, passes = select("multimnist/ls"), select("multimnist/ls epochs=40")
    for name, setting in (("LS, 10 epochs", epochs), ("LS, 40 epochs", passes)):
        expected = [runs[setting][seed].front("validation").values[0] for seed in (0, 1, 2)]
        assert np.asarray(marks[name]) == pytest.approx(np.array(expected)), name
    lines = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 11]
    for one in by_seed.values():
        front = one.front("validation").values
        assert any(np.allclose(line, front) for line in lines)


def test_no_large_front_without_baselines_of_its_setting(runs):
    record = runs[select("multimnist/pamal")][0]
    assert comparisons.front_beside_ls(record, {0: record}, {}) is None
    ls = runs[select("multimnist/ls")][0]
    assert comparisons.front_beside_ls(ls, {0: ls}, runs) is None
