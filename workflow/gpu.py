"""Use a machine for some minutes: python workflow/gpu.py --minutes 10 [--device cpu] [NAME ...]

First it measures, for about a minute, what a PaMaL step costs over that of a plain loop. Then it
makes the runs that are missing of the registrations NAME, or of all, in their order, as many at a
time as `--processes` says, until the time is up. None is begun that cannot end in time.

Each record is written when its run ends, to results/registered/NAME/, and without weights. With
`--out` all records of this call are in FOLDER/records.tar.gz, too, which is whole whenever the
process is stopped: `tar -xzf records.tar.gz` in a repository puts them into their places. A run
that the end of the time stops keeps its checkpoint.

With `--code PATH` the runs are made by the code of that clone, and are those of the registrations
that lie there.
"""

import argparse
import csv
import importlib
import io
import multiprocessing
import os
import re
import signal
import sys
import tarfile
import threading
import time
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import metadata
from multiprocessing.connection import wait
from pathlib import Path
from runpy import run_path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACK_EVERY = 30.0  # seconds
STOP_WITHIN = 5.0  # seconds, in which a run that is stopped may write its checkpoint
RATE = {"cuda": 1e13, "cpu": 2e10}  # operations a second of one process
PER_STEP = {"cuda": 6e-3, "cpu": 1e-3}  # seconds of a pass, however small its network
RATIOS = (
    *("network", "images", "precision", "W", "ratio", "least", "most", "rounds"),
    "waits in a step",
)


# What is asked for


def number(least: float) -> Callable[[str], float]:
    """Return a reader of finite numbers from `least` on."""

    def read(text: str) -> float:
        value = float(text)
        if not least <= value < 1e6:
            raise argparse.ArgumentTypeError(f"must be a number from {least:g} on. Found {text}.")
        return value

    return read


def processes(text: str) -> int:
    """Read a number of processes."""
    value = int(text)
    if not 1 <= value <= 256:
        raise argparse.ArgumentTypeError(f"must be from 1 to 256. Found {text}.")
    return value


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="registrations; all by default")
    parser.add_argument("--minutes", type=number(0.01), default=10.0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", metavar="FOLDER", help="for ratios.csv and records")
    parser.add_argument("--code", type=Path, metavar="PATH", default=ROOT, help="the clone")
    parser.add_argument("--processes", type=processes, metavar="N")
    parser.add_argument("--ratios", type=number(0), default=1.0, metavar="MINUTES", help="0: none")
    options = parser.parse_args(arguments)
    if options.processes is None:
        options.processes = min(os.cpu_count() or 1, 16) if options.device == "cuda" else 1
    options.code = options.code.resolve()
    return options


def needed() -> list[str]:
    """Return the names of the packages that `pip install '.[companion]'` asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    # `companion` has the extra `plots` in it, as "pamal-core[plots]".
    listed = [*project["dependencies"], *extras["companion"], *extras["plots"]]
    return [re.split(r"[<>=!~; ]", one)[0] for one in listed if "[" not in one]


def is_here(name: str) -> bool:
    """Return whether a package of this name is installed, or in a folder of PYTHONPATH."""
    return any(metadata.distributions(name=name))


def check(options: argparse.Namespace) -> None:
    """Exit with a sentence if the machine lacks what is asked for."""
    if lacking := [name for name in needed() if not is_here(name)]:
        listed = " ".join(lacking)
        sys.exit(
            f"error: The runs need packages that are not here: {', '.join(lacking)}. Install them, "
            f"`{sys.executable} -m pip install {listed}`, or name a folder that has them in "
            "PYTHONPATH."
        )
    for part in ("pamal_companion", "workflow/registered.py"):
        if not (options.code / part).exists():
            sys.exit(f"error: `--code` must name a clone. Found no {options.code / part}.")
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("error: `--device` is cuda. Found no GPU; try --device cpu.")


def use(code: Path) -> None:
    """Import the packages and `registered` from `code`, and the benchmarks from this repository.

    Spawned processes get `sys.path` from this one.
    """
    sys.path[:0] = [str(code), str(code / "workflow"), str(ROOT / "benchmarks")]


def made_folder(out: str) -> Path:
    """Make the folder `out`, with the home folder for "~". Exit with a sentence if that cannot
    be."""
    from pamal_core.errors import InputError

    # The function of this repository, because an older clone has none.
    user_path = run_path(str(ROOT / "pamal_companion" / "data" / "places.py"))["user_path"]
    try:
        folder: Path = user_path(out, "out")
        folder.mkdir(parents=True, exist_ok=True)
    except InputError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: Could not make the folder {out}: {error.strerror}.")
    return folder


# Ratios


def settings(device: str) -> Iterator[tuple[str, int, str]]:
    """Yield network, images a step and precision of what is measured."""
    yield "LeNet", 256, "float32"
    if device == "cuda":
        yield from (("ResNet18", 256, precision) for precision in ("float32", "TF32", "bfloat16"))
    else:  # a quarter of its width, so that a minute is enough
        yield from (("ResNet18 of width 16", 16, name) for name in ("float32", "bfloat16"))


def made_for(network: str, images: int, device: str) -> tuple[Callable[[], Any], list[Any], Any]:
    """Return what makes a network, its tasks and a batch."""
    import torch

    from pamal_companion.experiments.models import lenet
    from pamal_companion.experiments.resnet import resnet18
    from pamal_core import classification

    labels = [torch.randint(2, (images,)) for _ in range(2)]
    tasks = [classification("first"), classification("second")]
    make: Callable[[], Any] = partial(lenet, 2)
    shape: tuple[int, ...] = 1, 28, 28
    if network != "LeNet":
        width = 64 if network == "ResNet18" else 16
        make, shape = partial(resnet18, (2, 2), width=width, size=64), (3, 64, 64)
    batch = [torch.rand(images, *shape), *labels]
    return make, tasks, [part.to(device) for part in batch]


def steps_of(network: str, images: int, precision: str, device: str) -> dict[str, Any]:
    """Return the steps that are compared; each ends when the device has done it."""
    import torch
    from timing import ensemble_step, plain_step

    make, tasks, batch = made_for(network, images, device)
    plain = make().to(device, memory_format=torch.channels_last)
    bare = {
        "plain": plain_step(plain, tasks, batch, torch.optim.Adam(plain.parameters())),
        "1": ensemble_step([make() for _ in tasks], tasks, batch, 1),
        "4": ensemble_step([make() for _ in tasks], tasks, batch, 4),
    }

    def ended(step: Callable[[], None]) -> Callable[[], None]:
        def whole() -> None:
            with torch.autocast(device, torch.bfloat16, precision == "bfloat16"):
                step()
            if device == "cuda":
                torch.cuda.synchronize()

        return whole

    return {name: ended(step) for name, step in bare.items()} | {"bare": bare["4"]}


def measured(steps: Mapping[str, Callable[[], None]], seconds: float, repeats: int) -> Any:
    """Return the seconds of each step, round by round, for about as many seconds as given."""
    from timing import in_turn

    began = time.perf_counter()
    first = in_turn(steps, 1, repeats)
    one = sum(float(times.sum()) for times in first.values()) * repeats
    left = seconds - (time.perf_counter() - began)
    rounds = min(int(left / one) - 1, 40)  # a round before the first warms up
    return in_turn(steps, rounds, repeats) if rounds > 0 else first


@contextmanager
def rounding(precision: str) -> Iterator[None]:
    """Let a GPU round factors to TF32 if that is the `precision`, and keep them whole if not."""
    import torch

    parts: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [part.allow_tf32 for part in parts]
    try:
        for part in parts:
            part.allow_tf32 = precision == "TF32"
        yield
    finally:
        for part, value in zip(parts, before, strict=True):
            part.allow_tf32 = value


def waits(step: Callable[[], None]) -> list[str]:
    """Return the places where a step on a GPU waits for it, each as often as it does."""
    import torch

    step()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    # Not torch's remark that it may overlook some.
    found = [one for one in said if "called a synchronizing" in str(one.message)]
    return [f"{Path(one.filename).name}:{one.lineno}" for one in found]


def compared(network: str, images: int, precision: str, device: str, seconds: float) -> Any:
    """Return the rows of a table, for W = 1 and W = 4, of steps that are measured in turn."""
    import numpy as np

    with rounding(precision):
        steps = steps_of(network, images, precision, device)
        bare = steps.pop("bare")
        # A step of LeNet is short beside the reading of a clock.
        repeats = 20 if network == "LeNet" and device == "cuda" else 1
        times = measured(steps, seconds, repeats)
        places = waits(bare) if device == "cuda" else []
    waiting = str(len(places)) if device == "cuda" else "not applicable"
    if places:
        print(f"{network}, {precision}, waits at {', '.join(sorted({*places}))}")
    rows = []
    for W in ("1", "4"):
        ratio = times[W] / times["plain"]
        spread = [f"{f(ratio):.3f}" for f in (np.median, np.min, np.max)]
        last = waiting if W == "4" else ""
        rows.append([network, str(images), precision, W, *spread, str(len(ratio)), last])
    return rows


def ratios(device: str, minutes: float, out: Path | None) -> bool:
    """Print what steps of PaMaL cost over a plain loop's, and write it to `out`/ratios.csv; return
    whether all could be measured."""
    import torch

    torch.manual_seed(0)
    chosen, rows, is_whole = [*settings(device)], [], True
    for setting in chosen:
        try:
            rows += compared(*setting, device, 60 * minutes / len(chosen))
        except RuntimeError as error:  # too little memory, say: the runs may have enough
            print(f"{setting} could not be measured: {error}", flush=True)
            is_whole = False
    name = f"{torch.get_num_threads()} threads of a CPU"
    if device == "cuda":
        torch.cuda.empty_cache()  # the runs need the memory
        name = torch.cuda.get_device_name()
    print(f"A step of PaMaL over a plain loop's, {name}, torch {torch.__version__}:\n")
    print(table(RATIOS, rows), flush=True)
    if out is not None:
        with (out / "ratios.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([RATIOS, *rows])
    return is_whole


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


# Runs


@dataclass(frozen=True)
class Job:
    """A run that is missing: `name` is REGISTRATION/RECORD."""

    name: str
    experiment: Any
    options: Any

    @property
    def kind(self) -> tuple[str, str]:
        """Return experiment and method."""
        return self.experiment.name, self.options.method


def jobs(names: Sequence[str], device: str) -> list[Job]:
    """Return what is missing of the registrations `names`, or of all, in their order."""
    registered: Any = importlib.import_module("registered")
    names = names or sorted(path.stem for path in registered.FOLDER.glob("*.toml"))
    questions = [registered.read(name, registered.FOLDER) for name in dict.fromkeys(names)]
    more = {"device": "cpu"} if device == "cpu" else {}
    return [
        Job(f"{question.name}/{Path(o.out).stem}", experiment, o.model_copy(update=more))
        for question in questions
        for experiment, o in registered.missing(question)
    ]


def first_guess(device: str) -> Callable[[Job], float]:
    """Return what estimates the seconds of a run from its operations and its steps."""
    counting: Any = importlib.import_module("operations")

    def estimate(job: Job) -> float:
        of_products = counting.operations(job.experiment, job.options) / RATE[device]
        return of_products + counting.steps(job.experiment, job.options) * PER_STEP[device]

    return estimate


@dataclass
class Times:
    """Estimates of seconds, corrected by the runs that ended.

    `guess` is what a run would take from its operations alone. It is multiplied by the ratio of
    seconds to guesses of those ended runs that have the same experiment and method; if none has, of
    those that have the same experiment.
    """

    guess: Callable[[Job], float]
    guesses: dict[str, float] = field(default_factory=dict)
    # Seconds and guesses of ended runs, by (experiment, method) and by (experiment,).
    sums: dict[tuple[str, ...], list[float]] = field(default_factory=dict)

    def guessed(self, job: Job) -> float:
        """Return the guess, which is made once."""
        if job.name not in self.guesses:
            self.guesses[job.name] = self.guess(job)
        return self.guesses[job.name]

    def ended(self, job: Job, seconds: float) -> None:
        """Take note of what a run took."""
        for alike in (job.kind, job.kind[:1]):
            total = self.sums.setdefault(alike, [0.0, 0.0])
            total[0] += seconds
            total[1] += self.guessed(job)

    def estimate(self, job: Job) -> float:
        """Return the seconds that `job` is expected to take."""
        taken, guessed = self.sums.get(job.kind) or self.sums.get(job.kind[:1]) or (1.0, 1.0)
        return self.guessed(job) * taken / guessed


def take(queue: list[Job], times: Times, seconds: float) -> Job | None:
    """Remove and return the first job of `queue` that can end in so many seconds."""
    for place, job in enumerate(queue):
        if times.estimate(job) <= seconds:
            return queue.pop(place)
    return None


class Pack:
    """The archive of the records of this call, whole at any time: a new one replaces the old."""

    def __init__(self, folder: Path | None, code: Path) -> None:
        self.folder, self.code = folder, code
        self.records: list[Path] = []
        self.packed, self.last = 0, time.monotonic()

    def add(self, job: Job | None) -> None:
        """Add the record of a run, if one has ended, and write the archive every half minute."""
        if job is not None:
            self.records.append(Path(job.options.out))
        if time.monotonic() - self.last >= PACK_EVERY:
            self.write()

    def write(self) -> None:
        """Write the archive if there are records that it lacks."""
        self.last = time.monotonic()
        if self.folder is None or self.packed == len(self.records):
            return
        path, half = self.folder / "records.tar.gz", self.folder / ".records.tar.gz.half"
        with tarfile.open(half, "w:gz") as archive:
            for record in self.records:
                content = record.read_bytes()
                entry = tarfile.TarInfo(record.relative_to(self.code).as_posix())
                entry.size, entry.mtime = len(content), int(record.stat().st_mtime)
                archive.addfile(entry, io.BytesIO(content))
        os.replace(half, path)
        self.packed = len(self.records)


def experiment_of(name: str) -> Any:
    """Return the experiment of a name; not by the package's own function, which older code that
    `--code` names does not have."""
    return importlib.import_module(f"pamal_companion.experiments.{name}").EXPERIMENT


@lru_cache(maxsize=2)
def _load(name: str, given: str) -> Any:
    experiment = experiment_of(name)
    return experiment.load(experiment.options.model_validate_json(given))


def data_of(experiment: Any, options: Any) -> Any:
    """Return the data of a run, which runs of one draw that follow each other share."""
    from pamal_companion.runs.options import OF_DATA

    return _load(experiment.name, options.model_dump_json(include=OF_DATA, exclude_unset=True))


def attempt(name: str, options: Any) -> tuple[str, str]:
    """Make a run; return "made", "busy" if another process makes it, "failed", or "lost" if the
    process may not go on after it, and what went wrong."""
    from pamal_companion.runs.files import BusyError
    from pamal_companion.runs.run import run
    from pamal_core.errors import InputError

    try:
        experiment = experiment_of(name)
        run(experiment, options, data_of(experiment, options), wait=False, keep_weights=False)
    except BusyError as error:
        return "busy", str(error)
    except InputError as error:
        return "failed", str(error)
    except Exception as error:  # one run must not end the others
        return "lost", f"{type(error).__name__}: {error}"
    return "made", ""


def work(pipe: Any) -> None:
    """Make the runs that come through `pipe`, each as an experiment's name and its options, and
    answer each with its seconds and what `attempt` returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command stops its workers itself
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())  # its own would be left behind by a process that is stopped
    became = ""
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stderr(nowhere),  # bars and warnings of many runs at once
        suppress(EOFError, OSError, KeyboardInterrupt),  # told to end
    ):
        while became != "lost":
            name, options = pipe.recv()
            began = time.perf_counter()
            became, wrong = attempt(name, options)
            pipe.send((time.perf_counter() - began, became, wrong))


class Worker:
    """A process that makes one run after another."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Job | None = None

    def begin(self, job: Job) -> None:
        """Start a run."""
        self.job = job
        with suppress(OSError):  # it has died: `answer` says so
            self.pipe.send((job.experiment.name, job.options))

    def answer(self) -> tuple[Any, float, str, str]:
        """Return the run that has just ended, its seconds and what became of it."""
        job, self.job = self.job, None
        try:
            seconds, became, wrong = self.pipe.recv()
        except (EOFError, OSError):
            seconds, became, wrong = 0.0, "lost", ""
        if became == "lost":
            self.process.join(5)
            wrong = wrong or f"The process ended with exit code {self.process.exitcode}."
        return job, seconds, became, wrong

    def stop(self) -> None:
        """Ask the process to end: at once, or, if it waits for a run, by itself."""
        if self.job is not None:
            self.process.terminate()
        self.pipe.close()


@dataclass
class Outcome:
    """What became of the runs."""

    made: list[tuple[Job, float]] = field(default_factory=list)
    failed: list[tuple[Job, str]] = field(default_factory=list)
    left: list[Job] = field(default_factory=list)

    def add(self, job: Job, seconds: float, became: str, wrong: str) -> None:
        """Take note of a run that has ended, and print it."""
        if became == "made":
            self.made.append((job, seconds))
        elif became == "busy":
            self.left.append(job)
        else:
            self.failed.append((job, wrong))
        said = f"{seconds:.1f} s" if became == "made" else f"{became}. {wrong}"
        print(f"{job.name}: {said}", flush=True)


def make(
    queue: list[Job],
    times: Times,
    count: int,
    seconds_left: Callable[[], float],
    ended: Callable[[Job | None], None],
) -> Outcome:
    """Make the runs of `queue`, `count` at a time, until nothing is left that can end in time.

    `ended` is called with each run that was made, and about every second with None.
    """
    outcome, workers = Outcome(), [Worker() for _ in range(min(count, len(queue)))]
    try:
        while seconds_left() > 0:
            for place, worker in enumerate(workers):
                if worker.job is None and (job := take(queue, times, seconds_left())):
                    if not worker.process.is_alive():
                        workers[place] = worker = Worker()
                    worker.begin(job)
            busy: dict[Any, Worker] = {one.pipe: one for one in workers if one.job is not None}
            if not busy:
                break
            for pipe in wait([*busy], max(min(1.0, seconds_left()), 0.0)):
                job, seconds, became, wrong = busy[pipe].answer()
                outcome.add(job, seconds, became, wrong)
                if became == "made":
                    times.ended(job, seconds)
                    ended(job)
            ended(None)
    finally:
        outcome.left += [one.job for one in workers if one.job is not None]
        for job in outcome.left:
            print(f"{job.name}: left to be made", flush=True)
        for worker in workers:
            worker.stop()
        end = time.monotonic() + STOP_WITHIN
        for worker in workers:
            worker.process.join(max(end - time.monotonic(), 0.0))
            worker.process.kill()
    outcome.left += queue
    return outcome


def summary(outcome: Outcome) -> str:
    """Return a table: runs that were made, that failed and that are left, and the mean seconds of
    one, by experiment and method."""
    made = Counter(job.kind for job, _ in outcome.made)
    failed = Counter(job.kind for job, _ in outcome.failed)
    left = Counter(job.kind for job in outcome.left)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for job, taken in outcome.made:
        seconds[job.kind] += taken
    rows = []
    for kind in sorted({*made, *failed, *left}):
        mean = f"{seconds[kind] / made[kind]:.1f}" if made[kind] else ""
        rows.append([*kind, str(made[kind]), str(failed[kind]), str(left[kind]), mean])
    return table(["experiment", "method", "made", "failed", "left", "seconds a run"], rows)


def runs(options: argparse.Namespace, queue: list[Job], left: Callable[[], float]) -> Outcome:
    """Make runs until the time is up, and pack their records."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of the workers
    pack = Pack(options.out, options.code)
    print(f"Runs that are not made yet: {len(queue)}. {options.processes} at a time.", flush=True)
    try:
        return make(queue, Times(first_guess(options.device)), options.processes, left, pack.add)
    finally:
        pack.write()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and make runs until the time is up."""
    began = time.monotonic()
    options = parsed(arguments)
    check(options)
    use(options.code)
    if options.out is not None:
        options.out = made_folder(options.out)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that records are packed
    from pamal_core.errors import InputError

    try:
        queue = jobs(options.names, options.device)  # refused before anything is measured
    except InputError as error:
        sys.exit(f"error: {error}")
    is_whole = True
    if options.ratios > 0:
        minutes = min(options.ratios, options.minutes)
        is_whole = ratios(options.device, minutes, options.out)
    if not queue:
        print("Every run of these registrations is made: nothing is left.")
        sys.exit(0 if is_whole else 1)
    outcome = runs(options, queue, lambda: 60 * options.minutes - (time.monotonic() - began))
    print(f"\nMade {len(outcome.made)}, failed {len(outcome.failed)}, left {len(outcome.left)}:\n")
    print(summary(outcome))
    if outcome.failed or not is_whole:
        sys.exit(1)


if __name__ == "__main__":
    main()
