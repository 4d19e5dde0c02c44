"""Uncertainty weighting."""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.balancing.losses import LossBalancer


class UncertaintyWeighting(LossBalancer):
    """Each loss is divided by a learned variance, whose logarithm is paid for.

    Kendall, Gal and Cipolla, "Multi-task learning using uncertainty to weigh losses" (CVPR 2018),
    Eq. 7: sum_t w_t (exp(-s_t) L_t + s_t) / 2, with s_t = log sigma_t^2 (`log_variances`), trained
    with the network by the same optimiser. This is their form for regression; for classification
    exp(-s_t) is not halved in theirs. We use one form for every task, as later benchmarks do.
    Uniform `weights` w_t make a mean of their sum. The s_t start at 0, as in the benchmark code of
    Nash-MTL.

    They stay on the CPU: there are T of them.
    """

    def __init__(self, num_tasks: int) -> None:
        self.log_variances = torch.zeros(num_tasks, requires_grad=True)

    def parameters(self) -> Iterable[Tensor]:
        """s."""
        return [self.log_variances]

    def reweigh(
        self, losses: Float[Tensor, "*batch T"], weights: Float[Tensor, "*batch T"]
    ) -> Float[Tensor, "*batch T"]:
        """w_t exp(-s_t) / 2; adds the gradient of the sum above to that of s."""
        with torch.enable_grad():
            factors = 0.5 * torch.exp(-self.log_variances)
            terms = factors * losses.cpu() + 0.5 * self.log_variances
            torch.autograd.backward((weights.cpu() * terms).sum())
        return weights * factors.detach().to(weights)

    def state_dict(self) -> dict[str, Any]:
        """s; what the optimiser knows of it is in the optimiser's state."""
        return {"log_variances": self.log_variances.detach()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with the s of `state`."""
        with torch.no_grad():
            self.log_variances.copy_(state["log_variances"])
