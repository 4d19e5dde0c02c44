"""Exact Pareto optimality: descent towards the point of the front on a given ray."""

import numpy as np
import torch
from scipy.optimize import linprog

from pamal_core.balancing.base import Balancer, Draw
from pamal_core.weights import Coefficients, Gram, Vector

BALANCED = 1e-4
"""The non-uniformity below which losses count as on the ray, as in the authors' code."""


class EPO(Balancer):
    r"""A convex combination of the task gradients that leads to the point of the front where $w_1
    L_1 = \dots = w_T L_T$.

    Mahapatra and Rajan, "Multi-task learning with user preferences: gradient descent with
    controlled ascent in Pareto optimization" (ICML 2020), Eq. 24, as the solver of Pareto
    hypernetworks. The preference w are the `weights`, there alpha. Off this ray it makes the $w_t
    L_t$ more equal and lets no task get worse but those that are too good; on the ray it descends
    on all. The gradients are those by all of theta, as in Algorithm 1 of Navon et al. (ICLR 2021);
    their code takes those by the weights of the hypernetwork. Losses must not be negative. There
    are no hyper-parameters. Where gradients leave no choice, they are weighted by `weights`. As
    published, the rule can run into an end of the front from behind and stay there.
    """

    def direction(self, draw: Draw) -> Vector:
        jacobian = torch.stack(draw.gradients())
        gram = (jacobian @ jacobian.T).double().cpu().numpy()
        if not np.isfinite(gram).all():
            return torch.full_like(jacobian[0], torch.nan)
        losses, weights = (v.detach().double().cpu().numpy() for v in (draw.losses, draw.weights))
        found = torch.from_numpy(solve(losses, gram, weights)).to(draw.weights)
        return draw.penalised(found) @ jacobian


def solve(losses: Coefficients, gram: Gram, preference: Coefficients) -> Coefficients:
    """Return the b on the simplex that multiplies the gradients, whose inner products are `gram`.

    A task without preference or without loss is left out.
    """
    shares, scale = preference * losses, gram.diagonal().max()
    kept = shares > 0
    if scale == 0 or not kept.any():
        return preference
    if not kept.all():
        found = np.zeros_like(shares)
        found[kept] = solve(losses[kept], gram[np.ix_(kept, kept)], preference[kept])
        return found
    gram, shares = gram / scale, shares / shares.sum()
    logs = np.log(shares * len(shares))
    non_uniformity = shares @ logs  # Kullback-Leibler divergence of the shares from 1/T
    bounds = np.zeros(len(gram))
    if non_uniformity > BALANCED:
        adjustment = preference * (logs - non_uniformity)
        gains = gram @ adjustment
        if (gains > 0).any():
            bounds = np.where(gains > 0, -np.inf, gains)
            bounds[shares == shares.max()] = 0
    else:
        gains = gram.sum(1)
    # The b on the simplex with the largest b . gains subject to gram b >= bounds.
    kept = np.isfinite(bounds)
    simplex = {"A_eq": np.ones((1, len(gains))), "b_eq": [1.0], "bounds": (0, 1)}
    result = linprog(-gains, A_ub=-gram[kept], b_ub=-bounds[kept], **simplex)
    return result.x if result.success else preference
