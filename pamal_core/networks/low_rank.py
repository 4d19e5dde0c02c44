"""The low-rank ensemble: one network, and a small change of it for each member."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from pamal_core.errors import InputError, check_number, check_type
from pamal_core.networks.ensemble import check_kinds, rows_of
from pamal_core.networks.mixture import Mixture
from pamal_core.networks.peft import write_adapters
from pamal_core.networks.skeleton import Skeleton
from pamal_core.shapes import ByMember, Thetas


class LowRankEnsemble(Mixture):
    r"""One network, and a change of low rank for each member: $\theta(\alpha) = \theta_0 +
    \frac{s}{r} \sum_k \alpha_k B_k A_k$, for every matrix of `model`.

    Hu et al., "LoRA" (ICLR 2022), for one point; Dimitriadis, Frossard and Fleuret, "Pareto
    low-rank adapters" (ICLR 2025), for a front. `base` [N] is $\theta_0$. Member k adds $B_k A_k$
    of rank r, times s / r. A starts as Kaiming's uniform numbers and B as 0, so that every member
    starts as `model`.

    - `model`: the network whose weights are $\theta_0$, trained before or not.
    - `num_members`: M.
    - `rank`, `scale`: r and s.
    - `train_base`: whether the base is trained, too. Otherwise it stays as it is to the last bit,
      and an optimiser has moments for the adapters alone.
    - `task_weights`, `shared`, `channels_last`: as in a `WeightEnsemble`; whatever takes the one
      takes the other.

    A kernel [out, in, h, w] is the matrix [out, in * h * w], with $B_k$ [out, rank] and $A_k$
    [rank, in * h * w]. That is the layout of PEFT, and theta keeps kernels so, too: the product
    needs no copy. Weights of one axis (biases, norms) and those that make one row or column (a head
    of one output, a class token) belong to the base, and so to all members. All members of a layer
    are one product, of B [out, M * rank] and A [M * rank, in * h * w]. theta and its gradient are
    as large as the model: this saves optimiser state and files, not activations.

    Raises InputError where `model` has no matrix.
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
        channels_last: bool = True,
    ) -> None:
        check_type("model", model, nn.Module, "Net()")
        check_number("num_members", num_members, 1, whole=True)
        check_number("rank", rank, 1, whole=True)
        check_number("scale", scale, 0, above=True)
        check_type("train_base", train_base, bool, "True")
        check_kinds(model)
        skeleton = Skeleton(model, shared, channels_last=channels_last)
        base = skeleton.flatten(model)
        super().__init__(skeleton, rows_of(task_weights, num_members).to(base))
        self.base = nn.Parameter(base, requires_grad=train_base)
        self.rank, self.scale = int(rank), float(scale)
        # Part of the state: with another scale the same adapters are others.
        self.register_buffer("scaling", base.new_tensor(scale))
        views = skeleton.views(base)
        self._sizes = {name: view.numel() for name, view in views.items()}
        shapes = {name: view.flatten(1).shape for name, view in views.items() if view.ndim > 1}
        self.matrices = {name: shape for name, shape in shapes.items() if min(shape) > 1}
        if not self.matrices:
            raise InputError("`model` must have a matrix, which members can change. Found none.")
        self.A, self.B = nn.ParameterDict(), nn.ParameterDict()
        for name, (rows, columns) in self.matrices.items():
            A = base.new_empty(num_members, rank, columns)
            for one in A:  # each by itself: the bound is that of one matrix
                nn.init.kaiming_uniform_(one, a=math.sqrt(5))
            self.A[_key(name)] = nn.Parameter(A)
            self.B[_key(name)] = nn.Parameter(base.new_zeros(num_members, rows, rank))

    @property
    def flat(self) -> nn.Parameter | None:
        return self.base if self.base.requires_grad else None

    @property
    def settings(self) -> dict[str, Any]:
        own = {"rank": self.rank, "scale": self.scale, "train_base": self.base.requires_grad}
        return super().settings | own

    def _meaning(self) -> dict[str, Tensor]:
        return {**super()._meaning(), "scaling": self.scaling}

    def weights(self, alphas: ByMember) -> Thetas:
        factors = alphas[..., None, None] * (self.scale / self.rank)
        pieces: list[Tensor] = []
        of_base = torch.split(self.base, [*self._sizes.values()])
        for name, piece in zip(self._sizes, of_base, strict=True):
            if name in self.matrices:
                A, B = self.A[_key(name)], self.B[_key(name)]
                # [..., out, M * rank], so that the product also sums over the members
                weighted = (factors * B).transpose(-3, -2).flatten(-2)
                piece = piece + (weighted @ A.flatten(0, 1)).flatten(-2)
            pieces.append(piece.expand(*alphas.shape[:-1], -1))
        return torch.cat(pieces, -1)

    @torch.no_grad()
    def export_adapters(self, folder: str | Path) -> None:
        """Write the base as `folder`/base.safetensors, a state dict of the model, and member k as
        `folder`/member_k, an adapter that PEFT loads (`PeftModel.from_pretrained`).

        Adapters of equal weights and "cat" are then theta(alpha): a weight alpha_k for each, with
        `add_weighted_adapter`. PEFT has no words for some matrices, such as the projection of
        torch's attention or an LSTM: InputError names them, before anything is written.
        """
        members = [
            {
                name: (self.skeleton.rows(name, self.A[_key(name)][k]), self.B[_key(name)][k])
                for name in self.matrices
            }
            for k in range(self.num_members)
        ]
        model = self.skeleton.export(self.base.detach())
        write_adapters(Path(folder), model, members, self.rank, self.scale)


def _key(name: str) -> str:
    """`name` as that of a parameter, which may have no dot."""
    return name.replace(".", "/")
