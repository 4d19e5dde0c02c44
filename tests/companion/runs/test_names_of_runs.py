"""One name, one set of files: where runs are written, and where they are not."""

import errno
from itertools import combinations
from pathlib import Path

import pytest
import safetensors.torch
import torch
from commands_on_disk import ask, ask_json
from tiny_experiment import tiny

from pamal_companion.experiments.options import ToyOptions
from pamal_companion.experiments.your_model import YourModelOptions
from pamal_companion.runs import run as module
from pamal_companion.runs.files import RunFiles, check_writable
from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run
from pamal_companion.toy import run as toy
from pamal_core.errors import InputError


def options(out, **values):
    return Options.create(**{"epochs": 1, "device": "cpu", "out": str(out), **values})


NAMES = ["lr0.1", "lr0.5", "a.json", "a.txt", "a.b", "v1.0.json", "v1.1", "a.json.bak"]
NAMES += ["é (1)'", "A"]


def test_runs_of_other_names_share_no_file():
    every = [RunFiles(Path(options(name).out)) for name in NAMES]
    files = [
        {f.record, f.weights, f.checkpoint, f.lock, f.shared.record, f.shared.checkpoint}
        for f in every
    ]
    assert not any(one & two for one, two in combinations(files, 2))
    assert all(len(own) == 6 for own in files)


@pytest.mark.parametrize("names", [*combinations(["lr0.1", "lr0.5.json", "a.json", "a.txt"], 2)])
def test_each_of_two_runs_keeps_its_weights_and_is_listed(tmp_path, names):
    first, second = (
        run(tiny(), options(tmp_path / name, seed=seed)).network.members()
        for seed, name in enumerate(names)
    )
    for seed, (name, stacked) in enumerate(zip(names, (first, second), strict=True)):
        again = run(tiny(), options(tmp_path / name, seed=seed)).network
        assert torch.equal(again.members(), stacked)
    listed = {tmp_path / one["path"] for one in ask_json("runs", tmp_path)[1]["runs"]}
    assert listed == {Path(options(tmp_path / name).out) for name in names}
    assert len([*tmp_path.glob("[!.]*")]) == 4


NO_NAMES = ["", ".", "..", "sub/", "sub/.", "  ", "a\0b", "sub/\ud800", ".json", ".a"]
NO_NAMES += ["sub/.a.json", "a.checkpoint", "a.checkpoint.json", "sub/a.shared.json"]


@pytest.mark.parametrize("out", NO_NAMES)
@pytest.mark.parametrize("known", [Options, ToyOptions])
def test_what_names_no_file_of_its_own_is_refused_in_a_sentence(out, known):
    with pytest.raises(InputError, match=r"^`out` must [^\n]+ Found '[^\n]*'\.$"):
        known.create(out=out)


@pytest.mark.parametrize("out", ["", ".", "sub/", "a\0b", "\udcff.pt"])
def test_weights_of_an_own_model_need_the_name_of_a_file_too(out):
    with pytest.raises(InputError, match=r"`out` must (name a file|be a path)"):
        YourModelOptions.create(out=out)
    assert YourModelOptions.create(out="model.pt").out == "model.pt"


LONG = "n" * 230
NO_PLACES = ["/proc/x.json", "/proc/self/fd/new/x.json", "/dev/null/x.json", "file/x.json", LONG]


@pytest.mark.parametrize("out", NO_PLACES)
def test_a_place_that_cannot_be_made_is_refused_before_training(tmp_path, monkeypatch, out):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(module, "train", lambda *_, **__: pytest.fail("It was trained."))
    monkeypatch.setattr(toy, "_train", lambda *_: pytest.fail("It was trained."))
    with pytest.raises(InputError, match=r"^Could not [^\n]+\.$"):
        run(tiny(), options(tmp_path / out))
    with pytest.raises(InputError, match=r"^Could not [^\n]+\.$"):
        toy.run(ToyOptions.create(out=str(tmp_path / (out * 2 if out == LONG else out))))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def weights_of_mine(path):
    safetensors.torch.save_file({"mine": torch.ones(3)}, path)


def weights_with_a_note(path):
    safetensors.torch.save_file({"mine": torch.ones(3)}, path, metadata={"format": "pt"})


def weights_of_another_run(path):
    other = path.parent / "other.json"
    run(tiny(), options(other, seed=9))
    other.unlink()
    other.with_suffix(".safetensors").rename(path)


def no_weights(path):
    path.write_bytes(b"mine")


def a_folder(path):
    path.mkdir()


@pytest.mark.parametrize(
    "make", [weights_of_mine, weights_with_a_note, weights_of_another_run, no_weights, a_folder]
)
@pytest.mark.parametrize("ending", [".safetensors", ".checkpoint.safetensors"])
def test_weights_of_somebody_else_are_never_replaced(tmp_path, make, ending):
    path = tmp_path / f"model{ending}"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError, match=r"model\.(checkpoint\.)?safetensors"):
        run(tiny(), options(tmp_path / "model.json"))
    assert (path.read_bytes() if path.is_file() else None) == before
    assert [one.name for one in tmp_path.glob("[!.]*")] == [path.name]


def test_a_run_killed_between_weights_and_record_is_gone_on_with(tmp_path):
    first = run(tiny(), options(tmp_path / "r")).record
    (tmp_path / "r.json").unlink()
    assert run(tiny(), options(tmp_path / "r")).record.points == first.points


@pytest.mark.parametrize("make", ["tiny", "toy"])
def test_a_finished_run_is_read_from_a_disk_without_writing(tmp_path, monkeypatch, make):
    out = tmp_path / "r.json"
    if make == "tiny":
        again = lambda: run(tiny(), options(out)).record  # noqa: E731
    else:
        monkeypatch.setattr(toy, "_train", lambda *_: {})
        again = lambda: toy.run(ToyOptions.create(out=str(out), epochs=1)).record  # noqa: E731
    first = again()

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("unlink", "touch", "mkdir", "replace", "write_bytes"):
        monkeypatch.setattr(Path, name, refuse)
    assert again().key == first.key


def test_a_trial_leaves_what_is_there_and_nothing_else(tmp_path):
    path = tmp_path / "deep" / "r.json"
    path.parent.mkdir()
    path.write_text("mine")
    check_writable(path)
    assert [*tmp_path.rglob("*.*")] == [path] and path.read_text() == "mine"


@pytest.mark.parametrize("out", ["", "sub/", "mine", "mine.json"])
def test_a_record_of_the_grid_has_its_own_name(tmp_path, out):
    name = "census/ls_seed_0.json"
    code, said, err = ask("run", name, "--results", tmp_path, "-p", "out", out)
    assert (code, said) == (2, "") and f"`out` of a record is in its name. Found {out!r}." in err
    assert not [*tmp_path.iterdir()]
