"""The workflow, started as a user starts it."""

import gc
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import nbformat
import pytest
from matplotlib import pyplot as plt
from torch.optim.optimizer import register_optimizer_step_pre_hook

from pamal_companion.__main__ import cli
from pamal_companion.data import census, multimnist
from pamal_companion.data.samples import faces, streets
from pamal_companion.runs import grid
from pamal_companion.runs.records import Record

pytest.importorskip("snakemake", reason="Snakemake is not installed")
pytest.importorskip("papermill", reason="papermill is not installed")
from papermill.cli import papermill
from papermill.engines import Engine, papermill_engines

ENV = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"} | {"PYTHONPATH": str(grid.ROOT)}
ODD = "pamal (1) & b's é"
TARGETS = [*grid.targets(), "pages", "smoke"]
NOTEBOOKS = {row["notebook"] for row in grid.read("pages")}
OF_RECORDS = {row["notebook"] for row in grid.read("pages") if row["of_records"] == "yes"}

# Slurm's commands, as far as the executor calls them. No job that is handed in here succeeds.
SBATCH = """#!/bin/sh
printf '%s\\n' "$@" > "$SLURM_TEST/$$"
echo $$
"""
SACCT = """#!/bin/sh
for job in $(ls "$SLURM_TEST"); do echo "$job|FAILED"; done
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of what the workflow works on; notebooks that are still to come are empty."""
    for folder in ("workflow", "notebooks", "results", "book/results"):
        shutil.copytree(grid.ROOT / folder, tmp_path / ODD / folder)
    for name in NOTEBOOKS:
        if not (path := tmp_path / ODD / "notebooks" / f"{name}.ipynb").exists():
            nbformat.write(nbformat.v4.new_notebook(), path)
    return tmp_path / ODD


def shorten(path):
    """Leave of the notebook of an experiment what makes the run, without what it shows."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    last = next(k for k, cell in enumerate(cells) if "recorder.write(" in cell.source)
    notebook.cells = cells[: last + 1]
    nbformat.write(notebook, path)


def command(*arguments, snakefile="workflow/Snakefile"):
    return [sys.executable, "-m", "snakemake", "-s", str(snakefile), *map(str, arguments)]


def snakemake(folder, *arguments, snakefile="workflow/Snakefile", **env):
    process = subprocess.run(
        command(*arguments, snakefile=snakefile),
        cwd=folder,
        env=ENV | env,
        capture_output=True,
        text=True,
        check=False,
    )
    return process.returncode, process.stdout + process.stderr


def jobs(output):
    """The table of jobs that Snakemake prints, the first if there are several."""
    found = re.search(r"^job +count\n-.*\n((?:\w+ +\d+\n)+)", output, re.MULTILINE)
    assert found, output[-3000:]
    return {name: int(count) for name, count in map(str.split, found[1].splitlines())}


def test_a_dry_run_of_every_target_has_what_is_left(copy):
    code, output = snakemake(copy, *TARGETS, "--dry-run")
    assert code == 0, output[-3000:]
    planned = jobs(output)
    left = [run for run in grid.runs() if not run.is_done(copy / "results")]
    left += [run for run in grid.runs("extras") if not run.is_done(copy / "results")]
    for experiment in ("multimnist", "census", "multimnist3", "utkface", "cityscapes"):
        chosen = {run.records[0] for run in left if run.notebook == experiment}
        assert planned.get(f"run_{experiment}", 0) == len(chosen), experiment
    of_tables = [*grid.records("ablations"), *grid.records("extras")]
    alone = [r for r in of_tables if r.count("/") == 2 and not (copy / "results" / r).exists()]
    assert planned["run_alone"] == len(alone)
    assert planned["smoke_methods"] == 5
    assert planned["smoke_notebook"] == len(list((copy / "notebooks").glob("*.ipynb")))
    done = {t for t in grid.targets() if all(r.is_done(copy / "results") for r in grid.runs(t))}
    assert planned["book"] == 1 and {*TARGETS} - done - {"pages"} <= {*planned}


class BegunError(Exception):
    """A training would begin now."""


def begin(*_, **__):
    raise BegunError


class Here(Engine):
    """Papermill's engine without a kernel: the cells run in this process until training begins.

    A notebook of records alone trains nothing. As it is, study/test_tables.py runs it to its end.
    """

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **_):
        given = nb_man.nb.metadata.papermill
        if Path(given.input_path).stem in OF_RECORDS and not given.parameters:
            return
        names = {"__name__": "__main__", "display": lambda *_, **__: None}
        with suppress(BegunError), plt.rc_context():
            for cell in nb_man.nb.cells:
                if cell.cell_type == "code":
                    exec(cell.source, names)
                    plt.close("all")
        names.clear()
        gc.collect()  # a notebook leaves its temporary folder to the end of its kernel


@pytest.fixture
def begun(monkeypatch):
    """Stop each training before its first step; the records whose trainings were to begin."""
    records, maker = [], grid.maker

    def make_until_it_begins(record, *arguments):
        make = maker(record, *arguments)

        def go():
            with pytest.raises(BegunError):
                make()
            records.append(record)

        return go

    monkeypatch.setattr(grid, "maker", make_until_it_begins)
    # Each sample is drawn once for all methods.
    for draw in (faces.faces, streets.scenes, multimnist.load, census.load):
        monkeypatch.setattr(f"{draw.__module__}.{draw.__name__}", cache(draw))
    monkeypatch.setattr("pamal_companion.runs.run.train", begin)
    monkeypatch.setattr("pamal_core.training.check_reach", begin)  # in a cell that calls `train`
    monkeypatch.setattr("pamal_companion.toy.pairs.Pairs.run", begin)
    monkeypatch.setitem(papermill_engines._engines, None, Here)
    hook = register_optimizer_step_pre_hook(begin)
    yield records
    hook.remove()


@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
def test_every_job_of_smoke_is_accepted_until_training_begins(tmp_path, monkeypatch, begun):
    """Each by the command line that is planned, with its program run in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAMAL_DATA", raising=False)
    (tmp_path / "_build/smoke").mkdir(parents=True)
    snakefile = grid.ROOT / "workflow/Snakefile"
    options = ("--dry-run", "--printshellcmds")
    code, output = snakemake(tmp_path, "smoke", *options, snakefile=snakefile)
    assert code == 0, output[-3000:]
    planned = re.findall(r" -m (papermill|pamal_companion) (.+)", output)
    counts = jobs(output)
    assert len(planned) == counts["smoke_notebook"] + counts["smoke_methods"]
    assert counts["smoke_notebook"] == len([*(grid.ROOT / "notebooks").glob("*.ipynb")])
    for program, words in planned:
        {"papermill": papermill, "pamal_companion": cli}[program].main(
            shlex.split(words), standalone_mode=False
        )
    named = [w for _, words in planned for w in shlex.split(words) if w.endswith(".json")]
    assert begun == named and len(named) > 50


def test_an_edited_notebook_repeats_nothing_a_lost_record_its_run(copy):
    for made in grid.records():
        (copy / "results" / made).parent.mkdir(parents=True, exist_ok=True)
        (copy / "results" / made).touch()
    for page in [f"book/{row['page']}.ipynb" for row in grid.read("pages")]:
        (copy / page).parent.mkdir(exist_ok=True)
        (copy / page).touch()
    (copy / "_build/html").mkdir(parents=True)
    (copy / "_build/html/index.html").touch()
    for path in (copy / "notebooks").glob("*.ipynb"):
        path.write_text(path.read_text() + "\n")
    code, output = snakemake(copy, "paper", "--dry-run")
    assert code == 0 and "Nothing to be done" in output, output[-3000:]
    (copy / "results/census/mgda_seed_1.json").unlink()
    _, output = snakemake(copy, "paper", "--dry-run")
    assert jobs(output) == {"run_census": 1, "page": 4, "book": 1, "paper": 1, "total": 7}


def test_slurm_gets_jobs_that_ask_for_what_the_table_says(copy):
    fakes, sent = copy / "bin", copy / "sent"
    fakes.mkdir()
    sent.mkdir()
    for name in ("sbatch", "sacct", "squeue", "sinfo", "scontrol", "sacctmgr", "sshare", "scancel"):
        text = {"sbatch": SBATCH, "sacct": SACCT}.get(name, "#!/bin/sh\necho lab\n")
        (fakes / name).write_text(text)
        (fakes / name).chmod(0o755)
    small = ["census/ls_seed_1", "ablation_sampling/census/pamal-W=1-lam=0.0-p=0.1_seed_1"]
    records = [f"results/{name}.json" for name in ("cityscapes/pamal_seed_0", *small)]
    for path in records:
        (copy / path).unlink(missing_ok=True)
    code, output = snakemake(
        copy,
        *records,
        *("--workflow-profile", "workflow/profiles/slurm", "--retries", "0"),
        *("--default-resources", "slurm_account=lab", "slurm_partition=long"),
        *("--slurm-init-seconds-before-status-checks", "1"),
        PATH=f"{fakes}:{os.environ['PATH']}",
        SLURM_TEST=str(sent),
    )
    assert code != 0
    scripts = [path.read_text().splitlines() for path in sorted(sent.iterdir())]
    assert len(scripts) == 2, output[-3000:]
    large, group = sorted(scripts, key=lambda lines: "run_alone" in lines[-1])
    # The arguments of options that stand apart are lines of their own.
    cost = grid.by_record()["cityscapes/pamal_seed_0.json"].cost
    assert {"--mem", str(cost.mem_mb), "-t", str(cost.minutes), "--gpus=1"} <= {*large}
    assert f"--cpus-per-task={cost.threads}" in large
    assert {"--mem", "6000", "--cpus-per-task=2", "-t", "60"} <= {*group}
    assert not any(line.startswith("--gpus") for line in group)
    for job in (large, group):  # what Slurm's shell reads
        words = shlex.split(job[-1].partition("=")[2])
        assert words[words.index("--snakefile") + 1] == str(copy / "workflow/Snakefile")
    # Snakemake's own reader finds the records again, with all the signs in their names.
    from snakemake.target_jobs import parse_target_jobs_cli_args

    quoted = re.search(r"--target-jobs ((?:'[^']+' ?)+)", group[-1])
    specs = parse_target_jobs_cli_args(re.findall(r"'([^']+)'", quoted[1]))
    assert {f"{s.wildcards_dict['folder']}/{s.wildcards_dict['record']}" for s in specs} == {*small}


def test_a_workflow_that_was_killed_goes_on_and_then_has_nothing_to_do(copy):
    shorten(copy / "notebooks/census.ipynb")
    names = ["census/ls_seed_0.json", "census/pamal_seed_0.json"]
    paths = [copy / "_build/smoke" / name for name in names]
    arguments = (*(f"_build/smoke/{name}" for name in names), "--cores", 1)
    process = subprocess.Popen(
        command(*arguments),
        cwd=copy,
        env=ENV,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    logs = copy / "_build/runs/_build/smoke/census"
    while process.poll() is None and len(list(logs.glob("*.ipynb"))) < 2:
        time.sleep(0.05)  # until the second run has begun
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in paths if path.exists()}
    assert len(finished) == 1
    code, output = snakemake(copy, *arguments)
    assert code == 0, output[-3000:]
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    code, output = snakemake(copy, *arguments)
    assert code == 0 and "Nothing to be done" in output, output[-3000:]
    # The same runs without Snakemake, papermill and the signal.
    for name, path in zip(names, paths, strict=True):
        grid.maker(name, copy / "straight", {"data": "sample", "epochs": 1})()
        records = [Record.read(p) for p in (path, copy / "straight" / name)]
        one, other = (record.model_dump(exclude={"cost"}) for record in records)
        assert one == other


@pytest.fixture
def odd(request, tmp_path):
    """The repository in a folder of an odd name, with an environment there, and two methods."""
    folder = tmp_path / getattr(request, "param", ODD)
    for name in ("workflow", "pamal_core", "pamal_companion"):
        shutil.copytree(grid.ROOT / name, folder / name)
    (folder / "notebooks").mkdir()
    for name in ("census", "schematics"):
        shutil.copy(grid.ROOT / f"notebooks/{name}.ipynb", folder / "notebooks")
    shorten(folder / "notebooks/census.ipynb")
    table = (folder / "workflow/grid.csv").read_text("utf-8").splitlines()
    kept = re.compile(r"census,census,\w+,(ls|pamal),|\w+,ablation_sampling/census,")
    rows = [row for row in table[1:] if kept.match(row)]
    (folder / "workflow/grid.csv").write_text("\n".join([table[0], *rows, ""]), "utf-8")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def in_odd(folder, *arguments):
    made = subprocess.run(
        [folder / ".venv/bin/python", *command(*arguments)[1:]],
        cwd=folder,
        env=ENV | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, (made.stdout + made.stderr)[-3000:]
    return made.stdout


def test_the_smoke_rule_runs_in_a_folder_of_an_odd_name(odd):
    (odd / "notebooks/census.ipynb").unlink()  # schematics needs no training
    in_odd(odd, "smoke", "--cores", "2")
    names = ["census.methods", "schematics.ipynb"]
    assert all((odd / "_build/smoke" / name).is_file() for name in names)
    assert [path.name for path in odd.parent.iterdir()] == [odd.name]


NAMES = [ODD, 'two  "words"; #3 {braces} [a-z]* $HOME', "-n `x` ~ back\\slash|>1"]


@pytest.mark.parametrize("odd", NAMES, indirect=True)
def test_each_command_is_whole_in_a_folder_of_any_name(odd):
    (odd / "results/census").mkdir(parents=True)
    targets = [
        *("_build/smoke/schematics.ipynb", "_build/smoke/census.methods", "ablations"),
        *("_build/smoke/census/ls_seed_0.json", "book/results/schematics.ipynb"),
    ]
    said = in_odd(odd, *targets, "--dry-run", "--printshellcmds", "--quiet", "host")
    commands = [line.strip() for line in said.splitlines() if " -m pa" in line]
    python = str(odd / ".venv/bin/python")
    for words in map(shlex.split, commands):
        assert python in words  # the interpreter is one word, with all that follows it
        rest = words[words.index(python) + 1 :]
        assert rest[:2] in (["-m", "papermill"], ["-m", "pamal_companion"])
        assert not {*"&;()|<>`"} & {*"".join(rest)}
    kinds = {" ".join(shlex.split(line)[-9:]) for line in commands}
    assert len(kinds) >= 5
