"""The weight ensemble: M networks of one architecture, stored as one matrix."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from pamal_core.errors import InputError, check_number, check_type
from pamal_core.inputs import described
from pamal_core.networks.architecture import architecture_of
from pamal_core.networks.checkpoints import module_of
from pamal_core.networks.mixture import Mixture
from pamal_core.networks.skeleton import Skeleton, check_weights, copied
from pamal_core.shapes import ByMember, Thetas
from pamal_core.simplex import as_array, on_simplex


class WeightEnsemble(Mixture):
    r"""M networks of one architecture, and every convex combination of their weights (section 4.1).

    `stacked` is $\Theta$, one parameter [M, N]: its rows are the trainable weights of the members,
    shared columns first. At a point $\alpha$ of the simplex the weights are $\theta(\alpha) =
    \alpha^\top \Theta$, a vector [N], with which the members' own `forward` runs.

    - `members`: M >= 1 modules of one architecture, initialised independently or trained before, or
      checkpoints of `architecture`, state dicts or safetensors files, also of a model that was
      wrapped (compiled, averaged, parallel, in Lightning); or one module, which becomes
      `num_members` equal ones. They are copied, never changed. Trained ones are a front at once
      where they began as one network; `Front.barrier` tells.
    - `num_members`: M, where `members` is one module.
    - `architecture`: a module that says how checkpoints run, such as Net().
    - `task_weights`: the matrix W [M, T], in which row k says how member k weighs the tasks: the
      identity by default, one member per task, or any rows on the simplex. One member with a
      uniform row is linear scalarisation, one with a one-hot row single-task learning.
    - `shared`: the submodules (prefixes of parameter names) whose weights all tasks use; a gradient
      balancer works on those alone. None means all weights.
    - `channels_last`: whether 2-D convolutions have weights and outputs in that memory layout, the
      faster one; code that calls `view` on an output may need the other.

    Frozen parameters (`requires_grad=False`) are the same for all members. Members may share a
    frozen module, which is kept once. Buffers start as the first member's.

    Raises InputError where the members differ in architecture, dtype, device or frozen weights,
    or the values that their parts keep, where a weight cannot be replaced (scripted or compiled
    modules), and where a checkpoint is not one of `architecture`.
    """

    stacked: nn.Parameter

    def __init__(
        self,
        members: nn.Module | Sequence[nn.Module | Mapping[str, Any] | str | Path],
        *,
        num_members: int | None = None,
        architecture: nn.Module | None = None,
        task_weights: ArrayLike | None = None,
        shared: str | Iterable[str] | None = None,
        channels_last: bool = True,
    ) -> None:
        members = _modules(members, num_members, architecture)
        check_type("channels_last", channels_last, bool, "True")
        check_kinds(members[0])
        skeleton = Skeleton(members[0], shared, channels_last=channels_last)
        for k, member in enumerate(members[1:], start=1):
            _compare(members[0], member, k)
        stacked = torch.stack([skeleton.flatten(member) for member in members])
        super().__init__(skeleton, rows_of(task_weights, len(members)).to(stacked))
        self.stacked = nn.Parameter(stacked)

    def weights(self, alphas: ByMember) -> Thetas:
        return alphas @ self.stacked

    @property
    def flat(self) -> nn.Parameter:
        return self.stacked


def rows_of(task_weights: ArrayLike | None, num_members: int) -> Tensor:
    """The matrix W [M, T], the identity if None; InputError unless its rows are on the simplex."""
    given = np.eye(num_members) if task_weights is None else task_weights
    shape = as_array(given).shape
    if len(shape) != 2 or shape[0] != num_members or not shape[1]:
        raise InputError(
            f"`task_weights` must be a matrix with {num_members} rows, one per member. "
            f"Found shape {shape}."
        )
    return torch.as_tensor(on_simplex(given, shape[1], name="each row of task_weights"))


def check_kinds(model: nn.Module) -> None:
    """InputError unless `model` has trainable weights, of one real dtype and on one device."""
    trained = [p for p in model.parameters() if p.requires_grad]
    kinds = {f"{p.dtype} on {p.device}" for p in trained}
    if len(kinds) != 1 or not trained[0].is_floating_point():
        raise InputError(
            "Members need trainable weights of one real dtype, on one device. "
            f"Found {', '.join(sorted(kinds)) or 'no trainable weight'}."
        )


def _modules(members: Any, num_members: int | None, architecture: Any) -> list[nn.Module]:
    if isinstance(members, nn.Module) and num_members is not None:
        check_number("num_members", num_members, 1, whole=True)
        return [copied(members) for _ in range(num_members)]
    is_list = isinstance(members, nn.ModuleList | list | tuple)
    if not is_list or not len(members) or num_members is not None:
        raise InputError(
            "`members` must be a list of modules, one per member, or one module to be copied "
            f"`num_members` times. Found {described(members)} and num_members={num_members}."
        )
    modules = [
        module_of(member, architecture, k) if isinstance(member, Mapping | str | Path) else member
        for k, member in enumerate(members)
    ]
    for member in modules:
        check_type("each member", member, nn.Module, "Net()")
    return modules


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
                "Frozen parameters are shared, so members must agree on them. "
                f"Found that {name} of 0 and {k} differ."
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


def _is_defined_again(one: type, other: type) -> bool:
    """Return whether two classes are of one place, as where a notebook's cell has run twice; torch
    and functions make classes anew for each module."""
    places = {(kind.__module__, kind.__qualname__) for kind in (one, other)}
    is_made_anew = one.__module__.startswith("torch.") or "<locals>" in one.__qualname__
    return one is not other and len(places) == 1 and not is_made_anew
