"""The low-rank ensemble: one network, and a small change of it for each member."""

import math
from collections.abc import Iterable
from pathlib import Path

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from pamal_companion.rivals.peft import write_adapters
from pamal_core.ensemble import WeightEnsemble, check_kinds, rows_of
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.network import Network
from pamal_core.shapes import ByMember
from pamal_core.skeleton import Skeleton
from pamal_core.weights import Weights, memory_order, parameter_tree


class LowRankEnsemble(Network):
    r"""One network, and a change of low rank for each member: $\theta(\alpha) = \theta_0 +
    \frac{s}{r} \sum_k \alpha_k B_k A_k$, for every matrix of `model`.

    Hu et al., "LoRA" (ICLR 2022), for one point; Dimitriadis, Frossard and Fleuret, "Pareto
    low-rank adapters" (ICLR 2025), for a front. `base` is $\theta_0$, a parameter for each weight
    under its own name. Member k adds $B_k A_k$ of rank r, times s / r. A starts as Kaiming's
    uniform numbers and B as 0, so that every member starts as `model`.

    - `model`: the network whose weights are $\theta_0$, trained before or not.
    - `num_members`: M.
    - `rank`, `scale`: r and s.
    - `train_base`: whether the base is trained, too. Otherwise it stays as it is to the last bit,
      and an optimiser has moments for the adapters alone.
    - `task_weights`, `shared`: as in a `WeightEnsemble`; whatever takes the one takes the other.

    A kernel [out, in, h, w] is the matrix [out, in * h * w], with $B_k$ [out, rank] and $A_k$
    [rank, in * h * w], whose columns are in the memory order of the kernel: the product needs no
    copy. Weights of one axis (biases, norms) and those that make one row or column (a head of one
    output, a class token) belong to the base, and so to all members. All members of a layer are one
    product, of B [out, M * rank] and A [M * rank, in * h * w]. theta and its gradient are as large
    as the model: this saves optimiser state and files, not activations.

    Raises InputError if `model` has no matrix.
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
        task_weights: ArrayLike | None = None,
        shared: str | Iterable[str] | None = None,
    ) -> None:
        check_type("model", model, nn.Module, "Net()")
        check_number("num_members", num_members, 1, whole=True)
        check_number("rank", rank, 1, whole=True)
        check_number("scale", scale, 0, above=True)
        check_type("train_base", train_base, bool, "True")
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
        adapters: Weights = {}
        for name, (rows, columns) in self.matrices.items():
            A = first.new_empty(num_members, rank, columns)
            for one in A:  # each by itself: the bound is that of one matrix
                nn.init.kaiming_uniform_(one, a=math.sqrt(5))
            adapters |= {f"{name}.A": A, f"{name}.B": first.new_zeros(num_members, rows, rank)}
        self.adapters = parameter_tree(adapters)

    def weights(self, alpha: ByMember) -> Weights:
        factors = alpha[:, None, None] * (self.scaling / self.rank)
        weights: Weights = {}
        for name in self.skeleton.places:
            weight: Tensor = self.base.get_parameter(name)
            if name in self.matrices:
                A, B = self.adapter(name)
                # [out, M * rank], so that the product also sums over the members
                weighted = (factors * B).transpose(0, 1).flatten(1)
                weight = weight + _as_kernel(weighted @ A.flatten(0, 1), weight)
            weights[name] = weight
        return weights

    def adapter(self, name: str) -> tuple[Tensor, Tensor]:
        """Return A [M, rank, columns] and B [M, rows, rank] of the weight `name`."""
        return self.adapters.get_parameter(f"{name}.A"), self.adapters.get_parameter(f"{name}.B")

    @torch.no_grad()
    def export_adapters(self, folder: str | Path) -> None:
        """Write the base as `folder`/base.safetensors, a state dict of the model, and member k as
        `folder`/member_k, an adapter that PEFT loads (`PeftModel.from_pretrained`).

        Adapters of equal weights and "cat" are then theta(alpha): a weight alpha_k for each, with
        `add_weighted_adapter`. PEFT has no words for some matrices, such as the projection of
        torch's attention or an LSTM: InputError names them, before anything is written.
        """
        base = dict(self.base.named_parameters())
        adapters = {name: self.adapter(name) for name in self.matrices}
        members = [
            {name: (_as_kernel(A[k], base[name]), B[k]) for name, (A, B) in adapters.items()}
            for k in range(self.num_members)
        ]
        model = self.skeleton.export({name: base[name] for name in self.skeleton.places})
        write_adapters(Path(folder), model, members, self.rank, float(self.scaling))


MIXTURES = WeightEnsemble, LowRankEnsemble
"""The networks that mix members: the gradient of member k is scaled by alpha_k."""


def _as_kernel(matrix: Tensor, like: Tensor) -> Tensor:
    """Return a view of `matrix` [rows, columns], whose columns are in the memory order of the
    kernel `like` [out, in, ...], as a tensor [rows, in, ...]."""
    order = [0, *(axis for axis in memory_order(like) if axis)]
    inverse = sorted(range(like.ndim), key=order.__getitem__)
    return matrix.view(len(matrix), *(like.shape[axis] for axis in order[1:])).permute(inverse)
