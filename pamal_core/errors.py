"""The one error for everything a user can mend."""

from collections.abc import Sequence


class InputError(ValueError):
    """Something given is wrong: the message says what was expected and what was found."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: in a notebook the one line is enough."""
        return [f"{type(self).__name__}: {self}"]


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """InputError unless `value`, of the argument `name`, is one of `allowed`."""
    if value not in allowed:
        raise InputError(f"`{name}` must be one of {', '.join(allowed)}. Found {value!r}.")
