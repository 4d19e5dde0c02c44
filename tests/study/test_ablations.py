import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from notebook_text import conclusion
from scipy.stats import spearmanr

from pamal_core.errors import InputError
from pamal_core.experiments import ablations as runs_of
from pamal_core.experiments.ablations import MultiForwardOptions, SamplingOptions, subject
from pamal_core.plots import ablations as plots
from pamal_core.runs.options import Options
from pamal_core.runs.records import Record
from pamal_core.runs.sweep import file_name
from pamal_core.study import ablation_tables as tables
from pamal_core.study.paper import table
from pamal_core.study.tables import RESULTS

matplotlib.use("Agg")
TASKS = ("age/accuracy", "education/accuracy")
TASKS_SHORT = ("age", "education")
FULL = "census/full/age+education/as_released/seed=0/x"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def metrics_of(accuracies):
    losses = {f"{n}/loss": 1 - value for n, value in zip(TASKS_SHORT, accuracies, strict=True)}
    return dict(zip(TASKS, accuracies, strict=True)) | losses


def record(setting, hypervolume=0.5, order=(-1.0, 1.0), data=FULL, values=((0.9, 0.7), (0.8, 0.8))):
    """A record with the given numbers on validation and, at the members, on both splits."""
    options = {"W": 1, "lam": 0.0, "p": 1.0} | setting
    seed = options.pop("seed", 0)
    # A record keeps the options that are not the defaults.
    options = {k: v for k, v in options.items() if v not in ("ordered", "never")}
    points = [
        {"alpha": [1 - a, a], "split": split, "metrics": metrics_of(v)}
        for split in ("validation", "test")
        for a, v in zip((0.0, 1.0), values, strict=True)
    ]
    spearman = dict(zip(("age/loss", "education/loss"), order, strict=True)) | {TASKS[0]: 0.3}
    found = {"hypervolume": hypervolume, "spearman": spearman}
    return Record(
        experiment="census",
        method="pamal",
        options=options,
        seed=seed,
        data=data,
        objectives=dict.fromkeys(TASKS, "max"),
        points=points,
        summary={"validation": found, "test": found, "member_similarity": 0.25},
        history=[{"member_similarity": 0.1}, {"member_similarity": 0.25}],
        cost={},
        versions={},
    )


def multiforward(penalties, seeds):
    return MultiForwardOptions.create(penalties=penalties, seeds=seeds).settings()


def sampling(ps, seeds):
    return SamplingOptions.create(ps=ps, seeds=seeds).settings()


def all_settings(seeds=(0,), data=FULL):
    """Records of every setting, each with a hypervolume of its own."""
    chosen = multiforward(["ordered", "printed+as_released"], seeds)
    return [record(s, 0.6 + n / 1000, data=data) for n, s in enumerate(chosen)]


# The settings.


def test_the_17_settings_of_the_paper_are_made_once_without_and_per_form_with_a_penalty():
    chosen = multiforward(list(runs_of.PENALTIES), [0, 1])
    printed = table("multiforward_census")[["W", "lam"]].itertuples(index=False)
    wanted = {tuple(row) for row in printed} | {(1, 0)}
    assert {(s["W"], s["lam"]) for s in chosen} == wanted and len(wanted) == 17
    free = [s for s in chosen if s["lam"] == 0]
    assert len(free) == 2 * 5 and not any("penalty" in s or "skip" in s for s in free)
    assert len(chosen) - len(free) == 2 * 4 * 12


def test_a_setting_that_the_grid_does_not_have_is_made_all_the_same():
    chosen = MultiForwardOptions.create(windows=7, penalties="printed").settings()
    assert [(s["W"], s["lam"], s.get("penalty")) for s in chosen] == [
        (7, 0.0, None),
        *((7, lam, "printed") for lam in (2.0, 5.0, 10.0)),
    ]
    half = {"W": 1, "lam": 0.0, "p": 0.5, "seed": 0}
    assert SamplingOptions.create(ps=0.5).settings() == [half]


def test_no_two_settings_share_a_file():
    names = [file_name(s) for s in multiforward(list(runs_of.PENALTIES), [0, 1])]
    names += [file_name(s) for s in sampling([0.0, 0.1, 1.0, 100.0], [0, 1])]
    assert len(set(names)) == len(names) == 106 + 8
    assert "pamal-W=2-lam=5.0-penalty=ordered_seed_0.json" in names
    assert "pamal-W=2-lam=5.0-penalty=printed-skip=as_released_seed_0.json" in names


def test_the_name_of_a_penalty_is_found_again_in_the_record_of_its_run():
    for name, form in runs_of.PENALTIES.items():
        defaults = {k: Options.model_fields[k].default for k in form}
        kept = {k: v for k, v in form.items() if v != defaults[k]}
        assert tables.penalty_of(record({"W": 2, "lam": 2.0} | kept)) == name
        assert tables.penalty_of(record({"W": 2, "lam": 0.0} | kept)) == "none"


@pytest.mark.parametrize("options", [MultiForwardOptions, SamplingOptions])
def test_seeds_may_be_a_number_a_list_or_a_text_and_others_are_refused(options):
    for given, wanted in [(1, (1,)), ([0, 2], (0, 2)), ("0, 1,2", (0, 1, 2)), ("3", (3,))]:
        assert options.create(seeds=given).seeds == wanted
    for given in ("a", "-1", "1.5", ""):
        with pytest.raises(InputError, match="`seeds` must be"):
            options.create(seeds=given)
    with pytest.raises(InputError, match=r"This notebook has no `p`\. Known: experiment, seeds"):
        options.create(p=0.5)


def test_penalties_and_values_of_p_are_checked():
    made = MultiForwardOptions.create(penalties="printed, ordered")
    assert made.penalties == ("printed", "ordered")
    with pytest.raises(InputError, match="`penalties` must be 'ordered', 'printed'"):
        MultiForwardOptions.create(penalties="ordered,reversed")
    assert SamplingOptions.create(ps="0,0.1,1").ps == (0.0, 0.1, 1.0)
    with pytest.raises(InputError, match="`ps` must be"):
        SamplingOptions.create(ps="0,-1")
    with pytest.raises(InputError, match="`W` must be at least 2"):
        SamplingOptions.create(lam=1.0)


def test_census_has_the_labels_of_the_paper_and_the_sample_its_own_number_of_epochs():
    options = MultiForwardOptions.create(data="sample", epochs=None)
    experiment, chosen = subject(options)
    assert chosen.masters == "as_released" and chosen.data == "sample" and chosen.epochs is None
    assert experiment.defaults == {"sample": {"epochs": 3}, "full": {"epochs": 10}}
    other = subject(SamplingOptions.create(experiment="multimnist"))[0]
    assert other.name == "multimnist"
    assert other.defaults["sample"] == {"epochs": 2, "batch_size": 64}


def test_runs_are_kept_read_again_and_shared_by_both_ablations(tmp_path, monkeypatch):
    monkeypatch.setattr(runs_of, "LAMS", (0.0, 5.0))
    common = {"data": "sample", "epochs": 1, "results": str(tmp_path)}
    options = MultiForwardOptions.create(windows="1,2", **common)
    first, _ = runs_of.runs(options, progress=False)
    assert [tables.penalty_of(r) for r in first] == [
        "none",
        "none",
        "ordered",
        "printed+as_released",
    ]
    assert len(list(tmp_path.glob("*.json"))) == 4
    assert runs_of.runs(options, progress=False)[0] == first
    at_one = SamplingOptions.create(ps=1.0, **common)
    assert runs_of.runs(at_one, progress=False)[0][0].key == first[0].key


# The tables.


def test_the_table_has_means_and_deviations_by_hand_and_the_papers_row():
    seeds = [record({"W": 2, "lam": 5.0, "seed": s}, v) for s, v in enumerate((0.6, 0.65, 0.67))]
    other = [record({"W": 2, "lam": 5.0, "penalty": "printed", "skip": "as_released"}, 0.7)]
    names = ["ordered", "printed+as_released"]
    row = tables.hypervolume_table(seeds + other, names).loc[(2, 5.0)]
    assert row["ordered", "mean"] == pytest.approx(0.64) and row["ordered", "max"] == 0.67
    assert row["ordered", "std"] == pytest.approx(np.sqrt((0.04**2 + 0.01**2 + 0.03**2) / 3))
    assert row["printed+as_released", "mean"] == 0.7 and np.isnan(row["printed+as_released", "std"])
    assert row["paper"].tolist() == [0.6581, 0.6590, 0.0007]


def test_every_setting_has_a_row_and_lambda_zero_is_that_of_each_penalty():
    records = all_settings()[::-1]  # any order
    found = tables.hypervolume_table(records, ["ordered", "printed+as_released"])
    assert len(found) == 17 and found.index.is_monotonic_increasing
    free = found.xs(0.0, level="lam")
    np.testing.assert_array_equal(free["ordered", "mean"], free["printed+as_released", "mean"])
    assert free["ordered", "mean"].tolist() == pytest.approx([0.6, 0.601, 0.602, 0.603, 0.604])
    assert not found["ordered", "mean"].isna().any()
    wanted = table("multiforward_census").set_index(["W", "lam"])["mean"]
    np.testing.assert_array_equal(found["paper", "mean"].loc[2:], wanted)
    assert np.isnan(found["paper", "mean"].loc[(1, 0.0)])


@pytest.mark.parametrize("data", ["census/sample/age+education/as_released/x", "census/full/a/x"])
def test_other_data_have_nothing_to_be_compared_with(data):
    found = tables.hypervolume_table(all_settings(data=data), ["ordered"])
    assert found["paper"].isna().all(axis=None) and len(found) == 17
    row = tables.agreement(found).loc["ordered"]
    assert row.drop("best setting").isna().all() and row["best setting"] == "W=5, λ=10"


def test_the_agreement_with_the_paper_is_computed_as_by_hand():
    printed = table("multiforward_census")
    records = [
        record({"W": int(row.W), "lam": float(row.lam)}, row.mean_ + (0.01 if row.W < 4 else -0.01))
        for row in printed.rename(columns={"mean": "mean_"}).itertuples()
    ]
    found = tables.agreement(tables.hypervolume_table(records, ["ordered"]))
    assert list(found.index) == ["ordered"]
    row = found.loc["ordered"]
    assert row["mean difference"] == pytest.approx(0)
    assert row["mean absolute difference"] == pytest.approx(0.01)
    moved = printed["mean"] + np.where(printed.W < 4, 0.01, -0.01)
    ranks = np.corrcoef(moved.rank(), printed["mean"].rank())[0, 1]
    assert row["rank correlation"] == pytest.approx(ranks)
    assert row["best setting"] == "W=2, λ=5"


def test_a_grid_has_the_numbers_of_the_records_and_nan_where_there_is_no_run():
    records = all_settings()
    for name in ("ordered", "printed+as_released"):
        found = tables.grid(records, name, "hypervolume")
        assert found.shape == (5, 4) and found.isna().sum(axis=None) == 3
        for r in records:
            if tables.penalty_of(r) in (name, "none"):
                at = found.loc[r.options["W"], r.options["lam"]]
                assert at == r.summary["validation"]["hypervolume"]


def test_a_grid_is_the_mean_over_seeds_and_leaves_out_what_is_not_defined():
    orders = [(-1.0, 0.5), (-0.5, None), (None, None)]
    records = [record({"W": 2, "lam": 0.0, "seed": s}, order=o) for s, o in enumerate(orders)]
    assert tables.grid(records, "ordered", "age/loss").loc[2, 0.0] == -0.75
    assert tables.grid(records, "printed", "education/loss").loc[2, 0.0] == 0.5
    assert list(tables.long(records).columns[4:]) == ["hypervolume", "age/loss", "education/loss"]


def test_the_effects_of_a_penalty_are_paired_by_seed_and_window():
    def at(W, lam, seed, volume, values, **penalty):
        setting = {"W": W, "lam": lam, "seed": seed, **penalty}
        return record(setting, volume, order=(-volume, -volume), values=values)

    ordered, reversed_ = ((0.9, 0.7), (0.8, 0.8)), ((0.8, 0.8), (0.9, 0.7))
    printed = {"penalty": "printed", "skip": "as_released"}
    records = [
        at(2, 0.0, 0, 0.50, ordered),
        at(3, 0.0, 0, 0.52, reversed_),
        at(2, 0.0, 1, 0.60, ordered),
        at(1, 0.0, 0, 0.10, ordered),  # has no penalty to be compared with
        at(2, 5.0, 0, 0.53, ordered),
        at(3, 5.0, 0, 0.54, ordered),
        at(2, 5.0, 1, 0.61, ordered),
        at(2, 5.0, 1, 0.58, reversed_, **printed),
        at(5, 5.0, 0, 0.99, reversed_, **printed),  # has no run without
    ]
    found = tables.effects(records[::-1], ["ordered", "printed+as_released"])
    row = found.loc[("hypervolume ↑", "ordered", "5")]
    assert (row["without"], row["with"]) == ("0.5550", "0.5725")
    assert row["by seed"] == "+0.0250, +0.0100"
    assert found.loc[("ordered pairs ↑", "ordered", "5"), "by seed"] == "+0.5000, +0.0000"
    assert found.loc[("rank correlation ↓", "ordered", "5"), "difference"] == "-0.0175"
    row = found.loc[("ordered pairs ↑", "printed+as_released", "5")]
    assert (row["difference"], row["seeds"]) == ("-1.0000", 1)


def test_a_penalty_that_was_not_run_says_so():
    found = tables.effects(
        [record({"W": 2, "lam": 0.0}), record({"W": 2, "lam": 2.0})], ["printed"]
    )
    assert found["without"].tolist() == ["not run"] * 3


def test_the_sampling_table_has_the_best_and_the_middle_of_the_front():
    values = [((0.9, 0.7), (0.8, 0.8)), ((0.7, 0.7), (0.8, 0.6))]
    records = [record({"p": 0.1, "seed": s}, values=v) for s, v in enumerate(values)]
    for r, middle in zip(records, [(0.5, 0.4), (0.7, 0.2)], strict=True):
        r.points.append({"alpha": [0.5, 0.5], "split": "test", "metrics": metrics_of(middle)})
    row = tables.sampling_table([*records, record({"p": 0.0})]).loc[0.1]
    assert row["age/accuracy, best"] == pytest.approx(0.85)
    assert row["education/accuracy, best"] == pytest.approx(0.75)
    assert row["age/accuracy, middle"] == pytest.approx(0.6)
    assert row["education/accuracy, middle"] == pytest.approx(0.3)
    assert row["cosine of the members"] == 0.25
    assert [c.tolist() for c in tables.similarities(records)[0.1]] == [[0.1, 0.25]] * 2


# The figures.


def test_the_heat_maps_show_the_numbers_of_the_records_in_their_cells():
    records, columns = all_settings(), ("hypervolume", "age/loss")
    maps = {
        name: {column: tables.grid(records, name, column) for column in columns}
        for name in ("ordered", "printed+as_released")
    }
    axes = plots.heat_maps_figure(maps, ["age/loss"], "made by hand").axes[:4]
    for ax, row in zip(axes[::2], maps.values(), strict=True):
        shown = {(t.get_position()[1], t.get_position()[0]): t.get_text() for t in ax.texts}
        wanted = row["hypervolume"].to_numpy()
        assert len(shown) == 17
        assert all(text == f"{wanted[cell]:.4f}" for cell, text in shown.items())
        np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), wanted)
    assert [image.get_clim() for ax in axes for image in ax.images] == [
        (0.6, 0.628),
        (-1, 1),
        (0.6, 0.628),
        (-1, 1),
    ]


def test_each_setting_has_a_panel_with_a_line_per_run_and_the_first_member_marked():
    records = all_settings(seeds=(0, 1))
    figure = plots.fronts_figure(tables.fronts(records), "made by hand")
    panels = {ax.get_title(): ax for ax in figure.axes if ax.axison}
    assert len(panels) == 17 and len(figure.axes) == 20
    assert len(panels["W = 1, λ = 0"].lines) == 2 * 2  # seeds times (line and dot)
    lines = panels["W = 5, λ = 10"].lines
    assert len(lines) == 2 * 2 * 2 and len({line.get_color() for line in lines}) == 2
    assert [line.get_xydata().tolist() for line in lines[:2]] == [
        [[0.9, 0.7], [0.8, 0.8]],
        [[0.9, 0.7]],
    ]


def test_the_sampling_figure_has_a_curve_per_run_and_leaves_out_what_only_p_0_needs():
    far = ((0.9, 0.1), (0.1, 0.9))
    records = [record({"p": 0.0}, values=far), record({"p": 1.0}), record({"p": 1.0, "seed": 1})]
    fronts = {p: [r.front("test") for r in runs] for p, runs in tables.by_p(records).items()}
    figure = plots.sampling_figure(fronts, tables.similarities(records), "made by hand")
    whole, close, cosine = figure.axes
    assert whole.get_xlim()[0] < 0.1 and 0.7 < close.get_xlim()[0] < 0.8 < close.get_ylim()[1]
    assert [line.get_ydata().tolist() for line in cosine.lines] == [[0.1, 0.25]] * 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["p = 0", "p = 1"]


def test_records_of_the_book_are_of_the_settings_their_names_say():
    root = Path(__file__).parents[2]
    folders = {
        "ablation_multiforward": multiforward(list(runs_of.PENALTIES), [0, 1, 2]),
        "ablation_sampling": sampling([0.0, 0.1, 1.0, 100.0], [0, 1, 2]),
    }
    for folder, chosen in folders.items():
        names = {file_name(setting): setting for setting in chosen}
        kept = sorted((root / "results" / folder / "census").glob("*.json"))
        assert kept
        for path in kept:
            found = Record.read(path)
            setting = names[path.name]
            defaults = {"p": 1.0, "penalty": "ordered", "skip": "never"}
            assert found.seed == setting["seed"]
            for key in setting.keys() - {"seed"}:
                assert found.options.get(key, defaults.get(key)) == setting[key]


@pytest.mark.parametrize("name", ["Census", "MultiMNIST"])
def test_the_means_quoted_in_the_notebook_are_those_of_the_records(name):
    whole = (RESULTS.parent / "notebooks" / "ablation_sampling.ipynb").read_text("utf-8")
    data, text = name.lower(), re.search(rf"On full {name} \(.*?(?=On full|\Z)", whole, re.S)[0]
    for p in (0.0, 0.1, 1.0, 100.0):
        names = [file_name(setting) for setting in sampling([p], [0, 1, 2])]
        found = [Record.read(RESULTS / "ablation_sampling" / data / name) for name in names]
        cosines = np.array([record.summary["member_similarity"] for record in found])
        assert f"{abs(cosines.mean()):.2f}" in text
        assert np.abs(cosines - cosines.mean()).max() < 0.02
        best = np.mean([list(r.summary["test"]["best"].values()) for r in found], axis=0)
        middle = np.mean([r.front("test").values[5] for r in found], axis=0)
        if data == "census" and p in (0.1, 100.0):
            assert all(f"{value:.4f}" in text for value in best)
        if p == 0.0 or (data == "multimnist" and p != 1.0):
            assert all(f"{value:.3f}" in text for value in middle)
        volumes = [r.summary["test"]["hypervolume"] for r in found]
        if data == "multimnist" and p > 0:
            assert f"{np.mean(volumes):.3f}" in text


def by_setting(data):
    """By (W, lambda, penalty) and seed: hypervolume, rank correlation and share of ordered pairs,
    from the points alone."""
    found = {}
    for path in sorted((RESULTS / "ablation_multiforward" / data).glob("pamal-*.json")):
        r = Record.read(path)
        front = r.front("validation")
        at = r.options["W"], r.options["lam"], tables.penalty_of(r)
        measured = front.hypervolume((0.0, 0.0)), *ordered_by_hand(front.on("loss"))
        found.setdefault(at, {})[r.seed] = np.array(measured)
    return found


def three_seeds(data):
    """`by_setting`, of which every setting has three seeds, and its means."""
    found = by_setting(data)
    assert len(found) == 29 and all(len(seeds) == 3 for seeds in found.values())
    return found, {at: np.mean([*seeds.values()], axis=0) for at, seeds in found.items()}


def ordered_by_hand(losses):
    correlations, shares = [], []
    for weight, loss in zip(losses.alphas.T, losses.values.T, strict=True):
        correlations.append(spearmanr(weight, loss).statistic)
        pairs = [(i, j) for i in range(11) for j in range(11) if weight[i] < weight[j]]
        shares.append(np.mean([loss[j] < loss[i] for i, j in pairs]))
    return np.mean(correlations), np.mean(shares)


def effect(found, penalty, lam):
    """What `penalty` adds to each measure, by seed, and what there is with it: means over W."""
    with_it = [found[W, lam, penalty] for W in (2, 3, 4, 5)]
    without = [found[W, 0.0, "none"] for W in (2, 3, 4, 5)]
    seeds = sorted(set.intersection(*map(set, with_it + without)))
    there = np.mean([[runs[s] for s in seeds] for runs in with_it], axis=0)
    return there - np.mean([[runs[s] for s in seeds] for runs in without], axis=0), there


def beside_the_printed_table(data, means):
    """How far the means of the 16 settings are from the paper's, their rank correlation, and the
    best of ours."""
    printed = table(f"multiforward_{data}").set_index(["W", "lam"])["mean"]
    names = ["printed+as_released" if lam else "none" for _, lam in printed.index]
    settings = [(W, float(lam), name) for (W, lam), name in zip(printed.index, names, strict=True)]
    ours = [means[at][0] for at in settings]
    rank = spearmanr(ours, printed).statistic
    return np.abs(ours - printed).mean(), rank, settings[int(np.argmax(ours))]


def test_what_the_notebook_says_of_census_is_what_the_records_say():
    text, (found, means) = conclusion("ablation_multiforward"), three_seeds("census")
    distance, rank, _ = beside_the_printed_table("census", means)
    assert f"are {distance:.4f} from the paper's, in" in text
    assert f"order (rank correlation {rank:.2f})" in text
    alone = [means[W, 0.0, "none"][0] for W in (1, 5)]
    assert "{:.4f} at W = 1, {:.4f} at W = 5".format(*alone) in text
    for penalty, words in {"ordered": "{:.4f} if it", "printed+as_released": "{:.4f} as"}.items():
        assert all((effect(found, penalty, lam)[0][:, 0] > 0).all() for lam in (2.0, 5.0, 10.0))
        assert words.format(effect(found, penalty, 10.0)[0][:, 0].mean()) in text
    none = np.mean([means[W, 0.0, "none"] for W in (2, 3, 4, 5)], axis=0)
    ordered, reverse = (
        effect(found, name, 10.0)[1].mean(0) for name in ("ordered", "printed+as_released")
    )
    assert f"{none[1]:.2f} without" in text
    assert f"is {ordered[1]:.2f} at" in text and f"and {reverse[1]:+.2f} with" in text
    assert f"{none[2]:.2f} without, is {ordered[2]:.2f} and {reverse[2]:.2f}" in text
    for penalty, sign in (("ordered", -1), ("printed+as_released", 1)):
        assert sign * means[2, 10.0, penalty][1] > 0.8 > sign * means[5, 10.0, penalty][1] + 0.4


def test_what_the_notebook_says_of_multimnist_is_what_the_records_say():
    text, (found, means) = conclusion("ablation_multiforward"), three_seeds("multimnist")
    distance, rank, best = beside_the_printed_table("multimnist", means)
    assert f"are {distance:.4f} from the paper's (rank correlation {rank:.2f})" in text
    assert best == (4, 0.0, "none")
    alone = {W: means[W, 0.0, "none"][0] for W in (1, 2, 3, 4, 5)}
    assert f"{alone[1]:.4f} at W = 1, {alone[2]:.4f} at W = 2, 0.917 or" in text
    assert {f"{alone[W]:.3f}" for W in (3, 4, 5)} == {"0.917", "0.918"}
    as_printed = [effect(found, "printed+as_released", lam) for lam in (2.0, 5.0, 10.0)]
    assert all((difference[:, 0] < 0).all() for difference, _ in as_printed)
    lost, there = as_printed[-1][0].mean(0), as_printed[-1][1].mean(0)
    none = np.mean([means[W, 0.0, "none"] for W in (2, 3, 4, 5)], axis=0)
    assert f"by {-lost[0]:.4f} in the mean" in text and f"{none[1]:.2f} to {there[1]:+.2f}" in text
    ordered = effect(found, "ordered", 10.0)[1].mean(0)[1]
    assert f"becomes {ordered:.2f}" in text


def test_what_the_notebook_says_of_order_and_draws_on_multimnist():
    """By the number of draws: two, three and more, five."""
    text, (found, every) = conclusion("ablation_multiforward"), three_seeds("multimnist")
    gains = {
        W: [found[W, 10.0, "ordered"][s][0] - found[W, 0.0, "none"][s][0] for s in range(3)]
        for W in (2, 3, 4, 5)
    }
    many = np.mean([gains[W] for W in (3, 4, 5)], axis=0)
    assert f"{many.mean():+.4f} at" in text and many.min() < 0 < many.max()
    assert f"{np.mean(gains[5]):.4f} in the mean:" in text and min(gains[5]) > 0
    means = {at: mean[0] for at, mean in every.items()}
    assert max(means, key=means.__getitem__) == (5, 10.0, "ordered")
    assert f"{means[5, 10.0, 'ordered']:.4f}, the best of all 29" in text
    two = [means[2, 10.0, name] for name in ("ordered", "printed+as_released")]
    assert "{:.3f} in order and {:.3f} as printed".format(*two) in text
    assert f"{means[2, 0.0, 'none']:.3f} without" in text


def test_the_hypervolumes_quoted_in_the_notebook_are_those_of_the_records():
    text = (RESULTS.parent / "notebooks" / "ablation_multiforward.ipynb").read_text("utf-8")
    folder = RESULTS / "ablation_multiforward" / "census"
    kept = [Record.read(path) for path in sorted(folder.glob("pamal-W=2-lam=5.0-*_seed_0.json"))]
    assert len(kept) == 2
    for found in kept:
        assert f"{found.summary['validation']['hypervolume']:.4f}" in text
