"""Several processes, one per GPU, that share a step: its draws, or for one draw its batch.

Started by `torchrun`, every process sees the same batch and draws the same alphas. Of several draws
each back-propagates those whose turn is its own, and one all-reduce adds up the gradients. Of a
single draw each has a part of the batch, and the gradients of the losses are added up before a
balancer sees them. Either way the gradient, and so the run, is that of a single process but for the
order of sums. On its own a process has everything, and nothing here does anything.
"""

import atexit
import hashlib
import os
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from pamal_core.balancing.base import Balancer
from pamal_core.errors import InputError
from pamal_core.inputs import Batch, num_examples
from pamal_core.shapes import ByTask


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
    """InputError unless `window` draws of a method with this balancer can be shared evenly, or the
    batch of one can be split."""
    if splits(window):
        if balancer.makes_own_passes:
            raise InputError(
                f"{type(balancer).__name__} makes passes of its own, which several processes that "
                "split a batch cannot share. Use one process."
            )
        return
    if window % count():
        raise InputError(
            "`W` must be 1, of which several processes split the batch, or a multiple of their "
            f"number, so that they share the draws of a step. Found W={window} and {count()} "
            "processes."
        )
    if count() > 1 and (balancer.state_dict() or list(balancer.parameters())):
        raise InputError(
            "Several processes need a balancer without a memory, which they could not share. "
            f"Found {type(balancer).__name__} and {count()} processes."
        )


def splits(window: int) -> bool:
    """Whether the processes split the batch, as a step has a single draw."""
    return count() > 1 and window == 1


def part(batch: Batch) -> Batch:
    """This process's part of the examples of a batch that is split; InputError unless all have as
    many. What has no axis of examples, such as a number, is whole."""
    size = num_examples(batch[1:]) or num_examples(batch[0])
    if size % count() or not size:
        raise InputError(
            "The batch must be a multiple of the number of processes, which split it where W is 1: "
            f"drop a last one that is smaller. Found {size} examples and {count()} processes."
        )
    own = slice(dist.get_rank() * size // count(), (dist.get_rank() + 1) * size // count())

    def cut(tensor: Tensor) -> Tensor:
        return tensor[own] if tensor.ndim and len(tensor) == size else tensor

    return tree_map_only(Tensor, cut, batch)


def check_batches(loader: Iterable[Batch]) -> None:
    """InputError before a training where a loader that knows the sizes of its batches has one that
    cannot be split."""
    sampler = getattr(loader, "batch_sampler", None) or getattr(loader, "sampler", None)
    size = getattr(sampler, "batch_size", None)
    if sampler is None or size is None:
        return
    last = 0 if sampler.drop_last else len(sampler.sampler) % size
    if size % count() or last % count():
        raise InputError(
            "The batch must be a multiple of the number of processes, which split it where W is 1. "
            f"Found batches of {size}, the last of {last or size}, and {count()} processes."
        )


def check_alike(network: nn.Module, batch: Batch) -> None:
    """InputError before a first step unless all processes have the same weights and batch."""
    if count() == 1:
        return
    tensors = [t for t in tree_leaves([[*network.parameters()], batch]) if isinstance(t, Tensor)]
    text = repr([(t.shape, t.detach().flatten()[:64].tolist()) for t in tensors])
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])
    both = torch.tensor([number, -number], device=next(network.parameters()).device)
    dist.all_reduce(both, dist.ReduceOp.MIN)
    if both.sum() != 0:  # the least and the largest differ
        raise InputError(
            "Every process must begin with the same weights and see the same batches, whole ones: "
            "call torch.manual_seed before modules and loaders are made, and use no "
            "DistributedSampler. Found others in some."
        )


def of_batch(losses: ByTask, counts: ByTask) -> ByTask:
    """The losses of the whole batch from those of this part of it, means over `counts` labels each;
    their gradient is this part's share."""
    share = losses * (counts / total(counts.clone()).clamp(min=1)).to(losses)
    return _Total.apply(share)  # type: ignore[no-untyped-call]


def total(values: Tensor) -> Tensor:
    """Their sum over the processes, in place, the same to the last bit in all."""
    dist.all_reduce(values)
    return values


class _Total(torch.autograd.Function):
    """A sum over the processes, each of which differentiates its own term."""

    @staticmethod
    def forward(ctx: Any, share: Tensor) -> Tensor:
        return total(share.clone())

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Tensor:
        return slope


def mine(draws: Shaped[Tensor, "W *rest"]) -> Shaped[Tensor, "V *rest"]:
    """Of a tensor with a row per draw the rows whose turn is this process's; a single one is
    everybody's."""
    return draws if count() == 1 or splits(len(draws)) else draws[dist.get_rank() :: count()]


def gather(own: Shaped[Tensor, "V *rest"], window: int) -> Shaped[Tensor, "W *rest"]:
    """The rows of all processes, in the order of the draws; undoes `mine`."""
    if count() == 1 or splits(window):
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
