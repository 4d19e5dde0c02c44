"""Uncertainty weighting."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from pamal_core.balancing.losses import LossBalancer
from pamal_core.errors import InputError, check_number
from pamal_core.weights import ByTask


class UncertaintyWeighting(LossBalancer):
    r"""Divides each loss by a learned variance, and adds the logarithm of the variance.

    Kendall, Gal and Cipolla, "Multi-task learning using uncertainty to weigh losses" (CVPR 2018),
    Eq. 7: $\sum_t w_t (e^{-s_t} L_t + s_t) / 2$. The optimiser trains $s_t = \log \sigma_t^2$
    (`log_variances`, [T]) with the network; they start at 0, as in the benchmark code of Nash-MTL.
    Eq. 7 is the authors' form for regression; for classification they do not halve $e^{-s_t}$. We
    use one form for every task, as later benchmarks do. Uniform `weights` $w_t$ give the mean over
    tasks, not the sum.

    The $s_t$ stay on the CPU, as there are only T of them. A loss of exactly 0, such as the loss of
    a batch without labels, leaves its $s_t$ as it is. Raises InputError if `num_tasks` is not the
    number of tasks of the method.
    """

    def __init__(self, num_tasks: int) -> None:
        check_number("num_tasks", num_tasks, 1, whole=True)
        self.log_variances = torch.zeros(num_tasks, requires_grad=True)

    def parameters(self) -> Iterable[Tensor]:
        return [self.log_variances]

    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        """Return w_t exp(-s_t) / 2, and add to the `.grad` of s the gradient of the sum above."""
        if len(self.log_variances) != losses.shape[-1]:
            raise InputError(
                f"`num_tasks` must be that of the method, {losses.shape[-1]}. "
                f"Found num_tasks={len(self.log_variances)}."
            )
        with torch.enable_grad():
            factors = 0.5 * torch.exp(-self.log_variances)
            terms = factors * losses.cpu() + 0.5 * self.log_variances
            torch.autograd.backward((weights.cpu() * terms * (losses != 0).cpu()).sum())
        return weights * factors.detach().to(weights)

    def state_dict(self) -> dict[str, Any]:
        return {"log_variances": self.log_variances.detach()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            self.log_variances.copy_(state["log_variances"])
