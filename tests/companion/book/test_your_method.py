"""The page about a method of one's own: its files and commands, as they stand there."""

import re
import shlex
from pathlib import Path

import pytest
from commands_on_disk import ask

PAGE = (Path(__file__).parents[3] / "book" / "your_method.md").read_text("utf-8")
FILES = re.findall(r"Put this into `(\w+\.py)`.*?```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    shlex.split(line.removeprefix("python -m pamal_companion "))
    for line in re.findall(r"^python -m pamal_companion bench .*$", PAGE, re.MULTILINE)
]
(SHOWN,) = re.findall(r"```\n(digits: .*?)```", PAGE, re.DOTALL)
# Fewer and shorter runs.
SHORT = ["--epochs", "3", "--seeds", "0,1", "-p", "batch_size", "200"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the files of the page."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    return tmp_path


def form(text):
    """A text without its digits, blanks, signs, words of verdicts and notes."""
    text = re.sub(r", an end|\b(ahead|behind|level|open)\b|[-+]?\b\d[\d.]*|\s", "", text)
    return text.replace("[,]", "")


def test_the_page_has_two_short_files_and_two_commands():
    assert [name for name, _ in FILES] == ["mine.py", "digits.py"]
    assert [len(text.splitlines()) <= 45 for _, text in FILES] == [True, True]
    assert len(COMMANDS) == 2


def test_the_data_set_of_the_page_prints_what_the_page_shows(folder):
    """In its form: the digits depend on the machine, and on the length of the runs."""
    code, out, _ = ask(*COMMANDS[1], *SHORT)
    assert code == 0
    shown = form(SHOWN)
    printed = form(out[: out.index("one network ↑ ")])
    assert printed.startswith(shown) and len(shown) > 200
    assert (folder / "bench" / "digits.png").exists()
    records = {path.name for path in (folder / "bench" / "digits").glob("[!.]*.json")}
    assert len(records) == 7 * (3 + 2)


def test_the_command_on_data_of_the_paper_is_one_that_runs(folder, monkeypatch):
    """As far as its first run: samples of two data sets take minutes."""

    class ReachedError(Exception):
        pass

    def stop(plan, *_, **__):
        assert plan.experiment.name == "multimnist" and plan.splits.is_sample
        assert plan.passes == 2 * 4 and {"WorstFirst", "balanced"} < {*plan.methods}
        raise ReachedError

    monkeypatch.setattr("pamal_companion.runs.bench.make", stop)
    with pytest.raises(ReachedError):
        ask(*COMMANDS[0])
