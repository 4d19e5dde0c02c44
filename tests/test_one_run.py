"""A run of an experiment on its sample, from the command line to its record.

`make test-lowest` makes it with the oldest packages that `pyproject.toml` allows.
"""

import pytest

pytest.importorskip("pydantic", reason="needs the `companion` extra")
pytest.importorskip("click", reason="needs the `companion` extra")

from pamal_companion.__main__ import main
from pamal_companion.runs.records import Record


def test_a_run_on_the_sample_is_made_and_then_read(tmp_path, capsys):
    command = ["run", "census/pamal_seed_0.json", "--results", str(tmp_path)]
    command += [word for pair in ("data sample", "epochs 2") for word in ("-p", *pair.split())]
    assert main(command) == 0
    path = tmp_path / "census" / "pamal_seed_0.json"
    record, written = Record.read(path), path.stat()
    assert (record.method, len(record.history)) == ("pamal", 2)
    assert record.data.startswith("census/sample/")
    front = record.front("test")
    # Constant answers have about half of both questions right.
    assert len(front.table) == 11 and front.values.max(axis=0).min() > 0.6
    assert main(command) == 0 and path.stat() == written
    assert main(["runs", str(tmp_path)]) == 0
    assert "1 finished, 0 unfinished, 0 damaged" in capsys.readouterr().out
