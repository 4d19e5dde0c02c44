"""Images that are kept as bytes and handed out as floats."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

Tensors = tuple[Tensor, ...]


class Images(TensorDataset):
    """Examples (image, target_1, ..., target_T) that take a quarter of the memory of floats.

    `images` [n, c, h, w] are uint8 and come out as float32 in [0, 1]; targets that are int8 (label
    maps) come out as int64, others as they are. `augment(batch)` changes what comes out, examples
    along the first dimension, by draws from torch's global generator.
    """

    def __init__(
        self, images: Tensor, *targets: Tensor, augment: Callable[[Tensors], Tensors] | None = None
    ) -> None:
        super().__init__(images, *targets)
        self.augment = augment

    def __getitem__(self, index: Any) -> Tensors:
        """The examples of a slice or of a list of indices, or a single one (never augmented)."""
        images, *targets = (tensor[index] for tensor in self.tensors)
        labels = (t.long() if t.dtype == torch.int8 else t for t in targets)
        batch = (images.float() / 255, *labels)
        return batch if self.augment is None or isinstance(index, int) else self.augment(batch)
