"""Who may write the files of a run."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
from forked import start
from tiny_experiment import tiny

from pamal_companion.runs.files import BusyError, RunFiles, is_held
from pamal_companion.runs.options import Options
from pamal_companion.runs.recorder import Recorder
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import file_name, run, sweep
from pamal_core.errors import InputError

OPTIONS = Options.create(batch_size=100, epochs=1, device="cpu")
SETTINGS = [{"method": "ls", "seed": seed} for seed in range(40)]


def sweep_here(folder, log):
    """Sweep over `SETTINGS`, writing down each run that is really made."""
    import torch

    torch.set_num_threads(1)
    make = Recorder.method

    def noted(recorder):
        with Path(log).open("a") as file:
            file.write(f"{recorder.options.seed}\n")
        return make(recorder)

    Recorder.method = noted
    sweep(tiny(), OPTIONS, SETTINGS, folder)


def test_four_sweeps_on_one_folder_make_each_run_once_and_whole(tmp_path):
    workers = [start(sweep_here, tmp_path / "r", tmp_path / "log") for _ in "abcd"]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    made = sorted(map(int, (tmp_path / "log").read_text().split()))
    assert made == list(range(40))
    records = [Record.read(tmp_path / "r" / file_name(setting)) for setting in SETTINGS]
    assert [record.seed for record in records] == made
    left = {path.name for path in (tmp_path / "r").iterdir() if path.name.startswith(".")}
    assert left == {f".{record.name}.lock" for record in (tmp_path / "r").glob("*.json")}


def test_a_run_that_somebody_makes_is_refused_or_waited_for(tmp_path):
    out = tmp_path / "r.json"
    options = Options.create(**OPTIONS.model_dump(exclude_unset=True), out=str(out))
    files = RunFiles(out)
    with files.claimed(wait=False):
        with pytest.raises(BusyError, match=r"r\.json is being made by another process"):
            run(tiny(), options, wait=False)
        assert not out.exists()
    assert run(tiny(), options, wait=False).record.key == Record.read(out).key


def hold_and_die(out):
    with RunFiles(out).claimed(wait=False):
        (out.parent / "held").touch()
        time.sleep(60)


def test_the_lock_of_a_killed_process_locks_nothing(tmp_path):
    out = tmp_path / "r.json"
    holder = start(hold_and_die, out)
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    with pytest.raises(BusyError), RunFiles(out).claimed(wait=False):
        pass
    holder.kill()
    holder.join()
    assert (tmp_path / ".r.json.lock").exists()
    with RunFiles(out).claimed(wait=False):
        pass


@pytest.mark.parametrize("fails", [None, KeyboardInterrupt, InputError, OSError, MemoryError])
@pytest.mark.parametrize("left_behind", [True, False])
def test_a_lock_is_one_file_for_all_who_take_it(tmp_path, fails, left_behind):
    """Of a file that was deleted somebody may be the holder, while the next one makes another."""
    files = RunFiles(tmp_path / "r.json")
    if left_behind:
        files.lock.touch()
    with suppress(*[fails] if fails else []), files.claimed(wait=False):
        held = files.lock.stat().st_ino
        with pytest.raises(BusyError), files.claimed(wait=False):
            pass
        assert files.lock.stat().st_ino == held
        if fails:
            raise fails
    with files.claimed(wait=True):
        assert files.lock.stat().st_ino == held
    assert files.lock.exists() and not is_held(files.lock)


def test_what_a_killed_writer_has_left_goes_when_the_run_goes_on(tmp_path):
    kept = {".other.json.77.0badcafe", "mine.txt"}
    kept |= {".r.json.b.json.lock", ".r.json.b.json.7.0bad", ".r.safetensors.x.lock"}  # a like name
    left = {".r.json.77.0badcafe", ".r.safetensors.77.0badcafe", ".r.checkpoint.safetensors.7.0"}
    left |= {".r.shared.checkpoint.safetensors.7.0bad"}
    for name in kept | left:
        (tmp_path / name).write_text("{")
    with RunFiles(tmp_path / "r.json").claimed(wait=False):
        assert {path.name for path in tmp_path.iterdir()} == kept | {".r.json.lock"}
    assert {path.name for path in tmp_path.iterdir()} == kept | {".r.json.lock"}
