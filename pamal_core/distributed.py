"""Several processes, one per GPU, that share the draws of a step.

Started by `torchrun`, every process sees the same batch and draws the same alphas, back-propagates
those whose turn is its own, and adds up the gradients of all with one all-reduce: the gradient, and
so the run, is that of a single process but for the order of sums. On its own a process has all the
draws, and nothing here does anything.
"""

import atexit
import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor, nn

from pamal_core.balancing.base import Balancer
from pamal_core.errors import InputError


def join() -> None:
    """Meet the other processes that `torchrun` started, each on the GPU of its local rank."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    # Left to the interpreter's end, gloo's threads now and then abort a process that is finished.
    atexit.register(dist.destroy_process_group)
    dist.barrier()  # else one that has nothing to do may end before the others are connected


def count() -> int:
    """How many processes there are."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def is_first() -> bool:
    """Whether this process is the one that writes files."""
    return count() == 1 or dist.get_rank() == 0


def check(window: int, balancer: Balancer) -> None:
    """InputError unless `window` draws of a method with this balancer can be shared evenly."""
    if window % count():
        raise InputError(
            "`W` must be a multiple of the number of processes, which share the draws of a step. "
            f"Found W={window} and {count()} processes."
        )
    if count() > 1 and (balancer.state_dict() or list(balancer.parameters())):
        raise InputError(
            "Several processes need a balancer without a memory, which they could not share. "
            f"Found {type(balancer).__name__} and {count()} processes."
        )


def mine(draws: Shaped[Tensor, "W *rest"]) -> Shaped[Tensor, "V *rest"]:
    """Of a tensor with a row per draw the rows whose turn is this process's."""
    return draws if count() == 1 else draws[dist.get_rank() :: count()]


def gather(own: Shaped[Tensor, "V *rest"]) -> Shaped[Tensor, "W *rest"]:
    """The rows of all processes, in the order of the draws; undoes `mine`."""
    if count() == 1:
        return own
    parts = [torch.empty_like(own) for _ in range(count())]
    dist.all_gather(parts, own.contiguous())
    return torch.stack(parts, dim=1).flatten(0, 1)


def add_up(parameters: Iterable[Tensor]) -> None:
    """Replace every gradient by its sum over the processes: for an ensemble one matrix."""
    if count() > 1:
        for gradient in (p.grad for p in parameters if p.grad is not None):
            dist.all_reduce(gradient)


def average_buffers(network: nn.Module) -> None:
    """Replace running statistics by their mean over the processes, each of which saw its own
    draws."""
    if count() > 1:
        for buffer in network.buffers():
            if buffer.is_floating_point():
                dist.all_reduce(buffer)
                buffer /= count()


def wait() -> None:
    """Until every process is here."""
    if count() > 1:
        dist.barrier()
