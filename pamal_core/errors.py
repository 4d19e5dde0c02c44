"""The one error for everything a user can mend."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """Something given is wrong: the message says what was expected and what was found."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: in a notebook the one line is enough."""
        return [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", [])]


def is_number(value: object) -> bool:
    """Whether `value` is a finite number, of numpy or plain; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """InputError unless `value`, of the argument `name`, is one of `allowed`."""
    if value not in allowed:
        names = ", ".join(allowed) or "none"
        raise InputError(f"`{name}` must be one of {names}. Found {value!r}.")


def check_number(
    name: str, value: Any, low: int, *, whole: bool = False, above: bool = False
) -> None:
    """InputError unless `value` is a finite, or `whole`, number, at least `low` or `above` it."""
    words, sign = "a whole number" if whole else "a finite number", ">" if above else ">="
    right = is_number(value) and (isinstance(value, Integral) or not whole)
    if not right or value < low or (above and value == low):
        raise InputError(f"`{name}` must be {words} {sign} {low}. Found {name}={value!r}.")


def check_type(name: str, value: object, kind: type, example: str) -> None:
    """InputError unless `value`, of the argument `name`, is a `kind`, such as `example`."""
    if not isinstance(value, kind):
        is_short = isinstance(value, str | Real)
        found = repr(value) if is_short else getattr(value, "__name__", type(value).__name__)
        raise InputError(
            f"`{name}` must be of type {kind.__name__}, such as {example}. Found {found}."
        )
