"""A module whose trainable weights are handed to it as one vector."""

import contextlib
import copy
import hashlib
import inspect
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import CellType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_leaves

from pamal_core.errors import InputError
from pamal_core.inputs import Inputs, arguments, described
from pamal_core.shapes import Theta

NO_WRITING = (
    "A model must not write into its weights in its forward pass, as `max_norm` of an embedding "
    "does: here they follow from alpha."
)


BufferValue = tuple[dict[str, Tensor | None], str, Tensor, Tensor]
"""The buffers of a module, the name of one, the tensor that it is, and a copy of its values."""


class Lock:
    """Held by one thread at a time, which may take it again. A copy of it is another one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[type["Lock"], tuple[()]]:
        return Lock, ()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


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

    Raises InputError where `model` cannot be copied or taken apart, and where `shared` names
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
        check_parts(model)
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
        # Of each weight the module and the attribute at each of its places.
        parts = [[place.rpartition(".") for place in places[weight]] for weight in ordered]
        self._slots = [[(self.model.get_submodule(p), leaf) for p, _, leaf in at] for at in parts]
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
        frozen = (m for m in self.model.modules() if not m.training and [*m.parameters()])
        self._still = [m for m in frozen if not any(p.requires_grad for p in m.parameters())]
        self._held: Theta | None = None
        self.lock = Lock()
        self._place()
        self._written = self._sums()

    def train(self, mode: bool = True) -> "Skeleton":
        try:
            super().train(mode)
        except (AttributeError, TypeError) as error:
            raise InputError(
                "A model must switch between training and evaluation without its weights, which "
                f"follow from alpha. Found: {error}."
            ) from error
        for module in self._still:
            module.eval()
        return self

    def forward(self, theta: Theta, inputs: Inputs) -> Any:
        """What the model with the weights `theta` returns for `inputs`."""
        args, named = arguments(inputs)
        try:
            with self.holding(theta):
                return self.model(*args, **named)
        except (RuntimeError, TypeError, ValueError) as error:
            expected = self._expected(str(error), theta, inputs)
            if expected is None:
                raise
            raise InputError(f"{expected} Found: {error}") from error

    def _expected(self, error: str, theta: Theta, inputs: Inputs) -> str | None:
        """What the model or its inputs must be like, where an error of torch says that they are
        not."""
        if "base has been modified inplace" in error:
            return NO_WRITING
        if any(self._moved) and "view size is not compatible" in error:
            return (
                "`view` needs another layout than channels-last, in which convolutions have their "
                "weights and outputs here. Use `reshape` in place of `view`, or give the network "
                "`channels_last=False`."
            )
        if "Expected more than 1 value per channel" in error:
            return (
                "BatchNorm needs more than one example in a batch of training: leave out a last "
                "one that is smaller, with `drop_last=True`."
            )
        if "does not require grad" in error and not torch.is_grad_enabled():
            return (
                "A model that differentiates in its forward pass must do so within "
                "`torch.enable_grad()`: it is evaluated without gradients."
            )
        given = [part for part in tree_leaves(arguments(inputs)) if isinstance(part, Tensor)]
        others = [described(part) for part in given if part.dtype != theta.dtype]
        if others and re.search("same dtype|type.* should be the same|scalar type", error):
            return (
                f"Inputs must have the dtype that the model takes: its weights are {theta.dtype}, "
                f"and among the inputs is {others[0]}."
            )
        args, named = arguments(inputs)
        try:
            inspect.signature(self.model.forward).bind(*args, **named)
        except TypeError:
            return (
                "The model must take the inputs: of a tuple or list each part is an argument, of a "
                f"dict by its name; {{name: list}} makes it one. They are {described(inputs)[:80]}."
            )
        return None

    @contextlib.contextmanager
    def holding(self, theta: Theta) -> Iterator[None]:
        """Within it the weights of the model are views of `theta`. A forward pass holds them
        itself, a backward pass needs them where parts are recomputed (activation checkpointing)."""
        # The compiler knows no locks; whoever evaluates or takes a step holds it already.
        with contextlib.nullcontext() if torch.compiler.is_compiling() else self.lock:
            before, self._held = self._held, theta
            if before is not theta:
                self._place()
            try:
                yield
            finally:
                self._held = before
                if before is not theta:
                    self._place()

    def _place(self) -> None:
        """Give the model views of the held theta; without one no weights, so that theta alone is
        trained and saved."""
        held = self._held
        views = [None] * len(self._slots) if held is None else [*self.views(held).values()]
        for slots, view in zip(self._slots, views, strict=True):
            for module, leaf in slots:
                module._parameters[leaf] = view  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The model with its weights: without them some layers say that they have no bias."""
        with self.holding(torch.empty(self.num_weights, device="meta")):
            return super().__repr__()

    def buffer_values(self, where: str | None = None) -> list[BufferValue]:
        """The buffers as they are now, for `put_back`, with the copies on the device `where`."""
        places = [module._buffers for module in self.modules()]
        found = [(p, n, b) for p in places for n, b in p.items() if b is not None]
        return [(p, n, b, b.to(where or b.device, copy=True)) for p, n, b in found]

    def changed_buffers(self) -> list[str]:
        """The buffers that are no running statistics and not as they were at first: what follows
        the weights, such as the vectors of a spectral norm."""
        found = self._sums()  # of which forward may have registered some
        return [name for name, value in found.items() if value != self._written.get(name)]

    def _sums(self) -> dict[str, str]:
        return {
            f"{path}.{leaf}".lstrip("."): repr(buffer.double().sum().item())  # "nan" equals itself
            for path, module in self.model.named_modules()
            for leaf, buffer in module._buffers.items()
            if not isinstance(module, _NormBase) and buffer is not None
        }

    def views(self, theta: Theta) -> dict[str, Tensor]:
        """The weights of the model by name, as views of `theta`, in its order."""
        if theta.shape != (self.num_weights,):
            raise InputError(
                f"The weights of one point of the simplex are a vector [{self.num_weights}]. "
                f"Found {list(theta.shape)}: `alpha` must be one point, with M entries."
            )
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
    def put(self, theta: Theta, buffers: Mapping[str, Tensor], model: nn.Module) -> None:
        """Copy theta, these buffers and what is frozen into `model`, and switch it to evaluation
        mode; InputError unless it is a module of this architecture."""
        given = {**self.views(theta), **dict(self.model.named_parameters()), **buffers}
        places = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        same = given.keys() == places.keys() and not any(p.is_meta for p in places.values())
        if not same or any(given[name].shape != place.shape for name, place in places.items()):
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
        with self.holding(theta):
            views = [getattr(*slots[0]) for slots in self._slots]
            weights = [v.clone(memory_format=torch.contiguous_format) for v in views]
            model = copied(self.model, zip(views, map(nn.Parameter, weights), strict=True))
        for module in model.modules():
            if isinstance(module, nn.RNNBase):  # it keeps a list of its weights, too
                module._init_flat_weights()
        return model.eval()


@torch.no_grad()
def put_back(values: Iterable[BufferValue]) -> None:
    """Make buffers the tensors, with the values, that they were."""
    for buffers, name, buffer, value in values:
        buffers[name] = buffer  # which a forward pass may assign anew
        strided = buffer.layout == torch.strided
        if strided and any(
            n > 1 and not s for n, s in zip(buffer.shape, buffer.stride(), strict=True)
        ):
            continue  # expanded, which nothing can write into
        buffer.copy_(value)


def check_parts(model: nn.Module) -> None:
    """InputError where weights cannot be taken out of `model` and put back."""
    modules, trained = {*model.modules()}, {p for p in model.parameters() if p.requires_grad}

    def hides(module: nn.Module, attribute: str, value: Any) -> bool:
        """Whether weights are in a list or dict of `module`, or in what a function closes over."""
        if attribute in ("_parameters", "_modules", "_flat_weights"):  # the last are torch's own
            return False
        leaves = tree_leaves(value)
        cells = [c for leaf in leaves for c in getattr(leaf, "__closure__", None) or ()]
        closed = tree_leaves([c.cell_contents for c in cells if c != CellType()])  # not empty ones
        parts = [part for part in leaves if isinstance(part, nn.Module) and part not in modules]
        owners = [getattr(part, "__self__", part) for part in closed]  # of a method its module
        parts += [part for part in owners if isinstance(part, nn.Module)]
        return any(p.requires_grad for part in parts for p in part.parameters()) or any(
            isinstance(p, nn.Parameter) and p in trained for p in [*leaves, *closed]
        )

    for name, module in model.named_modules():
        found = None
        if isinstance(module, torch.jit.ScriptModule):
            found = "one that is scripted: give the module that it was made from"
        elif hasattr(module, "_orig_mod") or module._compiled_call_impl is not None:
            found = "one that is compiled: give the module that it was made from"
        elif any(is_lazy(p) for p in module._parameters.values()):
            found = "one without weights yet: a lazy module needs a first call"
        elif any(p is not None and p.is_meta for p in module._parameters.values()):
            found = "one on the meta device, which has no numbers: load its weights first"
        elif getattr(module, "sparse", False) and isinstance(
            module, nn.Embedding | nn.EmbeddingBag
        ):
            found = "one with sparse gradients: give it sparse=False"
        elif any(p._backward_hooks for p in module._parameters.values() if p is not None):
            found = "one whose weights have gradient hooks: let its forward pass register them"
        elif where := next((a for a, v in vars(module).items() if hides(module, a, v)), None):
            found = (
                f"one with weights in `{where}` that a copy does not have as its own: register "
                "them (ParameterList, ModuleList), and use methods in place of nested functions"
            )
        if found:
            where = f"{type(module).__name__}" + (f" at {name!r}" if name else "")
            raise InputError(f"Members must be ordinary modules. Found {found} ({where}).")
    first: dict[int, str] = {}
    for name, weight in model.named_parameters():
        other = first.setdefault(weight.data_ptr(), name) if weight.numel() else name
        if other != name and {weight, model.get_parameter(other)} & trained:
            raise InputError(
                "Weights that are equal at two places must be one Parameter, assigned to both. "
                f"Found two that share their memory: {other} and {name}."
            )


def copied(model: nn.Module, replaced: Iterable[tuple[Tensor, Tensor]] = ()) -> nn.Module:
    """A copy of `model`, in which the second of each pair stands for the first; InputError where it
    cannot be copied. Activations that it keeps lose their graph."""
    found = tree_leaves([vars(module) for module in model.modules()])
    memo = {id(t): t.detach() for t in found if isinstance(t, Tensor) and not t.is_leaf}
    memo |= {id(old): new for old, new in replaced}
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:
        raise InputError(f"Members must be modules that can be copied. Found: {error}") from error


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
    is_one = isinstance(shared, str) or not isinstance(shared, Iterable)
    chosen: set[str] = set()
    for prefix in [shared] if is_one else [*shared] or ["nothing"]:
        under = {at[0] for at in places if any(f"{p}.".startswith(f"{prefix}.") for p in at)}
        if not under:
            found = ", ".join(name for name, _ in model.named_children())
            raise InputError(
                "`shared` must name submodules with trainable weights. "
                f"Found {prefix!r}; the model has: {found}."
            )
        chosen |= under
    return chosen
