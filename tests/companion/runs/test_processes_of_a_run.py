"""Independent processes on one folder: each run is made by one of them, and read by the others."""

import json
from pathlib import Path

import forked

HELPERS = str(Path(__file__).parents[2] / "helpers")
RUN = """
import os
import sys
import torch
sys.path.insert(0, {helpers!r})
from tiny_experiment import tiny
from pamal_companion.runs.run import run
from pamal_companion.runs.options import Options
torch.set_num_threads(1)
given = dict(W=3, lam=1.0, epochs=3, batch_size=50, device="cpu", out={out!r})
result = run(tiny(), Options.create(**given))
seconds = str(result.record.cost["train_seconds"])
open({out!r} + "." + str(os.getpid()), "w").write(seconds)
"""


def test_two_processes_on_one_file_make_one_record(tmp_path):
    out = tmp_path / "r.json"
    code = RUN.format(helpers=HELPERS, out=str(out))
    codes, errors = forked.run(code, tmp_path, [{}, {}])
    assert codes == [0, 0], errors
    record = json.loads(out.read_text())
    assert len(record["history"]) == 3 and not list(tmp_path.glob("*checkpoint*"))
    seconds = [float(path.read_text()) for path in tmp_path.glob("r.json.*")]
    assert seconds == [record["cost"]["train_seconds"]] * 2  # one of them trained
    before = out.read_bytes()
    codes, errors = forked.run(code, tmp_path)
    assert codes == [0] and out.read_bytes() == before, errors
