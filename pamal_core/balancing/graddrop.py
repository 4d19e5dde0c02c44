"""Gradient sign dropout."""

import torch

from pamal_core.balancing.gradients import GradientBalancer
from pamal_core.weights import ByTask, Direction, Jacobian

CHUNK = 2**16
"""Number of entries handled at once: more would be read from main memory ten times."""


class GradDrop(GradientBalancer):
    r"""Keeps the gradients of one sign at each weight. The sign is drawn, and the more it prevails
    the more likely it is.

    Algorithm 1 of Chen et al., "Just pick a sign" (NeurIPS 2020). The purity of Eq. 1 is $P =
    \frac{1}{2} \left( 1 + \sum_t g_t / \sum_t |g_t| \right)$ at each entry. With U uniform in [0,
    1], the positive entries stay if $P > U$ and the negative entries if $P < U$. The direction is
    the sum of the entries that stay. Leak 0 and f the identity are the authors' defaults.

    The authors mask the gradient at the activations that the heads share. We mask the gradient at
    the shared weights, as the benchmark code of CAGrad does. The rows are $w_t g_t$, so that
    uniform `weights` give the mean over tasks, not the sum. U comes from torch's global generator.

    If all gradients are 0, the direction is 0. Equal gradients, and a single gradient, stay as they
    are.
    """

    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        return torch.cat([_keep(part, weights) for part in torch.split(jacobian, CHUNK, -1)], -1)


def _keep(jacobian: Jacobian, weights: ByTask) -> Direction:
    rows = weights.unsqueeze(-1) * jacobian
    above, below = rows.clamp(min=0).sum(-2), rows.clamp(max=0).sum(-2)
    # U < P with P = above / (above - below).
    positive = torch.rand_like(above) * (above - below) < above
    # Products, not `where`: NaN or infinity times 0 is NaN, so that neither is lost.
    return above * positive + below * ~positive
