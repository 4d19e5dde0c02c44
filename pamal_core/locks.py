"""The file that says that a run is being made. No torch here."""

from pathlib import Path

from filelock import FileLock


def lock_of(record: Path) -> Path:
    """The lock of the run whose record will be `record`."""
    return record.with_name(f".{record.name}.lock")


def is_held(lock: Path) -> bool:
    """Whether a process holds `lock`; True, too, where that cannot be told."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except OSError:  # a Timeout among them
        return True
