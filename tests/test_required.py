"""A test that is skipped for want of a browser or of data fails, if `PAMAL_REQUIRE` says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = Path(__file__).parent / "helpers"
TESTS = """
import pytest

def test_of_a_page():
    pytest.skip("needs chromium (apt-get install chromium)")

@pytest.mark.skipif(True, reason="needs MNIST under $PAMAL_DATA")
def test_of_data():
    pass

@pytest.mark.skipif(True, reason="needs a GPU")
def test_of_a_gpu():
    pass
"""


def result(folder, required):
    (folder / "test_it.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "required"]
    places = os.pathsep.join(filter(None, [str(HELPERS), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        [*command, "--rootdir", folder, folder],
        env={**os.environ, "PAMAL_REQUIRE": required, "PYTHONPATH": places},
        capture_output=True,
        text=True,
    )
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("required", "said"),
    [
        ("", "3 skipped"),
        ("browser", "1 failed, 2 skipped"),
        ("data", "2 skipped, 1 error"),
        ("browser,data", "1 failed, 1 skipped, 1 error"),
        ("browsers", "PAMAL_REQUIRE must name some of browser, data. Found browsers."),
    ],
)
def test_what_is_required_and_missing_fails_its_tests(required, said, tmp_path):
    assert said in result(tmp_path, required)


def test_every_skip_for_want_of_a_browser_or_data_has_its_word():
    """So that none is left out of what the variable is for."""
    assert 'pytest.skip("needs chromium' in (HELPERS / "browser.py").read_text("utf-8")
    tests = [path for path in Path(__file__).parent.rglob("test_*.py") if path != Path(__file__)]
    lines = [line for path in tests for line in path.read_text("utf-8").splitlines()]
    reasons = [line for line in lines if "reason=" in line and "importorskip" not in line]
    about_data = [line for line in reasons if "PAMAL_DATA" in line]
    assert len(about_data) >= 4
    assert not [line for line in reasons if " data" in line and "PAMAL_DATA" not in line]
