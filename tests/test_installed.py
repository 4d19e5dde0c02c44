"""What somebody gets who installs the project: its files, and the types that a checker finds."""

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from textwrap import dedent
from zipfile import ZipFile

import pytest
from of_the_wheel import of_the_core

ROOT = Path(__file__).parents[1]
PACKAGES = ("pamal_core", "pamal_companion")
README = (ROOT / "README.md").read_text("utf-8")
RIGHT = [dedent(code) for code in re.findall(r" *```python\n(.*?)```", README, re.DOTALL)]
WRONG = """
from torch import nn
from pamal_companion.data import multimnist
from pamal_core import Method, MultiForward, WeightEnsemble, classification, fit, lattice, train

network = WeightEnsemble([nn.Linear(2, 2), nn.Linear(2, 2)])
tasks = [classification("a"), classification("b")]
Method(network, tasks, window="three")  # wrong
method = Method(network, tasks, window=3, penalty=MultiForward(1))
MultiForward("much")  # wrong
train(method, [], epochs="many")  # wrong
train(method, [], epochs=1, learning_rate=0.1)  # wrong
train(method, [], epochs=1, lr=0.1)
fit(lambda: nn.Linear(2, 2), tasks, [], epochs=1)  # wrong
lattice(2).shape + lattice("2").size  # wrong
multimnist.load("sample").train
multimnist.load(3)  # wrong
"""
# Libraries that have types of their own, and take mypy twenty seconds.
BRIEFLY = "[mypy]\n[mypy-torch.*,torchvision.*,numpy.*,PIL.*]\nfollow_imports = skip\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the wheel and the sdist of a copy, beside which the builds may write."""
    pytest.importorskip("setuptools", reason="needs the `dev` extra")
    folder = tmp_path_factory.mktemp("built")
    for package in (*PACKAGES, "tests"):
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=leave)
    for path in (p for p in ROOT.iterdir() if p.is_file() and p.name != ".git"):
        shutil.copy(path, folder)
    code = "from setuptools.build_meta import *; build_sdist('made'); build_wheel('made')"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    return folder / "made"


def of_the_packages(names):
    return {name for name in names if name.startswith(tuple(f"{one}/" for one in PACKAGES))}


def test_a_wheel_has_the_packages_whole_and_nothing_else(built):
    with ZipFile(*built.glob("*.whl")) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    inside = [path for one in PACKAGES for path in (ROOT / one).rglob("*") if path.is_file()]
    files = {path.relative_to(ROOT).as_posix() for path in inside if path.suffix != ".pyc"}
    assert names == {name for name in files if not name.endswith(".md")}
    assert {f"{one}/py.typed" for one in PACKAGES} | {"pamal_core/__init__.pyi"} <= names


def test_two_builds_of_one_commit_give_the_same_wheel(built):
    """By `SOURCE_DATE_EPOCH`, whenever the files were written."""
    code = "from setuptools.build_meta import *; import sys; build_wheel(sys.argv[1])"
    wheels = []
    for number, name in enumerate(("first", "second")):
        for path in (built.parent / "pamal_core").rglob("*.py"):
            os.utime(path, (number * 10**8 + 10**9,) * 2)
        subprocess.run(
            [sys.executable, "-c", code, name],
            cwd=built.parent,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
            check=True,
            capture_output=True,
        )
        wheels.append(next((built.parent / name).glob("*.whl")).read_bytes())
    assert wheels[0] == wheels[1]


def test_an_sdist_depends_on_its_files_alone(built, tmp_path):
    (first,) = built.glob("*.tar.gz")
    second = tmp_path / "second.tar.gz"
    with tarfile.open(first) as source, tarfile.open(second, "w:gz") as target:
        for entry in reversed(source.getmembers()):
            entry.mtime, entry.mode, entry.uid, entry.uname = 10**9, 0o700, 1000, "somebody"
            target.addfile(entry, source.extractfile(entry))
    script = str(ROOT / ".ci" / "same_sdist.py")
    for path in (first, second):
        shutil.copy(path, tmp_path / f"same_{path.name}")
        subprocess.run([sys.executable, script, tmp_path / f"same_{path.name}", "10"], check=True)
    (same, _) = written = [path.read_bytes() for path in tmp_path.glob("same_*")]
    assert len({*written}) == 1 and same != first.read_bytes()
    with tarfile.open(first) as made, tarfile.open(fileobj=io.BytesIO(same)) as again:
        assert {*made.getnames()} == {*again.getnames()}
        assert all(file_of(made, name) == file_of(again, name) for name in made.getnames())


def file_of(archive, name):
    """What the file of this name has in it; None for a folder."""
    file = archive.extractfile(name)
    return file and file.read()


def test_the_wheel_alone_is_tried_by_the_example_of_the_core():
    assert of_the_core(README) == RIGHT[1]


def test_an_sdist_has_what_makes_the_wheel_and_nothing_else(built):
    with tarfile.open(*built.glob("*.tar.gz")) as sdist, ZipFile(*built.glob("*.whl")) as wheel:
        names = {m.name.partition("/")[2] for m in sdist.getmembers() if m.isfile()}
        assert of_the_packages(names) == of_the_packages(wheel.namelist())
    others = {name for name in names - of_the_packages(names) if ".egg-info/" not in name}
    assert others == {
        *("LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg")
    }


def test_a_users_mypy_finds_what_is_wrong_and_nothing_else(built, tmp_path):
    pytest.importorskip("mypy", reason="needs the `dev` extra")
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    (site,) = (tmp_path / "env").glob("lib/*/site-packages")
    with ZipFile(*built.glob("*.whl")) as wheel:
        wheel.extractall(site)
    (site / "rest.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "mypy.ini").write_text(BRIEFLY)
    recipe, by_hand = RIGHT
    scripts = {"recipe.py": recipe, "by_hand.py": by_hand, "wrong.py": WRONG}
    for name, code in scripts.items():
        (tmp_path / name).write_text(code, "utf-8")
    command = [sys.executable, "-m", "mypy", "--python-executable", python, *scripts]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    errors = re.findall(r"^(\S+):(\d+): error", found.stdout, re.MULTILINE)
    lines = enumerate(WRONG.splitlines(), 1)
    expected = [("wrong.py", str(n)) for n, line in lines if line.endswith("# wrong")]
    assert errors == expected, found.stdout + found.stderr
