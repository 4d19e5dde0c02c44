"""Files that are written whole or not at all. No torch here."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pamal_core.errors import InputError

ODD = KeyError, TypeError, ValueError, RecursionError, OSError
"""What reading a file of anything else may raise."""


HALF_WRITTEN = r"\.\d+\.[0-9a-f]+"
"""What follows a dot and the name of a file in the name `beside` it."""


def beside(path: Path) -> Path:
    """Return a hidden name that no other process uses, for what is to become `path`."""
    # Not a tempfile: those are for their owner's eyes only, and the result would be, too.
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that, once written, replaces `path` in one step; on failure `path` is as it was."""
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
    """Replace `path` by `content` in one step, or leave it as it was: InputError says why."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"Could not write {path}: {reason}. Nothing was changed.") from error
