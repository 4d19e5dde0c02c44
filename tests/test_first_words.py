"""The docstring of a function says first what the function does."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = "pamal_core", "pamal_companion", "book/_ext", "book/_assets", "workflow", "benchmarks"
NOUNS = re.compile(
    r"(the|an?|what|one|whether|how|where|which|of|those|that|each|every|all|no|none|two|three)\b|"
    r"inputerror|`",
    re.IGNORECASE,
)
COMMANDS = ROOT / "pamal_companion" / "__main__.py"
"""Its docstrings are what `--help` prints: a line on what each command shows."""


def without_a_verb(source):
    """Return the line and name of each function whose docstring has no verb first."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = (ast.get_docstring(node) or "").strip()
        if NOUNS.match(text):
            wrong.append((node.lineno, node.name))
    return wrong


@pytest.mark.parametrize("room", ROOMS)
def test_the_docstring_of_a_function_begins_with_a_verb(room):
    paths = [path for path in sorted((ROOT / room).rglob("*.py")) if path != COMMANDS]
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in paths
        for line, name in without_a_verb(path.read_text("utf-8"))
    ]
    assert paths and not wrong, "Begin with a verb and its object:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "text", ["The mean.", "A row.", "InputError where.", "`x` as text.", "No."]
)
def test_a_noun_at_the_beginning_is_found(text):
    assert without_a_verb(f'def f():\n    """{text}"""') == [(1, "f")]
    of_a_property = f'class A:\n    @property\n    def f(self):\n        """{text}"""'
    assert without_a_verb(of_a_property) == [(3, "f")]


def test_a_verb_at_the_beginning_is_none():
    assert without_a_verb('def f():\n    """Return the mean."""\n\ndef g():\n    pass') == []
