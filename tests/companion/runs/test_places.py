"""Each path that a user can give: it is used as it is meant, or refused in a sentence."""

import errno
import os
import pwd
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from commands_on_disk import ask, record
from filelock import FileLock
from tiny_experiment import tiny

from pamal_companion.data import census, multimnist
from pamal_companion.data.files import cache_root, cached, data_root
from pamal_companion.data.places import user_path
from pamal_companion.experiments.conflict import ConflictOptions
from pamal_companion.runs import files
from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run, sweep
from pamal_companion.study import frame
from pamal_core.errors import InputError

SMALL = {"W": 1, "lam": 0.0, "epochs": 1, "batch_size": 100, "device": "cpu"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder, beside the folder in which one is."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in ("home", "here"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path / "home"
    assert not [path for path in (tmp_path / "here").iterdir() if path.name.startswith("~")]


@pytest.fixture
def no_home(monkeypatch):
    """As in a container that runs as a number."""

    def nobody(*_):
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "PAMAL_CACHE", "PAMAL_DATA"):
        monkeypatch.delenv(name, raising=False)


def give_out(path):
    run(tiny(), Options.create(**SMALL, out=f"{path}/r.json"))


def give_folder(path):
    sweep(tiny(), Options.create(**SMALL), [{"seed": 1}], f"{path}/s")


def give_results(path):
    return frame.read(ConflictOptions.create(results=f"{path}/records").results)


def give_root(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return census.load("auto", path)


def give_cache(path):
    """The arrays are had in any case; a warning says why they are not kept."""
    try:
        os.environ["PAMAL_CACHE"] = str(path)
    except ValueError:
        raise InputError("No variable of the environment can have this value.") from None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cached("a", "b", dict) == {}
    if caught:
        raise InputError(str(caught[0].message))


def give_command(path):
    code, _, said = ask("runs", path)
    if code == 2:
        assert said.startswith("error: ") and said.count("\n") == 1
        raise InputError(said)


WAYS = {
    "out": give_out,
    "folder": give_folder,
    "results": give_results,
    "data_root": give_root,
    "PAMAL_CACHE": give_cache,
    "command": give_command,
}


def a_file(place):
    (place / "file").write_text("")
    return place / "file"


def a_link_to_itself(place):
    (place / "link").symlink_to("link")
    return place / "link"


def read_only(place):
    """No folder can be made here, whoever asks."""
    return Path("/proc/new")


PATHS = {
    "nobody": lambda _: "~nobody-of-this-name/a",
    "a file for a folder": a_file,
    "a link to itself": a_link_to_itself,
    "read-only": read_only,
    "half a character": lambda place: f"{place}/\ud800",
    "a zero": lambda place: f"{place}/\0",
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("way", WAYS)
def test_a_bad_path_is_a_sentence_or_a_sample(way, path, home, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(home / "cache"))
    given = PATHS[path](home)
    try:
        WAYS[way](given)
    except InputError as error:
        assert len(str(error)) > 20 and str(error).count("\n") <= 1
        assert str(error).rstrip().endswith((".", "'"))
    else:  # a warning says that no folder of data is there, and the sample is taken
        assert way == "data_root" and path not in ("nobody", "half a character", "a zero")


@pytest.mark.parametrize("name", ["a\nb", "é (1)", "with space", "-p", "x" * 100])
@pytest.mark.parametrize("way", ["out", "folder", "PAMAL_CACHE"])
def test_an_odd_name_of_a_folder_is_a_name(way, name, home, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(home / "cache"))
    WAYS[way](home / name)
    assert [path for path in (home / name).rglob("*") if path.is_file()]


def test_a_tilde_is_home_wherever_a_path_is_given(home, monkeypatch):
    give_out("~")
    give_folder("~")
    assert (home / "r.json").exists() and (home / "s" / "pamal_seed_1.json").exists()
    record().write(home / "records" / "a.json")
    assert len(give_results("~")) == 1
    code, out, _ = ask("runs", "~/records")
    assert code == 0 and "1 finished" in out
    monkeypatch.setenv("PAMAL_DATA", "~/data")
    monkeypatch.setenv("PAMAL_CACHE", "~/cache")
    assert (data_root(), cache_root()) == (home / "data", home / "cache")
    assert data_root("~/d") == home / "d"


def test_the_name_of_nobody_says_what_a_folder_of_this_name_is():
    with pytest.raises(InputError, match=r"`out` begins with ~nobody2.* is \./~nobody2"):
        user_path("~nobody2/x", "out")
    assert user_path("./~nobody2", "out") == Path("~nobody2") and user_path("a~", "x") == Path("a~")


def test_no_home_is_no_reason_to_refuse_a_sample(no_home):
    assert multimnist.load("sample", sizes=(50, 10, 10)).is_sample
    with pytest.warns(UserWarning, match=r"no home folder .* PAMAL_DATA .* The sample is taken"):
        assert census.load("auto").is_sample
    with pytest.raises(InputError, match="PAMAL_DATA"):
        census.load("full")
    with pytest.raises(InputError, match="Set HOME, or give a path without ~"):
        Options.create(out="~/r.json")


def test_without_a_home_what_is_decoded_is_had_and_not_kept(no_home):
    with pytest.warns(UserWarning, match="not kept.*PAMAL_CACHE"):
        assert cached("a", "b", dict) == {}


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOLCK])
def test_a_disk_without_locks_gets_a_sentence_with_what_to_do(number, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(InputError, match=r"has no locks .* Give an `out` on another disk"):
        give_out(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_a_lock_that_is_held_is_waited_for_with_a_word(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files, "UNTIL_SAID", 0.1)
    lock = FileLock(tmp_path / ".r.json.lock", thread_local=False)
    lock.acquire()
    waiting = threading.Thread(target=give_out, args=[tmp_path])
    waiting.start()
    said, until = "", time.monotonic() + 60
    while not said and time.monotonic() < until:
        said = capsys.readouterr().err
        time.sleep(0.02)
    lock.release()
    waiting.join()
    assert ".r.json.lock" in said and "Ctrl-C" in said and "delete that file" in said
    assert (tmp_path / "r.json").exists()


def test_a_full_disk_costs_what_is_kept_and_no_data(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path))
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        give_cache(tmp_path)
    with pytest.raises(InputError, match="No space left"):
        give_out(tmp_path)


def test_a_locale_without_utf8_takes_a_name_that_has_an_accent(tmp_path):
    """Python takes the names of files as bytes there, unless it is told not to."""
    record().write(tmp_path / "é" / "r.json")
    run = subprocess.run(
        [sys.executable, "-m", "pamal_companion", "runs", str(tmp_path / "é")],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        cwd=Path(__file__).parents[3],
    )
    assert run.returncode == 0 and b"1 finished" in run.stdout


def test_a_record_without_points_is_named_and_skipped(tmp_path):
    record().write(tmp_path / "a.json")
    fields = record(seed=1).model_copy(update={"points": []})
    fields.write(tmp_path / "b.json")
    with pytest.warns(
        UserWarning, match=r"b\.json is not a whole record: .*points: there are none"
    ):
        found = frame.read(tmp_path)
    assert [len(by_seed) for by_seed in found.values()] == [1]
