"""A choice is judged by pairs of runs that differ in it alone."""

import numpy as np
import pytest
from commands_on_disk import record

from pamal_core.runs import grid
from pamal_core.runs.records import Record
from pamal_core.study import choices
from pamal_core.study.paper import table
from pamal_core.study.tables import RESULTS

ROWS = grid.read("choices")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["two"])
def test_two_runs_of_the_grid_differ_in_the_option_and_start_from_our_default(row):
    one, two = (grid.by_record()[f"{row[name]}_seed_0.json"] for name in ("one", "two"))
    assert (one.experiment, one.method) == (two.experiment, two.method)
    of = grid.options_class(one.experiment)
    values = [of.create(method=run.method, **run.options).model_dump() for run in (one, two)]
    different = {name for name in values[0] if values[0][name] != values[1][name]}
    assert different == {row["option"]}
    assert [str(v[row["option"]]) for v in values] == [row["default"], row["other"]]
    assert str(of.create(method=one.method).model_dump()[row["option"]]) == row["default"]


def test_differences_are_those_of_the_points_of_the_records():
    """By hand, from the losses and accuracies alone."""
    volumes, orders = choices.hypervolumes(RESULTS), choices.orders(RESULTS)
    checked = 0
    for row, (_, cells) in zip(ROWS, volumes.iterrows(), strict=True):
        pairs = [
            [RESULTS / f"{row[name]}_seed_{seed}.json" for name in ("one", "two")]
            for seed in range(3)
        ]
        both = [[Record.read(path).front() for path in pair] for pair in pairs if all_there(pair)]
        assert cells["seeds"] == len(both)
        if both:
            of = [[f.hypervolume([0.0] * len(f.objectives)) for f in pair] for pair in both]
            assert cells["by seed"] == ", ".join(f"{b - a:+.4f}" for a, b in of)
            assert float(cells["default"]) == pytest.approx(np.mean(of, axis=0)[0], abs=5e-5)
            checked += 1
    assert checked > 3 and len(orders) == sum(row["data"].startswith("PaMaL") for row in ROWS)


def all_there(paths):
    return all(path.exists() for path in paths)


def test_without_records_no_choice_is_measured(tmp_path):
    assert (choices.hypervolumes(tmp_path)["default"] == "not run").all()


def test_the_order_is_the_mean_rank_correlation_of_the_losses(tmp_path):
    for row, of_tasks in ((ROWS[0]["one"], (-1.0, -0.8)), (ROWS[0]["two"], (0.5, 0.7))):
        one = record()
        names = ("top-left/loss", "bottom-right/loss", "top-left/accuracy")
        one.summary["validation"]["spearman"] = dict(zip(names, (*of_tasks, 0.3), strict=True))
        one.write(tmp_path / f"{row}_seed_0.json")
    cells = choices.orders(tmp_path).iloc[0]
    assert (cells["default"], cells["other"], cells["by seed"]) == ("-0.9000", "0.6000", "+1.5000")


def of_pairs(table, rows):
    """What `table` has for each pair that is measured, by the name of its second run."""
    pairs = zip(rows, table.iterrows(), strict=True)
    return {row["two"]: cells for row, (_, cells) in pairs if cells["seeds"]}


def by_seed(cells):
    return np.array(cells["by seed"].split(", "), float)


def test_what_the_page_says_is_what_the_records_say():
    text = (grid.ROOT / "notebooks" / "choices.ipynb").read_text("utf-8")
    volumes = of_pairs(choices.hypervolumes(RESULTS), ROWS)
    orders = of_pairs(choices.orders(RESULTS), [r for r in ROWS if r["data"].startswith("PaMaL")])
    sign, census = "census/pamal-printed", "choices/census/pamal-"
    assert np.abs(by_seed(volumes[sign])).max() < 0.002 and by_seed(orders[sign]).min() > 1
    skip = [[RESULTS / f"{ROWS[1][k]}_seed_{s}.json" for s in range(3)] for k in ("one", "two")]
    never, as_released = ([Record.read(path).points for path in paths] for paths in skip)
    assert never == as_released
    for name in ("loss", "gradient", "plain"):
        assert np.ptp(np.sign(by_seed(volumes[f"{census}{name}"]))) == 2
    form = by_seed(volumes[f"{census}gradient-released"])
    assert f"by {-form.max():.3f} to {-form.min():.3f}" in text
    for name in ("choices/multimnist/pamal-plain", "multimnist3/pamal"):
        plain = by_seed(volumes[name])
        assert f"by {-plain.max():.3f} to {-plain.min():.3f}" in text
    for method in ("ls", "pamal"):
        name = f"choices/multimnist/{method}"
        offset, split = (by_seed(volumes[f"{name}-{other}"]) for other in ("offset", "split"))
        assert f"{offset.min():.3f} to {offset.max():.3f}" in text
        assert f"{-split.max():.3f} to {-split.min():.3f}" in text
    ours = volumes["choices/multimnist/pamal-plain"]["default"]
    others = [volumes[f"choices/multimnist/pamal-{n}"]["other"] for n in ("split", "plain")]
    assert f"our defaults, {ours}" in text
    assert "we have {} and with the learning rate of its code {},".format(*others) in text
    printed = table("multiforward_multimnist").set_index(["W", "lam"]).loc[(4, 0)]
    assert f"{printed['mean']:.4f}" in text
    away = [(printed["mean"] - float(other)) / printed["std"] for other in others]
    assert [int(deviations) for deviations in away] == [4, 5]
    for name in ("multimnist3/pamal", f"{census}plain"):
        assert by_seed(orders[name]).max() < 0
    assert (by_seed(orders["choices/multimnist/pamal-plain"]) < 0).sum() == 2
    for name in ("loss", "gradient"):
        assert by_seed(orders[f"{census}{name}"]).min() > 0
    for name in ("loss", "gradient", "loss-released"):
        other = float(orders[f"{census}{name}"]["other"])
        assert f"({other:.2f}".replace("-", "\N{MINUS SIGN}") in text
    for name, who in {"census/pamal": "PaMaL", "census/ls": "LS"}.items():
        labels = -by_seed(volumes[name])
        assert f"{labels.min():.3f} to {labels.max():.3f} to {who}" in text
    resize = by_seed(volumes["multimnist3/pamal-members-antialias"])
    assert np.ptp(np.sign(resize)) == 2
