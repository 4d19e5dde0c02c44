"""The weight ensemble: M networks of one architecture, stored as one matrix."""

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cosine_similarity
from torch.optim.swa_utils import update_bn

from pamal_core.errors import InputError
from pamal_core.networks.base import Network
from pamal_core.simplex import on_simplex


class WeightEnsemble(Network):
    """Members theta_1 ... theta_M as the rows of Theta, and every convex combination of them
    (section 3.1).

    `stacked` is Theta, one parameter [M, N] that holds the trainable weights of all members, shared
    columns first. A point of their convex hull is theta(alpha) = alpha^T Theta, a vector [N];
    calling the ensemble with such a vector and inputs runs the members' own `forward` with these
    weights.

    `members` are M >= 1 modules of one architecture, initialised independently (or trained before).
    They are copied, never changed. `task_weights` is the matrix W [M, T]: row k says how member k
    weighs the tasks. It is the identity by default, one member per task; any rows on the simplex
    are allowed, and one member with one row is a plain network (linear scalarisation for a uniform
    row, single-task learning for a one-hot one).

    `shared` names the submodules (prefixes of parameter names) whose weights all tasks use; a
    gradient balancer works on those alone. None means all weights.

    Frozen parameters (`requires_grad=False`) are the same for all members. Buffers, such as the
    running statistics of BatchNorm, are shared by all alpha and start as the first member's;
    `recalibrate` re-estimates them for one alpha.

    Raises InputError where the members differ in architecture, dtype or frozen weights.
    """

    stacked: nn.Parameter

    def __init__(
        self,
        members: Sequence[nn.Module],
        *,
        task_weights: ArrayLike | None = None,
        shared: str | Iterable[str] | None = None,
    ) -> None:
        super().__init__()
        _check_members(members)
        first = members[0]
        trainable = {name: p for name, p in first.named_parameters() if p.requires_grad}
        shared_names = _select(trainable, first, shared)
        self._names = shared_names + [name for name in trainable if name not in shared_names]
        self._shapes = [trainable[name].shape for name in self._names]
        self._sizes = [trainable[name].numel() for name in self._names]
        self.num_shared = sum(self._sizes[: len(shared_names)])
        # A tied weight is one column range under several names.
        self._aliases = {
            name: [
                n for n, p in first.named_parameters(remove_duplicate=False) if p is trainable[name]
            ]
            for name in self._names
        }
        self.stacked = nn.Parameter(torch.stack([self._flatten(member) for member in members]))
        rows = torch.eye(len(members)) if task_weights is None else torch.as_tensor(task_weights)
        self.register_buffer(
            "task_weights", _check_task_weights(rows, len(members)).to(self.stacked)
        )
        self.skeleton = self._hollow(copy.deepcopy(first))

    def weights(self, alphas: Float[Tensor, "*batch M"]) -> Float[Tensor, "*batch N"]:
        """theta(alpha) = alpha^T Theta for each row of `alphas`, differentiable in `stacked`."""
        return alphas @ self.stacked

    def forward(self, theta: Float[Tensor, " N"], *inputs: Any) -> Any:
        """What a member with the weights `theta` returns for `inputs`."""
        return functional_call(self.skeleton, self._views(theta), inputs, tie_weights=False)

    @torch.no_grad()
    def export(self, alpha: ArrayLike) -> nn.Module:
        """The network at `alpha`, a point of the simplex with M entries, as a plain module in
        evaluation mode.

        Its class is that of the members, its weights are ordinary parameters: it saves, scripts and
        runs without this package.
        """
        model = copy.deepcopy(self.skeleton)
        theta = self.weights(self.alpha_tensor(alpha))
        for name, value in zip(self._names, self._split(theta), strict=True):
            parameter = nn.Parameter(value.clone(memory_format=torch.contiguous_format))
            for module, leaf in (_owner(model, alias) for alias in self._aliases[name]):
                del module._buffers[leaf]
                module._non_persistent_buffers_set.discard(leaf)
                module.register_parameter(leaf, parameter)
        return model.eval()

    def recalibrate(self, alpha: ArrayLike, loader: Iterable[Any]) -> None:
        """Re-estimate the running statistics of every BatchNorm layer for the network at `alpha`.

        `loader` yields batches whose first entry are the inputs; every batch counts the same.
        """
        model = self.export(alpha)
        update_bn(loader, model, device=self.stacked.device)
        buffers = dict(model.named_buffers())
        for name, buffer in self.skeleton.named_buffers():
            if name in buffers:
                buffer.copy_(buffers[name])

    @torch.no_grad()
    def member_similarity(self) -> Float[Tensor, "M M"]:
        """Cosine of the angle between every two members, cos(theta_j, theta_k)."""
        return cosine_similarity(self.stacked[:, None], self.stacked[None], dim=-1)

    def alpha_tensor(self, alpha: ArrayLike) -> Float[Tensor, "*batch M"]:
        """`alpha`, checked to lie on the simplex, in the dtype and on the device of `stacked`."""
        return torch.as_tensor(on_simplex(alpha, self.num_members)).to(self.stacked)

    def _views(self, theta: Tensor) -> dict[str, Tensor]:
        values = zip(self._names, self._split(theta), strict=True)
        return {alias: value for name, value in values for alias in self._aliases[name]}

    def _split(self, theta: Tensor) -> list[Tensor]:
        pieces = torch.split(theta, self._sizes)
        return [_unflatten(piece, shape) for piece, shape in zip(pieces, self._shapes, strict=True)]

    def _flatten(self, member: nn.Module) -> Tensor:
        parameters = dict(member.named_parameters())
        return torch.cat([_flatten(parameters[name].detach()) for name in self._names])

    def _hollow(self, model: nn.Module) -> nn.Module:
        """Turn the trainable parameters into non-persistent buffers: `stacked` alone is trained and
        saved."""
        for name in (alias for aliases in self._aliases.values() for alias in aliases):
            module, leaf = _owner(model, name)
            value = torch.empty_like(module.get_parameter(leaf))
            del module._parameters[leaf]
            module.register_buffer(leaf, value, persistent=False)
        return model


def _flatten(weight: Tensor) -> Tensor:
    """One weight as columns of Theta.

    Those of convolutions [out, in, h, w] are kept channels-last, so that theta's views of them are,
    too: LeNet's step is then 1.8 times as fast on a CPU, and GPUs prefer it as well.
    """
    return (weight.permute(0, 2, 3, 1) if weight.ndim == 4 else weight).flatten()


def _unflatten(piece: Tensor, shape: torch.Size) -> Tensor:
    """The view of theta that is a weight of `shape`; undoes `_flatten` without a copy."""
    if len(shape) != 4:
        return piece.view(shape)
    out, channels, height, width = shape
    return piece.view(out, height, width, channels).permute(0, 3, 1, 2)


def _owner(model: nn.Module, name: str) -> tuple[nn.Module, str]:
    path, _, leaf = name.rpartition(".")
    return model.get_submodule(path), leaf


def _select(
    trainable: Mapping[str, Tensor], model: nn.Module, shared: str | Iterable[str] | None
) -> list[str]:
    """The names of `trainable` that lie under one of the prefixes in `shared`."""
    if shared is None:
        return list(trainable)
    prefixes = [shared] if isinstance(shared, str) else list(shared)
    for prefix in prefixes:
        if not any(name == prefix or name.startswith(f"{prefix}.") for name in trainable):
            found = ", ".join(name for name, _ in model.named_children())
            raise InputError(
                "`shared` must name submodules with trainable weights. "
                f"Found {prefix!r}; the model has: {found}."
            )
    return [n for n in trainable if any(n == p or n.startswith(f"{p}.") for p in prefixes)]


def _check_task_weights(rows: Tensor, num_members: int) -> Tensor:
    if rows.ndim != 2 or len(rows) != num_members:
        raise InputError(
            f"`task_weights` must be a matrix with {num_members} rows, one per member. "
            f"Found shape {tuple(rows.shape)}."
        )
    on_simplex(rows.numpy(), rows.shape[1], name="each row of task_weights")
    return rows


def _check_members(members: Sequence[nn.Module]) -> None:
    if not members:
        raise InputError("An ensemble needs at least one member. Found an empty list.")
    first = members[0]
    dtypes = {p.dtype for p in first.parameters() if p.requires_grad}
    if len(dtypes) != 1:
        raise InputError(
            "Members need trainable weights of one dtype. "
            f"Found {sorted(map(str, dtypes)) or 'no trainable weight'}."
        )
    for k, member in enumerate(members[1:], start=1):
        if member is first or {*member.parameters()} & {*first.parameters()}:
            raise InputError(f"Members must not share parameters. Found that 0 and {k} do.")
        if (difference := _difference(first, member)) is not None:
            raise InputError(
                f"Members must have one architecture. Found that 0 and {k} differ: {difference}."
            )
        _compare_fixed(first, member, k)


def _difference(a: nn.Module, b: nn.Module) -> str | None:
    """The first parameter in which two modules differ in name, shape, dtype or trainability."""
    kinds = [
        {n: (tuple(p.shape), str(p.dtype), p.requires_grad) for n, p in m.named_parameters()}
        for m in (a, b)
    ]
    for name in [*kinds[0], *kinds[1]]:
        left, right = (kind.get(name, "missing") for kind in kinds)
        if left != right:
            return f"{name} is {left} and {right}"
    return None if type(a) is type(b) else f"they are a {type(a).__name__} and a {type(b).__name__}"


def _compare_fixed(first: nn.Module, member: nn.Module, k: int) -> None:
    """Frozen parameters must agree; buffers that do not are worth a warning."""
    frozen = {n: p for n, p in member.named_parameters() if not p.requires_grad}
    for name, value in first.named_parameters():
        if name in frozen and not torch.equal(value, frozen[name]):
            raise InputError(
                "Frozen parameters are shared, so members must agree on them. "
                f"Found that {name} of 0 and {k} differ."
            )
    buffers = dict(member.named_buffers())
    if any(not torch.equal(value, buffers[name]) for name, value in first.named_buffers()):
        warnings.warn(
            f"Members 0 and {k} have different buffers; the ensemble keeps those of member 0. "
            "Call `recalibrate` before evaluating an alpha.",
            stacklevel=4,
        )
