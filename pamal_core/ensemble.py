"""The weight ensemble: M networks of one architecture, stacked weight by weight."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from pamal_core.errors import InputError, check_number, check_type, shown
from pamal_core.inputs import described
from pamal_core.network import Network
from pamal_core.simplex import as_array, on_simplex
from pamal_core.skeleton import Skeleton, check_weights, copied
from pamal_core.weights import (
    ByMember,
    Weights,
    in_order,
    laid,
    layout,
    memory_order,
    parameter_tree,
)


class WeightEnsemble(Network):
    r"""M networks of one architecture, and every convex combination of their weights (section 4.1).

    `stacked` is $\Theta$: for each trainable weight of the members a parameter [M, *shape] under
    the weight's own name. At a point $\alpha$ of the simplex the weights are $\theta(\alpha) =
    \sum_k \alpha_k \Theta_k$, with which the members' own `forward` runs.

    - `members`: M >= 1 modules of one architecture, initialised independently or trained before; or
      one module, which becomes `num_members` equal ones. They are copied, never changed. Members
      that were fine-tuned from one network can be evaluated without training. Each weight keeps its
      memory format.
    - `num_members`: M, if `members` is one module.
    - `task_weights`: the matrix W [M, T]; row k says how member k weighs the tasks. By default the
      identity, one member per task; otherwise any rows on the simplex. One member with a uniform
      row is linear scalarisation, one with a one-hot row single-task learning.
    - `shared`: the submodules (prefixes of parameter names) whose weights all tasks use; a gradient
      balancer works on those alone. None means all weights.

    Frozen parameters (`requires_grad=False`) are the same for all members. Members may share a
    frozen module, which is kept once. Buffers start as the first member's.

    Raises InputError if the members differ in architecture, dtype, device or frozen weights, if a
    weight cannot be replaced (scripted or compiled modules), and if its gradient would be sparse.
    Other values that your own classes keep may differ: a warning says that those of the first
    member are used. It says nothing of private attributes (`_name`), nor of what functions hold.
    """

    def __init__(
        self,
        members: nn.Module | Sequence[nn.Module],
        *,
        num_members: int | None = None,
        task_weights: ArrayLike | None = None,
        shared: str | Iterable[str] | None = None,
    ) -> None:
        members = _modules(members, num_members)
        check_kinds(members[0])
        skeleton = Skeleton(members[0], shared)
        for k, member in enumerate(members[1:], start=1):
            _compare(members[0], member, k)
        rows = rows_of(task_weights, len(members))
        super().__init__(skeleton, rows.to(members[0].get_parameter(next(iter(skeleton.places)))))
        self.stacked = parameter_tree(
            {name: stack([m.get_parameter(name) for m in members]) for name in skeleton.places}
        )

    def weights(self, alpha: ByMember) -> Weights:
        stacked = dict(self.stacked.named_parameters())
        names = self.skeleton.places
        mixed = _Mix.apply(alpha, *(stacked[n] for n in names))  # type: ignore[no-untyped-call]
        return dict(zip(names, mixed, strict=True))


class _Mix(torch.autograd.Function):
    r"""$\theta = \sum_k \alpha_k \Theta_k$ for every weight, and $dL/d\Theta_k = \alpha_k
    dL/d\theta$.

    One step of autograd for all weights: with one for each, a step of LeNet takes 6% longer.
    """

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, *stacked: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(alpha)
        return tuple(mix(alpha, weights) for weights in stacked)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        (alpha,) = ctx.saved_tensors
        members = (alpha.view(-1, *[1] * slope.ndim) * slope for slope in slopes)
        return None, *members


@torch.no_grad()
def stack(weights: Sequence[Tensor]) -> Tensor:
    """Return `weights` as one tensor [M, *shape], each in the memory order of the first one."""
    axes = layout(weights[0].stride(), weights[0].shape)
    stacked = torch.stack([weight.permute(axes.order) for weight in weights])
    return stacked.permute(0, *(1 + axis for axis in axes.inverse))


def mix(alpha: ByMember, stacked: Tensor) -> Tensor:
    """Return the sum over k of alpha_k times `stacked`[k], in the memory order of one member."""
    rows = in_order(stacked, memory_order(stacked)).reshape(len(stacked), -1)
    return laid(alpha @ rows, stacked[0])


def member_parameters(network: Network) -> list[tuple[str, Tensor]]:
    """Return the trained weights of `network` by name: each member's own, as "1.encoder.0.weight".

    Muon, Adafactor and LARS look at the shape or the norm of a whole weight, so they need the
    weight of one member, not of all. The tensors are views: a step on them moves the network. Adam,
    AdamW and SGD treat each number alike and need `network.parameters()` alone. Weights that are no
    member's, as those of a hypernetwork, are returned as they are.

    - `network`: is on its device and in its dtype already.

    A loop of your own calls both `optimizer.zero_grad()` and `network.zero_grad()`.
    """
    pairs: list[tuple[str, Tensor]] = []
    for name, weight in network.named_parameters():
        if not weight.requires_grad:
            continue
        if not name.startswith("stacked."):
            pairs.append((name, weight))
            continue
        views = [*weight.detach()]
        pairs += [(f"{k}.{name.removeprefix('stacked.')}", view) for k, view in enumerate(views)]

        def share(whole: Tensor, views: list[Tensor] = views) -> None:
            assert whole.grad is not None
            for view, gradient in zip(views, whole.grad, strict=True):
                view.grad = gradient

        weight.register_post_accumulate_grad_hook(share)  # type: ignore[no-untyped-call]
    return pairs


def rows_of(task_weights: ArrayLike | None, num_members: int) -> Tensor:
    """Return the matrix W [M, T], the identity if None. Raise InputError unless its rows are on the
    simplex."""
    given = np.eye(num_members) if task_weights is None else task_weights
    matrix = as_array(given)
    if matrix.ndim != 2 or len(matrix) != num_members or not matrix.size:
        found = f"shape {matrix.shape}" if matrix.size else shown(task_weights)
        raise InputError(
            f"`task_weights` must be a matrix with {num_members} rows, one per member. "
            f"Found {found}."
        )
    return torch.as_tensor(on_simplex(matrix, matrix.shape[1], name="each row of task_weights"))


def check_kinds(model: nn.Module) -> None:
    """Raise InputError unless `model` has trainable weights, of one real dtype and on one
    device."""
    trained = [p for p in model.parameters() if p.requires_grad]
    kinds = {f"{p.dtype} on {p.device}" for p in trained}
    if len(kinds) != 1 or not trained[0].is_floating_point():
        raise InputError(
            "Members need trainable weights of one real dtype, on one device. "
            f"Found {', '.join(sorted(kinds)) or 'no trainable weight'}."
        )


def _modules(members: Any, num_members: int | None) -> list[nn.Module]:
    """Return the members as a list; raise InputError unless they are modules."""
    if isinstance(members, nn.Module) and num_members is not None:
        check_number("num_members", num_members, 1, whole=True)
        return [copied(members) for _ in range(num_members)]
    is_list = isinstance(members, nn.ModuleList | list | tuple)
    if not is_list or not len(members) or num_members is not None:
        raise InputError(
            "`members` must be a list of modules, one per member, or one module to be copied "
            f"`num_members` times. Found {described(members)} and num_members={num_members}."
        )
    for member in members:
        check_type("each member", member, nn.Module, "Net()")
    return [*members]


def _compare(first: nn.Module, member: nn.Module, k: int) -> None:
    """Raise InputError where member `k` cannot be mixed with the first, or runs in another way;
    warn where its buffers are lost. A frozen module may be one and the same in all members."""
    check_weights(member)
    trained = {p for p in member.parameters() if p.requires_grad}
    if member is first or trained & {*first.parameters()}:
        raise InputError(f"Members must not share trainable parameters. Found that 0 and {k} do.")
    parts = dict(member.named_modules())
    for name, part in first.named_modules():
        if name in parts and _is_defined_again(type(part), type(parts[name])):
            raise InputError(
                f"{type(part).__qualname__} has been defined again since one of the members 0 and "
                f"{k} was made: make all members from the class as it is now."
            )
    (ours, own), (theirs, others) = architecture_of(first), architecture_of(member)
    for name in [*ours, *theirs]:
        if ours.get(name) != theirs.get(name):
            raise InputError(
                f"Members must have one architecture. Found that 0 and {k} differ in {name}: "
                f"{ours.get(name, 'missing')} and {theirs.get(name, 'missing')}."
            )
    if differing := [name for name, value in own.items() if others.get(name) != value]:
        warnings.warn(
            f"Members 0 and {k} have different {', '.join(differing[:3])}; the ensemble runs as "
            "member 0 does.",
            stacklevel=3,
        )
    frozen = {n: p for n, p in member.named_parameters() if not p.requires_grad}
    for name, value in first.named_parameters():
        if name in frozen and not torch.equal(value, frozen[name]):
            raise InputError(
                "Frozen parameters are shared, so members must agree on them, as copies of one "
                "module do: `num_members` makes these, and so does `fit` of a model. Found that "
                f"{name} of 0 and {k} differ."
            )
    buffers = dict(member.named_buffers())
    if any(
        not torch.equal(value.to_dense(), buffers[name].to_dense())
        for name, value in first.named_buffers()
    ):
        warnings.warn(
            f"Members 0 and {k} have different buffers; the ensemble keeps those of member 0. "
            "Give `evaluate` and `export` a `calibration`, if they are running statistics.",
            stacklevel=3,
        )


def architecture_of(model: nn.Module) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return, by name, what members must have in common: the class of each part, the values that
    torch's own parts keep, such as a stride, and the kind of each weight and buffer; and the values
    that parts of the user's own classes keep, some of which may say nothing."""
    about: dict[str, Any] = {"their class": type(model).__name__}
    own: dict[str, Any] = {}
    for name, part in model.named_modules():
        if name:
            about[f"the part {name!r}"] = type(part).__name__
        values = about if _is_torchs(part) else own
        values |= _values(name, part)
    first_names: dict[int, str] = {}
    parameters = model.named_parameters(remove_duplicate=False)
    for name, tensor in [*parameters, *model.named_buffers()]:
        tied = first_names.setdefault(id(tensor), name)
        about[name] = f"{[*tensor.shape]} of {tensor.dtype} on {tensor.device}"
        if tensor.requires_grad:
            about[name] += ", trained"
        if tied != name:
            about[name] += f", tied to {tied}"
    return about, own


def _values(name: str, part: nn.Module) -> dict[str, Any]:
    """Return the numbers, texts, tensors (by their sum), arrays (by their bytes) and functions (by
    their name) that a part keeps. The tensors that torch's own parts keep follow from weights, as a
    spectral norm does."""

    def plain(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and not leaf.requires_grad and not _is_torchs(part):
            return leaf.double().sum().item()
        if isinstance(leaf, np.ndarray):
            return hash(leaf.tobytes())
        return getattr(leaf, "__qualname__", leaf)

    values = {}
    for key, value in vars(part).items():
        leaves = [plain(leaf) for leaf in tree_leaves(value)]
        is_plain = all(isinstance(leaf, int | float | str) for leaf in leaves)
        if is_plain and key[0] != "_" and key != "training":
            values[f"{name}.{key}".lstrip(".")] = leaves
    return values


def _is_torchs(part: nn.Module) -> bool:
    return type(part).__module__.startswith("torch.")


def _is_defined_again(one: type, other: type) -> bool:
    """Return whether two classes are of one place, as where a notebook's cell has run twice; torch
    and functions make classes anew for each module."""
    places = {(kind.__module__, kind.__qualname__) for kind in (one, other)}
    is_made_anew = one.__module__.startswith("torch.") or "<locals>" in one.__qualname__
    return one is not other and len(places) == 1 and not is_made_anew
