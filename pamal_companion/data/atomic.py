"""Write files whole or not at all, without torch."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pamal_core.errors import InputError

READ_ERRORS = KeyError, TypeError, ValueError, RecursionError, OSError
"""Exceptions that reading a damaged file, or a file of another kind, may raise."""

HALF_WRITTEN = r"\.\d+\.[0-9a-f]+"
"""A pattern of the end of a name that `beside` makes, after the dot and the name of the file."""


def beside(path: Path) -> Path:
    """Return a hidden name that no other process uses, for a file that is to become `path`."""
    # Not a tempfile: only its owner may read it, and the same would be true of `path`.
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` in one step when it is written. If writing fails, `path` is
    left as it was."""
    temporary = beside(path)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_atomic(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step; raise InputError if that fails, with `path` left as
    it was."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"Could not write {path}: {reason}. Nothing was changed.") from error
