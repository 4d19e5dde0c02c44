"""Data whose decoding takes long are decoded once and kept as arrays."""

import hashlib
import os
import secrets
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from pamal_core.data.files import UNREADABLE

Arrays = dict[str, np.ndarray]


def cache_root() -> Path:
    """The folder of what can be made again: $PAMAL_CACHE, else ~/.cache/pamal/cache."""
    return Path(os.environ.get("PAMAL_CACHE") or "~/.cache/pamal/cache").expanduser()


def cached(name: str, identity: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of `make()`, from the cache where an earlier call has left them.

    `name` is for the eyes, `identity` says what the arrays follow from: other files or another size
    must change it. A file that is damaged or has another identity is made again. Where the cache
    cannot be written a warning says so, and the arrays are returned all the same.
    """
    path = cache_root() / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.npz"
    # A file that is no archive comes as an array, which is no context manager: a TypeError.
    with suppress(*UNREADABLE), path.open("rb") as file, np.load(file) as archive:
        arrays = dict(archive)  # the archive has a CRC of each
        if str(arrays.pop("identity")) == identity:
            return arrays
    arrays = make()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as out:  # straight from the arrays: a copy might not fit
            np.savez(out, identity=np.array(identity), **arrays)  # type: ignore[arg-type]
        temporary.replace(path)
    except OSError as error:
        warnings.warn(
            f"Could not keep the decoded data at {path}: {error.strerror or error}. They will be "
            "decoded again next time. $PAMAL_CACHE names another folder.",
            stacklevel=2,
        )
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return arrays
