"""A module whose trainable weights are handed to it as one vector."""

import contextlib
import copy
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.utils._pytree import tree_leaves, tree_map_only

from pamal_core.errors import InputError
from pamal_core.inputs import Inputs, arguments
from pamal_core.shapes import Theta

Module = TypeVar("Module", bound=nn.Module)
BufferValue = tuple[dict[str, Tensor | None], str, Tensor, Tensor]
"""The buffers of a module, the name of one, the tensor that it is, and a copy of its values."""


class _NotHeld:
    """Stands where a weight is while the model has none; says so where torch computes with it."""

    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        raise InputError(
            "The weights of a model follow from alpha, and it has them while it is called: what "
            "recomputes parts of it in a backward pass (activation checkpointing) is trained by "
            "`Method.step`. Found a part that runs on its own."
        )


_NOT_HELD = _NotHeld()


class Skeleton(nn.Module):
    """The architecture of `model`, without its weights: calling it with a vector theta [N] and
    inputs runs the model's own `forward` with these weights.

    The first `num_shared` of the `num_weights` entries of theta are the weights of the submodules
    that `shared` names (prefixes of parameter names; None means all weights). `model` is copied.
    Frozen parameters (`requires_grad=False`) and buffers, such as the running statistics of
    BatchNorm, stay in the skeleton. A submodule that is frozen and in evaluation mode stays in it.

    With `channels_last` the weights of 2-D convolutions, [out, in, h, w], are kept channels-last,
    so that theta's views of them are, too: LeNet's step is then 1.8 times as fast on a CPU, and
    GPUs prefer it as well. Models that oneDNN cannot be trusted with that way (`_is_unsafe`) are
    left as they are.

    Raises InputError where weights of `model` would not follow theta, and where `shared` names
    nothing.
    """

    layout: Tensor

    def __init__(
        self,
        model: nn.Module,
        shared: str | Iterable[str] | None = None,
        *,
        channels_last: bool = True,
    ) -> None:
        super().__init__()
        shared = shared if isinstance(shared, str | None) else [*shared]
        self.made_with = {"shared": shared, "channels_last": channels_last}
        """The arguments beside `model`."""
        check_weights(model)
        places: dict[Tensor, list[str]] = {}  # of each weight: a tied one has several
        for place, weight in model.named_parameters(remove_duplicate=False):
            if weight.requires_grad:
                places.setdefault(weight, []).append(place)
        shared_names = _select([*places.values()], model, shared)
        ordered = sorted(places, key=lambda weight: places[weight][0] not in shared_names)
        self._names = [places[weight][0] for weight in ordered]
        self._shapes = [weight.shape for weight in ordered]
        self._sizes = [weight.numel() for weight in ordered]
        self.num_shared = sum(self._sizes[: len(shared_names)])
        self.num_weights = sum(self._sizes)
        self.model = copied(model)
        self._places = [[place.rpartition(".")[::2] for place in places[w]] for w in ordered]
        self._slots = self._slots_of(self.model)
        self._frozen = [name for name, p in self.model.named_parameters() if not p.requires_grad]
        channels_last &= not any(_is_unsafe(module) for module in model.modules())
        self._moved = [
            channels_last and all(isinstance(m, nn.Conv2d) and leaf == "weight" for m, leaf in at)
            for at in self._slots
        ]
        # 32 bytes that stand for the order of theta's entries, kept with the weights: in any other
        # order they are others. As floats, so that a mean of equal ones over training is no other.
        order = [*zip(self._names, map(list, self._shapes), self._moved, strict=True)]
        digest = hashlib.sha256(repr(order).encode()).digest()
        self.register_buffer("layout", torch.tensor([*digest], dtype=torch.float32))
        self.still = [
            name
            for name, module in self.model.named_modules()
            if not module.training and [*module.parameters()]
            if not any(p.requires_grad for p in module.parameters())
        ]
        """The submodules that are frozen and in evaluation mode, and stay in it."""
        modes = [(module, module.training) for module in self.model.modules()]
        self.train()
        self.tracking = [
            name
            for name, module in self.model.named_modules()
            if isinstance(module, _NormBase) and module.training
            if module.running_mean is not None
        ]
        """The normalisation layers whose running statistics a forward pass in training mode
        estimates: not those that the model keeps in evaluation mode."""
        for module, was_training in modes:
            module.training = was_training
        self._held: Theta | None = None
        self._place()
        self.written = self._sums()
        """Sums over each buffer that is no running statistic and over its squares, as at first."""

    def train(self, mode: bool = True) -> "Skeleton":
        super().train(mode)
        self.keep_still()
        return self

    def keep_still(self) -> None:
        """Switch to evaluation mode what stays in it."""
        for name in self.still:
            self.model.get_submodule(name).eval()

    def forward(self, theta: Theta, inputs: Inputs) -> Any:
        """Return what the model with the weights `theta` [N] returns for `inputs`, which it runs
        under the caller's autocast, if there is one; its outputs have the dtype of theta."""
        args, named = arguments(inputs)
        with self.holding(theta):
            outputs = self.model(*args, **named)
        if not torch.is_autocast_enabled(theta.device.type):
            return outputs
        return tree_map_only(Tensor, lambda output: output.to(theta), outputs)

    @contextlib.contextmanager
    def holding(self, theta: Theta) -> Iterator[None]:
        """Within it the weights of the model are views of `theta`. A forward pass holds them
        itself, a backward pass needs them where parts are recomputed (activation checkpointing)."""
        before, self._held = self._held, theta
        if before is not theta:
            self._place()
        try:
            yield
        finally:
            self._held = before
            if before is not theta:
                self._place()

    def twin(self) -> "Skeleton":
        """Return a copy in evaluation mode with modes and buffers of its own, in which a caller can
        estimate statistics while other threads use this one. What is frozen is the same."""
        return copied(self, self.model.parameters()).eval()

    def _slots_of(self, model: nn.Module) -> list[list[tuple[nn.Module, str]]]:
        """Of each weight the module of `model` and the attribute at each of its places."""
        return [[(model.get_submodule(path), leaf) for path, leaf in at] for at in self._places]

    def _place(self) -> None:
        """Give the model views of the held theta; without one no weights, so that theta alone is
        trained and saved."""
        held = self._held
        views = [None] * len(self._slots) if held is None else [*self.views(held).values()]
        for slots, view in zip(self._slots, views, strict=True):
            for module, leaf in slots:
                _set_weight(module, leaf, view)

    def __repr__(self) -> str:
        """The model with its weights: without them some layers say that they have no bias."""
        with self.holding(torch.empty(self.num_weights, device="meta")):
            return super().__repr__()

    def buffer_values(self) -> list[BufferValue]:
        """The buffers as they are now, for `put_back`."""
        places = [module._buffers for module in self.modules()]
        named = [(p, n, b) for p in places for n, b in p.items() if b is not None]
        return [(p, n, b, b.clone()) for p, n, b in named]

    @property
    def follows_training(self) -> bool:
        """Whether training writes into buffers, so that they belong to the alphas it drew."""
        return bool(self.tracking or self.changed_buffers())

    def changed_buffers(self) -> list[str]:
        """The buffers that are no running statistics and not as they were at first: what follows
        the weights, such as the vectors of a spectral norm."""
        sums = self._sums()  # of which forward may have registered some
        return [name for name, value in sums.items() if value != self.written.get(name)]

    def _sums(self) -> dict[str, str]:
        return {
            # As text, in which "nan" equals itself. Shares have the sum 1 whatever they are.
            f"{path}.{leaf}".lstrip("."): str([of.sum().item(), of.square().sum().item()])
            for path, module in self.model.named_modules()
            for leaf, buffer in module._buffers.items()
            if not isinstance(module, _NormBase) and buffer is not None
            for of in [buffer.double()]
        }

    def views(self, theta: Theta) -> dict[str, Tensor]:
        """The weights of the model by name, as views of `theta`, in its order."""
        pieces = zip(torch.split(theta, self._sizes), self._shapes, self._moved, strict=True)
        return dict(zip(self._names, (_view(*one) for one in pieces), strict=True))

    def rows(self, name: str, rows: Float[Tensor, "rows columns"]) -> Tensor:
        """Rows like those of the weight `name`, in theta's order, as a tensor with its axes."""
        i = self._names.index(name)
        shape = torch.Size([len(rows), *self._shapes[i][1:]])
        return _view(rows.flatten(), shape, self._moved[i])

    def flatten(self, model: nn.Module) -> Theta:
        """The weights of `model`, a module of this architecture, as a vector."""
        parameters = dict(model.named_parameters())
        weights = [parameters[name].detach() for name in self._names]
        pairs = zip(weights, self._moved, strict=True)
        return torch.cat([(w.permute(0, 2, 3, 1) if m else w).flatten() for w, m in pairs])

    @torch.no_grad()
    def put(self, theta: Theta, model: nn.Module) -> None:
        """Copy theta, the buffers and what is frozen into `model`, and switch it to evaluation
        mode; InputError unless it is a module of this architecture."""
        given: Mapping[str, Tensor] = {
            **self.views(theta),
            **{name: self.model.get_parameter(name) for name in self._frozen},
            **dict(self.model.named_buffers()),
        }
        places = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        if {n: v.shape for n, v in given.items()} != {n: p.shape for n, p in places.items()}:
            raise InputError(
                f"`into` must be a module that `export` returned, a {type(self.model).__name__}. "
                f"Found a {type(model).__name__} with other weights or buffers."
            )
        for name, place in places.items():
            place.copy_(given[name])
        model.eval()

    @torch.no_grad()
    def export(self, theta: Theta) -> nn.Module:
        """The model with the weights `theta` as a plain module in evaluation mode."""
        model = copied(self.model)
        views = self.views(theta).values()
        for slots, view in zip(self._slots_of(model), views, strict=True):
            weight = nn.Parameter(view.clone(memory_format=torch.contiguous_format))
            for module, leaf in slots:
                _set_weight(module, leaf, weight)
        for module in model.modules():
            if isinstance(module, nn.RNNBase):  # it keeps a list of its weights, too
                module._init_flat_weights()
        return model.eval()


def full_precision(device: torch.device) -> torch.autocast:
    """Return a context without autocast: under the caller's the architecture runs, not the mixing
    of weights, losses, balancers, penalties and statistics."""
    return torch.autocast(device.type, enabled=False)


def autocast_now(device: torch.device) -> torch.autocast:
    """Return the caller's autocast, on or off, as a context to come back to."""
    kind = device.type
    return torch.autocast(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))


def _set_weight(module: nn.Module, leaf: str, weight: Tensor | None) -> None:
    """Make `weight` the attribute `leaf` of `module`; None is no weight, which an attribute of the
    module itself says to those who ask."""
    module._parameters[leaf] = weight  # type: ignore[assignment]
    if isinstance(weight, nn.Parameter):  # of an exported model
        module.__dict__.pop(leaf, None)
    else:  # the compiler follows no attribute that goes
        module.__dict__[leaf] = _NOT_HELD if weight is None else weight


@torch.no_grad()
def put_back(values: Iterable[BufferValue]) -> None:
    """Make buffers the tensors, with the values, that they were."""
    for buffers, name, buffer, value in values:
        buffers[name] = buffer  # which a forward pass may assign anew
        # Into one that is expanded nothing can write.
        if buffer.layout != torch.strided or not any(
            n > 1 and not s for n, s in zip(buffer.shape, buffer.stride(), strict=True)
        ):
            buffer.copy_(value)


def check_weights(model: nn.Module) -> None:
    """Raise InputError where a copy of `model` whose weights are replaced would be another one."""
    for name, module in model.named_modules():
        is_compiled = hasattr(module, "_orig_mod") or module._compiled_call_impl is not None
        if is_compiled or isinstance(module, torch.jit.ScriptModule):
            raise InputError(
                "Members must be ordinary modules: give the one that a scripted or compiled one is "
                f"made of. Found a {type(module).__name__} at {name or 'the top'!r}."
            )
    first: dict[int, str] = {}
    trained = {weight for weight in model.parameters() if weight.requires_grad}
    for name, weight in model.named_parameters():
        if weight._backward_hooks:
            raise InputError(
                "Hooks of weights are lost, as these follow from alpha: let the forward pass "
                f"register them. Found some of {name}."
            )
        has_memory = weight.numel() and not weight.is_meta
        other = first.setdefault(weight.data_ptr(), name) if has_memory else name
        if other != name and {weight, model.get_parameter(other)} & trained:
            raise InputError(
                "Weights that are equal at two places must be one Parameter, assigned to both. "
                f"Found two that share their memory: {other} and {name}."
            )


def copied(model: Module, same: Iterable[Tensor] = ()) -> Module:
    """Return a copy of `model`, in which the tensors `same` are no copies. Activations that it
    keeps lose their graph."""
    values = tree_leaves([vars(module) for module in model.modules()])
    memo = {id(t): t.detach() for t in values if isinstance(t, Tensor) and not t.is_leaf}
    return copy.deepcopy(model, memo | {id(t): t for t in same})


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


def _view(piece: Tensor, shape: torch.Size, is_moved: bool) -> Tensor:
    """The view of a piece of theta that is a weight of `shape`, channels-last or not."""
    if not is_moved:
        return piece.view(shape)
    out, channels, height, width = shape
    return piece.view(out, height, width, channels).permute(0, 3, 1, 2)


def _select(
    places: list[list[str]], model: nn.Module, shared: str | Iterable[str] | None
) -> set[str]:
    """The names of the weights that have a place under one of the prefixes in `shared`."""
    if shared is None:
        return {name for name, *_ in places}
    chosen: set[str] = set()
    for prefix in [shared] if isinstance(shared, str) else [*shared] or ["nothing"]:
        under = {at[0] for at in places if any(f"{p}.".startswith(f"{prefix}.") for p in at)}
        if not under:
            names = ", ".join(name for name, _ in model.named_children())
            raise InputError(
                "`shared` must name submodules with trainable weights. "
                f"Found {prefix!r}; the model has: {names}."
            )
        chosen |= under
    return chosen
