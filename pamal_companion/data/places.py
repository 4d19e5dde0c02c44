"""The paths that a user gives: of data, of a cache, of records and of what is exported."""

import os
from pathlib import Path

from pamal_core.errors import InputError


class NoHomeError(InputError):
    """The user has no home folder, as in a container that runs as a number."""


def user_path(given: str | Path, name: str) -> Path:
    """Return the path that a user gave as `name`, with the home folder for "~".

    Raises InputError if no file can have this path, and if "~" stands for no folder.
    """
    text = os.fspath(given)
    try:
        can_be = "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:  # half a character, or one that the names of this system cannot have
        can_be = False
    if not can_be or not text.strip():
        raise InputError(f"`{name}` must be a path, such as runs/mine. Found {text!r}.")
    user = text.partition(os.sep)[0]
    if not user.startswith("~"):
        return Path(text)
    try:
        return Path(text).expanduser()
    except (RuntimeError, KeyError):
        if user == "~":
            raise NoHomeError(
                f"`{name}` begins with ~, and this user has no home folder. Set HOME, or give a "
                f"path without ~. Found {text!r}."
            ) from None
        raise InputError(
            f"`{name}` begins with {user}, and there is no user of this name. A folder of this "
            f"name is ./{user}. Found {text!r}."
        ) from None


def default_path(variable: str, default: Path) -> Path:
    """Return the path that the environment has in `variable`, and else `default`; raise NoHomeError
    if that is in the home folder of a user who has none."""
    if given := os.environ.get(variable):
        return user_path(given, variable)
    try:
        return default.expanduser()
    except (RuntimeError, KeyError):
        raise NoHomeError(
            f"This user has no home folder for {default}. Set {variable} to a folder, or HOME."
        ) from None
