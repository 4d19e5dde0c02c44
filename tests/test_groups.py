"""Tests that share what takes long to make share a process (tests/conftest.py); their names."""

import ast
from pathlib import Path


def test_a_test_is_in_the_group_of_its_file(request):
    is_grouped = bool(request.config.getoption("loadgroup", False))  # a worker's, with make test
    assert request.node.nodeid.endswith("@test_groups") == is_grouped


def test_no_name_of_a_test_has_an_address_in_memory(request):
    """Two workers would collect unlike tests, and none would be run."""
    names = [item.nodeid for item in request.session.items]
    assert [name for name in names if " at 0x" in name] == []


def test_the_name_of_a_test_has_at_most_70_characters():
    names = [
        node.name
        for path in Path(__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(names) > 1000 and [name for name in names if len(name) > 70] == []
