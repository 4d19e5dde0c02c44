"""Balancers that combine the task gradients."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from pamal_core.balancing.base import Balancer, Draw, check_result
from pamal_core.errors import InputError, check_choice
from pamal_core.weights import ByMember, ByTask, Direction, Jacobian, Vector


class GradientBalancer(Balancer):
    """Combines the T task gradients, the rows of the Jacobian, into one direction on the shared
    weights, as the paper prescribes. The heads keep the plain task weights."""

    @abstractmethod
    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        """Return the direction [S] for `jacobian` [T, S], whose rows are the gradients of the tasks
        by S weights, and the task weights [T] of the draw."""

    def direction(self, draw: Draw) -> Vector:
        jacobian = torch.stack(draw.gradients())
        shared = self.combine(jacobian[:, : draw.num_shared], draw.weights)
        check_result(self.combine, "one direction", shared, draw.num_shared)
        direction = torch.cat([shared, draw.weights @ jacobian[:, draw.num_shared :]])
        return direction if draw.penalty is None else direction + draw.penalty @ jacobian


class UnitNorm(GradientBalancer):
    r"""Gradient balancing of section 4.2: every task gradient is scaled to unit l2 norm and then
    weighted, $\sum_t w_t g_t / \|g_t\|$. A gradient of norm 0 stays 0. Squares are summed in
    the dtype of the weights: in float32 an entry below 4e-23 counts as 0, and a norm above 1.8e19
    overflows, so that the direction is NaN.

    - `form`: "paper" scales the gradients on the shared weights; the heads keep the plain weights.
      "released" follows the authors' code, which divides the whole loss of a task, and so the
      gradient of its head, by $\|\alpha\| \|g_t\| + 0.001$, with $g_t$ the gradient by the shared
      entries of theta. Since the gradient of member k is $\alpha_k g_t$, the divisor is the norm of
      the gradient by the shared weights of all members plus 0.001.
    """

    def __init__(self, form: Literal["paper", "released"] = "paper") -> None:
        check_choice("form", form, ("paper", "released"))
        self.form = form

    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        r"""Return $\sum_t w_t g_t / \|g_t\|$ for the rows $g_t$ of `jacobian`. The released form
        takes `weights` for alpha, which they are if W is the identity."""
        scaled = weights / self._norms(jacobian, weights)
        return (scaled.unsqueeze(-2) @ jacobian).squeeze(-2)

    def direction(self, draw: Draw) -> Vector:
        if self.form == "paper":
            return super().direction(draw)
        jacobian = torch.stack(draw.gradients())
        norms = self._norms(jacobian[:, : draw.num_shared], draw.alpha)
        return draw.penalised(draw.weights / norms) @ jacobian

    def _norms(self, jacobian: Jacobian, alpha: ByMember) -> ByTask:
        norms = torch.linalg.vector_norm(jacobian, dim=-1)
        norms = norms.where(norms.isfinite(), torch.nan)  # or the task would be dropped in silence
        if self.form == "released":
            return norms * torch.linalg.vector_norm(alpha, dim=-1, keepdim=True) + 1e-3
        return norms.where(norms != 0, 1)


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
