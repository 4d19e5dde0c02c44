"""Numbers in README, CONTRIBUTING and the texts beside the code are those of the code."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from pamal_companion.runs import grid
from pamal_companion.study import claims

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
]
WORDS += ["fourteen", "fifteen", "sixteen", "seventeen", "eighteen"]


def text(name):
    """A text in one line."""
    return " ".join((ROOT / name).read_text("utf-8").split())


@pytest.fixture(scope="module")
def counts():
    found = grid.status(ROOT / "results").set_index("target")
    return found[["runs", "done", "left"]].astype(object)  # a row of them has whole numbers


def test_the_readme_says_how_many_runs_are_made_and_left(counts):
    paper, faces, streets = (counts.loc[name] for name in ("paper", "utkface", "cityscapes"))
    readme, ablations = text("README.md"), counts.loc["ablations"]
    assert f"take {paper['runs']} runs, and {paper['done']} of them are made" in readme
    assert f"Of UTKFace's {faces['runs']} runs, {faces['left']} are left" in readme
    assert streets["done"] == 0 and f"All runs of CityScapes ({streets['runs']})" in readme
    assert f"The {ablations['runs']} runs of the ablations are all made" in readme
    assert ablations["left"] == 0


def test_the_readme_counts_the_claims_and_those_that_are_not_run(runs):
    words = claims.table(runs)["verdict"]
    assert f"and {len(words)} of its claims" in text("README.md")
    assert f"{(words == 'not run').sum()} claims are not run" in text("README.md")


def test_the_readme_of_the_workflow_counts_runs_and_those_that_are_copied(counts):
    said = text("workflow/README.md")
    assert said.count(f"{counts.loc['paper', 'runs']} runs make every table") == 1
    every = {**{run.records: run for run in grid.by_record().values()}}
    saved = sum(len(records) - 1 for records in every)
    assert f"Rows of equal settings are one run: {saved} are saved" in said


def test_the_readme_counts_the_methods_of_the_paper():
    (word,) = re.findall(r"one of the (\w+) methods that the paper compares", text("README.md"))
    others = {run.method for run in grid.runs("paper")} - {"pamal"}
    assert word == WORDS[len(others)]


def test_the_readme_counts_the_notebooks_that_the_makefile_runs():
    (names,) = re.findall(r"^FRESH := \$\(patsubst .*ipynb,(.*)\)$", MAKEFILE, re.MULTILINE)
    assert f"runs {WORDS[len(names.split())]} notebooks on built-in data" in text("README.md")


def test_every_text_names_the_oldest_python_that_is_declared():
    for name in ("README.md", "CONTRIBUTING.md"):
        assert f"Python {OLDEST} or newer" in text(name)
    assert f"Python {OLDEST} or newer is needed" in MAKEFILE
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert f"python={OLDEST}" in environment["dependencies"]
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert pythons[0] == OLDEST
    assert f"each Python from {pythons[0]} to {pythons[-1]}" in text("CONTRIBUTING.md")


def test_the_environments_of_the_readme_bring_what_it_runs():
    """snakemake, papermill and jupyter-book are commands in README."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    (pip,) = (part["pip"] for part in environment["dependencies"] if isinstance(part, dict))
    (extras,) = re.findall(r"-e \.\[([\w,]+)\]", " ".join(pip))
    readme = text("README.md")
    (typed,) = re.findall(r"pip install -e '\.\[([\w,]+)\]' -c constraints\.txt", readme)
    assert typed.split(",") == [e for e in extras.split(",") if e != "test"]
    brought = [
        line for extra in typed.split(",") for line in PROJECT["optional-dependencies"][extra]
    ]
    packages = {re.match(r"[\w.-]+", line)[0] for line in brought}
    for command in ("snakemake", "papermill", "jupyter-book"):
        assert re.search(rf"(```|`){command}|\s{command} \w", readme)
        assert command in packages


def test_the_core_alone_is_what_the_readme_says_it_is():
    (said,) = re.findall(r"`pip install \.`: ([\w, ]+)\)", text("README.md"))
    assert re.split(r", | and ", said) == [
        re.match(r"[a-z-]+", line)[0] for line in PROJECT["dependencies"]
    ]


def test_the_texts_say_how_often_a_fault_is_tried():
    (times,) = re.findall(r"PAMAL_FAULTS=(\d+)", MAKEFILE)
    assert times == "30" and MAKEFILE.count("every fault thirty times") == 1
    assert "thirty times each, and a table" in text("CONTRIBUTING.md")


def test_contributing_says_the_limits_that_tests_have():
    figures = (ROOT / "tests/companion/plots/test_vector_figures.py").read_text("utf-8")
    (limit,) = re.findall(r"^LIMIT = ([\d_]+)", figures, re.MULTILINE)
    assert f"more than {int(limit) // 1000} kB" in text("CONTRIBUTING.md")
    cells = (ROOT / "tests/companion/runs/test_notebooks.py").read_text("utf-8")
    (lines,) = re.findall(r"splitlines\(\)\) <= (\d+)", cells)
    assert f"cells of at most {lines} lines" in text("CONTRIBUTING.md")


def test_the_citation_is_of_the_paper_that_the_project_links_to():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["preferred-citation"]
    assert cited["url"] == PROJECT["urls"]["Paper"]
    assert f"/v{cited['volume']}/" in cited["url"]
    assert f"ICML {cited['year']}" in text("README.md") and cited["url"] in text("README.md")
