"""Make one wrong change at a time in a copy of this tree, and say which ones the tests notice.

`python tests/mutants/run.py` tries each change of `mutants.toml`: it is killed if a test that it
names fails, survives if all pass, and is stale if its text is not in its file exactly once. All
tests that are named must pass without a change, which is looked at first.
"""

import argparse
import importlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.toml")
# Imported once, before processes are forked: that takes longer than most of the tests.
PRELOADED = ("torch", "torch.optim.swa_utils", "pandas", "moocore", "scipy.optimize", "pytest")
PRELOADED += ("scipy.special", "tqdm.auto")
BROKEN = 99
"""Exit status of a process in which pytest failed, or imported the package from another folder."""


@dataclass(frozen=True)
class Mutant:
    """A change of `old` into `new` in `file`, and the tests that may notice it."""

    name: str
    file: str
    old: str
    new: str
    why: str
    tests: list[str]

    def applied(self, root: Path) -> str | None:
        """Return the changed text of the file under `root`; None if it is stale."""
        path = root / self.file
        text = path.read_text("utf-8") if path.exists() else ""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


@dataclass
class Job:
    """A process that runs tests on a copy of the tree."""

    mutant: Mutant | None
    copy: Path
    process: multiprocessing.process.BaseProcess
    began: float


def copy_tree(folder: Path) -> Path:
    """Copy all files of the working tree that git does not ignore."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def write(copy: Path, file: str, text: str) -> None:
    """Write a file of a copy, and forget what was compiled of it."""
    path = copy / file
    path.write_text(text, "utf-8")
    # Python would take it for compiled already: the size may be equal, and so may the second.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def run_tests(copy: Path, tests: Sequence[str]) -> None:
    """Run `tests` in this process, whose exit status is that of pytest."""
    with (copy / "output.txt").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    sys.path.insert(0, str(copy))
    code = BROKEN
    try:
        import pytest

        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests])
        if not str(sys.modules["pamal_core"].__file__).startswith(str(copy)):
            code = BROKEN
    except BaseException:  # which would end the process with the status of a failed test
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


def start(copy: Path, mutant: Mutant | None, tests: Sequence[str]) -> Job:
    """Begin to run `tests` on a copy with the change of `mutant`."""
    if mutant is not None:
        write(copy, mutant.file, mutant.applied(copy) or "")
    process = multiprocessing.get_context("fork").Process(target=run_tests, args=(copy, tests))
    process.start()
    return Job(mutant, copy, process, time.monotonic())


def ended(jobs: list[Job], limit: float) -> Iterator[tuple[Job, str]]:
    """Wait until a job ends or takes longer than `limit`; yield what ended, and how."""
    wait([job.process.sentinel for job in jobs], timeout=1)
    for job in [*jobs]:
        is_late = time.monotonic() - job.began > limit
        if is_late:
            job.process.kill()
            job.process.join()
        if not job.process.is_alive():
            jobs.remove(job)
            names = {0: "survived", 1: "killed"}
            yield job, "killed" if is_late else names.get(job.process.exitcode or 0, "broken")


def output_of(copy: Path) -> str:
    """Return the last lines that pytest wrote."""
    return "\n".join((copy / "output.txt").read_text("utf-8").splitlines()[-15:])


@contextmanager
def copies(number: int) -> Iterator[list[Path]]:
    """Yield copies of the tree in folders that are removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield [copy_tree(Path(folder) / str(k)) for k in range(number)]


def check_unchanged(copy: Path, mutants: Sequence[Mutant], limit: float) -> bool:
    """Say whether all tests that the mutants name pass without a change."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    jobs = [start(copy, None, tests)]
    outcome = ""
    while jobs:
        for job in ended(jobs, limit * len(tests)):
            outcome = job[1]
    if outcome != "survived":
        print(f"Tests fail without a change:\n{output_of(copy)}")
    return outcome == "survived"


def try_all(mutants: Sequence[Mutant], free: list[Path], limit: float) -> Counter[str]:
    """Try each mutant, as many at a time as there are copies, and print what becomes of it."""
    outcomes: Counter[str] = Counter()
    jobs: list[Job] = []
    left = [*mutants]
    while left or jobs:
        while left and free:
            mutant = left.pop(0)
            if mutant.applied(ROOT) is None:
                outcomes["stale"] += 1
                print(f"stale             {mutant.name}: not once in {mutant.file}", flush=True)
                continue
            jobs.append(start(free.pop(), mutant, mutant.tests))
        for job, outcome in ended(jobs, limit) if jobs else ():
            mutant = job.mutant
            assert mutant is not None
            outcomes[outcome] += 1
            seconds = time.monotonic() - job.began
            print(f"{outcome:<9} {seconds:5.0f} s  {mutant.name}: {mutant.why}", flush=True)
            if outcome == "broken":
                print(output_of(job.copy))
            write(job.copy, mutant.file, (ROOT / mutant.file).read_text("utf-8"))
            free.append(job.copy)
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", nargs="+", help="the names of some mutants")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at a time")
    parser.add_argument("--limit", type=float, default=300, help="seconds for the tests of each")
    parser.add_argument(
        "--unchecked", action="store_true", help="do not run the tests without a change first"
    )
    arguments = parser.parse_args()
    mutants = [Mutant(**fields) for fields in tomllib.loads(LIST.read_text("utf-8"))["mutant"]]
    names = [mutant.name for mutant in mutants]
    if unknown := {*(arguments.only or names)} - {*names}:
        parser.error(f"no mutant is named {', '.join(sorted(unknown))}")
    mutants = [m for m in mutants if m.name in (arguments.only or names)]
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in PRELOADED:
        importlib.import_module(name)
    with copies(arguments.jobs) as free:
        if not arguments.unchecked and not check_unchanged(free[0], mutants, arguments.limit):
            return 2
        outcomes = try_all(mutants, free, arguments.limit)
    print(", ".join(f"{outcomes[o]} {o}" for o in ("killed", "survived", "stale", "broken")))
    return int(outcomes["killed"] < len(mutants))


if __name__ == "__main__":
    sys.exit(main())
