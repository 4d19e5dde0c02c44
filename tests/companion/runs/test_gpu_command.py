"""The command that uses a machine for some minutes: measurements, then runs that can still end."""

import csv
import hashlib
import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tiny_experiment import tiny

from pamal_companion.experiments import multimnist, utkface
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record

ROOT = Path(__file__).parents[3]
SETTING = """
[[settings]]
name = "{}"
experiment = "{}"
method = "{}"
options = "{}"
"""
NARROW = ("narrow", "census", "pamal", "data=sample; epochs=1; W=1; lam=0")
WITHOUT_DATA = ("without-data", "utkface", "ls", "data=full; epochs=1; limit=2")
CENSUS = ("people", "census", "mgda", "data=sample; epochs=1")
LONG = ("long", "fairness", "ls", "data=sample; epochs=1000000")


@pytest.fixture
def gpu(monkeypatch):
    """The module workflow/gpu.py."""
    for folder in ("benchmarks", "workflow"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    return importlib.import_module("gpu")


@pytest.fixture
def operations(gpu):
    """The module benchmarks/operations.py."""
    return importlib.import_module("operations")


def register(folder, name, *settings, seeds=(3,)):
    head = f'question = "Which?"\nseeds = {[*seeds]}\njudged = false\n'
    text = head + "".join(SETTING.format(*setting) for setting in settings)
    (folder / f"{name}.toml").write_text(text)
    with (folder / "HASHES").open("a") as hashes:
        hashes.write(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}.toml\n")


def job(gpu, name, method="ls", experiment="tiny"):
    kind, options = SimpleNamespace(name=experiment), SimpleNamespace(method=method)
    return gpu.Job(name, kind, options)


def test_runs_are_queued_in_the_order_of_the_names_that_are_given(gpu, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("registered"), "FOLDER", tmp_path)
    register(tmp_path, "one", NARROW, seeds=(3, 4))
    register(tmp_path, "two", CENSUS)
    queue = gpu.jobs(["two", "one", "two"], "cpu")
    names = ["two/people_seed_3", "one/narrow_seed_3", "one/narrow_seed_4"]
    assert [one.name for one in queue] == names
    assert {one.options.device for one in queue} == {"cpu"}
    assert [one.name for one in gpu.jobs([], "cuda")] == [*names[1:], names[0]]
    assert {one.options.device for one in gpu.jobs([], "cuda")} == {"auto"}


def test_the_first_run_that_can_end_in_time_is_begun_and_no_other(gpu):
    guesses = {"long": 100.0, "short": 10.0, "shorter": 5.0}
    queue = [job(gpu, name) for name in guesses]
    times = gpu.Times(lambda one: guesses[one.name])
    assert gpu.take(queue, times, 50.0).name == "short"
    assert gpu.take(queue, times, 4.0) is None
    assert [one.name for one in queue] == ["long", "shorter"]


def test_estimates_are_corrected_by_ended_runs_of_the_kind(gpu):
    times = gpu.Times(lambda _: 10.0)
    times.ended(job(gpu, "a", "ls"), 20.0)
    assert times.estimate(job(gpu, "b", "ls")) == pytest.approx(20)
    assert times.estimate(job(gpu, "c", "phn")) == pytest.approx(20)
    times.ended(job(gpu, "d", "phn"), 40.0)
    assert times.estimate(job(gpu, "e", "phn")) == pytest.approx(40)
    assert times.estimate(job(gpu, "f", "mgda")) == pytest.approx(30)
    assert times.estimate(job(gpu, "g", "ls", "other")) == pytest.approx(10)


def test_a_run_that_is_not_done_in_time_is_stopped_and_left(gpu, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.import_module("registered"), "FOLDER", tmp_path)
    register(tmp_path, "one", LONG)
    clock = itertools.chain([10.0] * 3, itertools.repeat(0.0))
    queue = gpu.jobs(["one"], "cpu")
    outcome = gpu.make(queue, gpu.Times(lambda _: 1.0), 1, lambda: next(clock), lambda _: None)
    assert (outcome.made, outcome.failed) == ([], [])
    assert [one.name for one in outcome.left] == ["one/long_seed_3"]
    assert "one/long_seed_3: left to be made" in capsys.readouterr().out
    assert not (tmp_path / "one" / "long_seed_3.json").exists()


@pytest.fixture
def clone(tmp_path):
    """A folder with the code alone, and with registrations of its own."""
    for name in ("workflow", "pamal_core", "pamal_companion"):
        shutil.copytree(ROOT / name, tmp_path / "a clone" / name)
    folder = tmp_path / "a clone" / "results" / "registered"
    folder.mkdir(parents=True)
    register(folder, "one", WITHOUT_DATA, NARROW, CENSUS)
    return tmp_path / "a clone"


def command(clone, *arguments):
    return subprocess.run(
        [sys.executable, str(ROOT / "workflow/gpu.py"), "--code", str(clone), *arguments],
        env=os.environ | {"PAMAL_DATA": str(clone), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_that_fails_is_told_and_the_others_are_made_and_packed(
    gpu, clone, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    options = ("--device", "cpu", "--ratios", "0", "--minutes", "60", "--processes", "2")
    made = command(clone, *options, "--out", str(out))
    assert made.returncode == 1, made.stdout + made.stderr
    assert "Runs that are not made yet: 3. 2 at a time." in made.stdout
    assert "one/without-data_seed_3: failed. " in made.stdout
    assert "| utkface | ls | 0 | 1 | 0 |  |" in made.stdout
    assert "Made 2, failed 1, left 0" in made.stdout and made.stderr == ""
    with tarfile.open(out / "records.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    for name in ("narrow", "people"):
        path = f"results/registered/one/{name}_seed_3.json"
        assert Record.read(tmp_path / "unpacked" / path) == Record.read(clone / path)
    assert not [*clone.rglob("*.safetensors")]
    folder = clone / "results/registered"
    monkeypatch.setattr(importlib.import_module("registered"), "FOLDER", folder)
    assert [one.name for one in gpu.jobs([], "cpu")] == ["one/without-data_seed_3"]


def test_nothing_is_left_where_all_is_made(gpu, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.import_module("registered"), "FOLDER", tmp_path)
    monkeypatch.setattr(gpu, "use", lambda _: None)  # the packages are here already
    monkeypatch.setattr(gpu.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        gpu.main(["--device", "cpu", "--ratios", "0"])
    assert ended.value.code == 0 and "nothing is left" in capsys.readouterr().out


def test_without_a_gpu_it_says_what_to_do(gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match=r"^error: .* Found no GPU; try --device cpu\.$"):
        gpu.check(gpu.parsed([]))


BAD = ["--minutes 0", "--minutes nan", "--minutes soon", "--ratios -1", "--processes 0"]


@pytest.mark.parametrize("arguments", [*BAD, "--device tpu"])
def test_bad_arguments_are_named(gpu, arguments, capsys):
    with pytest.raises(SystemExit):
        gpu.parsed(arguments.split())
    assert f"argument {arguments.split()[0]}: " in capsys.readouterr().err


def test_a_registration_that_is_not_there_is_refused(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "use", lambda _: None)  # the packages are here already
    monkeypatch.setattr(gpu.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit, match=r"^error: A registration needs a file"):
        gpu.main(["--device", "cpu", "no-such"])


def test_a_folder_that_is_no_clone_is_refused(gpu, tmp_path):
    with pytest.raises(SystemExit, match=r"^error: `--code` must name a clone. Found no "):
        gpu.check(gpu.parsed(["--device", "cpu", "--code", str(tmp_path)]))


def test_a_folder_that_cannot_be_made_is_refused(gpu, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=r"^error: Could not make the folder"):
        gpu.made_folder(str(tmp_path / "file" / "out"))


def test_the_folder_of_what_comes_out_is_a_path_like_any_other(gpu, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert gpu.made_folder("~/out") == tmp_path / "out" and (tmp_path / "out").is_dir()
    for path, message in (("~no-such-user/out", "there is no user"), ("", "must be a path")):
        with pytest.raises(SystemExit, match=rf"^error: `out` .*{message}"):
            gpu.made_folder(path)


def test_packages_that_are_missing_are_named(gpu, monkeypatch):
    installed = gpu.is_here
    monkeypatch.setattr(gpu, "is_here", lambda name: installed(name) and name != "scikit-learn")
    monkeypatch.setattr(gpu, "needed", lambda: ["torch", "scikit-learn", "no-such"])
    with pytest.raises(SystemExit) as ended:
        gpu.check(gpu.parsed(["--device", "cpu"]))
    assert "not here: scikit-learn, no-such. Install" in str(ended.value)
    assert "-m pip install scikit-learn no-such`" in str(ended.value)


def test_all_that_an_experiment_imports_is_asked_for(gpu):
    code = "import pkgutil, importlib, sys, pamal_companion.experiments as all_of\n"
    code += "for one in pkgutil.iter_modules(all_of.__path__, f'{all_of.__name__}.'):\n"
    code += "    importlib.import_module(one.name)\n"
    code += "print(*{name.partition('.')[0] for name in sys.modules})"
    imported = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    distributions = metadata.packages_distributions()
    found = {one for name in imported for one in distributions.get(name, ())}
    needed = {*gpu.needed()}
    direct = {re.split(r"[^\w-]", one)[0] for one in metadata.requires("pamal-core")}
    # setuptools is torch's, and an extra asks for it as well.
    assert found & direct <= needed | {"pamal-core", "setuptools"}
    assert {"scikit-learn", "pillow", "pooch"} <= needed
    assert all(gpu.is_here(name) for name in needed)


def test_steps_are_compared_and_written(gpu, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "settings", lambda _: iter([("LeNet", 4, "float32")]))
    assert gpu.ratios("cpu", 0.001, tmp_path)
    with (tmp_path / "ratios.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert [row["W"] for row in rows] == ["1", "4"]
    assert rows[1]["waits in a step"] == "not applicable"
    assert "| LeNet | 4 | float32 | 4 | " in capsys.readouterr().out


def test_rounding_to_tf32_is_put_back(gpu):
    parts = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [part.allow_tf32 for part in parts]
    for precision in ("TF32", "float32"):
        with gpu.rounding(precision):
            assert {part.allow_tf32 for part in parts} == {precision == "TF32"}
    assert [part.allow_tf32 for part in parts] == before


def test_the_backward_passes_of_gradient_rules_are_counted(operations):
    def of(**given):
        options = utkface.EXPERIMENT.options.create(data="full", **given)
        return operations.operations(utkface.EXPERIMENT, options)

    ls = of(method="ls")
    assert of(method="pamal", W=3, balancing="none") == pytest.approx(3 * ls)
    assert of(method="pamal", W=3, balancing="gradient") == pytest.approx(1.5e17, rel=0.05)
    # Forward once, and back three times, where a pass back costs twice as much.
    for rule in operations.RULES:
        assert of(method=rule) == pytest.approx(7 / 3 * ls, rel=0.02)


def test_the_passes_of_a_start_and_of_members_are_counted(operations):
    experiment = multimnist.EXPERIMENT

    def of(**given):
        return operations.operations(
            experiment, experiment.options.create(data="full", epochs=8, **given)
        )

    ls = of(method="ls")
    assert of(method="soup") == pytest.approx((4 + 4 * 2) / 8 * ls)
    assert of(method="pamal", W=4, shared_epochs=4) == pytest.approx((4 + 4 * 4) / 8 * ls)
    assert of(method="pamal", W=1, lr=0.1, seed=3) == pytest.approx(ls)


class Halves(torch.nn.Linear):
    """A layer whose outputs are those of two tasks."""

    def forward(self, x):
        return super().forward(x).chunk(2, dim=1)


def test_operations_of_a_linear_layer_are_those_by_hand(operations):
    # Two for a product and a sum. The input needs no gradient.
    assert operations.passes_of(Halves(5, 8), (5,)) == (80, 80, 160)


def test_an_experiment_without_known_shapes_is_counted_on_its_data(operations):
    options = Options.create(data="sample", epochs=3, W=2, method="pamal")
    one = operations.passes_for(tiny(), options)
    expected = 200 * 3 * 2 * (one.forward + one.backward)
    assert operations.operations(tiny(), options) == pytest.approx(expected)
    assert operations.steps(tiny(), options) == 3 * 2
