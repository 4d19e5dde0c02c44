"""What every data set is handed over as."""

from dataclasses import dataclass

from torch.utils.data import TensorDataset


@dataclass(frozen=True)
class Splits:
    """Training, validation and test examples: tensors (inputs, target_1, ..., target_T), example by
    example.

    `id` names the data and how they were made; equal ids mean equal data, on any machine.
    `is_sample` is True for a built-in sample, whose results never mix with those of the full data.
    `description` is one sentence that a figure can be stamped with.
    """

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset
    id: str
    is_sample: bool
    description: str
