"""The low-rank ensemble: one network, and a small change of it for each member."""

import math
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from pamal_companion.baselines.peft import check_layers, write_adapters
from pamal_companion.data.places import user_path
from pamal_core.ensemble import WeightEnsemble, check_kinds, rows_of
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.network import Network
from pamal_core.skeleton import Skeleton
from pamal_core.weights import ByMember, Weights, laid, memory_order, parameter_tree


class LowRankEnsemble(Network):
    r"""One network, and a change of low rank for each member: $\theta(\alpha) = \theta_0 +
    \frac{s}{r} \sum_k \alpha_k B_k A_k$, for every matrix of `model`.

    Hu et al., "LoRA" (ICLR 2022), for one point; Dimitriadis, Frossard and Fleuret, "Pareto
    low-rank adapters" (ICLR 2025), for a front. `base` is $\theta_0$, a parameter for each weight
    under its own name. `adapters` has A and B of a weight under its name, too, as "NAME.A" and
    "NAME.B". Member k adds $B_k A_k$ of rank r, times s / r. A starts as Kaiming's uniform numbers
    and B as 0, so that every member starts as `model`. The scale s is part of the state dict:
    loading a state dict takes over its scale, because with another scale its adapters are others.

    - `model`: the network whose weights are $\theta_0$, trained before or not.
    - `num_members`: M.
    - `rank`, `scale`: r and s.
    - `train_base`: whether the base is trained, too. Otherwise it stays as it is to the last bit,
      and an optimiser has moments for the adapters alone.
    - `peft`: whether `export_adapters` must be able to write every adapter. If so, a layer that
      PEFT's files cannot hold is refused here, because after the training it would be too late. If
      False, every matrix has an adapter, those of torch's attention, recurrent layers, tied weights
      and convolutions with groups or dilation, too.
    - `task_weights`, `shared`: as in a `WeightEnsemble`; whatever takes the one takes the other.

    A kernel [out, in, h, w] is the matrix [out, in * h * w], with $B_k$ [out, rank] and $A_k$
    [rank, in * h * w]. A is kept as [M, rank, in, h, w] and lies in memory as the kernel does, so
    that the product needs no copy. Weights of one axis (biases, norms) and those that make one row
    or column (a head of one output, a class token) belong to the base, and so to all members. All
    members of a layer are one product, of B [out, M * rank] and A [M * rank, in * h * w]. theta and
    its gradient are as large as the model: this saves optimiser state and files, not activations.

    Raises InputError if `model` has no matrix, and, unless `peft` is False, if it has a matrix that
    PEFT's files cannot hold.
    """

    scaling: Tensor

    def __init__(
        self,
        model: nn.Module,
        num_members: int,
        *,
        rank: int = 4,
        scale: float = 4.0,
        train_base: bool = False,
        peft: bool = True,
        task_weights: ArrayLike | None = None,
        shared: str | Iterable[str] | None = None,
    ) -> None:
        check_type("model", model, nn.Module, "Net()")
        check_number("num_members", num_members, 1, whole=True)
        check_number("rank", rank, 1, whole=True)
        check_number("scale", scale, 0, above=True)
        check_type("train_base", train_base, bool, "True")
        check_type("peft", peft, bool, "False")
        check_kinds(model)
        skeleton = Skeleton(model, shared)
        weights = {n: model.get_parameter(n).detach().clone() for n in skeleton.places}
        first = next(iter(weights.values()))
        super().__init__(skeleton, rows_of(task_weights, num_members).to(first))
        self.base = parameter_tree(weights).requires_grad_(train_base)
        self.rank = int(rank)
        # Part of the state: with another scale the same adapters are others.
        self.register_buffer("scaling", first.new_tensor(scale))
        shapes = {n: weight.flatten(1).shape for n, weight in weights.items() if weight.ndim > 1}
        self.matrices = {name: shape for name, shape in shapes.items() if min(shape) > 1}
        if not self.matrices:
            raise InputError("`model` must have a matrix, which members can change. Found none.")
        if peft:
            check_layers(model, self.matrices)
        adapters: Weights = {}
        for name, (rows, columns) in self.matrices.items():
            A = first.new_empty(num_members, rank, columns)
            for one in A:  # each by itself: the bound is that of one matrix
                nn.init.kaiming_uniform_(one, a=math.sqrt(5))
            adapters[f"{name}.A"] = _as_kernels(A, weights[name])
            adapters[f"{name}.B"] = first.new_zeros(num_members, rows, rank)
        self.adapters = parameter_tree(adapters)

    def weights(self, alpha: ByMember) -> Weights:
        factors = alpha[:, None, None] * (self.scaling / self.rank)
        weights: Weights = {}
        for name in self.skeleton.places:
            weight: Tensor = attrgetter(name)(self.base)
            if name in self.matrices:
                A, B = self.adapter(name)
                # [out, M * rank], so that the product also sums over the members
                weighted = (factors * B).transpose(0, 1).flatten(1)
                change = _as_kernels(weighted @ _as_rows(A, weight).flatten(0, 1), weight)
                # As vectors, because torch lays the sum of two kernels of one channel in its usual
                # format, whatever theirs is, and convolutions then have other bits.
                order = memory_order(weight)
                first, second = (part.permute(order).flatten() for part in (weight, change))
                weight = laid(first + second, weight)
            weights[name] = weight
        return weights

    def adapter(self, name: str) -> tuple[Tensor, Tensor]:
        """Return A [M, rank, in, ...] and B [M, out, rank] of the weight `name` [out, in, ...]."""
        # `get_parameter` would refuse the tensors that `torch.func.functional_call` puts there.
        both: tuple[Tensor, Tensor] = attrgetter(f"{name}.A", f"{name}.B")(self.adapters)
        return both

    @torch.no_grad()
    def export_adapters(self, folder: str | Path) -> None:
        """Write the base as `folder`/base.safetensors, a state dict of the model, and member k as
        `folder`/member_k, an adapter that PEFT loads (`PeftModel.from_pretrained`).

        Adapters of equal weights and "cat" are then theta(alpha): a weight alpha_k for each, with
        `add_weighted_adapter`.

        Raises InputError, before anything is written, if PEFT's files cannot hold the adapter of a
        layer. An ensemble that was made without `peft=False` has no such layer.
        """
        adapters = {name: self.adapter(name) for name in self.matrices}
        members = [
            {name: (A[k], B[k]) for name, (A, B) in adapters.items()}
            for k in range(self.num_members)
        ]
        base: Weights = {name: self.base.get_parameter(name) for name in self.skeleton.places}
        model = self.skeleton.export(base)
        write_adapters(user_path(folder, "folder"), model, members, self.rank, float(self.scaling))


MIXTURES = WeightEnsemble, LowRankEnsemble
"""The networks that mix members: the gradient of member k is scaled by alpha_k."""


def _inner_order(like: Tensor) -> list[int]:
    """Return the axes of `like` but the first, from the outermost in memory to the innermost."""
    return [axis for axis in memory_order(like) if axis]


def _as_kernels(rows: Tensor, like: Tensor) -> Tensor:
    """Return a view of `rows` [..., columns] as kernels [..., in, h, w] that lie in memory as those
    of `like` [out, in, h, w] do."""
    order, leading = _inner_order(like), rows.shape[:-1]
    axes = [len(leading) + order.index(axis) for axis in range(1, like.ndim)]
    kernels = rows.view(*leading, *(like.shape[axis] for axis in order))
    return kernels.permute(*range(len(leading)), *axes)


def _as_rows(kernels: Tensor, like: Tensor) -> Tensor:
    """Return `kernels` [M, rank, in, h, w] as rows [M, rank, columns], the columns in the order in
    which the numbers of a kernel of `like` [out, in, h, w] lie in memory."""
    return kernels.permute(0, 1, *(1 + axis for axis in _inner_order(like))).flatten(2)
