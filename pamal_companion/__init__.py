"""Reproduce the paper of Pareto Manifold Learning with `pamal_core`.

`pip install '.[companion]'` brings what it needs.
"""

from importlib.util import find_spec


def needs(extra: str, *modules: str) -> None:
    """Raise ImportError, with the extra that brings them, where one of `modules` is missing."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise ImportError(
            f"Found no {', '.join(missing)}. The extra `{extra}` brings it: "
            f"pip install '.[{extra}]'.",
            name=missing[0],
        )
