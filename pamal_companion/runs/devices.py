"""Where a run takes place, and what it needed there."""

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


def peak_memory(device: torch.device) -> float | None:
    """Bytes at the peak, on a CPU of the whole process; None where the system does not tell."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if platform.system() == "Darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
