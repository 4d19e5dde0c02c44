"""The error for everything that a user can mend, the checks that raise it, and the error of a
training that diverges."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

LONGEST = 100
"""Number of characters up to which an error shows a value as it is."""


class InputError(ValueError):
    """An argument or a file is wrong; the message says what was expected and what was found."""

    def _render_traceback_(self: Exception) -> list[str]:
        """Return the lines that IPython prints instead of a traceback; a user needs no more."""
        return [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", [])]


class NonFiniteError(ArithmeticError):
    """A loss or a gradient is NaN or infinite; the message names the step, the task and the
    alpha."""

    _render_traceback_ = InputError._render_traceback_


def is_number(value: object) -> bool:
    """Return whether `value` is a finite number, of Python or numpy, but not True or False."""
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def shown(value: object) -> str:
    """Return what Python prints for `value` if it is short and on one line, else its type."""
    text = repr(value)
    is_short = len(text) <= LONGEST and "\n" not in text
    return text if is_short else f"a {type(value).__name__}"


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise InputError unless `value`, of the argument `name`, is one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(allowed) or "none"
        raise InputError(f"`{name}` must be one of {names}. Found {shown(value)}.")


def check_number(
    name: str, value: Any, low: int, *, whole: bool = False, above: bool = False
) -> None:
    """Raise InputError unless `value`, of the argument `name`, is a finite number that is at least
    `low`; if `whole`, a whole number; if `above`, a number greater than `low`."""
    words, sign = "a whole number" if whole else "a finite number", ">" if above else ">="
    is_of_kind = is_number(value) and (isinstance(value, Integral) or not whole)
    if not is_of_kind or value < low or (above and value == low):
        raise InputError(f"`{name}` must be {words} {sign} {low}. Found {name}={value!r}.")


def check_type(name: str, value: object, kind: type, example: str) -> None:
    """Raise InputError unless `value`, of the argument `name`, is a `kind`, such as `example`."""
    if not isinstance(value, kind):
        found = repr(value) if isinstance(value, str | Real) else type(value).__name__
        if hasattr(value, "__name__"):  # a class in place of an instance, or a function
            found = f"{'the class ' if isinstance(value, type) else ''}{value.__name__}"
        raise InputError(
            f"`{name}` must be of type {kind.__name__}, such as {example}. Found {found}."
        )
