"""What is beyond the paper: costs, tricks, and what is attained over seeds."""

import json

import numpy as np
import pandas as pd
import pytest
from commands_on_disk import record
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.collections import PolyCollection
from notebook_text import passage
from scipy.stats import bootstrap, spearmanr
from test_reproduction import staircase

from pamal_core.front import Front, Objective, attained
from pamal_core.plots.attainment import attainment_figure
from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study import beyond
from pamal_core.study.pairs import interval
from pamal_core.study.tables import ONE_NETWORK, RESULTS


def fronts_of(values, maximise=(True, True)):
    """A front for each [P, 2] of `values`."""
    objectives = tuple(Objective(f"{n}/metric", way) for n, way in zip("ab", maximise, strict=True))
    names = [o.name for o in objectives]
    return [Front(np.ones((len(v), 1)), pd.DataFrame(v, columns=names), objectives) for v in values]


def test_what_all_attain_and_what_one_does_of_two_crossing_fronts():
    fronts = fronts_of([[(3.0, 1.0)], [(2.0, 2.0)]])
    assert sorted(map(tuple, attained(fronts, 0.5))) == [(2.0, 2.0), (3.0, 1.0)]
    assert attained(fronts, 1.0).tolist() == [[2.0, 1.0]]
    losses = fronts_of([[(3.0, 1.0)], [(2.0, 2.0)]], maximise=(False, False))
    assert attained(losses, 1.0).tolist() == [[3.0, 2.0]]
    mixed = fronts_of([[(3.0, 1.0)], [(2.0, 2.0)]], maximise=(True, False))
    assert attained(mixed, 1.0).tolist() == [[2.0, 2.0]]


@settings(deadline=None)  # the first call loads a library
@given(
    values=arrays(float, (4, 5, 2), elements=st.integers(0, 20).map(float)),
    at=arrays(float, (30, 2), elements=st.integers(0, 20).map(float)),
    count=st.integers(1, 4),
)
def test_a_point_is_below_the_surface_where_so_many_fronts_reach_it(values, at, count):
    surface = attained(fronts_of(values), count / 4)
    reached = (values[:, :, None] >= at).all(-1).any(1).sum(0) >= count
    below = (surface[:, None] >= at).all(-1).any(0)
    np.testing.assert_array_equal(below, reached)


def test_the_figure_draws_the_surface_of_half_the_seeds_and_the_band_of_all_to_one():
    values = [[(0.9, 0.5), (0.6, 0.8)], [(0.8, 0.6)], [(0.85, 0.55), (0.5, 0.9)]]
    figure = attainment_figure({"PaMaL": fronts_of(values), "LS": fronts_of(values[:1])}, "here")
    (ax,) = figure.axes
    line = ax.lines[0]
    heights = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    for x, height in heights.items():
        reach = sorted(max([y for a, y in front if a >= x], default=-9) for front in values)
        assert height == (reach[1] if reach[1] > 0 else pytest.approx(ax.get_ylim()[0] - 1))
    assert heights[0.85] == 0.5 and heights[0.8] == 0.55
    bands = [artist for artist in ax.collections if isinstance(artist, PolyCollection)]
    fills, hatches = bands[::2], bands[1::2]
    assert len(fills) == len(hatches) == 2 and hatches[0].get_hatch() != hatches[1].get_hatch()
    assert all(
        len(fill.get_facecolor()) and not len(hatch.get_facecolor())
        for fill, hatch in zip(fills, hatches, strict=True)
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PaMaL", "LS"]


def test_the_interval_of_few_values_has_every_resample():
    # Of 27 resamples of (0, 0, 3) the means are 0, 1, 2, 3 in 8, 12, 6 and 1 of them.
    assert interval([0.0, 0.0, 3.0]) == pytest.approx((0.0, 3.0))
    assert interval([0.2]) == (0.2, 0.2)


def test_the_interval_is_that_of_many_random_resamples():
    values = np.random.default_rng(0).normal(size=5)
    drawn = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert interval(values) == pytest.approx((drawn.low, drawn.high), abs=0.02)


def run(folder, name, *, seed=0, value=0.9, W=None, epochs=10, seconds=60.0):
    """A record whose front on validation is one point, `value` on both tasks."""
    options = {"epochs": epochs} | ({"W": W, "lam": 0.0} if W else {})
    cost = {"train_seconds": seconds, "evaluate_seconds": 1.0, "peak_memory_bytes": None}
    one = record(seed=seed, options=options, method="pamal" if W else "ls", cost=cost)
    for point in one.points:
        point["metrics"] |= dict.fromkeys(one.objectives, value)
    one.write(folder / f"{name}_seed_{seed}.json")


def test_costs_are_those_of_all_networks_of_a_contender(tmp_path):
    for seed, value in enumerate((0.9, 0.8)):
        run(tmp_path, "multimnist/pamal", seed=seed, value=value, W=4, seconds=60 * (seed + 1))
    for k, name in enumerate(("9-1", "3-1", "1-3", "1-9")):
        run(tmp_path, f"beyond/multimnist/ls-{name}", value=0.5 + 0.1 * k)
    rows = beyond.costs(beyond.contenders("multimnist", tmp_path))
    pamal = rows.loc["PaMaL, W = 4, λ = 0"]
    assert (pamal["passes"], pamal["minutes"], pamal["seeds"]) == (40, "1.5", 2)
    deviation = np.std([0.81, 0.64], ddof=1)
    assert (pamal["hypervolume ↑"], pamal["±"]) == ("0.7250", f"{deviation:.4f}")
    assert rows.loc["LS, five runs of other weights", "passes"] == "not run"  # one is missing
    run(tmp_path, "multimnist/ls", value=0.4)
    rows = beyond.costs(beyond.contenders("multimnist", tmp_path))
    five = rows.loc["LS, five runs of other weights"]
    assert (five["passes"], five["minutes"], five["hypervolume ↑"]) == (50, "5.0", "0.6400")


def test_differences_are_taken_seed_by_seed_over_those_that_both_have(tmp_path):
    for seed, (before, after) in enumerate([(0.9, 0.8), (0.7, 0.9), (0.8, None)]):
        run(tmp_path, "multimnist/ls", seed=seed, value=before)
        if after is not None:
            run(tmp_path, "beyond/multimnist/ls-average", seed=seed, value=after)
    rows = beyond.paired(beyond.tricks("multimnist", tmp_path))
    row = rows.loc["LS: mean of the weights, 0.99"]
    assert (row["seeds"], row["by seed"]) == (2, "-0.1700, +0.3200")
    assert (row["without"], row["with"], row["difference"]) == ("0.6500", "0.7250", "+0.0750")
    assert row["95 %"] == "-0.1700 to +0.3200"
    assert rows.loc["PaMaL, W = 4, λ = 0: mean of the weights, 0.99", "without"] == "not run"


def test_the_baselines_are_the_two_with_the_best_hypervolume_and_linear_scalarisation():
    for data, own in beyond.DATA.items():
        found = beyond.against_baselines(data, RESULTS)["without"].astype(float)
        best = found.drop("LS").nlargest(2).index
        assert {beyond.PRINTED[method] for method in own.rivals} == {"LS", *best}


@pytest.mark.parametrize("data", beyond.DATA)
def test_longer_runs_have_the_passes_of_pamal_and_those_of_larger_batches_its_steps(data):
    (pamal,) = (run for run in grid.runs(data) if run.method == "pamal" and run.seed == 0)
    paper = grid.options_class(data).create(W=pamal.options["W"])
    longer = [row for row in beyond.extras(data) if "epochs" in row.options]
    assert {row.method for row in longer} == {*beyond.DATA[data].rivals}
    windows = {row.options["W"] for row in beyond.extras(data) if row.method == "pamal"}
    assert {row.options["epochs"] for row in longer} == {10 * W for W in {paper.W, *windows}}
    batches = {row.options["batch_size"] for row in longer if "batch_size" in row.options}
    assert batches == {paper.batch_size * paper.W}


def test_the_runs_took_the_hours_that_the_page_says():
    records = [Record.read(path) for path in (RESULTS / "beyond").rglob("*.json")]
    hours = sum(one.seconds for one in records) / 3600
    assert int(hours) == 6 and "more than six hours" in passage("beyond", "b00")


@pytest.mark.parametrize("data", beyond.DATA)
def test_the_order_of_each_setting_of_pamal_is_that_of_its_records(data):
    table = beyond.order(data, RESULTS)
    assert table.index.is_unique and table.seeds.eq(3).all()
    paper = table.loc[(beyond.DATA[data].label, "last")]
    task, correlations = table.columns[0], []
    for seed in range(3):
        points = json.loads((RESULTS / f"{data}/pamal_seed_{seed}.json").read_text("utf-8"))[
            "points"
        ]
        seen = [point for point in points if point["split"] == "validation"]
        cares, losses = zip(
            *[(p["alpha"][0], p["metrics"][f"{task}/loss"]) for p in seen], strict=True
        )
        correlations.append(spearmanr(cares, losses).statistic)
    assert paper[task] == f"{np.mean(correlations):.3f}"


def test_the_hypervolumes_are_those_of_the_points_of_the_records():
    for data in beyond.DATA:
        for runs in beyond.contenders(data, RESULTS).values():
            for group in runs.values():
                points = [
                    [point["metrics"][name] for name in record.objectives]
                    for record in group.records
                    for point in record.points
                    if point["split"] == "validation"
                ]
                assert group.hypervolume == pytest.approx(staircase(np.array(points)), abs=1e-12)


def test_what_the_page_says_is_what_the_records_say():
    source = (RESULTS.parent / "notebooks" / "beyond.ipynb").read_text("utf-8")
    text = source.replace('\\n",\n    "', " ")
    for data, (start, end) in {
        "multimnist": ("", "## Census"),
        "census": ("## Census", ""),
    }.items():
        part = text[text.index(start) : text.index(end) if end else None]
        rivals = [beyond.groups(RESULTS, f"{data}/{m}") for m in ONE_NETWORK]
        ours = mean(beyond.groups(RESULTS, f"{data}/pamal"))
        ahead = [ours - mean(runs) for runs in rivals if len(runs) == 3]
        assert f"by {min(ahead):.3f} to {max(ahead):.3f} in the mean" in part
        tricks = beyond.paired(beyond.tricks(data, RESULTS))
        with_mean, stratified = tricks.loc["PaMaL: stratified draws, both with the mean"].iloc[:2]
        assert f"{float(with_mean):.3f}" in part and f"{float(stratified):.3f}" in part
        wide = "PaMaL, W = 4, λ = 10: mean of the weights, 0.9997"
        if data == "census":
            last, averaged = tricks.loc[wide].iloc[:2]
            assert f"(0.9997): {averaged}, where" in part and f"weights have {last}," in part
            runs = beyond.groups(RESULTS, "beyond/census/pamal-wide-average").values()
            wrong = [55 * (1 - group.front.on("loss").ordered_pairs()) for group in runs]
            assert "but for one pair" in part and np.sum(wrong) == pytest.approx(1)
    found = {data: beyond.contenders(data, RESULTS) for data in beyond.DATA}
    multimnist, census = found["multimnist"], found["census"]
    better = "PaMaL, W = 4, λ = 0, stratified draws, mean of the weights"
    assert above(multimnist["LS, 40 epochs"], multimnist["PaMaL, W = 4, λ = 0"])
    assert above(multimnist[better], multimnist["LS, 40 epochs"])
    assert above(multimnist["PaMaL, W = 4, λ = 0"], multimnist["LS, five runs of other weights"])
    longer = [mean(multimnist[f"{name}, 40 epochs"]) for name in ("UW", "DWA")]
    assert min(longer) > mean(multimnist["PaMaL, W = 4, λ = 0"])
    assert "too, with {:.3f} and {:.3f}.".format(*longer) in text
    long_mean = beyond.groups(RESULTS, "beyond/multimnist/ls-long-average")
    assert f"more than it brings: {mean(multimnist['LS']) - mean(long_mean):.3f}" in text
    assert above(multimnist["LS, 40 epochs"], multimnist["LS, 40 epochs, batches of 1,024"])
    assert above(multimnist["LS, 40 epochs"], multimnist["LS, 40 epochs, lr = 0.002"])
    slow = census["LS, 20 epochs, lr = 0.0003"]
    assert mean(slow) > mean(census["LS"])
    assert abs(mean(slow) - mean(census[beyond.DATA["census"].label])) < 2e-4
    for name in ("LS", "RLW", "Nash-MTL"):
        assert above(census[name], census[f"{name}, 20 epochs"])
    assert above(census["LS"], census["LS, 20 epochs, batches of 512"])
    short = beyond.groups(RESULTS, "beyond/census/ls-average")
    assert above(short, census["LS, 20 epochs, mean of the weights"])
    level = [multimnist[name] for name in (better, "LS, 40 epochs, mean of the weights")]
    means = [mean(runs) for runs in level]
    assert {f"{mean:.3f}" for mean in means} == {"0.932"} and min(means) > 0.930


def mean(runs):
    return np.mean([group.hypervolume for group in runs.values()])


def above(one, other):
    """Whether each seed of `one` has the larger hypervolume."""
    assert set(one) == set(other) == {0, 1, 2}
    return all(one[seed].hypervolume > other[seed].hypervolume for seed in one)
