"""The packages read and write text as UTF-8, whatever the locale of a system says."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMPLETE = {"read_text": 1, "write_text": 2}  # with so many arguments the encoding is one


def is_silent(call: ast.Call) -> bool:
    """Whether `call` leaves the encoding of a text to the locale. What opens something else than a
    file of the disk has a method `open` without a mode here."""
    if "encoding" in {keyword.arg for keyword in call.keywords}:
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in COMPLETE:
        return len(call.args) < COMPLETE[call.func.attr]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "open":
        modes = call.args[:1]
    elif isinstance(call.func, ast.Name) and call.func.id == "open":
        modes = call.args[1:2] or [ast.Constant("r")]
    else:
        return False
    modes = [key.value for key in call.keywords if key.arg == "mode"] or modes
    return any(isinstance(m, ast.Constant) and {*str(m.value)} <= {*"rwaxt+"} for m in modes)


def silent(source: str) -> list[str]:
    """The silent calls in `source`."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [ast.unparse(call) for call in calls if is_silent(call)]


@pytest.mark.parametrize("package", ["pamal_core", "pamal_companion"])
def test_every_text_names_its_encoding(package):
    found = {path: silent(path.read_text("utf-8")) for path in (ROOT / package).rglob("*.py")}
    assert {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("path.read_text()", 1),
        ("(folder / 'a').read_text(errors='replace')", 1),
        ("path.write_text('é')", 1),
        ("path.with_name('b').write_text(data='é', newline='')", 1),
        ("path.read_text('utf-8') + path.read_text(encoding='utf-8')", 0),
        ("path.write_text(x, 'utf-8'); path.write_text(x, encoding='ascii')", 0),
        ("path.write_bytes(path.read_bytes()); read_text()", 0),
        ("a.write_text(b.read_text())", 2),
        ("open(name)", 1),
        ("path.open('w')", 1),
        ("path.open(mode='a')", 1),
        ("open(name, 'r+')", 1),
        ("open(name, mode='rb'); open(name, 'xb'); path.open('rb')", 0),
        ("open(name, encoding='utf-8'); path.open('w', encoding='utf-8')", 0),
        ("member.open(); Image.open(path); os.open(name, flags)", 0),
    ],
)
def test_a_call_without_an_encoding_is_found(source, calls):
    assert len(silent(source)) == calls
