"""Running statistics of normalisation layers, of which each alpha needs its own."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from pamal_core.errors import InputError, check_choice, check_type
from pamal_core.inputs import Batch, Inputs, arguments, num_examples, runs_of, to_device
from pamal_core.skeleton import Skeleton, full_precision
from pamal_core.weights import Weights

Calibration = Iterable[Batch] | Literal["shared"]
"""Batches of training data, inputs first, on which running statistics are re-estimated for each
alpha; or "shared", those that training left, one for all alphas."""
ENOUGH_EXAMPLES = 512
"""Number of training examples above which `train` keeps no more batches for statistics."""


def check_calibration(calibration: Any) -> None:
    """Raise InputError unless `calibration` is one, or None."""
    if isinstance(calibration, str):
        check_choice("calibration", calibration, ["shared"])
    elif calibration is not None:
        check_type("calibration", calibration, Iterable, "a list of batches")


def warn_of_shared(skeleton: Skeleton) -> None:
    """Warn that all alphas share the running statistics of `skeleton`, if it has some."""
    if skeleton.tracking:
        warnings.warn(
            "All alphas share the running statistics of normalisation layers, which belong to the "
            "middle of the front: at the ends, LeNets with BatchNorm had accuracies of 0.62 to "
            "0.92 on two digits, and of 0.92 to 0.97 re-estimated. Give `calibration` a list of "
            'one or a few batches of training data, or "shared" to keep what there is.',
            stacklevel=5,  # past `evaluate`, `predict` or `export`, and the decorator of torch
        )


def estimate(
    skeleton: Skeleton, theta: Weights, calibration: Iterable[Batch], names: Sequence[str]
) -> None:
    """Estimate the running statistics of `skeleton` with the weights `theta`: their means over the
    batches of `calibration`, in which each batch counts the same. The skeleton is then in
    evaluation mode.

    `names` are the names of the tasks. Inputs of floats get the dtype of `theta`, because a network
    may have been moved to another dtype after `train` kept some inputs.

    A layer that no batch reaches keeps its statistics. Modules without buffers, such as dropout,
    run as in evaluation mode. Other buffers that training writes continue from their values: a
    spectral norm takes one step for each batch. Random numbers, as of a dropout by function in a
    module with a buffer, are the same at every call, and those of the caller stay as they were.
    Raises InputError if there is no batch, for example because a generator is used up.
    """
    skeleton.train()
    for module in skeleton.modules():
        if not module._buffers:
            module.training = False  # its own alone
    layers: list[Any] = [skeleton.model.get_submodule(name) for name in skeleton.tracking]
    calls, batch = Counter[nn.Module](), None

    def count(layer: Any, _: Any) -> None:
        if not calls[layer]:
            layer.reset_running_stats()
        calls[layer] += 1
        layer.momentum = 1 / calls[layer]  # the mean over its calls

    momenta = {layer: layer.momentum for layer in layers}
    hooks = [layer.register_forward_pre_hook(count) for layer in momenta]
    try:
        first = next(iter(theta.values()))
        chance = _same_chance(skeleton, first.device)
        with skeleton.holding(theta), full_precision(first.device), chance:
            for batch in calibration:
                for inputs, *_ in runs_of(batch, first.device, names):
                    inputs = tree_map_only(Tensor, partial(_of_dtype, first.dtype), inputs)
                    args, named = arguments(inputs)
                    skeleton.model(*args, **named)
    finally:
        for hook, (layer, momentum) in zip(hooks, momenta.items(), strict=True):
            hook.remove()
            layer.momentum = momentum
    skeleton.eval()
    if batch is None:
        raise InputError(
            "Running statistics are re-estimated on batches (inputs, ...). Found none; a generator "
            "has them once, a list for each alpha."
        )


@contextlib.contextmanager
def _same_chance(skeleton: Skeleton, device: torch.device) -> Iterator[None]:
    """Seed the random numbers of the `with` block, if a part of the user's own may draw some; the
    state of torch's generators is then as before."""
    trained = [part for part in skeleton.model.modules() if part.training]
    if all(type(part).__module__.startswith("torch.") for part in trained):
        yield  # threads may be here at once, and torch has one generator
        return
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(0)
        yield


def _of_dtype(dtype: torch.dtype, part: Tensor) -> Tensor:
    return part.to(dtype) if part.is_floating_point() else part


class CalibrationCache:
    """Keep copies of the first inputs of a training in main memory until there are enough.

    A batch that is less than half as large as the first, as the last one of an epoch may be, is
    left out: statistics are means over batches, in which one example would count as many."""

    def __init__(self) -> None:
        self.batches: list[tuple[Inputs]] = []
        self._number = self._first = 0

    def add(self, inputs: Inputs) -> None:
        """Keep a copy of `inputs`, unless there are enough or they are too few."""
        number = num_examples(inputs)
        self._first = self._first or number
        if self._number < ENOUGH_EXAMPLES and 2 * number >= self._first:
            on_cpu = to_device([inputs], torch.device("cpu"))[0]
            self.batches.append((tree_map_only(Tensor, torch.clone, on_cpu),))
            self._number += max(number, 1)
