"""Writing a file so that nothing is lost and nothing half-written is left behind. No torch here."""

import contextlib
import os
import secrets
from pathlib import Path

from pamal_core.errors import InputError


def write_atomic(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step; on failure `path` is as it was, and InputError says
    why."""
    # Not a tempfile: those are for their owner's eyes only, and the result would be, too.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"Could not write {path}: {reason}. Nothing was changed.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
