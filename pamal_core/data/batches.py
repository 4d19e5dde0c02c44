"""Mini-batches of data that are in memory."""

from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)


def batches(
    dataset: TensorDataset, batch_size: int, *, shuffle: bool = False
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of `dataset`, the last one smaller; a new order each epoch if `shuffle`, from torch's
    global generator.

    A whole batch is taken by one indexing operation, not example by example.
    """
    sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
    return DataLoader(
        dataset, sampler=BatchSampler(sampler, batch_size, drop_last=False), batch_size=None
    )
