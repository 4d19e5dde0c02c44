"""Wrong changes that `tests/mutants/run.py` makes are changes of the code as it is now."""

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = runpy.run_path(str(ROOT / "tests/mutants/run.py"))
LISTED = tomllib.loads(RUN["LIST"].read_text("utf-8"))["mutant"]
MUTANTS = [RUN["Mutant"](**fields) for fields in LISTED]


def test_the_text_that_a_mutant_changes_is_in_its_file_once():
    assert [mutant.name for mutant in MUTANTS if mutant.applied(ROOT) is None] == []


def test_the_tests_that_a_mutant_names_exist():
    for mutant in MUTANTS:
        for name in mutant.tests:
            path, *functions = name.partition("[")[0].split("::")
            assert (ROOT / path).exists(), name
            for function in functions:
                assert f"def {function}(" in (ROOT / path).read_text("utf-8"), name
