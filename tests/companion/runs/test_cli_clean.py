"""`python -m pamal_companion clean`: what is stale goes, and nothing else."""

import os
import tempfile
from pathlib import Path

import pytest
from commands_on_disk import ask, ask_json, record, write_checkpoint, write_weights
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from pamal_companion.runs import files, folder

OWN, OTHER = record().key, "0123456789abcdef"
RECORDS = ["none", "whole", "truncated"]
CHECKPOINTS = ["none", "own", "other", "truncated"]
WEIGHTS = ["none", "own", "foreign", "truncated"]
LOCKS = ["none", "free", "held", "written"]


def write_run(folder, name, run):
    """The files of `run`, a choice for each kind; the lock where it is to be held."""
    folder.mkdir(exist_ok=True)
    path, checkpoint = folder / f"{name}.json", folder / f"{name}.checkpoint.safetensors"
    weights, lock = folder / f"{name}.safetensors", folder / f".{name}.json.lock"
    if run["record"] != "none":
        path.write_text(record().to_text()[: None if run["record"] == "whole" else -9])
    if run["checkpoint"] != "none":
        write_checkpoint(checkpoint, OTHER if run["checkpoint"] == "other" else OWN)
    if run["weights"] != "none":
        write_weights(weights, OWN)
    if run["weights"] == "foreign":
        write_checkpoint(weights, OWN)  # not what `run` writes
    for cut, kind in ((checkpoint, "checkpoint"), (weights, "weights")):
        if run[kind] == "truncated":
            cut.write_bytes(cut.read_bytes()[:9])
    if run["temporary"]:
        (folder / f".{name}.json.77.0badcafe").write_text("{")
    if run["lock"] != "none":
        lock.write_text("4711" if run["lock"] == "written" else "")
    for file in folder.glob(f"*{name}*"):
        os.utime(file, (0, 0) if run["old"] else None)
    return lock if run["lock"] == "held" else None


def expected(name, run):
    """What is stale of a run, by the rules in words."""
    found = set()
    if run["lock"] == "held":
        return found
    if run["record"] == "whole" and run["checkpoint"] in ("own", "truncated"):
        found.add(f"{name}.checkpoint.safetensors")
    if run["record"] == "none" and run["weights"] == "own" and run["old"]:
        found.add(f"{name}.safetensors")
    if run["temporary"] and run["old"]:
        found.add(f".{name}.json.77.0badcafe")
    if run["lock"] == "free":
        found.add(f".{name}.json.lock")
    return found


def content(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


RUN = st.fixed_dictionaries(
    {
        "record": st.sampled_from(RECORDS),
        "checkpoint": st.sampled_from(CHECKPOINTS),
        "weights": st.sampled_from(WEIGHTS),
        "lock": st.sampled_from(LOCKS),
        "temporary": st.booleans(),
        "old": st.booleans(),
    }
)
PLACES = ["", "sub/", ".hidden/"]


@settings(max_examples=40, deadline=None)
@given(runs=st.dictionaries(st.tuples(st.sampled_from(PLACES), st.sampled_from("xy")), RUN))
def test_exactly_what_is_stale_is_deleted_and_only_with_yes(runs):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        locks = [write_run(folder / place, name, run) for (place, name), run in runs.items()]
        held = [FileLock(lock) for lock in locks if lock]
        for lock in held:
            lock.acquire()
        stale = {
            place + file
            for (place, name), run in runs.items()
            if place != ".hidden/"
            for file in expected(name, run)
        }
        before = content(folder)
        code, document, _ = ask_json("clean", folder)
        assert (code, content(folder)) == (0, before)
        assert {one["path"]: one["bytes"] for one in document["stale"]} == {
            path: len(before[path]) for path in stale
        }
        code, document, _ = ask_json("clean", folder, "--yes")
        assert code == 0 and all(one["deleted"] for one in document["stale"])
        assert content(folder) == {k: v for k, v in before.items() if k not in stale}
        assert ask_json("clean", folder)[1]["stale"] == []
        for lock in held:
            lock.release()


def old(path):
    os.utime(path, (0, 0))
    return path


def stale(folder):
    return [one["path"] for one in ask_json("clean", folder)[1]["stale"]]


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path):
    outside, folder = tmp_path / "outside", tmp_path / "results"
    folder.mkdir()
    for place in (outside, folder):
        write_run(
            place,
            "r",
            dict.fromkeys(("checkpoint", "weights"), "own")
            | {"record": "whole", "lock": "free", "temporary": True, "old": True},
        )
    (folder / "linked").symlink_to(outside)
    (folder / "r.checkpoint.safetensors").unlink()
    (folder / "r.checkpoint.safetensors").symlink_to(outside / "r.checkpoint.safetensors")
    (folder / ".s.json.lock").symlink_to(outside / ".r.json.lock")
    (folder / ".s.json.1.0badcafe").symlink_to(outside / ".r.json.77.0badcafe")
    before = content(outside)
    code, document, _ = ask_json("clean", folder, "--yes")
    assert [one["path"] for one in document["stale"]] == [".r.json.77.0badcafe", ".r.json.lock"]
    assert code == 0 and content(outside) == before
    assert (folder / "linked").is_symlink() and (folder / ".s.json.lock").is_symlink()


def test_a_folder_may_itself_be_a_link(tmp_path):
    old_temporary = tmp_path / "scratch" / ".r.json.1.0badcafe"
    old_temporary.parent.mkdir()
    old_temporary.write_text("")
    old(old_temporary)
    (tmp_path / "results").symlink_to(tmp_path / "scratch")
    assert stale(tmp_path / "results") == [".r.json.1.0badcafe"]


def test_weights_beside_a_record_that_is_a_link_stay(tmp_path):
    record().write(tmp_path / "elsewhere" / "r.json")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "r.json").symlink_to(tmp_path / "elsewhere" / "r.json")
    write_weights(tmp_path / "here" / "r.safetensors", OWN)
    old(tmp_path / "here" / "r.safetensors")
    assert stale(tmp_path) == []


@pytest.mark.parametrize("name", ["r.txt", "r", "r.record"])
def test_weights_stay_where_the_record_has_another_ending(tmp_path, name):
    record().write(tmp_path / name)
    write_weights(tmp_path / "r.safetensors", OWN)
    old(tmp_path / "r.safetensors")
    assert stale(tmp_path) == []


def test_weights_with_the_name_of_a_checkpoint_stay(tmp_path):
    """A run called `r.checkpoint` beside the finished run `r`."""
    record().write(tmp_path / "r.json")
    record(seed=1).write(tmp_path / "r.checkpoint.json")
    write_weights(tmp_path / "r.checkpoint.safetensors", record(seed=1).key)
    old(tmp_path / "r.checkpoint.safetensors").write_bytes(b"damaged, and still not a checkpoint")
    assert stale(tmp_path) == []


def test_a_write_that_was_killed_leaves_what_is_found_ten_minutes_later(tmp_path, monkeypatch):
    class KilledError(BaseException):
        pass

    def kill(*_):
        raise KilledError

    monkeypatch.setattr(files.Path, "replace", kill)
    monkeypatch.setattr(files.Path, "unlink", lambda *_, **__: None)
    with pytest.raises(KilledError):
        files.write_atomic(tmp_path / "r.json", b"{")
    monkeypatch.undo()
    (left,) = tmp_path.iterdir()
    now = left.stat().st_mtime
    for seconds, found in ((0, []), (folder.QUIET - 9, []), (folder.QUIET + 9, [left.name])):
        os.utime(left, (now - seconds, now - seconds))
        assert stale(tmp_path) == found


@pytest.mark.parametrize(
    "name", [".hidden.json", ".notes.20240131.deadbeef", ".r.json.12.xyz", "r.json.12.deadbeef"]
)
def test_a_file_that_is_named_almost_like_a_temporary_one_stays(tmp_path, name):
    (tmp_path / name).write_text("mine")
    old(tmp_path / name)
    assert stale(tmp_path) == []


def test_the_text_lists_files_with_their_sizes_and_what_was_done(tmp_path):
    record().write(tmp_path / "r.json")
    write_checkpoint(tmp_path / "r.checkpoint.safetensors", OWN)
    size = (tmp_path / "r.checkpoint.safetensors").stat().st_size
    _, out, _ = ask("clean", tmp_path)
    assert f"{size}B checkpoint of a finished run  r.checkpoint.safetensors" in out
    assert out.endswith(f"1 stale, {size}B. --yes deletes them.\n")
    _, out, _ = ask("clean", tmp_path, "--yes")
    assert out.endswith(f"1 stale, {size}B.\n") and " yes " in out
    assert ask("clean", tmp_path) == (0, "Nothing is stale.\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_what_cannot_be_deleted_is_named(tmp_path, monkeypatch):
    record().write(tmp_path / "r.json")
    write_checkpoint(tmp_path / "r.checkpoint.safetensors", OWN)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    code, document, _ = ask_json("clean", tmp_path, "--yes")
    (one,) = document["stale"]
    assert (code, one["deleted"], one["error"]) == (1, False, "Permission denied")
    assert "Permission denied" in ask("clean", tmp_path, "--yes")[1]


def test_a_lock_that_is_taken_while_we_look_stays(tmp_path, monkeypatch):
    lock = tmp_path / ".r.json.lock"
    lock.write_text("")
    monkeypatch.setattr(folder, "is_held", lambda _: False)
    with FileLock(lock):
        code, document, _ = ask_json("clean", tmp_path, "--yes")
        assert code == 1 and not document["stale"][0]["deleted"] and lock.exists()
