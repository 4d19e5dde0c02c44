"""A module whose trainable weights are handed to it as one vector."""

import copy
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from pamal_core.errors import InputError
from pamal_core.inputs import Inputs, arguments
from pamal_core.shapes import Theta


class Skeleton(nn.Module):
    """The architecture of `model`, without its weights: calling it with a vector theta [N] and
    inputs runs the model's own `forward` with these weights.

    The first `num_shared` of the `num_weights` entries of theta are the weights of the submodules
    that `shared` names (prefixes of parameter names; None means all weights). `model` is copied.
    Frozen parameters (`requires_grad=False`) and buffers, such as the running statistics of
    BatchNorm, stay in the skeleton.

    Weights of convolutions [out, in, h, w] are kept channels-last, so that theta's views of them
    are, too: LeNet's step is then 1.8 times as fast on a CPU, and GPUs prefer it as well. Models
    that oneDNN cannot be trusted with that way (`_is_unsafe`) are left as they are.

    Raises InputError where `shared` names nothing.
    """

    layout: Tensor

    def __init__(self, model: nn.Module, shared: str | Iterable[str] | None = None) -> None:
        super().__init__()
        trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
        aliases = _aliases(model, trainable)
        shared_names = _select(aliases, model, shared)
        self._channels_last = not any(_is_unsafe(module) for module in model.modules())
        self._names = shared_names + [name for name in trainable if name not in shared_names]
        self._shapes = [trainable[name].shape for name in self._names]
        self._sizes = [trainable[name].numel() for name in self._names]
        self.num_shared = sum(self._sizes[: len(shared_names)])
        self.num_weights = sum(self._sizes)
        self._aliases = {name: aliases[name] for name in self._names}
        order = [[name, *shape] for name, shape in zip(self._names, self._shapes, strict=True)]
        # 32 bytes that stand for the order of theta's entries, kept with the weights: in any other
        # order they are others.
        digest = hashlib.sha256(repr((order, self._channels_last)).encode()).digest()
        self.register_buffer("layout", torch.tensor([*digest], dtype=torch.uint8))
        self.model = copy.deepcopy(model)
        # Its parameters become empty, non-persistent buffers: theta alone is trained and saved.
        for name in (place for places in self._aliases.values() for place in places):
            module, leaf = _owner(self.model, name)
            placeholder = module.get_parameter(leaf).new_empty(0)
            del module._parameters[leaf]
            module.register_buffer(leaf, placeholder, persistent=False)

    def forward(self, theta: Theta, inputs: Inputs) -> Any:
        """What the model with the weights `theta` returns for `inputs`."""
        args, named = arguments(inputs)
        return functional_call(self.model, self.views(theta), args, named, tie_weights=False)

    def views(self, theta: Theta) -> dict[str, Tensor]:
        """The weights of the model by name, as views of `theta`."""
        values = zip(self._names, self._split(theta), strict=True)
        return {alias: value for name, value in values for alias in self._aliases[name]}

    def flatten(self, model: nn.Module) -> Theta:
        """The weights of `model`, a module of this architecture, as a vector."""
        parameters = dict(model.named_parameters())
        weights = [parameters[name].detach() for name in self._names]
        return torch.cat([self._last(weight).flatten() for weight in weights])

    @torch.no_grad()
    def export(self, theta: Theta) -> nn.Module:
        """The model with the weights `theta` as a plain module in evaluation mode.

        Its class is the model's, its weights are ordinary parameters: it saves, scripts and runs
        without this package.
        """
        model = copy.deepcopy(self.model)
        for name, value in zip(self._names, self._split(theta), strict=True):
            parameter = nn.Parameter(value.clone(memory_format=torch.contiguous_format))
            for module, leaf in (_owner(model, alias) for alias in self._aliases[name]):
                del module._buffers[leaf]
                module._non_persistent_buffers_set.discard(leaf)
                setattr(module, leaf, parameter)  # a recurrent layer keeps a list of them, too
        return model.eval()

    def _split(self, theta: Tensor) -> list[Tensor]:
        pieces = torch.split(theta, self._sizes)
        return [self._view(piece, shape) for piece, shape in zip(pieces, self._shapes, strict=True)]

    def _last(self, weight: Tensor) -> Tensor:
        """`weight` with its axes in the order of theta's entries."""
        is_moved = self._channels_last and weight.ndim == 4
        return weight.permute(0, 2, 3, 1) if is_moved else weight

    def _view(self, piece: Tensor, shape: torch.Size) -> Tensor:
        """The view of theta that is a weight of `shape`; undoes `_last` without a copy."""
        if not (self._channels_last and len(shape) == 4):
            return piece.view(shape)
        out, channels, height, width = shape
        return piece.view(out, height, width, channels).permute(0, 3, 1, 2)


def _is_unsafe(module: nn.Module) -> bool:
    """Whether oneDNN's backward pass of `module`, channels-last, may write past its memory: that of
    a strided 1x1 convolution with fewer inputs than a register of the CPU holds (8 or 16), by its
    issue 6035."""
    return (
        isinstance(module, nn.Conv2d)
        and max(module.kernel_size) == 1
        and max(module.stride) > 1
        and module.in_channels // module.groups < 16
    )


def _owner(model: nn.Module, name: str) -> tuple[nn.Module, str]:
    path, _, leaf = name.rpartition(".")
    return model.get_submodule(path), leaf


def _aliases(model: nn.Module, trainable: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Every place of each of `trainable`, by name: a tied weight has several, and is one range of
    theta. A module under two names is one place."""
    places = [
        (f"{path}.{leaf}" if path else leaf, parameter)
        for path, module in model.named_modules()
        for leaf, parameter in module._parameters.items()
    ]
    return {
        name: [place for place, p in places if p is weight] for name, weight in trainable.items()
    }


def _select(
    aliases: Mapping[str, list[str]], model: nn.Module, shared: str | Iterable[str] | None
) -> list[str]:
    """The names of the weights that have a place under one of the prefixes in `shared`."""
    if shared is None:
        return list(aliases)
    prefixes = [shared] if isinstance(shared, str) else list(shared)
    for prefix in prefixes:
        if not any(_is_under(prefix, places) for places in aliases.values()):
            found = ", ".join(name for name, _ in model.named_children())
            raise InputError(
                "`shared` must name submodules with trainable weights. "
                f"Found {prefix!r}; the model has: {found}."
            )
    return [name for name, places in aliases.items() if any(_is_under(p, places) for p in prefixes)]


def _is_under(prefix: str, places: Iterable[str]) -> bool:
    return any(place == prefix or place.startswith(f"{prefix}.") for place in places)
