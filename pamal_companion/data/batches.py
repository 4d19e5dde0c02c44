"""Mini-batches of data that are in memory."""

import copy
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    Sampler,
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
    workers: int | None = None,
) -> DataLoader[tuple[Tensor, ...]]:
    """Return batches of `dataset`, the last one smaller; a new order each epoch if `shuffle`, from
    torch's global generator.

    A whole batch is taken by one indexing operation, not example by example. Data for a CUDA
    `device` are put there as a whole if they need at most a quarter of its free memory and are not
    augmented; of others `workers` processes prepare batches ahead, in pinned memory, by default one
    for each core up to `WORKERS`. Batches do not depend on their number.
    """
    ahead = device is not None and device.type == "cuda"
    is_augmented = getattr(dataset, "augment", None) is not None
    # What augments draws from the generator of the CPU, and may work there.
    if device is not None and ahead and not is_augmented:
        free, _ = torch.cuda.mem_get_info(device)
        if sum(tensor.nbytes for tensor in dataset.tensors) <= free / 4:
            dataset, ahead = resident(dataset, device), False
    if workers is None:
        workers = min(WORKERS, os.cpu_count() or 1) if ahead else 0
    order = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
    sampler: Sampler[Any] = BatchSampler(order, batch_size, drop_last=False)
    examples: Dataset[Any] = dataset
    if is_augmented:
        examples, sampler = Augmented(dataset), WithSeeds(sampler)
    return DataLoader(
        examples, sampler=sampler, batch_size=None, num_workers=workers, pin_memory=ahead
    )


class WithSeeds(Sampler[tuple[list[int], int]]):
    """The indices of batches, each with a seed for what augments the batch.

    The seeds of an epoch follow from one draw of torch's global generator at its start: a worker's
    own generator would give other batches with another number of workers, and a draw for each batch
    would change with how far ahead workers are.
    """

    def __init__(self, sampler: Sampler[list[int]]) -> None:
        self.sampler = sampler

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[tuple[list[int], int]]:
        draws = torch.Generator().manual_seed(_seed())
        for indices in self.sampler:
            yield indices, _seed(draws)


def _seed(generator: torch.Generator | None = None) -> int:
    """Return a seed that `generator` draws, or torch's global one."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


class Augmented(Dataset[tuple[Tensor, ...]]):
    """Examples that are augmented by draws from torch's global generator, batch by batch with the
    seed that comes with the indices. The generator of the process stays as it was."""

    def __init__(self, examples: TensorDataset) -> None:
        self.examples = examples

    def __getitem__(self, batch: tuple[list[int], int]) -> tuple[Tensor, ...]:
        indices, seed = batch
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(seed)  # that of the CPU alone
            return self.examples[indices]


def resident(dataset: TensorDataset, device: torch.device) -> TensorDataset:
    """Return `dataset` with its tensors on `device`; the given one keeps its own."""
    moved = copy.copy(dataset)
    moved.tensors = tuple(tensor.to(device) for tensor in dataset.tensors)
    return moved
