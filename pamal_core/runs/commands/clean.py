"""`clean`: what interrupted runs have left."""

import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from pamal_core.errors import InputError
from pamal_core.runs.commands import output
from pamal_core.runs.commands.found import folders, header, is_checkpoint, read
from pamal_core.runs.commands.runs import add_folder, checked
from pamal_core.runs.locks import CHECKPOINT, is_held, record_of

TEMPORARY = re.compile(r"\.(.+)\.\d{1,7}\.[0-9a-f]{8}")  # as `write_atomic` names them
LOCK = re.compile(r"\.(.+)\.lock")
QUIET = 600
"""Seconds that nobody has written to what may be in the making, on this machine or another."""


class Stale(NamedTuple):
    """A file that no run needs, and why."""

    path: Path
    why: str
    bytes: int


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `clean`."""
    add_folder(parser)
    parser.add_argument("--yes", action="store_true", help="delete them")


def run(given: Namespace) -> int:
    """List what is stale, and with `--yes` delete it; 1 where a file could not be deleted."""
    found = list(stale(checked(given.folder)))
    failed = {one.path: _delete(one.path) if given.yes else None for one in found}
    rows = [
        {
            "path": one.path.relative_to(given.folder).as_posix(),
            "why": one.why,
            "bytes": one.bytes,
            "deleted": given.yes and failed[one.path] is None,
            "error": failed[one.path],
        }
        for one in found
    ]
    output.put(given.json, {"folder": given.folder, "stale": rows}, _text(rows, given.yes))
    return int(any(failed.values()))


def stale(folder: Path) -> Iterator[Stale]:
    """What can go below `folder`: never a record, nothing behind a link, nothing of a run whose
    lock is held.

    That is checkpoints beside the finished record of their run; weights that `RunFiles.finish`
    wrote and that have no other file of their name beside them; what `write_atomic` has left behind
    half-written; and locks that nobody holds. Weights and half-written files must have been quiet.
    """
    for place, names in folders(folder):
        paths = [place / name for name in sorted(names)]
        paths = [path for path in paths if path.is_file() and not path.is_symlink()]
        held = {path.name for path in paths if LOCK.fullmatch(path.name) and is_held(path)}
        for path in paths:
            why = "" if path.name in held or held & _locks(path) else _why(path, names)
            if why:
                yield Stale(path, why, path.lstat().st_size)


def _why(path: Path, names: Sequence[str]) -> str:
    """Why `path`, one of `names`, is stale; empty where it is not."""
    if LOCK.fullmatch(path.name):
        # One with something in it is not filelock's.
        return "" if path.stat().st_size else "lock that nobody holds"
    if TEMPORARY.fullmatch(path.name):
        return "half-written" if _is_quiet(path) else ""
    if is_checkpoint(path, names):
        return "checkpoint of a finished run" if _is_finished(path) else ""
    alone = [Path(name).stem for name in names].count(path.stem) == 1
    if path.suffix == ".safetensors" and alone and _is_quiet(path) and _is_weights(path):
        return "weights without a record"
    return ""


def _locks(path: Path) -> set[str]:
    """The names that the lock of the run of `path` may have."""
    temporary = TEMPORARY.fullmatch(path.name)
    name = (temporary[1] if temporary else path.name).removesuffix(".json")
    run = name.removesuffix(CHECKPOINT).removesuffix(".safetensors")
    return {f".{run}.lock", f".{run}.json.lock"}


def _is_quiet(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > QUIET


def _is_finished(checkpoint: Path) -> bool:
    """Whether there is the whole record of its run; a damaged checkpoint is that of its name."""
    try:
        key = read(record_of(checkpoint)).key
    except InputError:
        return False
    try:
        return bool(header(checkpoint)["key"] == key)
    except InputError:
        return True


def _is_weights(path: Path) -> bool:
    try:
        return header(path).keys() == {"key", "network"}
    except InputError:
        return False


def _delete(path: Path) -> str | None:
    """Delete `path`, a lock while we hold it; why that was not possible, or None."""
    try:
        with FileLock(path, timeout=0) if LOCK.fullmatch(path.name) else nullcontext():
            path.unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _text(rows: list[dict[str, Any]], deleting: bool) -> str:
    if not rows:
        return "Nothing is stale."
    cells = [
        {"file": one["path"], "size": output.size(one["bytes"]), "why": one["why"]}
        | ({"deleted": one["error"] or "yes"} if deleting else {})
        for one in rows
    ]
    total = output.size(sum(one["bytes"] for one in rows))
    count = f"{len(rows)} file{'s' if len(rows) > 1 else ''}, {total}."
    return f"{output.table(cells, ['file'])}\n\n{count}{'' if deleting else ' --yes deletes them.'}"
