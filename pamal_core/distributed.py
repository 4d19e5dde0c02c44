"""Several processes, one per GPU, as torch's DistributedDataParallel trains them.

Each process takes its own batches and its own draws of alpha, and the gradients are averaged after
each step. A process on its own has everything, and nothing here does anything.
"""

import atexit
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import length_hint
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import DistributedSampler

from pamal_core.inputs import Batch


def join() -> None:
    """Meet the other processes that `torchrun` started, each on the GPU of its local rank."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    # A balancer may have weights on the CPU.
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    # Left to the interpreter's end, gloo's threads now and then abort a process that is finished.
    atexit.register(dist.destroy_process_group)
    dist.barrier()  # else one that has nothing to do may end before the others are connected


def count() -> int:
    """Return how many processes there are."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process, from 0; the first one writes files."""
    return dist.get_rank() if count() > 1 else 0


def wait() -> None:
    """Wait until every process is here."""
    if count() > 1:
        dist.barrier()


def _sampler(loader: Iterable[Batch]) -> Any:
    """Return the DistributedSampler of a loader, which shares its batches itself, or None."""
    places = loader, getattr(loader, "batch_sampler", None)
    samplers = [getattr(place, "sampler", None) for place in places]
    return next((one for one in samplers if isinstance(one, DistributedSampler)), None)


def length(loader: Iterable[Batch]) -> int:
    """Return how many batches `shard` yields; 0 where the loader does not know."""
    return length_hint(loader, 0) // (count() if _sampler(loader) is None else 1)


def shard(loader: Iterable[Batch], epoch: int) -> Iterator[Batch]:
    """Yield this process's batches of an epoch, as many as every other's: each `count()`-th one, or
    all of a loader with a DistributedSampler, which is told the epoch."""
    if sampler := _sampler(loader):
        sampler.set_epoch(epoch)
        yield from loader
        return
    batches = iter(loader)
    while len(mine := list(islice(batches, count()))) == count():
        yield mine[rank()]


def share_weights(tensors: Iterable[Tensor]) -> None:
    """Give every process the values of the first one."""
    if count() > 1:
        for tensor in tensors:
            dist.broadcast(tensor.detach(), src=0)


def average(tensors: Iterable[Tensor | None], of: int = 1) -> None:
    """Replace each tensor, a sum `of` so many gradients, by its mean, also over the processes."""
    for tensor in tensors if count() * of > 1 else []:
        if tensor is not None:
            tensor.div_(count() * of)
            if count() > 1:
                dist.all_reduce(tensor)


def average_buffers(buffers: Iterable[Tensor]) -> None:
    """Replace each buffer of floats by its mean over the processes: one that is constant stays so,
    to the last digit."""
    for buffer in buffers if count() > 1 else []:
        if buffer.is_floating_point():
            mean = buffer.double()
            average([mean])
            buffer.copy_(mean)


def in_any(flag: Tensor) -> bool:
    """Return whether `flag`, a bool [], is set in any process."""
    if count() > 1:
        flag = flag.float()
        dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)
