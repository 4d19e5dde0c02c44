"""Where data files live, how a wrong one is named, and how what was decoded is kept."""

import gzip
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from pamal_core.errors import InputError
from pamal_core.files import replacing

Arrays = dict[str, np.ndarray]


def data_root(given: str | Path | None = None) -> Path:
    """The folder that holds all data: `given`, else $PAMAL_DATA, else ~/.cache/pamal. A warning
    where the variable names no folder."""
    named = None if given else os.environ.get("PAMAL_DATA")
    root = Path(given or named or "~/.cache/pamal").expanduser()
    if named and not root.is_dir():
        warnings.warn(
            f"$PAMAL_DATA must name a folder of data. Found no folder {root}.", stacklevel=1
        )
    return root


def expect(holds: object, what: str, found: object) -> None:
    """InputError, what was expected and what was found, unless it `holds`."""
    if not holds:
        raise InputError(f"Expected {what}. Found {found}.")


@contextmanager
def reading(what: str, place: Path | str) -> Iterator[None]:
    """InputError in place of whatever reading `what` from `place` raises."""
    try:
        yield
    except Exception as error:
        raise InputError(f"Expected {what}. {place} could not be read: {error}.") from error


def verified(
    path: Path, sha256: str, *, url: str, unpack: bool = False, download: bool = False
) -> bytes:
    """The bytes of the file at `path`, once they have this SHA-256 (64 hex digits); with `unpack`
    what is in this gzip file, however it was compressed.

    A missing file is fetched from `url` if `download`; it appears under its name only when it is
    whole and right. A wrong file is never replaced: it may be all the user has. InputError where
    that leaves no right one.
    """
    if download and not path.exists():
        import pooch  # here, so that reading what is there needs no network library

        try:
            pooch.retrieve(url, f"sha256:{sha256}", fname=path.name, path=path.parent)
        except (OSError, ValueError) as error:  # ValueError is pooch's word for a wrong checksum
            raise InputError(
                f"Could not fetch {url} to {path}: {error}. Put the file there by hand, or name "
                "another data root."
            ) from error
    if not path.exists():
        raise InputError(
            f"Expected a file at {path}. Found none. Fetch it from {url} and put it there, "
            'or name another data root ("data_root" or $PAMAL_DATA).'
        )
    what, opened = ("a whole gzip file", gzip.open) if unpack else ("a file", open)
    with reading(what, path), opened(path, "rb") as file:
        whole = bytes(file.read())
    if (found := hashlib.sha256(whole).hexdigest()) != sha256:
        raise InputError(
            f"{path} is truncated, corrupt or another file. Expected SHA-256 {sha256}"
            f"{' once unpacked' if unpack else ''}. Found {found}. Remove it and fetch it again "
            f"from {url}."
        )
    return whole


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
    with suppress(Exception), path.open("rb") as file, np.load(file) as archive:
        arrays = dict(archive)  # the archive has a CRC of each, but not of how many there are
        if arrays.pop("identity").tolist() == [identity, *arrays]:
            return arrays
    arrays = make()
    try:
        with replacing(path) as out:  # straight from the arrays: a copy might not fit
            np.savez(out, identity=[identity, *arrays], **arrays)  # type: ignore[arg-type]
    except OSError as error:
        warnings.warn(
            f"Could not keep the decoded data at {path}: {error.strerror or error}. They will be "
            "decoded again next time. $PAMAL_CACHE names another folder.",
            stacklevel=2,
        )
    return arrays
