"""The directive `api`: signature and docstring of a class or function, read from its source.

    ```{api} pamal_core.WeightEnsemble
    ```

Nothing is imported, since the book builds on a machine without torch. A class is followed by its
own methods, and names its bases in this package for the others.
"""

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
Definition = ast.ClassDef | ast.FunctionDef
UNGIVEN = re.compile("ClassVar|init=False")
"""In fields that are no parameters: all instances share one, or each sets it itself."""


class Api(SphinxDirective):
    """Its argument is the full name by which one imports the object."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the entry of the object, and of its methods."""
        name = self.arguments[0]
        try:
            module, found = find(*name.rsplit(".", 1))
        except LookupError:
            raise self.error(f"Expected a class or function. Found none named {name}.") from None
        self.env.note_dependency(str(source(module)))
        return self.parse_text_to_nodes("\n".join(entry(name, module, found)))


def source(module: str) -> Path:
    """Return the file of a module; of a package whose names are imported late, that with their
    list."""
    path = ROOT.joinpath(*module.split("."))
    files = [path.with_suffix(".py"), path / "__init__.pyi", path / "__init__.py"]
    return next((file for file in files if file.is_file()), files[0])


@cache
def statements(module: str) -> list[ast.stmt]:
    """Return what stands at the top of a module."""
    file = source(module)
    return ast.parse(file.read_text("utf-8")).body if file.is_file() else []


def find(module: str, name: str) -> tuple[str, Definition]:
    """Return the definition of `name`, and the module in which it is; LookupError if there is
    none."""
    for one in statements(module):
        if isinstance(one, Definition) and one.name == name:
            return module, one
        if isinstance(one, ast.ImportFrom) and name in [alias.name for alias in one.names]:
            # Relative imports only occur in stubs, one level up, which is the package itself.
            origin = f"{module}.{one.module}" if one.level else one.module
            return find(str(origin), name)
    raise LookupError(name)


def entry(name: str, module: str, found: Definition) -> Iterator[str]:
    """Yield the lines of MyST that describe an object."""
    if isinstance(found, ast.FunctionDef):
        yield from block("function", f"{name}{signature(found)}", docstring(found))
        return
    classes = list(lineage(module, found))
    bases = ", ".join(f"`{base.name}`" for base in classes[1:])
    text = [*docstring(found), "", f"Bases: {bases}." if bases else ""]
    for one in found.body:
        if isinstance(one, ast.FunctionDef) and one.name[0] != "_" and docstring(one):
            text += method_entry(one)
    kind = "exception" if name.endswith("Error") else "class"
    yield from block(kind, f"{name}{constructor(classes)}", text, fence="::::")


def lineage(module: str, found: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield the class and its bases in this package, nearest first."""
    yield found
    for base in found.bases:
        try:
            home, definition = find(module, ast.unparse(base))
        except LookupError:
            continue  # a class of another package
        if isinstance(definition, ast.ClassDef):
            yield from lineage(home, definition)


def method_entry(method: ast.FunctionDef) -> Iterator[str]:
    """Yield the lines for a method or a property."""
    decorators = [ast.unparse(one) for one in method.decorator_list]
    if "property" in decorators:
        returns = [f":type: {ast.unparse(method.returns)}"] if method.returns else []
        yield from block("property", method.name, [*returns, "", *docstring(method)])
        return
    options = [f":{one}:" for one in ("classmethod", "staticmethod") if one in decorators]
    head = method.name + signature(method, bound="staticmethod" not in decorators)
    yield from block("method", head, [*options, "", *docstring(method)])


def constructor(classes: list[ast.ClassDef]) -> str:
    """Return what the class is called with: the parameters of `__init__`, or the fields."""
    for one in classes:
        for method in one.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                return signature(method, bound=True).removesuffix(" -> None")
    # Fields of a base come first, in which a class may put another default.
    declared = {
        ast.unparse(one.target): one
        for owner in reversed(classes)
        for one in owner.body
        if isinstance(one, ast.AnnAssign) and not UNGIVEN.search(ast.unparse(one))
    }
    return f"({', '.join(map(parameter, declared.values()))})" if declared else ""


def parameter(declared: ast.AnnAssign) -> str:
    """Return a field as a parameter; what a factory makes is shown as its call."""
    if ast.unparse(declared.annotation) == "KW_ONLY":
        return "*"
    text = f"{ast.unparse(declared.target)}: {ast.unparse(declared.annotation)}"
    if declared.value is None:
        return text
    made = [f"{ast.unparse(one.value)}()" for one in getattr(declared.value, "keywords", [])]
    return f"{text} = {(made or [ast.unparse(declared.value)])[0]}"


def signature(function: ast.FunctionDef, *, bound: bool = False) -> str:
    """Return the parameters and what is returned, as written; without the first where it is
    bound."""
    arguments = deepcopy(function.args)
    if bound:
        del arguments.args[0]
    # The name of a class within its own body is a string.
    returns = f" -> {ast.unparse(function.returns).strip(chr(39))}" if function.returns else ""
    return f"({ast.unparse(arguments)}){returns}"


def docstring(found: Definition) -> list[str]:
    """Return a docstring, each paragraph and each entry of a list one line: Markdown would take a
    line that happens to begin with a sign or a number for an entry. `$` sets mathematics."""
    lines = []
    for paragraph in (ast.get_docstring(found) or "").split("\n\n"):
        is_list = paragraph.startswith("- ")
        entries = re.split(r"\n(?=- )", paragraph) if is_list else [paragraph]
        lines += [*(" ".join(entry.split()) for entry in entries), ""]
    return lines[:-1]


def block(kind: str, head: str, text: list[str], fence: str = ":::") -> Iterator[str]:
    """Yield a directive of Sphinx's Python domain."""
    yield from (f"{fence}{{py:{kind}}} {head}", *text, fence, "")
