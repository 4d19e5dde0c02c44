"""What one run has beside a sweep and single-task networks, on records that are made up."""

import json
import warnings

import numpy as np
from made_up import record

from pamal_companion.study import equal_compute, more_tasks, registered


def test_each_side_has_its_best_its_passes_and_its_networks():
    def runs(method, *points, **options):
        return {
            seed: record(f"census/{method}", [*points], seed=seed, **options) for seed in (1, 2)
        }

    records = {
        "2-pamal": runs("pamal", (0.9, 0.5), (0.8, 0.8), W=1, epochs=24),
        "2-ls-age": runs("ls", (0.9, 0.6), epochs=12),
        "2-ls-education": runs("ls", (0.5, 0.7), epochs=12),
        "2-stl-age": runs("stl", (0.95,), task=0, epochs=24),
        "2-stl-education": runs("stl", (0.75,), task=1, epochs=24),
    }
    found = more_tasks.table(records, counts=[2]).xs(2)
    assert found.index.tolist() == ["PaMaL, one run", "2 LS", "2 STL"]
    numbers = found.map(lambda text: str(text).partition(" ")[0])
    volumes = ["0.6900", "0.5900", ""]  # 0.9 x 0.5 + 0.8 x 0.3; 0.9 x 0.6 + 0.5 x 0.1
    assert numbers["hypervolume ↑"].tolist() == volumes
    assert numbers["best accuracy ↑"].tolist() == ["0.8500", "0.8000", "0.8500"]
    assert numbers["order in loss ↓"].tolist() == ["-1.0000", "", ""]
    assert found["passes"].tolist() == [24, 24, 48]
    assert found["networks in memory"].tolist() == [2, 1, 1]


def test_pages_say_what_was_decided():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a hypervolume that is not exact
        found = registered.verdicts(registered.read("tasks"))["verdict"]
    assert found.tolist() == ["behind", "open", "ahead"]


def test_one_of_eight_tasks_is_hardly_learnt():
    """From the JSON alone."""
    folder = registered.FOLDER / "tasks"

    def best(pattern):
        by_seed = {}
        for path in folder.glob(pattern):
            points = json.loads(path.read_text("utf-8"))["points"]
            values = [p["metrics"]["dividends/accuracy"] for p in points if p["split"] == "test"]
            seed = path.stem.rpartition("_")[2]
            by_seed[seed] = max(by_seed.get(seed, 0), *values)
        return 100 * np.mean([*by_seed.values()])

    said = equal_compute.dividends(registered.known("tasks"))
    assert f"PaMaL in {best('8-pamal_*'):.2f} % and" in said
    assert f"eight LS in {best('8-ls-*'):.2f} %." in said
