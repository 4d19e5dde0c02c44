"""Memory: how much there is, and what to do where a step does not fit into it."""

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from pamal_core.errors import InputError
from pamal_core.inputs import Batch, num_examples
from pamal_core.networks.skeleton import put_back

if TYPE_CHECKING:
    from pamal_core.method import Method  # which imports this module


def too_large(method: "Method", batch: Batch, optimizer: torch.optim.Optimizer) -> InputError:
    """The error for a batch that did not fit: it says which batch size, and which W, would. Halves
    of the batch and ever fewer draws are tried, and undone."""
    size, window = num_examples(batch[1:]) or num_examples(batch[0]), method.window
    found = f"Out of memory with batch_size={size} and W={window}."
    if not all(part is None or torch.is_tensor(part) for part in tree_leaves(batch)):
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
    if tips:
        return InputError(f"{found} What fits: {'; '.join(tips)}.")
    values = [p for p in method.parameters() if p.requires_grad]
    needed = 4 * sum(p.numel() * p.element_size() for p in values) / 2**30
    return InputError(
        f"{found} Not even one example fits: the weights of {method.network.num_members} members "
        f"with their gradient and the two moments of Adam alone take {needed:.1f} GiB."
    )


def _fits(
    method: "Method", batch: Batch, optimizer: torch.optim.Optimizer, size: int, window: int
) -> bool:
    """Whether a whole step does: the first one also allocates the moments of Adam."""
    rng, network = np.random.default_rng(0), method.network
    alphas = method.preference.sample(window, network.num_members, rng)
    with _undone(method, optimizer):
        try:
            weights = torch.as_tensor(alphas).to(network.task_weights)
            method.accumulate(tree_map_only(Tensor, lambda part: part[:size], batch), weights)
            copy.copy(optimizer).step()  # a copy has the state of the original but no hooks
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return False
    return True


@contextlib.contextmanager
def _undone(method: "Method", optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Starts without gradients; in the end weights, gradients, buffers, the state of optimiser and
    balancer, and torch's random numbers are as they were. Main memory has them meanwhile."""
    parameters = {*method.parameters(), *(p for g in optimizer.param_groups for p in g["params"])}
    states = {parameter: dict(state) for parameter, state in optimizer.state.items()}
    tensors = [*parameters, *tree_leaves([*states.values()])]
    kept = [(t, t.detach().to("cpu", copy=True)) for t in tensors if isinstance(t, Tensor)]
    buffers = method.network.skeleton.buffer_values("cpu")
    slopes = [(p, None if p.grad is None else p.grad.cpu()) for p in parameters]
    balance = copy.deepcopy(method.balancer.state_dict())
    device = method.network.task_weights.device
    for parameter in parameters:
        parameter.grad = None
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            with torch.no_grad():
                for tensor, value in kept:
                    tensor.copy_(value)
            put_back(buffers)
            for parameter, slope in slopes:
                parameter.grad = None if slope is None else slope.to(parameter.device)
            optimizer.state.clear()
            optimizer.state.update(states)
            method.balancer.load_state_dict(balance)


def is_out_of_memory(error: Exception) -> bool:
    """Whether torch could not allocate; only CUDA has a class of its own for that."""
    words = "out of memory", "not enough memory", "can't allocate memory"
    return isinstance(error, torch.OutOfMemoryError) or any(w in str(error) for w in words)
