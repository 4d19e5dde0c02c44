"""A choice is judged by pairs of runs that differ in it alone."""

import numpy as np
import pytest
from commands_on_disk import record

from pamal_core import grid
from pamal_core.experiments import choices
from pamal_core.experiments.tables import RESULTS
from pamal_core.records import Record

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
