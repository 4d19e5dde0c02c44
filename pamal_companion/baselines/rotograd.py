"""RotoGrad: gradients made alike in length and direction.

The network reads the shared features through a rotation for each task; the balancer trains both.
"""

import copy
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from pamal_core.balancing.base import Balancer, Draw
from pamal_core.errors import InputError
from pamal_core.weights import ByTask, Vector, flatten


class Cut(NamedTuple):
    """What a pass through a `Rotated` leaves behind: the features [n, d, ...], which depend on the
    encoder alone, and per task the rotation [d, d] and the rotated features that the head read,
    which depend on the head alone."""

    features: Tensor
    rotations: list[Tensor]
    rotated: list[Tensor]


class Rotated(nn.Module):
    """A shared encoder, whose head t reads R_t z in place of the features z.

    Javaloy and Valera, "RotoGrad: gradient homogenization in multitask learning" (ICLR 2022),
    section 3.2. R_t = exp(`rate` (A_t - A_t^T)) [d, d] is a rotation of the features' first axis
    after the batch; A_t starts at 0, so R_t at the identity (ours; the paper leaves it open). Under
    Adam the rotations so learn at `rate` times the learning rate: their paper, section 4, wants
    them slower than the network, and a tenth is what the code of PaMaL's authors has.

    Heads and encoder are cut apart: the losses alone give the encoder and the rotations no
    gradient. In training each pass leaves a `cut`, in which `RotoGrad` finds what it
    needs to do so. `example` is a batch of inputs, for the number of features.
    """

    def __init__(self, model: Any, example: Float[Tensor, "n ..."], rate: float = 0.1) -> None:
        super().__init__()
        self.encoder, self.heads = model.encoder, model.heads
        self.rate = rate
        self.cut: Cut | None = None
        with torch.no_grad():
            width = copy.deepcopy(model.encoder).eval()(example).shape[1]
        self.generators = nn.ParameterList(torch.zeros(width, width) for _ in model.heads)

    def forward(self, x: Tensor) -> list[Tensor]:
        features = self.encoder(x)
        rotations = [torch.linalg.matrix_exp(self.rate * (a - a.T)) for a in self.generators]
        fixed = features.detach()
        rotated = [rotate(r.detach(), fixed).requires_grad_() for r in rotations]
        if self.training and torch.is_grad_enabled():
            self.cut = Cut(features, rotations, rotated)
        return [head(z) for head, z in zip(self.heads, rotated, strict=True)]


def rotate(rotation: Float[Tensor, "d d"], features: Float[Tensor, "n d ..."]) -> Tensor:
    """Return R z for every example and, in feature maps, at every place."""
    return torch.einsum("ij,nj...->ni...", rotation, features)


class RotoGrad(Balancer):
    r"""The gradients of the tasks by the shared features get one length, and rotations that make
    them agree.

    Javaloy and Valera, "RotoGrad: gradient homogenization in multitask learning" (ICLR 2022). Let
    $U_t$ be the gradient of loss t by the features $R_t z$ that its head reads, and $G_t = R_t^\top
    U_t$ that by z. The encoder receives $C \sum_t G_t / \|G_t\|$ with $C = \sum_t q_t \|G_t\|$,
    where the $q_t$ sum to 1 and are proportional to $\|G_t\|$ over its value in the first step (Eq.
    5 to 8): the tasks that have converged least set the length. The rotations descend along
    $-\sum_t \langle R_t^\top u_t, v \rangle$ with $u_t = U_t / \|U_t\|$ and v the mean of the $G_t
    / \|G_t\|$, both fixed (Eq. 11). The heads have the plain gradients, weighted by `weights`.

    `model` is the `Rotated` network that the losses come from. One optimiser trains all of it; the
    network's `rate` says how much slower the rotations learn. A gradient of 0 stays 0. A draw costs
    one backward pass, whatever T. Raises InputError with a penalty, which has no place here.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.first: Tensor | None = None

    def direction(self, draw: Draw) -> Vector:
        if draw.penalty is not None:
            raise InputError("RotoGrad takes no penalty. Found one.")
        if (cut := self.model.cut) is None:
            raise InputError(
                "RotoGrad needs losses of its `Rotated` network in training mode. Found others."
            )
        self.model.cut = None
        leaves, total = [*draw.theta.values()], draw.weights @ draw.losses
        found = torch.autograd.grad(total, [*leaves, *cut.rotated], materialize_grads=True)
        heads = found[: len(leaves)]
        gradients = [g.to(total) for g in found[len(leaves) :]]  # bfloat16 under autocast
        norms = torch.stack([torch.linalg.vector_norm(g) for g in gradients])
        units = [g / n.where(n > 0, 1) for g, n in zip(gradients, norms, strict=True)]
        pairs = zip(cut.rotations, units, strict=True)
        pulled = torch.stack([rotate(r.detach().T, u) for r, u in pairs]).sum(0)
        # The slope of -<R_t^T u_t, v> in each rotation, where v is the mean of the pulled units.
        mean = pulled / len(units)
        turns = [-torch.einsum("ni...,nj...->ij", u, mean) for u in units]
        outputs, slopes = [cut.features, *cut.rotations], [self._length(norms) * pulled, *turns]
        rest = torch.autograd.grad(outputs, leaves, slopes, materialize_grads=True)
        return flatten(heads, leaves) + flatten(rest, leaves)

    def _length(self, norms: ByTask) -> Tensor:
        """Return C, the length that all gradients get."""
        # From the CPU, where a file was read. One that was 0, without labels, is yet to come.
        first = norms if self.first is None else self.first.to(norms)
        self.first = first.where(first > 0, norms)
        progress = norms / self.first.where(self.first > 0, 1)
        return progress / progress.sum().clamp_min(1e-30) @ norms

    def state_dict(self) -> dict[str, Any]:
        return {} if self.first is None else {"first": self.first}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.first = state.get("first")
