"""Running statistics of normalisation layers, of which each alpha needs its own."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from pamal_core.errors import InputError, check_choice, check_type
from pamal_core.inputs import Batch, Inputs, num_examples, runs_of, to_device
from pamal_core.skeleton import Skeleton, full_precision
from pamal_core.weights import Weights

Calibration = Iterable[Batch] | Literal["shared"]
"""Batches of training data, inputs first, on which running statistics are re-estimated for each
alpha; or "shared", those that training left, one for all alphas."""
ENOUGH_EXAMPLES = 512
"""Number of training examples above which `train` keeps no more batches for statistics."""
DROPOUTS = {
    *(functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d),
    *(functional.alpha_dropout, functional.feature_alpha_dropout, torch.dropout),
}
"""Names the functions that drop numbers by chance."""
WITH_A_DROPOUT = {
    functional.scaled_dot_product_attention: 4,
    functional.multi_head_attention_forward: 10,
}
"""Maps functions to the place of their argument `dropout_p`."""


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
    batches of `calibration`, in which a batch counts by its number of examples. The skeleton is
    then in evaluation mode.

    `names` are the names of the tasks. Inputs of floats get the dtype of `theta`, because a network
    may have been moved to another dtype after `train` kept some inputs.

    A layer that no batch reaches keeps its statistics. Modules without buffers run as in evaluation
    mode, and so does dropout by function. Other buffers that training writes continue from their
    values: a spectral norm takes one step for each batch. Raises InputError if there is no batch,
    for example because a generator is used up.
    """
    skeleton.train()
    for module in skeleton.modules():
        if not module._buffers:
            module.training = False  # its own alone
    first = next(iter(theta.values()))
    layers: list[Any] = [skeleton.model.get_submodule(name) for name in skeleton.tracking]
    seen, number, batch = Counter[nn.Module](), 1, None

    def count(layer: Any, _: Any) -> None:
        if not seen[layer]:
            layer.reset_running_stats()
        seen[layer] += number
        layer.momentum = number / seen[layer]  # the mean over the examples of its calls

    def like_theta(part: Tensor) -> Tensor:
        return part.to(first.dtype) if part.is_floating_point() else part

    momenta = [layer.momentum for layer in layers]
    hooks = [layer.register_forward_pre_hook(count) for layer in layers]
    try:
        with full_precision(first.device), _NoDropout():
            for batch in calibration:
                for inputs, *_ in runs_of(batch, first.device, names):
                    number = max(num_examples(inputs), 1)
                    skeleton(theta, tree_map_only(Tensor, like_theta, inputs))
    finally:
        for layer, momentum, hook in zip(layers, momenta, hooks, strict=True):
            hook.remove()
            layer.momentum = momentum
    skeleton.eval()
    if batch is None:
        raise InputError(
            "Running statistics are re-estimated on batches (inputs, ...). Found none; a generator "
            "has them once, a list for each alpha."
        )


class _NoDropout(TorchFunctionMode):
    """Return what a dropout by function gets: a module with a buffer of its own is in training mode
    here."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func in DROPOUTS:
            return args[0] if args else named["input"]
        if func in WITH_A_DROPOUT:
            place = WITH_A_DROPOUT[func]
            if len(args) > place:
                args = (*args[:place], 0.0, *args[place + 1 :])
            else:
                named = {**named, "dropout_p": 0.0}
        return func(*args, **named)


class CalibrationCache:
    """Keep copies of the first inputs of a training in main memory until there are enough."""

    def __init__(self) -> None:
        self.batches: list[tuple[Inputs]] = []
        self._number = 0

    def add(self, inputs: Inputs) -> None:
        """Keep a copy of `inputs`, unless there are enough."""
        if self._number < ENOUGH_EXAMPLES:
            on_cpu = to_device([inputs], torch.device("cpu"))[0]
            self.batches.append((tree_map_only(Tensor, torch.clone, on_cpu),))
            self._number += max(num_examples(inputs), 1)
