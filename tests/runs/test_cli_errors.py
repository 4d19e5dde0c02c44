"""`python -m pamal_core`: one line for what is wrong, and no torch where none is needed."""

import subprocess
import sys

import pytest
from commands_on_disk import ask, record
from test_layers import PACKAGE

from pamal_core.runs.commands import COMMANDS, main

ROOT = PACKAGE.parent


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: COMMAND"),
        (["runz"], "invalid choice: 'runz'"),
        (["runs", "--what"], "--what"),
        (["runs", "nowhere"], "Expected a folder. Found none at nowhere."),
        (["compare", "nowhere"], "Expected a folder. Found none at nowhere."),
        (["clean", "nowhere"], "Expected a folder. Found none at nowhere."),
        (["show"], "path"),
        (["show", "nowhere.json"], "Could not read the record nowhere.json: No such file"),
        (["show", str(ROOT / "results")], "Is a directory"),
        (["show", str(ROOT / "README.md")], "README.md is not a whole record"),
        (["data", "--get", "cifar"], "Found 'cifar'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "") and said in err
    assert err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize("change", [{"points": [{}]}, {"summary": {"validation": 1}}])
def test_a_record_that_lacks_what_is_shown_is_named(tmp_path, change):
    record(**change).write(tmp_path / "r.json")
    code, _, err = ask("show", tmp_path / "r.json")
    assert code == 2 and "r.json is not a whole record" in err and err.count("\n") == 1


def test_the_help_of_a_command_is_one_line(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    for name, (_, what) in COMMANDS.items():
        assert any(line.split() == [name, *what.split()] for line in lines)


def test_only_data_needs_torch(tmp_path):
    code = f"""
import sys
from pamal_core.runs.commands import main
for command in ("runs", "compare", "clean"):
    assert main([command, {str(ROOT / "results")!r}]) == 0
assert main(["show", {str(ROOT / "results/multimnist/pamal_seed_0.json")!r}]) == 0
sys.exit("torch" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "pamal_core", "runs", str(ROOT / "results")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_terminal_without_unicode_gets_the_text_all_the_same():
    command = [sys.executable, "-m", "pamal_core", "runs", str(ROOT / "results/multimnist")]
    run = subprocess.run(
        command,
        capture_output=True,
        check=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)},
    )
    assert rb"HV \u2191" in run.stdout
