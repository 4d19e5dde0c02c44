"""Imports point one way (CONTRIBUTING, "The rooms")."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pamal_core

PACKAGE = Path(pamal_core.__file__).parent

# A room imports only itself and the rooms before it; the method, those of its own line.
METHOD = {"", "networks", "balancing"}
ROOMS = ["data", "plots", "runs", "experiments", "toy", "lessons", "study", "widgets"]


def modules() -> list[tuple[str, str, ast.Module]]:
    """Each module of the package: its room, its name and its source as a tree."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        room = parts[0] if len(parts) > 1 else ""
        found.append((room, ".".join(("pamal_core", *parts)), ast.parse(path.read_text())))
    return found


def imported_rooms(tree: ast.Module) -> set[str]:
    """The rooms that a module imports anything from, wherever in the module it does."""
    names = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.startswith("pamal_core")
        ):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name for a in node.names if a.name.startswith("pamal_core")}
    parts = [name.split(".")[1:] for name in names]
    return {part[0] if part and part[0] in {*METHOD, *ROOMS} else "" for part in parts}


def test_every_folder_of_the_package_is_a_room():
    folders = {room for room, _, _ in modules()}
    assert folders == {*METHOD, *ROOMS}


def test_a_room_imports_only_the_rooms_before_it():
    order = [METHOD, *({room} for room in ROOMS)]
    for room, name, tree in modules():
        if name == "pamal_core.__main__":  # the command line, which is above all rooms
            continue
        place = next(i for i, rooms in enumerate(order) if room in rooms)
        allowed = set().union(*order[: place + 1])
        assert imported_rooms(tree) <= allowed, name


def test_each_room_says_what_lives_there():
    for folder in ("networks", "balancing", *ROOMS):
        assert ast.get_docstring(ast.parse((PACKAGE / folder / "__init__.py").read_text())), folder


def test_the_order_of_reading_has_every_module_of_the_method_that_is_no_rival():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text("utf-8")
    table = text.split("| to know |")[1].split("## ")[0]
    named = {name for name in re.findall(r"`([a-z_/]+)`", table) if not name.endswith("/")}
    top = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert {name for name in named if "/" not in name} == top
    assert all((PACKAGE / f"{name}.py").exists() for name in named)


def test_the_package_alone_brings_no_other_room():
    code = """
import sys
import pamal_core
pamal_core.WeightEnsemble, pamal_core.Method, pamal_core.train, pamal_core.evaluate
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("pamal_core.")}
sys.exit(str(rooms & {%s}) if rooms & {%s} else 0)
"""
    others = ", ".join(map(repr, ROOMS))
    subprocess.run([sys.executable, "-c", code % (others, others)], check=True)


def test_neither_torch_nor_the_packages_of_the_book_are_needed_but_for_data_and_training():
    """Figures, the study, drawn faces, the records of a page, the grid, and commands that read."""
    rooms = "study", "plots"
    names = [n for room, n, _ in modules() if room in rooms and not n.endswith("__init__")]
    names += ["pamal_core.simplex", "pamal_core.data.samples.faces"]
    code = f"""
import sys
from pathlib import Path
sys.modules["nbformat"] = None  # which only the book's extra installs
from pamal_core.__main__ import main
from pamal_core.runs import grid
assert grid.runs() != [], "no runs"
results = grid.ROOT / "results"
for command in ("runs", "compare", "grid", "clean"):
    assert main([command, str(results)]) == 0, command
assert main(["runs", str(results / "multimnist/pamal_seed_0.json")]) == 0
del sys.modules["nbformat"]
from pamal_core.widgets import runs_data
runs_data.pack(results / "multimnist3")
assert "torch" not in sys.modules, "torch by a command, or the records of a page"
import {", ".join(names)}
assert "torch" not in sys.modules, "torch by a module"
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_only_data_modules_and_experiments_know_a_data_set_by_name():
    names = ("mnist", "census", "utkface", "cityscapes")
    for room, name, _ in modules():
        if (
            room not in {"data", "experiments", "lessons", "study"}
            and name != "pamal_core.__main__"
        ):
            path = PACKAGE.parent / (name.replace(".", "/") + ".py")
            assert not any(word in path.read_text().lower() for word in names), path
