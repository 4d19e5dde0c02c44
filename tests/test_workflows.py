"""Rights of continuous integration, and the commits by which its actions are named."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="needs the `book` extra")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def steps(path):
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_ends(path):
    found = yaml.safe_load(path.read_text("utf-8"))
    assert found["permissions"] == {"contents": "read"} and found["concurrency"]["group"]
    for name, job in found["jobs"].items():
        assert 0 < job["timeout-minutes"] <= 120
        assert ("permissions" in job) == (name == "publish")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_is_named_by_a_commit_with_its_version_beside_it(path):
    lines = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert lines
    for line in lines:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_an_action_has_one_version_in_all_workflows():
    texts = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    named = {*re.findall(r"uses: (\S+)@(\S+ # \S+)", texts)}
    assert len(named) == len({action for action, _ in named}) >= 4


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_checkout_keeps_no_credentials(path):
    checkouts = [step for step in steps(path) if "checkout@" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_step_runs_targets_that_the_makefile_has(path):
    targets = {*re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE)}
    matrix = re.findall(r"target: \[(.*)\]", path.read_text("utf-8"))
    named = [name.strip() for names in matrix for name in names.split(",")]
    named += re.findall(r"\bmake ([a-z][\w-]+)", path.read_text("utf-8"))
    assert {*named} <= targets


def test_the_makefile_lists_each_target_that_one_types():
    (phony,) = re.findall(r"^\.PHONY: (help (?:.*\\\n)?.*)", MAKEFILE, re.MULTILINE)
    listed = {*re.findall(r'@echo "make ([\w-]+)', MAKEFILE)}
    assert {*phony.replace("\\", " ").split()} - listed == {"help", "pytest"}
