"""A network whose tasks read the shared features through rotations of their own: RotoGrad."""

import copy
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from pamal_core.errors import InputError
from pamal_core.networks.models import SharedBottom


class Cut(NamedTuple):
    """What a pass through a `Rotated` leaves behind: the features [n, d, ...], which depend on the
    encoder alone, and per task the rotation [d, d] and the rotated features that the head read,
    which depend on the head alone."""

    features: Tensor
    rotations: list[Tensor]
    rotated: list[Tensor]


class Rotated(SharedBottom):
    """A shared bottom whose head t reads R_t z in place of the features z.

    Javaloy and Valera, "RotoGrad: gradient homogenization in multitask learning" (ICLR 2022),
    section 3.2. R_t = exp(`rate` (A_t - A_t^T)) [d, d] is a rotation of the features' first axis
    after the batch; A_t starts at 0, so R_t at the identity (ours; the paper leaves it open). Under
    Adam the rotations so learn at `rate` times the learning rate: their paper, section 4, wants
    them slower than the network, and a tenth is what the code of PaMaL's authors has.

    Heads and encoder are cut apart: the losses alone give the encoder and the rotations no
    gradient. In training each pass leaves a `cut`, in which `balancing.RotoGrad` finds what it
    needs to do so. `example` is a batch of inputs, for the number of features.
    """

    def __init__(
        self, model: nn.Module, example: Float[Tensor, "n ..."], rate: float = 0.1
    ) -> None:
        if not isinstance(model, SharedBottom):
            raise InputError(
                f"RotoGrad needs a `SharedBottom`, an encoder with heads. Found {type(model)}."
            )
        super().__init__(model.encoder, model.heads)
        self.rate = rate
        self.cut: Cut | None = None
        with torch.no_grad():
            width = copy.deepcopy(model.encoder).eval()(example).shape[1]
        self.generators = nn.ParameterList(torch.zeros(width, width) for _ in model.heads)

    def forward(self, x: Tensor) -> list[Tensor]:
        """One output per task."""
        features = self.encoder(x)
        rotations = [torch.linalg.matrix_exp(self.rate * (a - a.T)) for a in self.generators]
        fixed = features.detach()
        rotated = [rotate(r.detach(), fixed).requires_grad_() for r in rotations]
        if self.training and torch.is_grad_enabled():
            self.cut = Cut(features, rotations, rotated)
        return [head(z) for head, z in zip(self.heads, rotated, strict=True)]


def rotate(rotation: Float[Tensor, "d d"], features: Float[Tensor, "n d ..."]) -> Tensor:
    """R z for every example and, in feature maps, at every place."""
    return torch.einsum("ij,nj...->ni...", rotation, features)
