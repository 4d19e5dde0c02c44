"""What CONTRIBUTING says is enough to add a baseline, a table of the paper and a claim, done on a
copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

RULE = '''"""The smallest loss alone."""

from pamal_core.balancing.losses import LossBalancer


class SmallestLoss(LossBalancer):
    def reweigh(self, losses, weights):
        return weights * (losses == losses.amin(-1, keepdim=True))
'''
IMPORT = "from pamal_core.balancing.smallest import SmallestLoss as SmallestLoss\n"
ROW = '    "rlw": MethodRow("RLW", "RandomWeighting"),\n'
RUNS = """\
ablations,mine/census,smallest,smallest,masters=mended; epochs=1,0 1,tab:mine
ablations,mine/census,ls,ls,masters=mended; epochs=1,0 1,tab:mine
"""
TABLE = """
TABLES["mine"] = Table(
    "My table", "census", "tab:mine", "mine",
    {"age": Column("age/accuracy", "accuracy on age", 0.005)},
    split="validation", fixed={"masters": "mended", "epochs": 1},
)
"""
CLAIM = """
CLAIMS["It is better: Census"] = front(
    "5.1",
    [census("smallest", masters="mended", epochs=1)],
    [census("ls", masters="mended", epochs=1)],
)
"""
USE = """
import torch

from pamal_companion.experiments.census import EXPERIMENT, CensusOptions
from pamal_companion.runs.run import run
from pamal_companion.study import claims, frame, paper, tables

torch.manual_seed(0)
made = []
for method, seed in (("smallest", 0), ("smallest", 1), ("ls", 0), ("ls", 1)):
    chosen = {"method": method, "seed": seed, "epochs": 1}
    record = run(EXPERIMENT, CensusOptions.create(data="sample", device="cpu", **chosen)).record
    made.append(record.model_copy(update={"data": record.data.replace("sample", "full")}))
runs = frame.runs(made)
found = tables.report("mine", runs)
print(*(f"{name[0]}: {row.paper:g} {row.seeds:g} {row.verdict}" for name, row in found.iterrows()))
new = claims.table(runs)
print(new["verdict"].iloc[-1], "|", new["evidence"].iloc[-1].splitlines()[1])
"""


def add(path, text):
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_a_baseline_a_table_and_a_claim_are_a_file_and_an_entry_each(tmp_path):
    for folder in ("pamal_core", "pamal_companion", "workflow"):
        unmade = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=unmade)
    companion = tmp_path / "pamal_companion"
    balancing = tmp_path / "pamal_core" / "balancing"
    (balancing / "smallest.py").write_text(RULE)
    add(balancing / "__init__.py", IMPORT)
    methods = companion / "runs" / "methods.py"
    text = methods.read_text("utf-8")
    assert text.count(ROW) == 1
    one = ROW + '    "smallest": MethodRow("Smallest loss", "SmallestLoss"),\n'
    methods.write_text(text.replace(ROW, one), "utf-8")

    study = companion / "study"
    (study / "printed" / "mine.csv").write_text("method,age\nSmallest loss,0.7\nLS,0.8\n")
    add(study / "layout.py", TABLE)
    add(tmp_path / "workflow" / "grid.csv", RUNS)
    add(study / "of_the_paper.py", CLAIM)

    learnt = "ignore:At no alpha"  # one epoch on few people
    command = [sys.executable, "-W", "error", "-W", learnt, "-c", USE]
    used = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert used.returncode == 0, used.stderr
    table, claim = used.stdout.splitlines()
    assert re.fullmatch(r"Smallest loss, .*: 0.7 2 \w* LS, .*: 0.8 2 ?\w*", table)
    word, _, evidence = claim.partition(" | ")
    assert word in ("holds", "fails", "open")
    assert evidence.startswith("LS, 1 epochs") and evidence.endswith("2 against 2 seeds")
