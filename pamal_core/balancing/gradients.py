"""Balancers that combine the task gradients."""

from abc import abstractmethod
from typing import Literal

import torch

from pamal_core.balancing.base import Balancer, Draw
from pamal_core.errors import check_choice
from pamal_core.shapes import ByMember, ByTask, Direction, Jacobian, Theta


class GradientBalancer(Balancer):
    """Combines the T task gradients, the rows of the Jacobian, into one direction on the shared
    weights, as the paper prescribes. The heads keep the plain task weights."""

    @abstractmethod
    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        """Return the direction [S] for `jacobian` [T, S], whose rows are the gradients of the tasks
        by S weights, and the task weights [T] of the draw."""

    def direction(self, draw: Draw) -> Theta:
        jacobian = torch.stack(draw.gradients())
        shared = self.combine(jacobian[:, : draw.num_shared], draw.weights)
        direction = torch.cat([shared, draw.weights @ jacobian[:, draw.num_shared :]])
        return direction if draw.penalty is None else direction + draw.penalty @ jacobian


class UnitNorm(GradientBalancer):
    r"""Gradient balancing of section 4.2: every task gradient is scaled to unit l2 norm and then
    weighted, $\sum_t w_t g_t / \|g_t\|$. A gradient of norm 0 stays 0.

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

    def direction(self, draw: Draw) -> Theta:
        if self.form == "paper":
            return super().direction(draw)
        jacobian = torch.stack(draw.gradients())
        norms = self._norms(jacobian[:, : draw.num_shared], draw.alpha)
        return draw.penalised(draw.weights / norms) @ jacobian

    def _norms(self, jacobian: Jacobian, alpha: ByMember) -> ByTask:
        norms = torch.linalg.vector_norm(jacobian, dim=-1)
        if self.form == "released":
            return norms * torch.linalg.vector_norm(alpha, dim=-1, keepdim=True) + 1e-3
        return norms.where(norms > 0, 1)
