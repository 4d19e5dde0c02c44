"""`results/measured.csv` is what the records give."""

import pandas as pd
import pytest
from made_up import record

from pamal_companion.runs.folder import files
from pamal_companion.runs.records import Record
from pamal_companion.study import frame, measured, measures

PATHS = sorted(files(measured.RESULTS, ".json"))
ROWS = measured.read()


def test_every_record_is_in_the_table_and_nothing_else():
    assert sorted(ROWS) == PATHS and len(PATHS) > 1200


@pytest.mark.parametrize("path", PATHS[:: len(PATHS) // 12], ids=lambda path: path.stem)
def test_a_row_has_what_its_record_says(path):
    row, whole = ROWS[path], Record.read(path)
    names = ("experiment", "method", "options", "seed", "data", "seconds")
    assert [getattr(row, name) for name in names] == [getattr(whole, name) for name in names]
    assert [*row.measures] == measures.splits(whole)
    for split, numbers in row.measures.items():
        assert numbers == measures.measured(whole, split)
    assert frame.of(row) == frame.of(whole) and row.points == whole.points


def test_the_table_of_a_folder_is_read_as_it_was_written(tmp_path):
    record(p=[1.0, 2.0], average=0.9).write(tmp_path / "a" / "one.json")
    record("multimnist/ls", weights=[0.25, 0.75]).write(tmp_path / "two.json")
    record(seed=9).write(tmp_path / "registered" / "three.json")
    one, two = measured.read(measured.write(tmp_path)).values()
    assert (one.options["p"], two.options["weights"]) == ([1.0, 2.0], [0.25, 0.75])
    assert "W" not in two.options and one.hypervolume() == one.record.hypervolume()
    columns = pd.read_csv(tmp_path / "measured.csv").columns
    assert {"record", "W", "weights", "measured on", "span", "chosen top-left/loss"} <= {*columns}


def test_a_record_that_is_not_in_the_table_yet_is_read_as_well(tmp_path, monkeypatch):
    record().write(tmp_path / "one.json")
    monkeypatch.setattr(frame, "FILE", measured.write(tmp_path))
    record(seed=9).write(tmp_path / "two.json")
    ((setting, by_seed),) = frame.read().items()
    assert (setting.name(), [*by_seed]) == ("PaMaL, W = 4, λ = 0", [0, 9])
