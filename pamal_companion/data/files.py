"""Find data files, open them however they are packed, and keep what was decoded."""

import gzip
import hashlib
import io
import os
import re
import tarfile
import urllib.request
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError

import numpy as np
from PIL import UnidentifiedImageError

from pamal_companion.data.atomic import replacing
from pamal_companion.data.places import default_path, user_path
from pamal_core.errors import InputError

Arrays = dict[str, np.ndarray]
# Hidden files, previews, resource forks: what systems leave beside data.
LITTER = re.compile(
    r"(?:^|/)(?:\.[^/]|(?:__macosx|(?:eh)?thumbs\.db|desktop\.ini)(?:/|$))", re.IGNORECASE
)
PLAIN = (".jpg", ".jpeg", ".png", ".npy")  # no archive has such a name
LARGEST = 1 << 27  # bytes; more than any reader here asks for at once


DEFAULT_ROOT = Path("~/.cache/pamal")


def data_root(given: str | Path | None = None) -> Path:
    """Return the folder that holds all data: `given`, else $PAMAL_DATA, else `DEFAULT_ROOT`."""
    return user_path(given, "data_root") if given else default_path("PAMAL_DATA", DEFAULT_ROOT)


def expect(holds: object, what: str, found: object) -> None:
    """Raise InputError with what was expected and what was found, unless it `holds`."""
    if not holds:
        raise InputError(f"Expected {what}. Found {found}.")


@contextmanager
def reading(what: str, place: Path | str) -> Iterator[None]:
    """Raise InputError in place of whatever reading `what` from `place` raises."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # Pillow would name the address of an object in memory.
        is_other = isinstance(error, UnidentifiedImageError)
        why = "it is of another kind, or its beginning is damaged" if is_other else error
        of_system = getattr(error, "errno", None)  # a link to nothing, or no permission
        to_do = "" if of_system else " Get it again, or remove it."
        raise InputError(f"Expected {what}. {place} could not be read: {why}.{to_do}") from error


class File(NamedTuple):
    """A file on the disk or in an archive: its path as if archives were folders, the size that is
    said of it if any is, and what opens it."""

    path: str
    size: int | None
    open: Callable[[], AbstractContextManager[Any]]

    def read(self, most: int) -> bytes:
        """Return all bytes; InputError where they are more than `most`, whatever is said of it."""
        with reading("a whole file", self.path), self.open() as stream:
            whole = bytes(stream.read(most + 1))
        if len(whole) > most:
            raise InputError(f"Expected at most {most:,} bytes in {self.path}. Found more.")
        return whole


def entries(folder: Path) -> list[Path]:
    """Return what is in `folder`, in order, without litter; nothing where there is no folder."""
    with reading("a folder", folder):
        inner = folder.iterdir() if folder.exists() else ()
        return sorted(path for path in inner if not LITTER.search(path.name))


def shown(folder: Path) -> str:
    """Return the names in `folder` for a message, the first few of many."""
    names = [path.name for path in entries(folder)]
    return ", ".join(names[:8]) + (" and more" if len(names) > 8 else "") or "nothing"


def walk(place: Path, depth: int = 3) -> Iterator[File]:
    """Yield the file `place`, or the files in this folder and in those up to `depth` below it."""
    is_file = place.exists() and not place.is_dir()
    for path in [place] if is_file else entries(place):
        if not path.is_dir():  # a link to nothing is found when it is read
            size = path.stat().st_size if path.exists() else None
            yield File(str(path), size, partial(path.open, "rb"))
        elif depth:
            yield from walk(path, depth - 1)


def inside(file: File) -> Iterator[File]:
    """Yield the files in `file` if it is a zip or a tar, or itself. A tar and every file may be
    packed by gzip. An archive in an archive is not opened.

    Each is to be read before the next is asked for. InputError where one cannot be read.
    """
    if _start(file)[:2] == b"PK":
        with reading("a whole zip", file.path), file.open() as stream:
            zipped = zipfile.ZipFile(stream)
            _check_number(zipped, stream)
            for info in zipped.infolist():
                name = info.filename.replace("\\", "/").lstrip("/")  # Windows has the other slash
                if not name.endswith("/") and not LITTER.search(name):
                    path = f"{file.path}/{name}"
                    yield _unpacked(File(path, info.file_size, partial(zipped.open, info)))
        return
    file = _unpacked(file)
    if _start(file)[257:] != b"ustar":
        yield file
        return
    with reading("a whole tar", file.path), file.open() as stream:
        wary = _Wary(stream)
        tar: Any = tarfile.TarFile(fileobj=wary)  # type: ignore[arg-type]
        for member in tar:  # tarfile takes one that is cut at a header for whole
            name = member.name.lstrip("/")
            if member.isfile() and not LITTER.search(name):
                path = f"{file.path}/{name}"
                yield _unpacked(File(path, member.size, partial(tar.extractfile, member)))
        if wary.last != bytes(512):
            raise ValueError("it has no end")
        while stream.read(1 << 16):  # to the checksum of what it is packed in
            pass


END_OF_ZIP = b"PK\5\6"
IN_ZIP64 = 0xFFFF
"""A number of files that stands for a larger one, which another record has."""


def _check_number(zipped: zipfile.ZipFile, stream: Any) -> None:
    """Raise ValueError unless a zip lists as many files as its last record says. Where the length
    of a comment is damaged zipfile takes the entries that follow for the comment."""
    end = 22 + 0xFFFF  # bytes of the record with the longest comment
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - end))
    record = stream.read()
    record = record[record.rindex(END_OF_ZIP) :]
    said, found = int.from_bytes(record[10:12], "little"), len(zipped.infolist())
    if said not in (found, IN_ZIP64):
        raise ValueError(f"it lists {found} files and says that it has {said}")


def _start(file: File) -> bytes:
    """Return the first bytes of a file, by which an archive is known; none of a `PLAIN` one."""
    if file.path.lower().endswith(PLAIN):
        return b""
    with reading("a whole file", file.path), file.open() as stream:
        return bytes(stream.read(262))


def _unpacked(file: File) -> File:
    """Return what gzip has packed in `file`, or `file` itself."""
    if _start(file)[:2] != b"\x1f\x8b":
        return file

    @contextmanager
    def unpacking() -> Iterator[Any]:
        with file.open() as packed, gzip.open(packed) as stream:
            yield stream

    return File(file.path, None, unpacking)


class _Wary:
    """A stream for tarfile, which reads headers as long as they say they are."""

    last = b""

    def __init__(self, stream: Any) -> None:
        self.stream, self.seek, self.tell = stream, stream.seek, stream.tell

    def read(self, size: int) -> bytes:
        expect(size <= LARGEST, f"parts of at most {LARGEST:,} bytes", f"{size:,}")
        self.last = bytes(self.stream.read(size))
        return self.last


Known = Mapping[str, tuple[int, str]]
"""Files by name, each with its size and its SHA-256 (64 hex digits) once unpacked."""


def contents(place: Path, known: Known) -> tuple[dict[str, bytes], list[str]]:
    """Return the bytes of those `known` files that are in `place`, whatever their names there and
    however packed; and what is wrong with files that could not be read."""
    names = {sha256: name for name, (_, sha256) in known.items()}
    sizes = [size for size, _ in known.values()]
    right: dict[str, bytes] = {}
    faults = []
    for file in walk(place):
        if len(right) == len(known):
            break
        try:
            for each in inside(file):
                if each.size is not None and each.size not in sizes:
                    continue
                try:
                    whole = each.read(max(sizes))
                except InputError as error:  # others in the archive may be right
                    faults.append(str(error))
                    continue
                if name := names.get(hashlib.sha256(whole).hexdigest()):
                    right[name] = whole
        except InputError as error:
            faults.append(str(error))
    return right, faults


def complete(
    place: Path, known: Known, how_to_get: str, get: Callable[[str], None] | None = None
) -> list[bytes]:
    """Return the bytes of all `known` files in `place`, in order, once `get`, if given, has got
    those that are missing, by name. InputError names what is missing, what is there and what to do:
    a file with the name of a missing one is to be removed."""
    right, faults = contents(place, known)
    if get and len(right) < len(known):
        for name in known.keys() - right.keys():
            get(name)
        right, faults = contents(place, known)
    if missing := [name for name in known if name not in right]:
        wrong = [
            name
            for name in (os.path.basename(file.path) for file in walk(place))
            if name.replace(".idx", "-idx").startswith(tuple(missing))
        ]
        said = [f"Expected {', '.join(missing)} in {place}, packed or not."]
        if wrong:
            said += [f"Found {', '.join(wrong)}: truncated, corrupt or another file, by SHA-256."]
            said += [*faults[:1], "Remove that first."]
        else:
            said += [f"Found {shown(place)}.", *faults[:1]]
        raise InputError(" ".join([*said, how_to_get]))
    return [right[name] for name in known]


def fetch(url: str, size: int, sha256: str, path: Path) -> None:
    """Download `url` to `path`, where it appears only when it is whole and has this SHA-256. No
    more than `size` bytes are taken from a server that sends more.

    A file that is there is never replaced: it may be all the user has. InputError on failure.
    """
    if path.exists():
        return
    import pooch  # here, so that reading what is there needs no network library

    def download(url: str, file: str, _: Any) -> None:
        with urllib.request.urlopen(url, timeout=60) as answer, open(file, "wb") as out:
            content = answer.read(size + 1)
            if len(content) > size:
                raise ValueError(f"it has more than the {size:,} bytes that are expected")
            out.write(content)

    try:
        pooch.retrieve(
            url, f"sha256:{sha256}", fname=path.name, path=path.parent, downloader=download
        )
    except (OSError, ValueError, HTTPException) as error:  # pooch's ValueError: a wrong checksum
        if isinstance(error, HTTPError):  # it holds the server's answer open
            error.close()
        raise InputError(
            f"Could not fetch {url} to {path}: {error}. Put the file there by hand, or name "
            "another data root."
        ) from error


def cache_root() -> Path:
    """Return the folder of what can be made again: $PAMAL_CACHE, else ~/.cache/pamal/cache."""
    return default_path("PAMAL_CACHE", DEFAULT_ROOT / "cache")


def cached(name: str, identity: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of `make()`, from the cache where an earlier call has left them.

    `name` is for the eyes, `identity` says what the arrays follow from: other files or another size
    must change it. A file that is damaged or has another identity is made again. Where the cache
    cannot be written a warning says so, and the arrays are returned all the same.
    """
    try:
        root = cache_root()
    except InputError as error:
        warnings.warn(f"The decoded data are not kept. {error}", stacklevel=2)
        return make()
    path = root / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.npz"
    with suppress(Exception), zipfile.ZipFile(path) as archive:
        # Nothing in it unpacks to more than it is. It has a CRC of each, but not of their number.
        if all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist()):
            # Each member is read whole, since its CRC is compared only at its end. A reader of the
            # stream stops where the header says, so that a flipped bit in it would go unseen.
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
            }
            if arrays.pop("identity").tolist() == [identity, *arrays]:
                return arrays
    arrays = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as out:  # straight from the arrays: a copy might not fit
            np.savez(out, identity=[identity, *arrays], **arrays)  # type: ignore[arg-type]
    except OSError as error:
        warnings.warn(
            f"Could not keep the decoded data at {path}: {error.strerror or error}. They will be "
            "decoded again next time. $PAMAL_CACHE names another folder.",
            stacklevel=2,
        )
    return arrays
