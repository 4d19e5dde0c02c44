"""A docstring begins with a verb and its object, or with the noun that it describes."""

import ast
import re
from pathlib import Path

import pytest

import pamal_core

ROOT = Path(pamal_core.__file__).parent
RIDDLE = re.compile(r"(of|that|those|none|what|whether|how|where|return\s+(of|by|as))\b", re.I)
"""First words that make the reader look for the noun or the verb: "Of how many alphas ..."."""
DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def docstrings(tree):
    """Yield the line and the text of each docstring of modules, classes, functions, attributes."""
    for node in ast.walk(tree):
        if not isinstance(node, DOCUMENTED):
            continue
        before = node
        for statement in node.body:
            value = getattr(statement, "value", None)
            is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            follows = before is node or isinstance(before, ast.Assign | ast.AnnAssign)
            if isinstance(statement, ast.Expr) and is_text and follows:
                yield statement.lineno, value.value.strip()
            before = statement


def riddles(source):
    """Return the line and the first words of each docstring that breaks the rule."""
    texts = sorted(docstrings(ast.parse(source)))
    return [(line, " ".join(text.split()[:6])) for line, text in texts if RIDDLE.match(text)]


def test_no_docstring_of_the_core_begins_with_a_riddle():
    wrong = [
        f"{path.relative_to(ROOT.parent)}:{line}: {words} ..."
        for path in sorted(ROOT.rglob("*.py"))
        for line, words in riddles(path.read_text("utf-8"))
    ]
    assert not wrong, "Begin with a verb and its object, or with the noun:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "source",
    [
        '"""Of the core."""',
        "class A:\n    '''None, or a number.'''",
        "class A:\n    size = 3\n    '''How many.'''",
        "class A:\n    size: int\n    r'''That of the\n    model.'''",
        "def f():\n    '''\n    Whether it is so.\n    '''",
        "async def _f():\n    '''Those given.'''",
        "class A:\n    def f(self):\n        def g():\n            '''Return by name.'''",
        "SIZE = 3\n'''what is in'''",
        "def f():\n    '''Return\n    as they are.'''",
    ],
)
def test_the_rule_is_applied_to_every_kind_of_docstring(source):
    assert len(riddles(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Offer what is there."""',
        "class A:\n    '''Networks that are trained.'''",
        "def f():\n    '''Return whether it is so.'''",
        "def f():\n    '''Return asymptotes.'''",
        "SIZE = 3\n'''Number of alphas.'''",
        "print()\n'''What is no docstring.'''",
        "x = 'Of what is assigned'",
    ],
)
def test_other_first_words_and_other_strings_are_free(source):
    assert riddles(source) == []
