"""The aggregators of TorchJD as balancers."""

from collections.abc import Callable

import torch
from torch import Tensor

from pamal_core.balancing.gradients import GradientBalancer
from pamal_core.errors import InputError
from pamal_core.shapes import ByTask, Direction, Jacobian


class Aggregated(GradientBalancer):
    """An aggregator of TorchJD (0.18 or later) as a balancer, such as UPGrad, AlignedMTL or ConFIG
    of `torchjd.aggregation`: it combines the task gradients on the shared weights.

    Quinton and Rey, "Jacobian descent for multi-objective optimization" (2024). `aggregator` makes
    one vector [S] of a Jacobian [T, S]. If it has a `pref_vector`, this is set to the `weights` of
    each draw; otherwise the rows are $w_t g_t$. The heads keep the plain `weights`.

    If the Jacobian is not finite, the direction is NaN. Raises InputError if the aggregator has a
    preference of its own, or a memory (a `reset`), which the state of a training would lack.
    """

    def __init__(self, aggregator: Callable[[Tensor], Tensor]) -> None:
        has_another = getattr(aggregator, "pref_vector", None) is not None
        if has_another or hasattr(aggregator, "reset"):
            raise InputError(
                "`aggregator` must have no preference of its own, as alpha is that of each draw, "
                f"and no memory between steps. Found {type(aggregator).__name__} with one."
            )
        self.aggregator = aggregator

    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        if not jacobian.isfinite().all():  # on which solvers raise errors of their own
            return torch.full_like(jacobian[0], torch.nan)
        if hasattr(self.aggregator, "pref_vector"):
            self.aggregator.pref_vector = weights
        else:
            jacobian = weights.unsqueeze(-1) * jacobian
        return self.aggregator(jacobian)
