"""A network that writes the weights of another: Pareto hypernetworks."""

import math

import torch
from torch import nn

from pamal_core.networks.base import Network
from pamal_core.networks.skeleton import Skeleton
from pamal_core.shapes import ByMember, Thetas


class Hypernetwork(Network):
    """theta(alpha) as the output of a perceptron that is given alpha.

    Navon et al., "Learning the Pareto front with hypernetworks" (ICLR 2021), section 4.1: two
    hidden layers of `hidden` = 100 units with ReLU, then one output for each of the N weights of
    `model`, whose own initial weights are not used. alpha has one entry per task.

    For large N, `chunk` weights are written at a time (Ha, Dai and Le, "HyperNetworks", ICLR 2017):
    the input is then alpha joined with a learned vector of `embedding` entries for each of the
    ceil(N / chunk) chunks.
    """

    def __init__(
        self,
        model: nn.Module,
        num_tasks: int,
        *,
        shared: str | None = None,
        hidden: int = 100,
        chunk: int | None = None,
        embedding: int = 64,
    ) -> None:
        skeleton = Skeleton(model, shared)
        outputs = chunk or skeleton.num_weights
        super().__init__(skeleton, torch.eye(num_tasks))
        chunks = math.ceil(skeleton.num_weights / outputs)
        self.embeddings = nn.Parameter(torch.randn(chunks, embedding if chunk else 0))
        self.layers = nn.Sequential(
            nn.Linear(num_tasks + self.embeddings.shape[1], hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, outputs),
        )

    def weights(self, alphas: ByMember) -> Thetas:
        chunks = self.embeddings.expand(*alphas.shape[:-1], *self.embeddings.shape)
        rays = alphas.unsqueeze(-2).expand(*chunks.shape[:-1], -1)
        written = self.layers(torch.cat([rays, chunks], -1))
        return written.flatten(-2)[..., : self.skeleton.num_weights]
