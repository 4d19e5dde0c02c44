"""Random loss weighting."""

import torch

from pamal_core.balancing.losses import LossBalancer
from pamal_core.shapes import ByTask


class RandomWeighting(LossBalancer):
    r"""Draws the weights of the losses at random at each step.

    Lin et al., "Reasonable effectiveness of random weighting" (TMLR 2022): $\mathrm{softmax}(z)$
    with $z \sim N(0, 1)^T$, their default distribution. We multiply `weights` by $T \,
    \mathrm{softmax}(z)$. With uniform `weights`, 1 / T, the result is the authors' softmax. z comes
    from torch's global generator, which the training loop seeds at every epoch.
    """

    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        draws = torch.softmax(torch.randn(losses.shape), -1).to(weights, non_blocking=True)
        return weights * losses.shape[-1] * draws
