"""Every number on the page of reproductions is that of a record, or of the paper's tables."""

import runpy

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from commands_on_disk import record
from notebook_text import passage

from pamal_core.networks.hypernetwork import Hypernetwork
from pamal_core.networks.models import lenet
from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study import claims, claims_ablations, claims_fronts, reproduction
from pamal_core.study.comparison import compare
from pamal_core.study.paper import table
from pamal_core.study.tables import ONE_NETWORK, PRINTED, RESULTS


def test_a_verdict_takes_the_spread_of_all_settings_and_the_papers(tmp_path):
    """By hand: seeds 0.9 and 0.92 of one setting, 0.91 alone of another."""
    values = {"W=4-lam=0.0": (0.9, 0.92), "W=3-lam=0.0": (0.91,)}
    for name, those in values.items():
        for seed, value in enumerate(those):
            one = record(seed=seed, options=record().options | {"W": int(name[2])})
            one.summary["validation"]["hypervolume"] = value
            one.write(tmp_path / f"ablation_multiforward/multimnist/pamal-{name}_seed_{seed}.json")
    found = reproduction.report("multiforward_multimnist", tmp_path).droplevel(1)
    printed = table("multiforward_multimnist").query("lam == 0").set_index("W")
    for W in (3, 4):
        cells = found.loc[f"PaMaL (W={W}, lam=0)"]
        spread = np.hypot(np.std([0.9, 0.92], ddof=1), printed.loc[W, "std"])
        assert cells["in spreads"] == pytest.approx((0.91 - printed.loc[W, "mean"]) / spread)
    verdicts = [reproduction.verdict(2, s) for s in (1.9, -1.9, 2.1, np.nan)]
    assert verdicts == ["reproduced", "reproduced", "not reproduced", "no spread"]
    assert reproduction.verdict(0, np.nan) == "not run"


@pytest.mark.parametrize("name", reproduction.TABLES)
def test_a_table_has_every_setting_of_its_runs_and_without_records_none_is_run(name, tmp_path):
    place = reproduction.TABLES[name]
    settings = [
        r for r in grid.read("grid") if (r["place"], r["target"]) == (place.place, place.target)
    ]
    found = reproduction.report(name, tmp_path)
    assert len(found) == len(settings) > 0 and (found["verdict"] == "not run").all()
    assert found.index.get_level_values(0).is_unique
    names = [label.split(" (")[0] for label in found.index.get_level_values(0)]
    assert names == [PRINTED[r["method"]] for r in settings]


@pytest.mark.parametrize("name", ["multimnist", "census", "multiforward_census", "multimnist3"])
def test_the_numbers_are_those_of_the_points_of_the_records(name):
    """By hand, from the points alone."""
    found = reproduction.report(name, RESULTS)
    made = found[found["verdict"] != "not run"]
    paths = dict(reproduction._settings(reproduction.TABLES[name]))
    checked = 0
    for (setting, measure), cells in made.iterrows():
        there = [RESULTS / path for path in paths[setting] if (RESULTS / path).exists()]
        fronts = [Record.read(path).front(reproduction.TABLES[name].split) for path in there]
        if "of 3 seeds" not in measure:
            ours = np.mean([by_hand(front, measure) for front in fronts])
            assert cells["ours"] == pytest.approx(ours, abs=1e-12), (setting, measure)
            checked += 1
        assert cells["difference"] == pytest.approx(cells["ours"] - cells["paper"])
    assert checked > 3


def by_hand(front, measure):
    if "hypervolume" in measure:
        return staircase(front.values)
    (t,) = (i for i, o in enumerate(front.objectives) if f"on {o.name.split('/')[0]}" in measure)
    return front.values[:, t].max() * (100 if "%" in measure else 1)


def staircase(points):
    """The area between points [P, 2] and the origin, step by step."""
    area, height = 0.0, 0.0
    for x, y in sorted(map(tuple, points), reverse=True):
        area += x * max(0.0, y - height)
        height = max(height, y)
    return area


def test_a_mean_and_its_spread_are_taken_over_the_seeds_that_are_there(tmp_path):
    values = (0.92, 0.9, 0.91)
    for seed, value in enumerate(values):
        one = record(seed=seed)
        one.summary["validation"]["hypervolume"] = value
        one.write(tmp_path / f"ablation_multiforward/multimnist/pamal-W=4-lam=0.0_seed_{seed}.json")
    found = reproduction.report("multiforward_multimnist", tmp_path)
    cells = found.loc["PaMaL (W=4, lam=0)"].iloc[0]
    printed = table("multiforward_multimnist").query("W == 4 and lam == 0").iloc[0]
    assert cells["ours"] == pytest.approx(0.91) and cells["ours ±"] == pytest.approx(0.01)
    assert (cells["paper"], cells["paper ±"]) == (printed["mean"], printed["std"])
    assert cells["seeds"] == 3 and (found["verdict"] == "not run").sum() == len(found) - 1


def test_three_seeds_of_a_baseline_are_one_hypervolume_as_in_the_paper():
    """The union by hand: two corners of points on a staircase."""
    corners = [(0.9, 0.5), (0.5, 0.9), (0.4, 0.4)]
    runs = []
    for seed, (a, b) in enumerate(corners):
        one = record(method="ls", options={"epochs": 10}, seed=seed)
        names = list(one.objectives)
        point = {"alpha": [1.0], "metrics": dict(zip(names, (a, b), strict=True))}
        runs.append(one.model_copy(update={"points": [{**point, "split": "test"}]}))
    (found,) = (r for r in compare(runs) if "hypervolume" in r.measure)
    assert found.measured == pytest.approx(0.9 * 0.5 + 0.5 * 0.9 - 0.5 * 0.5)
    assert found.paper == 0.907
    assert not any("hypervolume" in r.measure for r in compare(runs[:2]))


def test_every_claim_has_a_verdict_and_none_without_records(tmp_path):
    found = claims.table(RESULTS)
    assert len(found) >= 20 and found["claim"].is_unique
    assert set(found["verdict"]) <= {*claims.WORDS.values(), "not run"}
    nothing = claims.table(tmp_path).set_index("claim")["verdict"]
    assert set(nothing[nothing != "not run"].index) == {
        "A line in weight space can hold a whole front (Theorem 1)",
        "PHN needs about a hundred times as many weights",
    }


def test_a_claim_follows_its_records(tmp_path):
    """The sign of the penalty: the verdict turns when the order of the losses does."""
    results = claims.Results(tmp_path)
    folder = tmp_path / "ablation_multiforward/census"
    for name, order in {"2, 0": 0.5, "2, 5": -1.0}.items():
        one = record()
        found = one.summary["test"]["spearman"]
        found.update(dict.fromkeys(("top-left/loss", "bottom-right/loss"), order))
        W, lam = map(int, name.split(", "))
        sign = "ordered" if lam else ""
        one.write(folder / f"{claims_ablations.setting(W, float(lam), sign)}_seed_0.json")
    check = {c.text: c.check for c in claims.CLAIMS}[
        "With the sign that the text describes it does"
    ]
    evidence, verdict = check(results)
    assert verdict is True and "-1.00 with the penalty" in evidence


@pytest.mark.parametrize(("balanced", "verdict"), [((0.1, 0.2), True), ((0.1, 0.5), False)])
def test_balancing_lowers_the_loss_on_age_where_it_does_with_every_seed(
    tmp_path, balanced, verdict
):
    for name, losses in {"W=1": balanced, "none": (0.3, 0.4)}.items():
        for seed, loss in enumerate(losses):
            one = record(seed=seed)
            one.summary["test"]["best"] = {"age/loss": loss}
            one.write(tmp_path / f"utkface/pamal-{name}_seed_{seed}.json")
    check = {c.text: c.check for c in claims.CLAIMS}[
        "Gradient balancing lowers the loss on age (UTKFace)"
    ]
    evidence, found = check(claims.Results(tmp_path))
    assert found is verdict and f"{balanced[0]:.4f}" in evidence and "0.3000" in evidence


@pytest.mark.parametrize(("data", "reproduced"), [("multimnist", 15), ("census", 15)])
def test_as_many_settings_of_multi_forward_training_are_reproduced_as_the_page_says(
    data, reproduced
):
    found = reproduction.report(f"multiforward_{data}", RESULTS)
    assert (len(found), (found["verdict"] == "reproduced").sum()) == (16, reproduced)
    settings = found.index.get_level_values(0)
    seeds = found["seeds"][settings.str.contains("penalty")]
    assert len(seeds) == 12 and set(seeds) == {3}


@pytest.mark.parametrize(
    ("theirs", "others", "verdict"),
    [(0.66, 0.65, True), (0.65, 0.651, "in part"), (0.65, 0.66, False)],
)
def test_the_best_setting_is_best_by_more_than_seeds_differ(tmp_path, theirs, others, verdict):
    """Seeds are 0.001 to both sides of each mean, so the deviation is 0.001 times the root of 2."""
    folder = tmp_path / "ablation_multiforward/census"
    for _, row in table("multiforward_census").iterrows():
        W, lam = int(row.W), float(row.lam)
        for seed, way in enumerate((-1, 1)):
            one = record(seed=seed)
            mean = theirs if (W, lam) == (2, 5) else others - W / 1e6
            one.summary["validation"]["hypervolume"] = mean + 0.001 * way
            sign = "printed" if lam else ""
            one.write(folder / f"{claims_ablations.setting(W, lam, sign)}_seed_{seed}.json")
    check = {c.text: c.check for c in claims.CLAIMS}[
        "The best of 17 settings is W = 2, lambda = 5: Census"
    ]
    results = claims.Results(tmp_path)
    evidence, found = check(results)
    assert found == verdict and "2 seeds, deviation 0.0014" in evidence
    next(folder.glob("*_seed_1.json")).unlink()
    with pytest.raises(claims.NotRunError, match="the same two seeds"):
        check(results)


@pytest.mark.parametrize(("data", "folder"), claims_fronts.DATA.items())
def test_figure_4_has_every_run_that_there_is(data, folder):
    figure = claims_fronts.figure_4(claims.Results(RESULTS), data)
    (ax,) = figure.axes
    drawn = np.concatenate([dots.get_offsets() for dots in ax.collections])
    lines = [line.get_xydata() for line in ax.lines]
    for path in (RESULTS / folder).glob("*_seed_*.json"):
        name, one = path.stem.rpartition("_seed_")[0], Record.read(path)
        if name in ("pamal", "phn", "cosmos") and (name == "pamal" or one.seed == 0):
            values = one.front("test").values
            assert any(len(xy) == len(values) and np.allclose(xy, values) for xy in lines)
        elif name in ONE_NETWORK:
            assert np.isclose(drawn, one.front("test").values).all(1).any(), path
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"LS", "PaMaL, seed 0", "Nash-MTL"} <= {*names} and len({*names}) == len(names)
    plt.close(figure)


def test_how_many_runs_of_baselines_a_front_of_figure_4_leaves_undominated():
    text, results, left = passage("reproduction", "f4"), claims.Results(RESULTS), {}
    for folder in claims_fronts.DATA.values():
        runs = claims_fronts.baselines(results, folder)
        theirs = {name: [r.front("test").values[0] for r in found] for name, found in runs.items()}
        assert sum(map(len, theirs.values())) == 36
        for ours in results.seeds(f"{folder}/pamal"):
            front = ours.front("test").values
            above = {
                name: [bool((front > point).all(1).any()) for point in points]
                for name, points in theirs.items()
            }
            left[folder, ours.seed] = {
                n: found.count(False) for n, found in above.items() if not all(found)
            }
    assert [left["multimnist", seed] for seed in range(3)] == [{"uw": 3}, {}, {"uw": 3}]
    counts = [sum(left["census", seed].values()) for seed in range(3)]
    assert "leave {}, {} and {} of 36".format(*counts) in text


def test_figure_4_has_a_rival_that_was_run_and_says_how_much_of_it_is_outside(tmp_path):
    """COSMOS on Census: the best run of its sweep in place of its authors' setting, and no PHN."""
    for name in ("pamal", "ls", "stl-0", "stl-1"):
        one = Record.read(RESULTS / f"census/{name}_seed_0.json")
        one.write(tmp_path / f"census/{name}_seed_0.json")
    alone = claims_fronts.figure_4(claims.Results(tmp_path), "Census")
    assert alone.texts[-1].get_text().endswith("seeds each.")
    swept = (RESULTS / "ablation_phn_cosmos/census").glob("cosmos-*lr=0.001_seed_0.json")
    best = max(map(Record.read, swept), key=lambda run: run.hypervolume())
    best.write(tmp_path / "census/cosmos_seed_0.json")
    figure = claims_fronts.figure_4(claims.Results(tmp_path), "Census")
    assert "each. COSMOS: one seed" in figure.texts[-1].get_text()
    (ax,) = figure.axes
    (line,) = (one for one in ax.lines if one.get_label().startswith("COSMOS"))
    values = line.get_xydata()
    assert np.allclose(values, best.front("test").values)
    outside = sum(not ax.viewLim.contains(*point) for point in values)
    assert outside and line.get_label() == f"COSMOS, {outside} of 11 outside"
    ours = Record.read(tmp_path / "census/pamal_seed_0.json").front("test").values
    assert all(ax.viewLim.contains(*point) for point in ours)
    plt.close(alone)
    plt.close(figure)


def test_the_hypernetwork_has_as_many_weights_as_the_claim_says():
    torch.manual_seed(0)
    network = lenet(2)
    size = sum(parameter.numel() for parameter in network.parameters())
    hypernetwork = Hypernetwork(network, num_tasks=2)
    total = sum(parameter.numel() for parameter in hypernetwork.parameters())
    assert total == 101 * size + 10_400


def test_a_page_shows_the_numbers_of_the_report_to_four_digits():
    exact = reproduction.report("multimnist", RESULTS)["ours"].tolist()
    texts = [float(text or "nan") for text in reproduction.shown("multimnist", RESULTS)["ours"]]
    assert texts == pytest.approx(exact, abs=5.1e-5, rel=0, nan_ok=True)


def test_the_landing_page_has_the_verdicts_of_the_page_of_reproductions():
    pytest.importorskip("sphinx", reason="needs the `book` extra")
    verdicts = runpy.run_path(str(grid.ROOT / "book/_ext/verdicts.py"))
    found = verdicts["claims"](verdicts["PAGE"])
    expected = claims.table(RESULTS)
    assert found == list(zip(expected["claim"], expected["verdict"], strict=True))
    assert {verdict for _, verdict in found} <= {*verdicts["ORDER"]}
    assert "```{verdicts}" in (grid.ROOT / "book/index.md").read_text("utf-8")
