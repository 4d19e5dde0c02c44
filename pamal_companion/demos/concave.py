"""A front in closed form that bends the wrong way, and what training with each weighting finds."""

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn

from pamal_core.balancing import Balancer
from pamal_core.ensemble import WeightEnsemble
from pamal_core.method import Method
from pamal_core.simplex import lattice
from pamal_core.tasks import Task
from pamal_core.training import train

TARGETS = np.array([[1.0, 0.0], [-1.0, 0.0]])
"""The point at which each loss is 0."""
STEPS = 300


def losses(theta: Float[Array, "*batch 2"]) -> Float[Array, "*batch 2"]:
    """Return 1 - exp(-|theta - c_t|^2) for both targets c_t: Fonseca and Fleming's problem
    (1995)."""
    return 1 - np.exp(-((theta[..., None, :] - TARGETS) ** 2).sum(-1))


def exact(num_points: int = 201) -> Float[Array, "P 2"]:
    """Return the Pareto front: the losses on the segment between the targets. It is concave: no
    point but its ends has the least weighted sum of losses, whatever the weights."""
    return losses(lattice(2, num_points) @ TARGETS)


def trained(balancer: Balancer, *, alpha: float | None = None) -> WeightEnsemble:
    """Return PaMaL from two points near the origin, with `balancer` and seed 0; or for one `alpha`
    a single network with these task weights."""
    torch.manual_seed(0)
    rows = np.eye(2) if alpha is None else np.array([[alpha, 1 - alpha]])
    network = WeightEnsemble([Point() for _ in rows], task_weights=rows)
    batches = [(torch.zeros(1), *torch.tensor(TARGETS, dtype=torch.float32)[:, None])] * STEPS
    method = Method(network, [Task(name, loss, ()) for name in "01"], balancer=balancer)
    # Adam's rate is that of two members, and of one network.
    train(method, batches, epochs=1, lr=2e-2 * len(rows), seed=0, progress=False)
    return network


@torch.no_grad()
def found(network: WeightEnsemble, num_points: int = 11) -> Float[Array, "P 2"]:
    """Return the losses at so many alphas of an ensemble of two, or of the single network."""
    thetas = [network.theta(alpha)["theta"] for alpha in lattice(network.num_members, num_points)]
    return losses(torch.stack(thetas).double().numpy())


class Point(nn.Module):
    """A network that is its two weights, whatever it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.theta = nn.Parameter(0.3 * torch.randn(2))

    def forward(self, x: Tensor) -> list[Tensor]:
        return [self.theta[None]] * 2


def loss(theta: Tensor, target: Tensor) -> Tensor:
    """Return `losses` of one target, for training."""
    return 1 - torch.exp(-(theta - target).square().sum())
