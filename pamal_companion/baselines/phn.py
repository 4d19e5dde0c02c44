"""A network that writes the weights of another: Pareto hypernetworks."""

import math
import os
from itertools import pairwise

import torch
from torch import nn

from pamal_core.errors import InputError
from pamal_core.network import Network
from pamal_core.skeleton import Skeleton
from pamal_core.weights import ByMember, Weights, unflatten


class Hypernetwork(Network):
    """theta(alpha) as the output of a perceptron that is given alpha.

    Navon et al., "Learning the Pareto front with hypernetworks" (ICLR 2021), section 4.1: two
    hidden layers of `hidden` = 100 units with ReLU, then one output for each of the N weights of
    `model`, whose own initial weights are not used. alpha has one entry per task.

    For large N, `chunk` weights are written at a time (Ha, Dai and Le, "HyperNetworks", ICLR 2017):
    the input is then alpha joined with a learned vector of `embedding` entries for each of the
    ceil(N / chunk) chunks. With `depth` there are other hidden layers than two: the code of PaMaL's
    authors has three.

    Raises InputError, before anything is allocated, where training would not fit into half of the
    main memory: four numbers for each parameter, as Adam keeps two besides the gradient.
    """

    def __init__(
        self,
        model: nn.Module,
        num_tasks: int,
        *,
        shared: str | None = None,
        hidden: int = 100,
        depth: int = 2,
        chunk: int | None = None,
        embedding: int = 64,
    ) -> None:
        skeleton = Skeleton(model, shared)
        outputs = chunk or skeleton.num_weights
        parameters, available = (hidden + 1) * outputs, main_memory()
        needed = 4 * 4 * parameters
        if available is not None and needed > available / 2:
            raise InputError(
                f"A hypernetwork for {skeleton.num_weights:,} weights with chunk={chunk} has "
                f"{parameters:,} parameters and needs {needed / 2**30:.1f} GiB to train, more than "
                f"half of the {available / 2**30:.1f} GiB of this machine. Give a smaller `chunk`, "
                "such as 10000."
            )
        super().__init__(skeleton, torch.eye(num_tasks))
        chunks = math.ceil(skeleton.num_weights / outputs)
        self.embeddings = nn.Parameter(torch.randn(chunks, embedding if chunk else 0))
        widths = [num_tasks + self.embeddings.shape[1], *[hidden] * depth]
        layers: list[nn.Module] = []
        for inputs, units in pairwise(widths):
            layers += [nn.Linear(inputs, units), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, outputs))

    def weights(self, alpha: ByMember) -> Weights:
        rays = alpha.expand(len(self.embeddings), -1)
        written = self.layers(torch.cat([rays, self.embeddings], -1)).flatten()
        like = self.skeleton.like
        pieces = unflatten(written[: self.skeleton.num_weights], [*like.values()])
        return dict(zip(like, pieces, strict=True))


def main_memory() -> int | None:
    """Return the bytes of this machine's main memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
