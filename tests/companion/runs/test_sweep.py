import pytest
import torch
from tiny_experiment import tiny

from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import file_name, sweep
from pamal_core.errors import InputError

OPTIONS = Options.create(batch_size=50, epochs=1)
SETTINGS = [{"W": W, "lam": lam} for W, lam in [(1, 0.0), (2, 1.0)]] + [{"method": "ls", "seed": 1}]


def test_a_sweep_makes_one_record_per_setting_in_their_order(tmp_path):
    records = sweep(tiny(), OPTIONS, SETTINGS, tmp_path)
    assert [(r.method, r.options.get("lam"), r.seed) for r in records] == [
        ("pamal", 0.0, 0),
        ("pamal", 1.0, 0),
        ("ls", None, 1),
    ]
    assert all(r.options["epochs"] == 1 and r.options["batch_size"] == 50 for r in records)
    assert [Record.read(tmp_path / file_name(s)) for s in SETTINGS] == records


def test_a_sweep_reads_what_is_there_and_makes_what_is_not(tmp_path):
    first = sweep(tiny(), OPTIONS, SETTINGS, tmp_path)
    kept = tmp_path / "pamal-W=2-lam=1.0_seed_0.json"
    stamp = kept.stat().st_mtime_ns
    (tmp_path / "ls_seed_1.json").unlink()
    again = sweep(tiny(), OPTIONS, SETTINGS, tmp_path)
    assert kept.stat().st_mtime_ns == stamp and (tmp_path / "ls_seed_1.json").exists()
    assert [r.model_copy(update={"cost": {}}) for r in again] == [
        r.model_copy(update={"cost": {}}) for r in first
    ]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"W": 1, "lam": 1.0}, "`W` must be at least 2"),
        ({"W": 1, "lam": 0.0, "p": [1.0, 2.0, 3.0]}, "`p` must be one number or 2"),
        ({"data": "sample"}, "settings of a sweep share their data. Found data='sample'"),
    ],
)
def test_a_setting_that_cannot_be_made_is_refused_before_any_training(tmp_path, setting, said):
    with pytest.raises(InputError, match=said):
        sweep(tiny(), OPTIONS, [{}, setting], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_needs_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(InputError, match="made in float32"):
            sweep(tiny(), OPTIONS, [{}])
    finally:
        torch.set_default_dtype(torch.float32)
