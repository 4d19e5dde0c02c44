"""`python -m pamal_companion`: one line for what is wrong, and no torch where none is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands_on_disk import ask, record

from pamal_companion.__main__ import cli, main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runz"], "No such command 'runz'"),
        (["runs", "--what"], "--what"),
        (["runs", "nowhere"], "Could not read the folder nowhere: No such file"),
        (["grid", "nowhere"], "Expected a folder of results"),
        (["compare", "nowhere"], "Could not read the folder nowhere: No such file"),
        (["run"], "Missing argument"),
        (["run", "nowhere.json"], "a setting in workflow/grid.csv. Found 'nowhere.json'."),
        (["run", "census/no_seed_1.json"], "workflow/grid.csv. Found 'census/no_seed_1.json'."),
        (["run", "nowhere.ipynb", "out.ipynb"], "Found nothing at nowhere.ipynb."),
        (["run", "nowhere.ipynb"], "Expected SOURCE and TARGET"),
        (["runs", "nowhere.json"], "Could not read the record nowhere.json: No such file"),
        (
            ["runs", str(ROOT / "README.md")],
            "README.md is not a whole record: the file: Expecting value",
        ),
        (["bench"], "Missing argument"),
        (["bench", "nowhere.py"], "Could not read nowhere.py: No such file"),
        (["bench", str(ROOT / "README.md")], "README.md is not Python: "),
        (["data", "--get", "cifar"], "Found 'cifar'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "") and said in err
    assert err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize("name", ["alpha", "split", "metrics", "summary"])
def test_a_record_that_lacks_what_is_shown_is_named(tmp_path, name):
    text = record().to_text().replace(f'"{name}": ', '"other": ')
    (tmp_path / "r.json").write_text(text)
    code, _, err = ask("runs", tmp_path / "r.json")
    assert code == 2 and "r.json is not a whole record" in err and err.count("\n") == 1
    assert f"{name}: Field required" in err


def test_the_help_of_a_command_is_one_line(capsys):
    assert main(["--help"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert list(cli.commands) == ["data", "runs", "compare", "grid", "run", "bench"]
    for name, command in cli.commands.items():
        what = command.help.split("\n\n")[0].rstrip(".")
        assert [name, *what.split()] in [" ".join(line).rstrip(".").split() for line in lines]


def test_a_bare_command_lists_the_commands(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in cli.commands)


def test_without_the_companions_packages_a_command_names_the_extra(tmp_path):
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError(name='click')")
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, "-m", "pamal_companion", "grid"]
    run = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert run.returncode == 1
    assert run.stderr == (
        "error: The commands need more than the core. Type: pip install '.[companion]'\n"
    )


def test_a_run_that_is_stopped_says_how_to_go_on(monkeypatch):
    def stop(*_):
        error = KeyboardInterrupt()
        error.add_note("Stopped in epoch 3.")
        raise error

    monkeypatch.setattr("pamal_companion.runs.grid.maker", stop)
    code, out, err = ask("run", "census/ls_seed_0.json")
    assert (code, out, err.strip()) == (130, "", "Stopped in epoch 3.")


def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "pamal_companion", "runs", str(ROOT / "results")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_terminal_without_unicode_gets_the_text_all_the_same():
    command = [sys.executable, "-m", "pamal_companion", "runs", str(ROOT / "results/multimnist")]
    run = subprocess.run(
        command,
        capture_output=True,
        check=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)},
    )
    assert rb"HV \u2191" in run.stdout
