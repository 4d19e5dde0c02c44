"""The page that documents the package, which is read from the source without importing it."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import pamal_core

ROOT = Path(__file__).parents[2]
NAMES = re.findall(r"\{api\} (\S+)", (ROOT / "book" / "api.md").read_text("utf-8"))


@pytest.fixture
def api(monkeypatch):
    pytest.importorskip("sphinx", reason="needs the `book` extra")
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    yield importlib.import_module("api")
    del sys.modules["api"]


def imported(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_public_name_is_on_the_page_once():
    public = {f"pamal_core.{name}" for name in pamal_core.__all__}
    assert public <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_from_the_source_is_what_python_says_of_the_object(api, name):
    module, found = api.find(*name.rsplit(".", 1))
    theirs = imported(name)
    assert theirs.__module__ == module
    text = "\n".join(api.entry(name, module, found))
    assert inspect.getdoc(theirs) in text
    if not name.endswith("Error"):
        head = next(line for line in text.splitlines() if name in line)
        ours = re.findall(r"[(,] \*{0,2}(\w+)(?=[:,=)])", head.replace("(", "( "))
        expected = [one for one in inspect.signature(theirs).parameters if one != "self"]
        assert [one for one in ours if one in expected] == expected, head


@pytest.mark.parametrize("name", NAMES)
def test_every_documented_method_of_a_class_is_in_its_entry(api, name):
    theirs = imported(name)
    if not inspect.isclass(theirs):
        return
    text = "\n".join(api.entry(name, *api.find(*name.rsplit(".", 1))))
    for method, value in vars(theirs).items():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if not method.startswith("_") and inspect.isfunction(function) and function.__doc__:
            assert re.search(rf"\{{py:(method|property)\}} {method}\b", text)
            assert inspect.getdoc(function) in text


def test_a_name_that_is_not_there_is_refused(api):
    with pytest.raises(LookupError):
        api.find("pamal_core", "Nothing")
    with pytest.raises(LookupError):
        api.find("pamal_core.nowhere", "Front")
