"""Gradient sign dropout."""

import torch

from pamal_core.balancing.gradients import GradientBalancer
from pamal_core.shapes import ByTask, Direction, Jacobian

CHUNK = 2**16
"""Entries that are dealt with at once: all of a large network's would be fetched ten times."""


class GradDrop(GradientBalancer):
    r"""At each weight the gradients of one sign are kept: positive or negative is drawn by how far
    that sign prevails.

    Algorithm 1 of Chen et al., "Just pick a sign" (NeurIPS 2020). The purity of Eq. 1 is $P =
    \frac{1}{2} \left( 1 + \sum_t g_t / \sum_t |g_t| \right)$ at each entry. With U uniform in [0,
    1] the positive entries stay where $P > U$ and the negative ones where $P < U$, and what stays
    is added up. Leak 0 and f the identity are their defaults.

    They mask the gradient at the activations that the heads share; we mask that at the shared
    weights, as the benchmark code of CAGrad does. The rows are $w_t g_t$, so that uniform `weights`
    give the mean over tasks in place of their sum. U comes from torch's global generator.

    Where all gradients are 0 the direction is 0. Equal gradients, and a single one, stay as they
    are.
    """

    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        return torch.cat([_keep(part, weights) for part in torch.split(jacobian, CHUNK, -1)], -1)


def _keep(jacobian: Jacobian, weights: ByTask) -> Direction:
    rows = weights.unsqueeze(-1) * jacobian
    above, below = rows.clamp(min=0).sum(-2), rows.clamp(max=0).sum(-2)
    # U < P, where P = above / (above - below).
    positive = torch.rand_like(above) * (above - below) < above
    # Products, not a choice: NaN or infinity times 0 is NaN.
    return above * positive + below * ~positive
