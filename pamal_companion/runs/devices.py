"""Name the machine of a run, and measure what the run needed there."""

import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch

from pamal_core.errors import InputError


def pick_device(name: str) -> torch.device:
    """Return `name`, or for "auto" the first of CUDA, MPS and CPU that is there; InputError where
    torch cannot use it."""
    if name == "auto":
        # Not `current_accelerator(check_available=True)`, which torch 2.6 does not have. That torch
        # raises an error if there is none.
        with suppress(RuntimeError):
            accelerator = torch.accelerator.current_accelerator()
            if accelerator is not None and torch.accelerator.is_available():
                return accelerator
        return torch.device("cpu")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"`device` must be auto or a device torch can use. Found {name!r}: "
            f"{str(error).splitlines()[0]}"
        ) from None
    return torch.device(name)


def made_on(device: torch.device, precision: str) -> dict[str, str | None]:
    """Return what a record says of the place where a run was made.

    - `device`: the name of the GPU or of the processor.
    - `convolutions`, `products`: the precision of convolutions and of matrix products: "bfloat16"
      under autocast, else "TF32" where a GPU may round the factors to it, else "float32".
    - `commit`: that of this repository, with "-changed" where its code differs, null without git.
    """
    name = processor()
    convolutions = products = precision
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        if precision == "float32":
            convolutions = "TF32" if torch.backends.cudnn.allow_tf32 else "float32"
            products = "TF32" if torch.backends.cuda.matmul.allow_tf32 else "float32"
    made = {"device": name, "convolutions": convolutions, "products": products}
    return {**made, "commit": commit()}


def processor() -> str:
    """Return the name of the processor, or of its architecture where the system does not tell."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


@cache
def commit() -> str | None:
    """Return the commit that this code is of, None where git does not tell."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():  # a repository above it would be another
        return None

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "pamal_core", "pamal_companion")
        return git("rev-parse", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def peak_memory(device: torch.device) -> float | None:
    """Return the bytes at the peak, on a CPU of the whole process; None where the system does not
    tell."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if platform.system() == "Darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
