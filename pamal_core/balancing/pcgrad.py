"""Projecting conflicting gradients."""

import numpy as np
import torch

from pamal_core.balancing.gram import GramBalancer
from pamal_core.weights import Coefficients, Gram


class PCGrad(GramBalancer):
    r"""Each task gradient loses its component along every other gradient that it conflicts with.

    Algorithm 1 of Yu et al., "Gradient surgery for multi-task learning" (NeurIPS 2020). For each
    task t it starts from $g = g_t$ and visits the other tasks s in random order: if $g \cdot g_s
    < 0$ it replaces g by $g - (g \cdot g_s) \, g_s / \|g_s\|^2$. The authors add up the results; we
    weigh them by `weights`. With uniform `weights` the direction is the mean, and without conflicts
    PCGrad is linear scalarisation. The orders come from torch's global generator. There are no
    hyper-parameters.

    A gradient of 0 conflicts with no other, and equal gradients do not conflict. A single task
    keeps its gradient.
    """

    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        projected = np.eye(len(gram))  # a row per g, as coefficients of the original gradients
        for t, g in enumerate(projected):
            for s in torch.randperm(len(gram)).tolist():
                if s != t and (inner := gram[s] @ g) < 0:
                    g[s] -= inner / gram[s, s]
        return weights @ projected
