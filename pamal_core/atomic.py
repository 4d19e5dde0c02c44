"""Writing a file so that nothing is lost and nothing half-written is left behind. No torch here."""

import os
import tempfile
from pathlib import Path

from pamal_core.errors import InputError


def write_atomic(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step; on failure `path` is as it was, and InputError says
    why."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"Could not write {path}: {error.strerror or error}. Nothing was changed."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
