"""The book, built once for all the tests that read it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
SMALL_TOC = "format: jb-book\nroot: index\nchapters:\n  - file: results/schematics\n"
OF_A_SMALL_BOOK = (
    *("book/_", "book/references.bib", "book/results/schematics.ipynb", "pamal_", "results/mea"),
    *("_config.yml", "pyproject.toml", "README.md", "CITATION.cff"),
)


@pytest.fixture(scope="session")
def tracked():
    """The files of the repository: those git has, and those it would take."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    return [ROOT / name for name in names if name and os.path.lexists(ROOT / name)]


@pytest.fixture(scope="session")
def built_book(tracked, tmp_path_factory):
    """The folder with the pages of the book, built without a warning from the tracked files, by
    whichever of pytest's workers needs it first."""
    pytest.importorskip("jupyter_book", reason="needs the `book` extra")
    own = tmp_path_factory.getbasetemp()
    copy = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "book"
    html = copy / "_build" / "html"
    with FileLock(f"{copy}.lock"):
        if not copy.exists():
            build(tracked, copy)
    assert (html / "objects.inv").exists(), "another worker could not build the book, and says why"
    return html


def pages(built_book):
    """The files of its pages."""
    return [path for path in built_book.rglob("*.html") if "_static" not in path.parts]


def of_a_small_book(tracked):
    """The files of a book of two pages, but for its contents and its first page."""
    return [p for p in tracked if p.relative_to(ROOT).as_posix().startswith(OF_A_SMALL_BOOK)]


def build(files, copy, **texts):
    """Build the book of these files of the repository in the folder `copy`; `texts` are what those
    have that are another there."""
    for path in files:
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for name, text in texts.items():
        (copy / name).write_text(text, "utf-8")
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    built = subprocess.run(
        [jupyter_book, "build", "-W", "--keep-going", "book/"],
        cwd=copy,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
