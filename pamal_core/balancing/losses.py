"""Balancers that reweigh the losses."""

from abc import abstractmethod
from collections import deque
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.balancing.base import Balancer
from pamal_core.errors import InputError, check_choice


class LossBalancer(Balancer):
    """Turns task weights and current losses into the weights that multiply the losses."""

    @abstractmethod
    def reweigh(
        self, losses: Float[Tensor, "*batch T"], weights: Float[Tensor, "*batch T"]
    ) -> Float[Tensor, "*batch T"]:
        """The weights in place of `weights`. `losses` carry no gradient; called once per draw."""

    def direction(
        self,
        losses: Float[Tensor, " T"],
        theta: Float[Tensor, " N"],
        weights: Float[Tensor, " T"],
        penalty: Float[Tensor, " T"] | None,
        num_shared: int,
    ) -> Float[Tensor, " N"]:
        """The gradient of the reweighed sum of losses: one backward pass."""
        weights = self.reweigh(losses.detach(), weights)
        if penalty is not None:
            weights = weights + penalty
        return torch.autograd.grad(weights @ losses, theta)[0]


class Linear(LossBalancer):
    """Linear scalarisation: the losses are weighted by alpha^T W as they are (Eq. 2)."""

    def reweigh(
        self, losses: Float[Tensor, "*batch T"], weights: Float[Tensor, "*batch T"]
    ) -> Float[Tensor, "*batch T"]:
        """`weights`, unchanged."""
        return weights


class MovingAverage(LossBalancer):
    """Loss balancing of section 4.2: each loss is divided by its average over the last steps.

    `history` counts draws: with a window of W it spans history / W steps. `form="paper"` divides by
    abs(mean); the absolute value is ours, since a mean may be negative (it is on the toy problem,
    where it would turn descent into ascent). `form="released"` multiplies by
    1 - abs(mean_t) / sum_t abs(mean_t), as the authors' code does. Until `history` losses have been
    seen the mean runs over those there are. A loss whose mean is 0 keeps its weight.
    """

    def __init__(self, history: int = 25, form: Literal["paper", "released"] = "paper") -> None:
        check_choice("form", form, ("paper", "released"))
        if history < 1:
            raise InputError(f"`history` must be at least 1. Found {history}.")
        self.form = form
        self.past: deque[Tensor] = deque(maxlen=history)

    def reweigh(
        self, losses: Float[Tensor, "*batch T"], weights: Float[Tensor, "*batch T"]
    ) -> Float[Tensor, "*batch T"]:
        """`weights` over abs(mean of the past losses), these included."""
        self.past.append(losses.detach().clone())
        mean = torch.stack([past.to(losses) for past in self.past]).mean(0).abs()
        if self.form == "released":
            total = mean.sum(-1, keepdim=True)
            return weights * (1 - mean / total.where(total > 0, 1))
        return weights / mean.where(mean > 0, 1)

    def state_dict(self) -> dict[str, Any]:
        """The losses that the mean runs over."""
        return {"past": list(self.past)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with the losses of `state`."""
        self.past.clear()
        self.past.extend(state["past"])
