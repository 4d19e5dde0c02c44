"""What a record says of the place where its run was made, and what a run leaves out."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from tiny_experiment import tiny

from pamal_companion.runs import devices
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run

OPTIONS = {"epochs": 2, "batch_size": 64, "device": "cpu"}
RESULTS = Path(__file__).parents[3] / "results"


def test_a_record_says_on_which_device_and_by_which_code_it_was_made(tmp_path):
    run(tiny(), Options.create(**OPTIONS, out=str(tmp_path / "r.json")))
    made = Record.read(tmp_path / "r.json").made_on
    assert list(made) == ["device", "convolutions", "products", "commit"]
    assert made["device"] and made["convolutions"] == made["products"] == "float32"


def test_the_place_is_no_part_of_the_key():
    record = run(tiny(), Options.create(**OPTIONS)).record
    elsewhere = record.model_copy(update={"made_on": {"device": "another"}})
    assert elsewhere.key == record.key and "made_on" not in record.about


@pytest.mark.parametrize("path", sorted(RESULTS.glob("census/*.json"))[:3], ids=lambda p: p.stem)
def test_a_committed_record_is_written_as_it_was(path):
    assert Record.read(path).to_text() == path.read_text("utf-8")


def test_the_commit_is_that_of_git_and_its_changes_are_told(tmp_path, monkeypatch):
    package = tmp_path / "pamal_companion" / "runs"
    package.mkdir(parents=True)
    shutil.copy(devices.__file__, package / "devices.py")

    def git(*words):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", "-C", tmp_path, *name, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    monkeypatch.setattr(devices, "__file__", str(package / "devices.py"))
    assert devices.commit.__wrapped__() is None
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "First")
    assert devices.commit.__wrapped__() == git("rev-parse", "HEAD")
    (package / "devices.py").write_text("changed = True")
    assert devices.commit.__wrapped__() == git("rev-parse", "HEAD") + "-changed"


def test_a_gpu_is_named_with_the_precision_that_torch_gives_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    made = devices.made_on(torch.device("cuda"), "float32")
    assert (made["device"], made["convolutions"], made["products"]) == ("A GPU", "TF32", "float32")
    half = devices.made_on(torch.device("cuda"), "bfloat16")
    assert half["convolutions"] == half["products"] == "bfloat16"


def test_weights_are_left_out_where_nobody_keeps_them(tmp_path):
    out = tmp_path / "r.json"
    result = run(tiny(), Options.create(**OPTIONS, out=str(out)), keep_weights=False)
    assert result.network is not None
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["r.json"]
    again = run(tiny(), Options.create(**OPTIONS, out=str(out)))
    assert again.network is None and json.loads(out.read_text())["made_on"]
