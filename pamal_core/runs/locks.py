"""The files that say that a run is being made: its lock and its checkpoint. No torch here."""

from pathlib import Path

from filelock import FileLock

CHECKPOINT = ".checkpoint.safetensors"
"""How the name of a checkpoint ends, where that of the record ends in .json."""


def lock_of(record: Path) -> Path:
    """The lock of the run whose record will be `record`."""
    return record.with_name(f".{record.name}.lock")


def record_of(checkpoint: Path) -> Path:
    """Where the record of the run with this checkpoint will be."""
    return checkpoint.with_name(checkpoint.name.removesuffix(CHECKPOINT) + ".json")


def is_held(lock: Path) -> bool:
    """Whether a process holds `lock`; True, too, where that cannot be told."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except OSError:  # a Timeout among them
        return True
