"""The one error for everything a user can mend."""


class InputError(ValueError):
    """Something given is wrong: the message says what was expected and what was found."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: in a notebook the one line is enough."""
        return [f"{type(self).__name__}: {self}"]
