"""How the files of a run are named, and whether its lock is held. No torch here.

Beside the record `name.json` are its weights, while it trains its checkpoint, and hidden ones: its
lock, and what `write_atomic` is writing.
"""

import re
from pathlib import Path

from filelock import FileLock

WEIGHTS = ".safetensors"
CHECKPOINT = ".checkpoint.safetensors"
LOCK = re.compile(r"\.(.+)\.lock")
TEMPORARY = re.compile(r"\.(.+)\.\d{1,7}\.[0-9a-f]{8}")


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
