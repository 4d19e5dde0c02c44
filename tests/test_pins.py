"""`constraints.txt` changes where it must, and by `make upgrade`; HASHED=1 checks hashes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
UV = shutil.which("uv", path=str(Path(sys.executable).parent))
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(not (UV and MAKE), reason="needs make, and uv of the `dev` extra")
PROJECT = """
[project]
name = "mine"
version = "1"
requires-python = ">=3.11"
dependencies = ["first", "second{}"]
"""


def release(folder, name, version):
    """Write the wheel of an empty package."""
    about = f"{name}-{version}.dist-info"
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{about}/METADATA", head)
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(
            f"{about}/RECORD", f"{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n"
        )


@pytest.fixture
def project(tmp_path):
    """A folder with our Makefile and a project that needs two packages."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").write_text(PROJECT.format(""))
    (tmp_path / "constraints.txt").touch()
    (tmp_path / "index").mkdir()
    for name in ("first", "second"):
        release(tmp_path / "index", name, "1.0")
    return tmp_path


def make(project, *arguments):
    """Run our Makefile with the uv that is here, and with the packages of `index` alone."""
    found = {k: v for k, v in os.environ.items() if not k.startswith(("UV_", "MAKE", "HASHED"))}
    found |= {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(project / "index")}
    found |= {"UV_CACHE_DIR": str(project / "cache"), "UV_OFFLINE": "1"}
    subprocess.run(
        [MAKE, "--old-file", UV, f"UV={UV}", *arguments],
        cwd=project,
        env=found,
        check=True,
        capture_output=True,
    )


def pins(project):
    return re.findall(r"^[a-z]+==\S+", (project / "constraints.txt").read_text(), re.MULTILINE)


def test_a_version_stays_whatever_is_released(project):
    make(project, "constraints")
    written = (project / "constraints.txt").read_bytes()
    assert pins(project) == ["first==1.0", "second==1.0"]
    for name in ("first", "second"):
        release(project / "index", name, "2.0")
    make(project, "constraints")
    assert (project / "constraints.txt").read_bytes() == written
    # One that is asked for changes alone.
    (project / "pyproject.toml").write_text(PROJECT.format(">=2"))
    make(project, "constraints")
    assert pins(project) == ["first==1.0", "second==2.0"]


@pytest.mark.parametrize(
    "wrong", ["first==0.9\nsecond==1.0", "first==1.0\nsecond==1.0\nthird==1.0"]
)
def test_a_file_that_is_no_solution_is_written_anew(project, wrong):
    (project / "constraints.txt").write_text(wrong)
    make(project, "constraints")
    assert pins(project) == ["first==1.0", "second==1.0"]


@pytest.mark.parametrize("target", [".venv/ready", "test-core", "test-lowest", "test-wheel"])
def test_what_has_a_pin_is_installed_by_its_hash_on_demand(target):
    for arguments, file in ([], "constraints.txt"), (["HASHED=1"], "_build/hashed.txt"):
        command = [MAKE, "--dry-run", "--always-make", *arguments, target]
        # A variable of the outer `make` would be read as one of this.
        said = subprocess.check_output(
            command, cwd=ROOT, text=True, env={"PATH": os.environ["PATH"]}
        )
        lines = re.findall(r"uv (?:pip install|build) .*", said.replace("\\\n", " "))
        pinned = [line for line in lines if "--resolution lowest-direct" not in line]
        assert pinned and all(re.findall(r" -b (\S+)", line) == [file] for line in pinned)
        assert all(file in re.findall(r" -c (\S+)", line) or "build" in line for line in pinned)


def test_an_upgrade_is_asked_for(project):
    make(project, "constraints")
    release(project / "index", "first", "2.0")
    make(project, "upgrade")
    assert pins(project) == ["first==2.0", "second==1.0"]
