"""Mini-batches of data that are in memory."""

import copy
import os

import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

WORKERS = 4


def batches(
    dataset: TensorDataset,
    batch_size: int,
    *,
    shuffle: bool = False,
    device: torch.device | None = None,
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of `dataset`, the last one smaller; a new order each epoch if `shuffle`, from torch's
    global generator.

    A whole batch is taken by one indexing operation, not example by example. Data for a CUDA
    `device` are put there as a whole if they need at most a quarter of its free memory and are not
    augmented; of others workers prepare batches ahead, in pinned memory.
    """
    ahead = device is not None and device.type == "cuda"
    # What augments may draw from the generator of the CPU, and work there.
    if device is not None and ahead and getattr(dataset, "augment", None) is None:
        free, _ = torch.cuda.mem_get_info(device)
        if sum(tensor.nbytes for tensor in dataset.tensors) <= free / 4:
            dataset, ahead = resident(dataset, device), False
    sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
    return DataLoader(
        dataset,
        sampler=BatchSampler(sampler, batch_size, drop_last=False),
        batch_size=None,
        num_workers=min(WORKERS, os.cpu_count() or 1) if ahead else 0,
        pin_memory=ahead,
    )


def resident(dataset: TensorDataset, device: torch.device) -> TensorDataset:
    """`dataset` with its tensors on `device`; the given one keeps its own."""
    moved = copy.copy(dataset)
    moved.tensors = tuple(tensor.to(device) for tensor in dataset.tensors)
    return moved
