"""Balancers that combine the task gradients."""

from abc import abstractmethod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.balancing.base import Balancer
from pamal_core.errors import check_choice


class GradientBalancer(Balancer):
    """Combines the T task gradients, the rows of the Jacobian, into one direction.

    By default it is given the columns of the shared weights alone, as the paper prescribes, and the
    heads keep the plain weights; with `whole = True` it is given every column.
    """

    whole: bool = False

    @abstractmethod
    def combine(
        self, jacobian: Float[Tensor, "*batch T S"], weights: Float[Tensor, "*batch T"]
    ) -> Float[Tensor, "*batch S"]:
        """The direction for the columns of `jacobian`."""

    def direction(
        self,
        losses: Float[Tensor, " T"],
        theta: Float[Tensor, " N"],
        weights: Float[Tensor, " T"],
        penalty: Float[Tensor, " T"] | None,
        num_shared: int,
    ) -> Float[Tensor, " N"]:
        """The combined gradients on the shared weights, the weighted ones on the heads."""
        jacobian = torch.stack(task_gradients(losses, theta))
        split = jacobian.shape[1] if self.whole else num_shared
        shared = self.combine(jacobian[:, :split], weights)
        direction = torch.cat([shared, weights @ jacobian[:, split:]])
        return direction if penalty is None else direction + penalty @ jacobian


def task_gradients(losses: Float[Tensor, " T"], theta: Float[Tensor, " N"]) -> list[Tensor]:
    """The gradient [N] of each loss by `theta`, the rows of the Jacobian: T backward passes."""
    return [torch.autograd.grad(loss, theta, retain_graph=True)[0] for loss in losses]


class UnitNorm(GradientBalancer):
    """Gradient balancing of section 4.2: every task gradient is scaled to unit l2 norm, then
    weighted.

    `form="paper"` does so on the shared weights. `form="released"` follows the authors' code: the
    whole loss is divided by the norm of its gradient with respect to *all* members' weights (heads
    too) plus 1e-3; that norm is ||alpha|| * ||g_t||, since the gradient of member k is alpha_k g_t.
    A gradient of norm 0 stays 0.
    """

    def __init__(self, form: Literal["paper", "released"] = "paper") -> None:
        check_choice("form", form, ("paper", "released"))
        self.whole = form == "released"

    def combine(
        self, jacobian: Float[Tensor, "*batch T S"], weights: Float[Tensor, "*batch T"]
    ) -> Float[Tensor, "*batch S"]:
        """sum_t w_t g_t / ||g_t||."""
        norms = torch.linalg.vector_norm(jacobian, dim=-1)
        if self.whole:
            norms = norms * torch.linalg.vector_norm(weights, dim=-1, keepdim=True) + 1e-3
        scaled = weights / norms.where(norms > 0, 1)
        return (scaled.unsqueeze(-2) @ jacobian).squeeze(-2)
