"""Projecting conflicting gradients."""

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array

from pamal_core.balancing.gram import GramBalancer


class PCGrad(GramBalancer):
    """Each task gradient loses its component along every other one that it conflicts with, in
    random order.

    Algorithm 1 of Yu et al., "Gradient surgery for multi-task learning" (NeurIPS 2020): for each t,
    over the other tasks s in random order, g <- g - (g . g_s) / ||g_s||^2 g_s where g . g_s < 0,
    starting from g = g_t. They add up the results; we take their sum weighted by `weights`, which
    is the mean where those are uniform, so that without conflicts it is linear scalarisation. The
    orders come from torch's global generator. It has no hyper-parameters.

    A gradient of 0 conflicts with nothing, nor do equal ones. One task keeps its gradient.
    """

    def solve(self, gram: Float[Array, "T T"], weights: Float[Array, " T"]) -> Float[Array, " T"]:
        """The weights after projection: g is kept as the coefficients of the original gradients."""
        projected = np.eye(len(gram))
        for t, g in enumerate(projected):
            for s in torch.randperm(len(gram)).tolist():
                if s != t and (inner := gram[s] @ g) < 0:
                    g[s] -= inner / gram[s, s]
        return weights @ projected
