"""One odd record or checkpoint is named and skipped: no table, page or command stops for it."""

import json

import pytest
import safetensors.torch
import torch
from commands_on_disk import ask, ask_json, record, rewrite

from pamal_companion.runs import folder
from pamal_companion.runs.records import Record
from pamal_companion.runs.states import _checksum, load_state, save_state
from pamal_companion.study import frame, measured
from pamal_core.errors import InputError

DEEP = "[" * 30_000 + "]" * 30_000
NESTED = json.loads("[" * 90 + "1" + "]" * 90)


def _ragged(fields):
    fields["points"][1]["alpha"] = [0.5, 0.25, 0.25]


def _no_points_of_an_objective(fields):
    for point in fields["points"]:
        del point["metrics"]["top-left/accuracy"]


def _set(value, *path):
    def change(fields):
        for part in path[:-1]:
            fields = fields[part]
        fields[path[-1]] = value

    return change


ODD = {
    "ragged alphas": _ragged,
    "an alpha that is a text": _set("1, 0", "points", 0, "alpha"),
    "an alpha in lists": _set([[1.0], [0.0]], "points", 0, "alpha"),
    "an alpha no float can hold": _set([10**400, 0], "points", 0, "alpha"),
    "metrics in a list": _set([0.9, 0.8], "points", 2, "metrics"),
    "a metric that is a list": _set([0.9], "points", 2, "metrics", "top-left/accuracy"),
    "an objective that nobody measured": _no_points_of_an_objective,
    "no objectives": _set({}, "objectives"),
    "an option that is a dict": _set({"a": 1}, "options", "lam"),
    "an option with a dict in it": _set([{"a": 1}], "options", "weights"),
    "a number that is a text": _set("two", "options", "W"),
    "a number that is a list": _set([2], "options", "epochs"),
    "half a character": _set("\ud800", "options", "penalty"),
    "a summary that is a list": _set([1], "summary", "test"),
    "a best that is no number": _set({"top-left/accuracy": [1]}, "summary", "test", "best"),
    "correlations that are texts": _set({"a/loss": "-1"}, "summary", "test", "spearman"),
    "a hypervolume that is a text": _set("0.9", "summary", "validation", "hypervolume"),
    "a seed of a hundred digits": _set(10**100, "seed"),
    "deeply nested parts": _set(NESTED, "summary", "test"),
}


def write(path, change):
    """A record with a checksum of its own, so that only what is in it is odd."""
    record(method="ls").write(path)
    rewrite(path, change)


def check_that_all_go_on(place, odd):
    """Every command, table and page has the good run and names the other file."""
    rows = {run["path"]: run for run in ask_json("runs", place)[1]["runs"]}
    assert rows["good.json"]["state"] == "finished" and rows[odd]["state"] == "damaged"
    assert odd in rows[odd]["why"] and "\n" not in rows[odd]["why"]
    for command in ("runs", "compare"):
        code, out, err = ask(command, place)
        assert (code, err) == (1, "") and f"damaged: {place / odd} is" in out.replace("\n    ", " ")
    assert ask("grid", place)[0] == 0


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_an_odd_record_is_named_and_all_else_goes_on(tmp_path, change):
    record().write(tmp_path / "good.json")
    write(tmp_path / "odd.json", change)
    check_that_all_go_on(tmp_path, "odd.json")
    code, out, err = ask("runs", tmp_path / "odd.json")
    assert (code, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1
    with pytest.warns(UserWarning, match=r"odd\.json is not a whole record"):
        (by_seed,) = frame.read(tmp_path).values()
    with pytest.warns(UserWarning, match=r"odd\.json is not a whole record"):
        table = measured.write(tmp_path).read_text()
    assert [*by_seed] == [0] and "good.json" in table and "odd.json" not in table


@pytest.mark.parametrize(
    "text", [DEEP, "{" + '"a":{' * 30_000, "1" * 5000, "", "\x00", "[]", "null"]
)
def test_a_file_that_is_no_record_at_all_is_named_too(tmp_path, text):
    record().write(tmp_path / "good.json")
    (tmp_path / "odd.json").write_text(text)
    check_that_all_go_on(tmp_path, "odd.json")


def _state(text):
    """Make a file whose checksum is right, so that only what is in it is odd."""

    def make(path):
        tensors = {"0": torch.ones(1)}
        metadata = {"state": text, "checksum": _checksum(text, tensors)}
        safetensors.torch.save_file(tensors, path, metadata=metadata)

    return make


def _about(about):
    def make(path):
        save_state(path, {"key": "k", "about": about, "history": []})

    return make


def _fields(**changes):
    return json.dumps(record(method="ls").model_dump(mode="json") | changes)


CHECKPOINTS = {
    "a deeply nested header": _state('{"dict": [["key", ' * 30_000),
    "fields nested deeply": _about(DEEP),
    "fields in a list": _about("[1, 2]"),
    "no fields": _about("null"),
    "an option that is a dict": _about(_fields(options={"lam": {"a": 1}})),
    "options in a list": _about(_fields(options=["lam"])),
    "an experiment that is a number": _about(_fields(experiment=3)),
    "data that are a dict": _about(_fields(data={})),
    "no history": lambda path: save_state(path, {"key": "k", "about": _fields()}),
    "a history that is a number": lambda path: save_state(
        path, {"key": "k", "about": _fields(), "history": 3}
    ),
    "a list": _state('{"list": [1, 2]}'),
    "a tensor": _state('{"tensor": "0"}'),
    "a number": _state("3"),
    "no text": lambda path: safetensors.torch.save_file({"0": torch.ones(1)}, path),
}


@pytest.mark.parametrize("make", CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_an_odd_checkpoint_is_named_and_all_else_goes_on(tmp_path, make):
    record().write(tmp_path / "good.json")
    make(tmp_path / "odd.checkpoint.safetensors")
    check_that_all_go_on(tmp_path, "odd.checkpoint.safetensors")


@pytest.mark.parametrize("name", ["a deeply nested header", "a list", "a tensor", "no text"])
def test_an_odd_state_is_refused_in_a_sentence(tmp_path, name):
    CHECKPOINTS[name](tmp_path / "odd.safetensors")
    with pytest.raises(InputError, match=r"odd\.safetensors is damaged or another: [^\n]+\.$"):
        load_state(tmp_path / "odd.safetensors")


def test_a_run_whose_records_all_are_odd_is_still_a_folder(tmp_path):
    write(tmp_path / "odd.json", _ragged)
    ((row, found),) = folder.runs(tmp_path)
    assert row["state"] == "damaged" and found is None
    with pytest.raises(InputError, match="alphas of validation have different lengths"):
        Record.read(tmp_path / "odd.json")
