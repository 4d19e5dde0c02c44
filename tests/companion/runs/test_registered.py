"""Registered runs are made once, as they were registered, and nothing else reads them."""

import hashlib
import runpy
import shutil
from pathlib import Path

import pytest

from pamal_companion.__main__ import main
from pamal_companion.runs.folder import files
from pamal_companion.runs.records import Record
from pamal_companion.study import frame
from pamal_companion.study.registered import read
from pamal_core.errors import InputError

ROOT = Path(__file__).parents[3]
TEXT = """
question = "Is a bottleneck of two features worse?"
seeds = [3, 4]
judged = false

[[settings]]
name = "narrow"
experiment = "multimnist"
method = "pamal"
options = "data=sample; epochs=1; W=1; lam=0; bottleneck=2; draw=seed"

[[settings]]
name = "one-network"
experiment = "multimnist"
method = "ls"
options = "data=sample; epochs=1; weights=[0.2, 0.8]"
seeds = [4]
"""


@pytest.fixture
def script(tmp_path):
    """The names of workflow/registered.py."""
    return runpy.run_path(str(ROOT / "workflow" / "registered.py"))


def register(folder, text=TEXT, name="question"):
    (folder / f"{name}.toml").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "HASHES").write_text(f"{digest}  {name}.toml\n")


def test_what_is_missing_is_made_with_the_seed_as_the_draw(tmp_path, script, capsys, monkeypatch):
    register(tmp_path)
    planned = [o for _, o in script["missing"](read("question", tmp_path))]
    assert [(o.method, o.seed, getattr(o, "draw", None)) for o in planned] == [
        ("pamal", 3, 3),
        ("pamal", 4, 4),
        ("ls", 4, 0),
    ]
    made = []

    def noted(_experiment, options, wait, keep_weights):
        assert (wait, keep_weights) == (False, False)
        made.append(options.out)

    monkeypatch.setitem(script["main"].__globals__, "run", noted)
    script["main"](["question"], tmp_path)
    assert made == [o.out for o in planned] and capsys.readouterr().out.split() == made


def test_a_registered_run_is_made_once_and_stands_for_no_other(tmp_path, script, monkeypatch):
    register(tmp_path)
    experiment, options = next(script["missing"](read("question", tmp_path)))
    record = script["run"](experiment, options, wait=False).record
    first = tmp_path / "question" / "narrow_seed_3.json"
    assert Record.read(first).key == record.key
    assert record.options["bottleneck"] == 2 and "seed=3" in record.data
    left = [Path(o.out).name for _, o in script["missing"](read("question", tmp_path))]
    assert left == ["narrow_seed_4.json", "one-network_seed_4.json"]
    for name, setting in zip(left, ("narrow", "one-network"), strict=True):
        shutil.copy(first, first.with_name(name))
        with pytest.raises(InputError, match=r"run of its name: .* seed 4\. Found .* seed 3"):
            script["main"](["question"], tmp_path)
        with pytest.raises(InputError, match="must have the run of its name"):
            read("question", tmp_path).record(setting, 4)
        first.with_name(name).unlink()


@pytest.mark.parametrize("change", [("seeds = [3, 4]", "seeds = [3]"), ("\n", "\r\n")])
def test_a_registration_that_was_changed_is_refused(tmp_path, change):
    register(tmp_path)
    (tmp_path / "question.toml").write_text(TEXT.replace(*change), newline="")
    with pytest.raises(InputError, match="not the one that was registered"):
        read("question", tmp_path)
    with pytest.raises(InputError, match="Found no"):
        read("another", tmp_path)


def test_an_unknown_option_is_refused_before_any_run(tmp_path, script):
    register(tmp_path, TEXT.replace("weights", "wieghts"))
    with pytest.raises(InputError, match="wieghts"):
        script["main"](["question"], tmp_path)


def test_what_a_user_can_mend_is_one_line(script, monkeypatch):
    monkeypatch.setattr("sys.argv", ["registered.py", "no-such"])
    with pytest.raises(SystemExit, match=r"^error: A registration needs a file and its hash"):
        runpy.run_path(str(ROOT / "workflow" / "registered.py"), run_name="__main__")


def test_nothing_else_reads_the_folder_of_registered_runs(tmp_path, capsys):
    source = ROOT / "results" / "census" / "ls_seed_0.json"
    for folder in ("census", "registered/question"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "ls_seed_0.json").write_bytes(source.read_bytes())
    assert [p.parent.name for p in files(tmp_path, ".json")] == ["census"]
    assert len(frame.read(tmp_path)) == 1
    main(["runs", str(tmp_path)])
    assert "registered" not in capsys.readouterr().out
