"""The weight ensemble: M networks of one architecture, stored as one matrix."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from typing_extensions import override

from pamal_core.errors import InputError
from pamal_core.networks.base import Network
from pamal_core.networks.skeleton import Skeleton
from pamal_core.shapes import ByMember, Thetas
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

    Frozen parameters (`requires_grad=False`) are the same for all members. Buffers start as the
    first member's.

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
        _check(members)
        skeleton = Skeleton(members[0], shared)
        stacked = torch.stack([skeleton.flatten(member) for member in members])
        rows = torch.eye(len(members)) if task_weights is None else torch.as_tensor(task_weights)
        if rows.ndim != 2 or len(rows) != len(members):
            raise InputError(
                f"`task_weights` must be a matrix with {len(members)} rows, one per member. "
                f"Found shape {tuple(rows.shape)}."
            )
        on_simplex(rows, rows.shape[1], name="each row of task_weights")
        super().__init__(skeleton, rows.to(stacked))
        self.stacked = nn.Parameter(stacked)

    @override
    def weights(self, alphas: ByMember) -> Thetas:
        return alphas @ self.stacked

    @torch.no_grad()
    def member_similarity(self) -> Float[Tensor, "M M"]:
        """Cosine of the angle between every two members, cos(theta_j, theta_k)."""
        return cosine_similarity(self.stacked[:, None], self.stacked[None], dim=-1)


def _check(members: Sequence[Any]) -> None:
    if not members:
        raise InputError("An ensemble needs at least one member. Found an empty list.")
    for member in members:
        if not isinstance(member, nn.Module):
            found = f"the class {member.__name__}" if isinstance(member, type) else repr(member)
            raise InputError(f"Members must be modules, such as Net(). Found {found}.")
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
