"""Memory: how much there is, and what to do where a step does not fit into it."""

import os
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from pamal_core.errors import InputError
from pamal_core.inputs import Batch

if TYPE_CHECKING:
    from pamal_core.method import Method  # which imports this module


def too_large(method: "Method", batch: Batch, optimizer: torch.optim.Optimizer) -> InputError:
    """The error for a batch that did not fit: it says which batch size, and which W, would.

    Each is found by trying, in halves of the batch and in ever fewer draws. That changes the
    weights, so the run cannot go on after it.
    """
    size, window = len(batch[-1]), method.window
    found = f"Out of memory with batch_size={size} and W={window}."
    if not all(torch.is_tensor(part) for part in tree_leaves(batch)):
        return InputError(f"{found} Try smaller ones: inputs of this kind cannot be halved here.")
    halves = (size // 2**k for k in range(1, size.bit_length()))
    smaller = next((n for n in halves if _fits(method, batch, optimizer, n, window)), None)
    # Without a penalty the draws are taken one by one, so W makes no difference.
    fewest = method.penalty.min_window if method.penalty.lam > 0 else window
    fewer = range(window - 1, fewest - 1, -1)
    draws = next((w for w in fewer if _fits(method, batch, optimizer, size, w)), None)
    tips = [f"batch_size={smaller}"] if smaller else []
    tips += [f"W={draws}"] if draws else []
    if method.penalty.lam > 0:
        tips.append("lam=0 takes no more memory than W=1")
    return InputError(
        f"{found} What fits: {'; '.join(tips)}." if tips else f"{found} {_weights(method)}"
    )


def _fits(
    method: "Method",
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    size: int,
    window: int,
) -> bool:
    """Whether a whole step does: the first one also allocates the moments of Adam."""
    rng = np.random.default_rng(0)
    alphas = method.preference.sample(window, method.network.num_members, rng)
    optimizer.zero_grad(set_to_none=True)
    try:
        weights = torch.as_tensor(alphas).to(method.network.task_weights)
        method.accumulate(tree_map_only(Tensor, lambda part: part[:size], batch), weights)
        optimizer.step()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def _weights(method: "Method") -> str:
    values = [p for p in method.parameters() if p.requires_grad]
    size = 4 * sum(p.numel() * p.element_size() for p in values) / 2**30
    return (
        f"Not even one example fits: the weights of {method.network.num_members} members with "
        f"their gradient and the two moments of Adam alone take {size:.1f} GiB."
    )


def is_out_of_memory(error: Exception) -> bool:
    """Whether torch could not allocate; only CUDA has a class of its own for that."""
    words = "out of memory", "not enough memory", "can't allocate memory"
    return isinstance(error, torch.OutOfMemoryError) or any(w in str(error) for w in words)


def main_memory() -> int | None:
    """Bytes of this machine's main memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
