"""A build of the book that was stopped is made good by the same command."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from built_book import SMALL_TOC, of_a_small_book

ROOT = Path(__file__).parents[3]
RANDOM = random.Random(0)
INDEX = "# First\n\nHypervolume 0.9184.\n"
OF_A_BUILD = (".zip", ".buildinfo")
PHASES = ("reading sources", "writing output", "copying images", "dumping search index")
TRIED = PHASES if "PAMAL_FAULTS" in os.environ else PHASES[::2]


def start(folder):
    """Begin to build the book in `folder` as README says it, where a warning is an error."""
    command = [
        Path(sys.executable).with_name("jupyter-book"),
        "build",
        "-W",
        "--keep-going",
        "book/",
    ]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Where the tests run in the background, an interrupt is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def built(folder):
    """Build the book once more, to its end; return its files but for what names the build."""
    process = start(folder)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    html = folder / "_build" / "html"
    paths = [path for path in html.rglob("*") if path.is_file()]
    files = {path.relative_to(html).as_posix(): path for path in paths}
    contents = {n: p.read_bytes() for n, p in files.items() if not n.endswith(OF_A_BUILD)}
    # A style sheet of an earlier build has a mark of its contents from the first page on.
    return {name: re.sub(rb"\?v=[0-9a-f]+", b"", content) for name, content in contents.items()}


@pytest.fixture(scope="module")
def book(tracked, tmp_path_factory):
    """A book of two pages, and its files."""
    pytest.importorskip("jupyter_book", reason="needs the `book` extra")
    folder = tmp_path_factory.mktemp("book")
    for path in of_a_small_book(tracked):
        name = path.relative_to(ROOT)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    (folder / "_toc.yml").write_text(SMALL_TOC, "utf-8")
    (folder / "book" / "index.md").write_text(INDEX, "utf-8")
    return folder, built(folder)


@pytest.mark.parametrize("phase", TRIED)
def test_a_build_of_the_book_that_is_stopped_is_built_whole(phase, book, times, tally):
    folder, whole = book
    assert b"0.9184" in whole["searchindex.js"] and any("_images" in name for name in whole)
    for attempt in range((times + 1) // 2):
        if attempt % 2 or phase == "copying images":  # an edited page alone has none to copy
            shutil.rmtree(folder / "_build")
        (folder / "book" / "index.md").write_text(INDEX, "utf-8")
        process, is_reached = start(folder), False
        for line in process.stdout:
            if phase in line:
                is_reached = True
                time.sleep(RANDOM.choice([0, 0, 0.02, 0.1, 0.5]))
                process.send_signal(RANDOM.choice([signal.SIGINT, signal.SIGKILL]))
                break
        process.communicate()
        assert is_reached, phase
        again = built(folder)
        lost = again != whole
        tally("a build of the book that is stopped", lost, 0)
        assert not lost, sorted(name for name in whole if again.get(name) != whole[name])


def test_a_warning_is_said_again_until_it_is_mended(book):
    folder, whole = book
    index = folder / "book" / "index.md"
    index.write_text(INDEX + "\n[nowhere](nowhere.md)\n", "utf-8")
    for _ in "ab":
        process = start(folder)
        said, _ = process.communicate()
        assert process.returncode != 0 and "nowhere" in said
    index.write_text(INDEX, "utf-8")
    assert built(folder) == whole
