"""Mini-batches of data that are in memory."""

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

    A whole batch is taken by one indexing operation, not example by example. Where they are for a
    CUDA `device`, workers prepare them ahead, in pinned memory.
    """
    on_gpu = device is not None and device.type == "cuda"
    sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
    return DataLoader(
        dataset,
        sampler=BatchSampler(sampler, batch_size, drop_last=False),
        batch_size=None,
        num_workers=WORKERS if on_gpu else 0,
        pin_memory=on_gpu,
    )
