"""Smooth Tchebycheff scalarisation, which finds the points of a concave front, too."""

from collections.abc import Sequence

import torch

from pamal_core.balancing.losses import LossBalancer
from pamal_core.errors import check_number
from pamal_core.simplex import as_array
from pamal_core.weights import ByTask


class SmoothTchebycheff(LossBalancer):
    r"""The smooth maximum of the weighted losses: $\mu \log \sum_t \exp(w_t (L_t - z_t) / \mu)$.

    Lin et al., "Smooth Tchebycheff scalarization for multi-objective optimization" (ICML 2024), Eq.
    10. Its gradient is that of the losses with weights $w_t s_t$, where s is the softmax of $w (L -
    z) / \mu$: the task that lags by its weight counts most. For small `mu` it is Tchebycheff's
    maximum, whose minimum may lie on any part of a front. Linear weights find only the ends of a
    concave part.

    - `mu`: how smooth the maximum is, in the unit of the losses, which should have like scales.
    - `ideal`: z, the losses that no point surpasses: 0 by default, or one number per task.
    """

    def __init__(self, mu: float = 0.1, ideal: float | Sequence[float] = 0.0) -> None:
        check_number("mu", mu, 0, above=True)
        self.mu, self.ideal = mu, as_array(ideal).ravel().tolist()

    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        ideal = torch.as_tensor(self.ideal).to(losses, non_blocking=True)
        return weights * torch.softmax(weights * (losses - ideal) / self.mu, -1)
