"""Wrong changes that `tests/mutants/run.py` makes are changes of the code as it is now."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTANTS = tomllib.loads((ROOT / "tests/mutants/mutants.toml").read_text("utf-8"))["mutant"]


def test_the_text_that_a_mutant_changes_is_in_its_file_once():
    stale = [
        mutant["name"]
        for mutant in MUTANTS
        if (ROOT / mutant["file"]).read_text("utf-8").count(mutant["old"]) != 1
    ]
    assert stale == []


def test_the_tests_that_a_mutant_names_exist():
    for mutant in MUTANTS:
        for name in mutant["tests"]:
            path, *functions = name.partition("[")[0].split("::")
            assert (ROOT / path).exists(), name
            for function in functions:
                assert f"def {function}(" in (ROOT / path).read_text("utf-8"), name
