"""A run of several processes is one run, with one record."""

import json
from pathlib import Path

from test_processes import torchrun

HELPERS = str(Path(__file__).parents[2] / "helpers")
RUN = """
import sys
import torch
sys.path.insert(0, {helpers!r})
from tiny_experiment import tiny
from pamal_companion.runs.run import run
from pamal_companion.runs.options import Options
torch.set_num_threads(1)
given = dict(W=3, lam=1.0, epochs={epochs}, batch_size=50, device="cpu", out={out!r})
run(tiny(), Options.create(**given))
"""


def test_a_run_of_two_processes_writes_one_record_and_can_be_resumed(tmp_path):
    out = tmp_path / "r.json"
    code = RUN.format(helpers=HELPERS, epochs=3, out=str(out))
    codes, errors = torchrun(code, tmp_path)
    assert codes == [0, 0], errors
    record = json.loads(out.read_text())
    assert len(record["history"]) == 3 and not list(tmp_path.glob("*checkpoint*"))
    before = out.read_bytes()
    codes, errors = torchrun(code, tmp_path)
    assert codes == [0, 0] and out.read_bytes() == before, errors
