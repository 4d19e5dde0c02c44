"""Imports point one way (CONTRIBUTING, "The rooms"), and each package installs what it needs."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pamal_core

ROOT = Path(__file__).parents[1]
CORE = ["pamal_core", "pamal_core.balancing"]
# A room of the companion imports itself, the rooms before it, and the core.
ROOMS = [
    *("fronts", "data", "baselines", "plots", "runs"),
    *("experiments", "toy", "demos", "study", "widgets"),
]


def modules() -> list[tuple[str, str, ast.Module]]:
    """Each module of the two packages: its folder and its name, with dots, and its source."""
    found = []
    for package in ("pamal_core", "pamal_companion"):
        for path in (ROOT / package).rglob("*.py"):
            folder, name = (".".join(p.relative_to(ROOT).parts) for p in (path.parent, path))
            found.append((folder, name.removesuffix(".py"), ast.parse(path.read_text("utf-8"))))
    return found


def imported(tree: ast.Module) -> set[str]:
    """All that a module imports, wherever in the module it does."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def test_every_folder_is_of_the_core_or_a_room_of_the_companion():
    rooms = {f"pamal_companion.{room}" for room in ROOMS}
    others = {"pamal_companion", "pamal_companion.data.samples"}
    assert {folder for folder, _, _ in modules()} == {*CORE} | rooms | others


def test_the_tests_of_the_core_need_nothing_of_the_companion():
    """Its name may be in no string either: as code for another process, or to skip a test."""
    files = (ROOT / "tests" / "core").rglob("*.py")
    assert [path.name for path in files if "pamal_companion" in path.read_text("utf-8")] == []


def test_a_room_imports_only_the_rooms_before_it():
    for folder, name, tree in modules():
        room = folder.split(".")[1] if folder.startswith("pamal_companion.") else None
        if room is None:  # the core, and the command line, which is above all rooms
            continue
        ours = [one.split(".") for one in imported(tree) if one.startswith("pamal_companion.")]
        rooms = {parts[1] for parts in ours if parts[1] in ROOMS}
        assert rooms <= {*ROOMS[: ROOMS.index(room) + 1]}, name


def test_each_room_says_what_lives_there():
    for folder in [*CORE, *(f"pamal_companion.{room}" for room in ROOMS)]:
        source = ROOT.joinpath(*folder.split("."), "__init__.py").read_text("utf-8")
        assert ast.get_docstring(ast.parse(source)), folder


def test_the_core_declares_what_it_imports_and_nothing_else():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.match(r"[a-z-]+", line)[0] for line in project["dependencies"]}
    used = {one.split(".")[0] for f, _, tree in modules() if f in CORE for one in imported(tree)}
    drawing = {"matplotlib", "mpltern"}  # of the extra `plots`, imported when a front is drawn
    assert used - {*sys.stdlib_module_names, "pamal_core"} - drawing == declared


def test_the_version_is_that_of_the_changelog_and_of_the_citation():
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\n## {pamal_core.__version__}\n" in changes
    assert f"\nversion: {pamal_core.__version__}\n" in cited


def test_the_names_at_top_level_are_those_that_type_checkers_see():
    stub = ast.parse((ROOT / "pamal_core" / "__init__.pyi").read_text("utf-8"))
    seen = {a.name: n.module for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert seen == pamal_core._HOME and sorted(seen) == pamal_core.__all__


def test_the_order_of_reading_has_every_module_of_the_core():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text.split("| to know |")[1].split("## ")[0]
    named = {name for name in re.findall(r"`([a-z_/]+)`", table) if not name.endswith("/")}
    top = {path.stem for path in (ROOT / "pamal_core").glob("*.py")} - {"__init__"}
    assert {name for name in named if "/" not in name} == top
    assert all((ROOT / "pamal_core" / f"{name}.py").exists() for name in named)


def test_the_core_brings_neither_the_companion_nor_what_is_slow_to_import():
    code = """
import sys
from pamal_core import train
import pamal_core
assert all(getattr(pamal_core, name) for name in pamal_core.__all__)
slow = {"scipy.optimize", "matplotlib", "pamal_companion", "torchvision", "sklearn"}
sys.exit(str(slow & {*sys.modules}) if slow & {*sys.modules} else 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    missing = {
        "pamal_companion.runs.options": ("pydantic", "companion"),
        "pamal_companion.data.census": ("sklearn", "companion"),
        "pamal_companion.plots.fronts": ("mpltern", "plots"),
        "pamal_companion.__main__": ("click", "companion"),
    }
    for module, (package, extra) in missing.items():
        code = f"""
import importlib.util as util
import sys
found = util.find_spec
util.find_spec = lambda name, *rest: None if name == {package!r} else found(name, *rest)
try:
    import {module}
except ImportError as error:
    sys.exit(not ({package!r} in str(error) and "pip install '.[{extra}]'" in str(error)))
sys.exit("no error")
"""
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0, module


def test_torch_and_the_books_packages_are_needed_for_data_and_runs_alone():
    """Fronts, figures, the study, drawn faces, the records of a page, the grid, and what reads."""
    rooms = [f"pamal_companion.{room}" for room in ("fronts", "plots", "study")]
    names = [n for folder, n, _ in modules() if folder in rooms and not n.endswith("__init__")]
    names += ["pamal_core.simplex", "pamal_companion.data.samples.faces"]
    code = f"""
import sys
from pathlib import Path
sys.modules["nbformat"] = None  # which only the book's extra installs
from pamal_companion.__main__ import main
from pamal_companion.runs import grid
assert grid.runs() != [], "no runs"
results = grid.ROOT / "results"
for command in ("runs", "compare", "grid"):
    assert main([command, str(results)]) == 0, command
assert main(["runs", str(results / "multimnist/pamal_seed_0.json")]) == 0
del sys.modules["nbformat"]
from pamal_companion.study import frame, overview
overview.table(frame.read())
assert "torch" not in sys.modules, "torch by a command, or the runs of a page"
import {", ".join(names)}
assert "torch" not in sys.modules, "torch by a module"
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_only_data_modules_and_experiments_know_a_data_set_by_name():
    names = ("mnist", "census", "utkface", "cityscapes")
    rooms = {f"pamal_companion.{room}" for room in ("data", "experiments", "demos", "study")}
    for folder, name, _ in modules():
        if not folder.startswith(tuple(rooms)) and name != "pamal_companion.__main__":
            path = ROOT / (name.replace(".", "/") + ".py")
            assert not any(word in path.read_text("utf-8").lower() for word in names), path
