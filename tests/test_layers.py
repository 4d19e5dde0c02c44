"""Imports point one way (CONTRIBUTING, "How the package is cut")."""

import ast
import subprocess
import sys
from pathlib import Path

import pamal_core

PACKAGE = Path(pamal_core.__file__).parent

# Each module may import from its own row and the rows above it.
ROWS = [
    {"errors", "simplex", "atomic", "locks"},
    {"inputs", "tasks", "dense_tasks", "front", "paper", "state", "devices", "signals"},
    {"penalties", "networks", "options", "records", "coverage"},
    {"balancing", "data", "plots", "book"},
    {"method", "processes"},
    {"recipes", "memory", "training", "evaluation", "summary"},
    {"run_files"},
    {"experiment", "toy_pairs"},
    {"sweep", "grid"},
    {"experiments", "widgets"},
    {"commands", "__main__"},
]


def row_of(module: str) -> int:
    name = module.removeprefix("pamal_core.").split(".")[0]
    return next(i for i, row in enumerate(ROWS) if name in row)


def imports(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    found = (n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module)
    return {module for module in found if module.startswith("pamal_core.")}


def test_no_module_imports_from_a_row_below_its_own():
    sources = [p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py"]
    assert len(sources) > 20
    for path in sources:
        module = ".".join(("pamal_core", *path.relative_to(PACKAGE).with_suffix("").parts))
        for other in imports(path):
            assert row_of(other) <= row_of(module), f"{module} imports {other}"


def test_fronts_records_and_plots_need_no_torch():
    modules = "pamal_core.front, pamal_core.records, pamal_core.paper, pamal_core.plots.fronts"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_data_modules_and_experiments_know_a_data_set_by_name():
    names = ("mnist", "census", "utkface", "cityscapes")
    homes = {"data", "experiments", "paper"}
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] not in homes:
            code = path.read_text().lower()
            assert not any(name in code for name in names), path


def test_files_stay_under_250_lines_and_functions_under_30():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 250, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 30, f"{path}: {node.name} has {lines} lines"
