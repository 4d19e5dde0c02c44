"""Whatever happens to a run, it ends with the record it would have had, and every file is whole.

`make test` tries every fault twice, `make test-faults` thirty times and prints a table.
"""

import json
import os
import random
import resource
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from forked import finish, start
from tiny_experiment import tiny

from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run, sweep
from pamal_companion.runs.states import load_state
from pamal_core.errors import InputError, NonFiniteError

COMMON = {"W": 2, "lam": 1.0, "batch_size": 20, "epochs": 6, "device": "cpu"}
SETTINGS = [{"seed": seed} for seed in range(4)]
RANDOM = random.Random(0)


def one_run(folder, limit=None):
    """The run that everything happens to; `limit` is the size in bytes that files may have."""
    torch.set_num_threads(1)
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    run(tiny(), Options.create(**COMMON, out=str(Path(folder) / "r.json")))


def one_sweep(folder):
    torch.set_num_threads(1)
    sweep(tiny(), Options.create(**COMMON), SETTINGS, folder)


def contents(folder):
    """Everything in the records of `folder` but what they cost and where they were made: a commit
    may be made while the tests run."""
    paths = sorted(Path(folder).glob("*.json"))
    others = dict.fromkeys(("cost", "made_on", "checksum"))
    return {path.name: json.loads(path.read_text()) | others for path in paths}


def weights(folder):
    """Bit by bit those that were trained."""
    paths = sorted(Path(folder).glob("*.safetensors"))
    states = {path.name: load_state(path)["network"] for path in paths}
    return {name: {k: v.tolist() for k, v in state.items()} for name, state in states.items()}


def half_written(folder):
    """The files under their own names that cannot be read, or are not what they should be."""
    bad = 0
    for path in (p for p in Path(folder).iterdir() if not p.name.startswith(".")):
        try:
            Record.read(path) if path.suffix == ".json" else load_state(path)
        except InputError:
            bad += 1
    return bad


def litter(folder):
    """What is left when all is done beside records, weights and locks."""
    left = [path.name for path in Path(folder).iterdir() if path.suffix != ".lock"]
    return [name for name in left if name.startswith(".") or "checkpoint" in name]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What an undisturbed run and sweep have, and how long they take."""
    folder = tmp_path_factory.mktemp("whole")
    finish(one_run, folder / "warm")
    found = {}
    for target in (one_run, one_sweep):
        began, place = time.perf_counter(), folder / target.__name__
        finish(target, place)
        found[target] = contents(place), weights(place), time.perf_counter() - began
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("target", [one_run, one_sweep])
def test_a_run_or_sweep_that_is_stopped_at_a_random_moment(
    target, number, whole, tmp_path, times, tally
):
    expected, trained, length = whole[target]
    fault = f"{number.name} during a {target.__name__.removeprefix('one_')}"
    for attempt in range(times):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        process = start(target, folder)
        process.join(RANDOM.uniform(0.02, 0.95) * length)
        if process.is_alive():
            os.kill(process.pid, number)
        process.join(60)
        bad = half_written(folder)
        finish(target, folder)
        bad += len(litter(folder))
        lost = contents(folder) != expected or weights(folder) != trained
        tally(fault, lost, bad)
        assert not lost and bad == 0


def test_a_disk_that_is_full_while_something_is_written(whole, tmp_path, times, tally):
    """The system refuses files beyond a size, which a checkpoint, the weights or a record reach."""
    expected, *_ = whole[one_run]
    refused = 0
    for attempt in range(times):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        process = start(one_run, folder, RANDOM.choice([0, 200, 2_000, 4_000, 6_000]))
        process.join()
        refused += process.exitcode != 0
        bad = half_written(folder)
        finish(one_run, folder)
        bad += len(litter(folder))
        lost = contents(folder) != expected
        tally("disk full", lost, bad)
        assert not lost and bad == 0
    assert refused > 0


def damage(path, kind):
    content = bytearray(path.read_bytes())
    if kind == "truncation":
        content = content[: RANDOM.randrange(len(content))]
    else:
        content[RANDOM.randrange(len(content))] ^= 1 << RANDOM.randrange(8)
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["truncation", "flipped bit"])
@pytest.mark.parametrize("name", ["r.json", "r.safetensors", "r.checkpoint.safetensors"])
def test_a_damaged_file_is_named_and_the_run_can_be_made_again(
    name, kind, whole, tmp_path, times, tally
):
    expected, *_ = whole[one_run]
    options = Options.create(**COMMON, out=str(tmp_path / "r.json"))

    def stop(*_, **__):
        raise KeyboardInterrupt

    for _ in range(times):
        for path in tmp_path.iterdir():
            path.unlink()
        if "checkpoint" in name:
            with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr("pamal_companion.runs.run.evaluate", stop)
                run(tiny(), options)
        else:
            run(tiny(), options)
        damage(tmp_path / name, kind)
        try:
            run(tiny(), options)  # a flip of white space in a record changes nothing
        except InputError as error:
            assert name in str(error)
            (tmp_path / name).unlink()
            run(tiny(), options)
        lost = contents(tmp_path) != expected
        tally(f"{kind} of {name.removeprefix('r.')}", lost, half_written(tmp_path))
        assert not lost


def test_two_writers_of_one_run(whole, tmp_path, times, tally):
    expected, *_ = whole[one_run]
    for attempt in range(times):
        folder = tmp_path / str(attempt)
        both = [start(one_run, folder) for _ in "ab"]
        for process in both:
            process.join()
        bad = half_written(folder) + len(litter(folder))
        lost = [process.exitcode for process in both] != [0, 0] or contents(folder) != expected
        tally("two writers", lost, bad)
        assert not lost and bad == 0


def test_a_clock_that_runs_backwards(whole, tmp_path, tally, monkeypatch):
    expected, *_ = whole[one_run]
    now = iter(range(10**9, 0, -1))
    for clock in ("time", "time_ns"):
        monkeypatch.setattr(time, clock, lambda: next(now))
    one_run(tmp_path)
    lost = contents(tmp_path) != expected
    tally("clock moved back", lost, half_written(tmp_path))
    assert not lost


@pytest.mark.parametrize("place", ["loss", "gradient", "batch"])
def test_a_nan_that_appears_in_training(place, whole, tmp_path, times, tally, monkeypatch):
    expected, *_ = whole[one_run]
    from pamal_core import method as module

    for attempt in range(times):
        folder, when, calls = tmp_path / str(attempt), RANDOM.randrange(2, 100, 2), []
        draw, step = module.Method._forward, module.Method.step

        def bad_draw(self, batch, *rest, draw=draw, calls=calls, when=when):
            calls.append(1)
            if place == "batch" and len(calls) == when:
                (inputs, *targets), *others = batch
                batch = [[inputs * float("nan"), *targets], *others]
            theta, found = draw(self, batch, *rest)
            if place == "loss" and len(calls) == when:
                found = replace(found, losses=found.losses * float("nan"))
            return theta, found

        def bad_gradient(self, *rest, step=step, calls=calls, when=when, **named):
            losses = step(self, *rest, **named)
            if place == "gradient" and len(calls) >= when:
                next(self.network.stacked.parameters()).grad.view(-1)[0] = float("nan")
            return losses

        with monkeypatch.context() as patch:
            patch.setattr(module.Method, "_forward", bad_draw)
            patch.setattr(module.Method, "step", bad_gradient)
            with pytest.raises(NonFiniteError):
                one_run(folder)
        bad = half_written(folder)
        assert not (folder / "r.json").exists()
        one_run(folder)
        lost = contents(folder) != expected
        tally(f"NaN in a {place}", lost, bad + len(litter(folder)))
        assert not lost
