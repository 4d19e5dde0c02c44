"""A model that runs with the weights it is given."""

import contextlib
import copy
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import _lru_cache_wrapper, partial
from types import CellType, FunctionType, MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.amp.autocast_mode import is_autocast_available
from torch.compiler import is_compiling
from torch.nn.modules.batchnorm import _NormBase
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from pamal_core.errors import InputError
from pamal_core.inputs import Inputs, arguments
from pamal_core.weights import Weights

Module = TypeVar("Module", bound=nn.Module)
BufferValue = tuple[dict[str, Tensor | None], str, Tensor, Tensor]
"""The buffers of a module, the name of one, its tensor, and a copy of the tensor's values."""


class _NotHeld:
    """Stand in for a weight that the model does not have now: raise if it is used."""

    WHY = (
        "The weights of a model follow from alpha, and it has them while it is called: initialise "
        "the members before they are a network, and train by `Method.step` what recomputes parts "
        "of it in a backward pass (activation checkpointing). Found"
    )

    def __getattr__(self, name: str) -> Any:
        # No InputError: `hasattr` asks, too.
        raise AttributeError(f"{self.WHY} that {name!r} of a weight is asked for.")

    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        raise InputError(f"{cls.WHY} a part that runs on its own.")


_NOT_HELD = _NotHeld()
IN_A_CALL = "_held", "_thread", "_lock"
"""Attributes of a skeleton that say who is calling it."""
_IN_USE = (
    "A network has the weights of one alpha at a time, and another thread is calling it: ask "
    "`predict`, which any thread may, or give each thread a copy."
)


class Skeleton(nn.Module):
    """A copy of `model` without its trainable weights: calling it with weights by name and with
    inputs runs the model's own `forward` with these weights.

    - `model`: the module. Frozen parameters (`requires_grad=False`) and buffers, such as the
      running statistics of BatchNorm, stay in the skeleton. A submodule that is frozen and in
      evaluation mode stays in that mode.
    - `shared`: prefixes of the names of the weights that all tasks share. None means all weights.

    Raises InputError if some weight of `model` cannot be replaced, and if `shared` names nothing.
    """

    def __init__(self, model: nn.Module, shared: str | Iterable[str] | None = None) -> None:
        super().__init__()
        check_weights(model)
        places: dict[Tensor, list[str]] = {}  # a tied weight has several
        for place, weight in model.named_parameters(remove_duplicate=False):
            if weight.requires_grad:
                places.setdefault(weight, []).append(place)
        shared_names = _select([*places.values()], model, shared)
        ordered = sorted(places, key=lambda weight: places[weight][0] not in shared_names)
        self.places = {places[weight][0]: places[weight] for weight in ordered}
        """All places of each weight, by its first one, which is its name; shared weights first."""
        self.like = {n: model.get_parameter(n).detach().to("meta") for n in self.places}
        """A tensor without memory for each weight: its shape, and its order in memory."""
        self.shared = [name for name in self.places if name in shared_names]
        """The names of the weights that all tasks share."""
        self.num_shared = sum(self.like[name].numel() for name in self.shared)
        self.num_weights = sum(weight.numel() for weight in self.like.values())
        self.model = copied(model)
        _check_functions(model, self.model)
        self._slots = [
            (name, *_at(self.model, place))
            for name, places in self.places.items()
            for place in places
        ]
        """For each place of a weight its name, and the module and attribute of the model."""
        self.frozen_modules = [
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
        estimates. Layers that stay in evaluation mode are left out."""
        for module, was_training in modes:
            module.training = was_training
        self._rest()

    def _rest(self) -> None:
        """Hold no weights, as before the first call."""
        self._held: Weights | None = None
        self._thread = 0
        self._lock = threading.Lock()
        self._install()

    # A copy holds no weights, also one that is made while a thread calls the original.

    def __getstate__(self) -> dict[str, Any]:
        return {n: value for n, value in vars(self).items() if n not in IN_A_CALL}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._rest()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Skeleton":
        made = memo[id(self)] = type(self).__new__(type(self))
        with self._alone():
            memo.update({id(weight): weight for weight in (self._held or {}).values()})
            made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made

    def train(self, mode: bool = True) -> "Skeleton":
        super().train(mode)
        for name in self.frozen_modules:
            self.model.get_submodule(name).eval()
        return self

    def forward(self, theta: Weights, inputs: Inputs) -> Any:
        """Return the outputs of the model with the weights `theta` for `inputs`.

        The model runs under the caller's autocast, if there is one; outputs that are floating-point
        numbers then have the dtype of theta.
        """
        args, named = arguments(inputs)
        with self.holding(theta):
            outputs = self.model(*args, **named)
        first = next(iter(theta.values()))
        if autocast_dtype(first.device) is None:
            return outputs
        if isinstance(outputs, Mapping) and any(leaf is outputs for leaf in tree_leaves(outputs)):
            outputs = dict(outputs)  # torch does not look into mappings of other classes
        return tree_map_only(Tensor, lambda o: o.to(first) if o.is_floating_point() else o, outputs)

    @contextlib.contextmanager
    def holding(self, theta: Weights) -> Iterator[None]:
        """Give the model the weights `theta` for the time of the `with` block. `forward` does so
        itself. Enter it around `backward`, too, if the model recomputes parts of its forward pass
        there (activation checkpointing). Raise RuntimeError if another thread is within it."""
        # A compiler does not trace the number of a thread.
        before, thread = self._held, 0 if is_compiling() else threading.get_ident()
        if before is not None and self._thread != thread:
            raise RuntimeError(_IN_USE)
        self._held, self._thread = theta, thread
        if before is not theta:
            self._install()
        try:
            yield
            if self._held is not theta:  # both threads saw it free
                raise RuntimeError(_IN_USE)
        finally:
            self._held = before
            if before is not theta:
                self._install()

    def _install(self) -> None:
        """Give the model the weights that are held, or in their place what raises when torch
        computes with it."""
        held = self._held
        with self._alone():
            for name, module, leaf in self._slots:
                weight = None if held is None else held[name]
                module._parameters[leaf] = weight  # type: ignore[assignment]
                if weight is None:
                    module.__dict__[leaf] = _NOT_HELD
                else:  # an attribute would hide what `functional_call` puts into `_parameters`
                    module.__dict__.pop(leaf, None)

    def _alone(self) -> AbstractContextManager[Any]:
        """Return a context in which no other thread installs weights, nor copies the model."""
        return contextlib.nullcontext() if is_compiling() else self._lock

    def eval_copy(self) -> "Skeleton":
        """Return a copy in evaluation mode, with buffers of its own: a caller can estimate
        statistics in it while other threads use this one. Frozen parameters are not copied."""
        return copied(self, self.model.parameters()).eval()

    def __repr__(self) -> str:
        """Return the text of the model with its weights: without them some layers say that they
        have no bias."""
        with self.holding(self.like):
            return super().__repr__()

    def buffer_values(self) -> list[BufferValue]:
        """Return the buffers as they are now, for `put_back`."""
        places = [module._buffers for module in self.modules()]
        named = [(p, n, b) for p in places for n, b in p.items() if b is not None]
        return [(p, n, b, b.clone()) for p, n, b in named]

    @torch.no_grad()
    def export(self, theta: Weights) -> nn.Module:
        """Return the model with the weights `theta` as a plain module in evaluation mode."""
        made = copied(self)
        model = made.model
        weights = {name: nn.Parameter(weight.clone()) for name, weight in theta.items()}
        for name, module, leaf in made._slots:
            module._parameters[leaf] = weights[name]
            module.__dict__.pop(leaf, None)  # which `_install` has set
        for module in model.modules():
            if isinstance(module, nn.RNNBase):  # it keeps a list of its weights, too
                module._init_flat_weights()
        return model.eval()


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context without autocast: under the caller's the architecture runs, not the mixing
    of weights, losses, balancers, penalties and statistics."""
    if not is_autocast_available(device.type):  # as on the meta device
        return contextlib.nullcontext()
    return torch.autocast(device.type, enabled=False)


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return the dtype of the caller's autocast, None if there is none."""
    kind = device.type
    if not is_autocast_available(kind) or not torch.is_autocast_enabled(kind):
        return None
    return torch.get_autocast_dtype(kind)


def autocast_now(device: torch.device) -> AbstractContextManager[Any]:
    """Return the caller's autocast as a context to come back to, several times."""
    dtype = autocast_dtype(device)
    return contextlib.nullcontext() if dtype is None else _Autocast(device.type, dtype)


class _Autocast(torch.autocast):
    """An autocast whose casts are forgotten at its end. Those of a step are of weights that are
    never used again, and torch would keep them until the caller's own context ends."""

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch.clear_autocast_cache()


@torch.no_grad()
def put_back(values: Iterable[BufferValue]) -> None:
    """Restore the buffers to the `values` that `buffer_values` returned."""
    for buffers, name, buffer, value in values:
        buffers[name] = buffer  # a forward pass may assign a new one
        # Nothing can write into an expanded buffer.
        if buffer.layout != torch.strided or not any(
            n > 1 and not s for n, s in zip(buffer.shape, buffer.stride(), strict=True)
        ):
            buffer.copy_(value)


def check_weights(model: nn.Module) -> None:
    """Raise InputError if `model` would run in another way once its weights are replaced, and if
    the gradient of a weight would be sparse."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse:
            raise InputError(
                "Gradients must be dense, as alpha mixes whole weights: make embeddings with "
                f"sparse=False. Found a sparse one at {name or 'the top'!r}."
            )
        is_compiled = hasattr(module, "_orig_mod") or module._compiled_call_impl is not None
        if is_compiled or isinstance(module, torch.jit.ScriptModule):
            raise InputError(
                "Members must be ordinary modules: give the one that a scripted or compiled one is "
                f"made of. Found a {type(module).__name__} at {name or 'the top'!r}."
            )
    first: dict[int, str] = {}
    trained = {weight for weight in model.parameters() if weight.requires_grad}
    for name, weight in model.named_parameters():
        if weight._backward_hooks or weight._post_accumulate_grad_hooks:
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


def _at(model: nn.Module, place: str) -> tuple[nn.Module, str]:
    """Return the module of `model` that has the weight at `place`, and its attribute."""
    path, _, leaf = place.rpartition(".")
    return model.get_submodule(path), leaf


def _check_functions(model: nn.Module, copy: nn.Module) -> None:
    """Raise InputError if a function or a hook that `copy` keeps holds its original `model`, or a
    list or dict of it: the copy of a model has the same functions, which go on with the first one.
    Functions within other objects are not looked into."""
    kept = {id(module) for module in model.modules()}
    for module in model.modules():
        kept |= {id(value) for value in vars(module).values() if _is_of_tensors(value)}
    for name, module in copy.named_modules():
        for attribute, value in vars(module).items():
            functions = filter(None, map(_function_of, tree_leaves(value)))
            if any(id(held) in kept for function in functions for held in _held_by(function)):
                place = "a hook" if attribute.endswith("_hooks") else f"{attribute!r}"
                raise InputError(
                    "Functions must not hold the model that they belong to, nor its parts, lists "
                    "and dicts, because members are copies of it: use a method, or in a hook the "
                    f"module that it gets. Found {place} of {name or 'the top'!r}."
                )


def _is_of_tensors(value: Any) -> bool:
    """Return whether `value` is a list or dict that has tensors or modules, or will have some."""
    if not isinstance(value, list | dict):
        return False
    return not value or any(isinstance(one, Tensor | nn.Module) for one in tree_leaves(value))


def _function_of(value: Any) -> FunctionType | None:
    """Return the function that a copy of `value` shares with it, None if there is none. A copy has
    arguments of a partial and the object of a method anew."""
    while isinstance(value, partial | MethodType | _lru_cache_wrapper):
        if isinstance(value, partial):
            value = value.func
        elif isinstance(value, MethodType):
            value = value.__func__
        else:
            value = value.__wrapped__
    return value if isinstance(value, FunctionType) else None


def _held_by(function: FunctionType) -> Iterator[Any]:
    """Yield what a function holds, and what the functions, lists and dicts hold that it holds."""
    stack, seen = list[Any]([function]), set[int]()
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, int | float | str | bytes | Tensor):
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, FunctionType):
            cells = value.__closure__ or ()
            # A cell is empty while its function is being made.
            stack += [cell.cell_contents for cell in cells if cell != CellType()]
            stack += [value.__defaults__, value.__kwdefaults__]
        elif isinstance(value, MethodType):
            stack += [value.__self__, value.__func__]
        elif isinstance(value, partial):
            stack += [value.func, value.args, value.keywords]
        elif isinstance(value, _lru_cache_wrapper):
            stack.append(value.__wrapped__)
        elif isinstance(value, weakref.ref):
            stack.append(value())
        elif isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, list | tuple | set):
            stack += value


def copied(model: Module, same: Iterable[Tensor] = ()) -> Module:
    """Return a deep copy of `model` that shares the tensors in `same` with it. Activations that
    the model or its objects keep lose their graph."""
    with _WithoutGraph():
        return copy.deepcopy(model, {id(t): t for t in same})


class _WithoutGraph(TorchFunctionMode):
    """Copy a tensor that has a graph, which torch refuses, without it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__deepcopy__ and not args[0].is_leaf:
            return args[0].detach()
        return func(*args, **(kwargs or {}))


def _select(
    places: list[list[str]], model: nn.Module, shared: str | Iterable[str] | None
) -> set[str]:
    """Return the names of the weights that have a place under one of the prefixes in `shared`."""
    if shared is None:
        return {name for name, *_ in places}
    chosen: set[str] = set()
    several = [shared] if isinstance(shared, str) or not isinstance(shared, Iterable) else [*shared]
    for prefix in several or ["nothing"]:
        under = {at[0] for at in places if any(f"{p}.".startswith(f"{prefix}.") for p in at)}
        if not under:
            names = ", ".join(name for name, _ in model.named_children())
            raise InputError(
                "`shared` must name submodules with trainable weights. "
                f"Found {prefix!r}; the model has: {names}."
            )
        chosen |= under
    return chosen
