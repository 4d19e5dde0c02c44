"""The page for newcomers: its code runs as it stands, and its drawings are what a script made."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest
import torch
from torch import nn

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "book" / "ten_minutes.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DRAWINGS = ROOT / "book" / "_assets" / "drawings"


def test_the_code_is_twelve_lines():
    assert len([line for line in BLOCKS[0].splitlines() if line]) == 12


@pytest.fixture(scope="module")
def after():
    """The names after all code of the page, each training cut short, on a few images."""
    names, text = {}, "\n".join(BLOCKS)
    assert text.count("epochs=") >= 5 and text.count('load("sample")') == 2
    short = re.sub(r"epochs=\w+", "epochs=1", text)
    for ours, small in (
        ('t.load("sample"', 't.load("sample", sizes=(640, 200, 200)'),
        ("0.8}", "0}"),
    ):
        assert ours in short
        short = short.replace(ours, small)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(short, names)
    return names


def test_the_twelve_lines_end_in_a_plain_network_and_a_front_of_eleven(after):
    modules = {type(module).__module__.split(".")[0] for module in after["model"].modules()}
    assert modules <= {"torch", "pamal_companion"}  # LeNet is ours
    assert isinstance(after["model"], nn.Module) and len(after["front"].alphas) == 11
    images = after["digits"].validation[:4][0]
    expected = after["network"].predict(images, after["alpha"])
    with torch.no_grad():
        for ours, theirs in zip(after["model"](images), expected, strict=True):
            torch.testing.assert_close(ours, theirs)


def test_the_exercises_leave_what_they_compare(after):
    assert after["point"].values.shape == (1, 2)
    assert after["found"].hypervolume((0.0, 0.0)) > 0
    assert len(after["found"]) == len(after["front"]) == 11


def test_every_drawing_is_in_a_page_and_says_what_it_shows():
    pages = "\n".join(path.read_text("utf-8") for path in (ROOT / "book").glob("*.md"))
    drawings = {path.name: path.read_text("utf-8") for path in DRAWINGS.glob("*.svg")}
    assert len(drawings) == 8
    for name, text in drawings.items():
        assert f"_assets/drawings/{name}" in pages
        (seen,) = re.findall(r'role="img" aria-label="([^"]+)"', text)
        assert len(seen.split()) >= 12
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("draw", ["conflict", "order", "choose"])
def test_a_drawing_is_what_its_script_draws(draw, tmp_path, monkeypatch):
    names = runpy.run_path(str(DRAWINGS.parent / "drawings.py"))
    monkeypatch.setitem(names[draw].__globals__, "TARGET", tmp_path)
    names[draw]()
    made = sorted(tmp_path.glob("*.svg"))
    assert made
    for path in made:
        assert path.read_text("utf-8") == (DRAWINGS / path.name).read_text("utf-8")
