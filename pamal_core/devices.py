"""Where a run takes place, and what it needed there."""

import os
import platform

import torch

from pamal_core.errors import InputError


def pick_device(name: str) -> torch.device:
    """`name`, or for "auto" the first of CUDA, MPS and CPU that is there; InputError where torch
    cannot use it."""
    if name == "auto":
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator or torch.device("cpu")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"`device` must be auto or a device torch can use. Found {name!r}: "
            f"{str(error).splitlines()[0]}"
        ) from None
    return torch.device(name)


def is_out_of_memory(error: Exception) -> bool:
    """Whether torch could not allocate; only CUDA has a class of its own for that."""
    words = "out of memory", "not enough memory", "can't allocate memory"
    return isinstance(error, torch.OutOfMemoryError) or any(w in str(error) for w in words)


def peak_memory(device: torch.device) -> float | None:
    """Peak memory of the device, or of the whole process on a CPU; None where the system does not
    tell."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if platform.system() == "Darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def main_memory() -> int | None:
    """Bytes of this machine's main memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
