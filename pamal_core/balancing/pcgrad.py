"""Projecting conflicting gradients."""

import numpy as np
import torch
from typing_extensions import override

from pamal_core.balancing.gram import GramBalancer
from pamal_core.shapes import Coefficients, Gram


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

    @override
    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        projected = np.eye(len(gram))  # a row per g, as coefficients of the original gradients
        for t, g in enumerate(projected):
            for s in torch.randperm(len(gram)).tolist():
                if s != t and (inner := gram[s] @ g) < 0:
                    g[s] -= inner / gram[s, s]
        return weights @ projected
