"""Balancers that reweigh the losses."""

from abc import abstractmethod
from collections import deque
from typing import Any, Literal

import torch
from torch import Tensor

from pamal_core.balancing.base import Balancer, Draw, check_result
from pamal_core.errors import InputError, check_choice, check_number
from pamal_core.weights import ByTask, Vector


class LossBalancer(Balancer):
    """Replaces the task weights, given the current losses. The direction is the gradient of the sum
    of the losses with the new weights: one backward pass."""

    @abstractmethod
    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        """Return the task weights [T] that replace `weights` [T]; called once per draw.

        `losses` [T] carry no gradient. A task without a label in the batch has a loss of exactly 0,
        so guard a division by its loss. Weights that are trained must come from `parameters()`,
        else InputError.
        """

    def direction(self, draw: Draw) -> Vector:
        weights = self.reweigh(draw.losses.detach(), draw.weights)
        check_result(self.reweigh, "a weight for each task", weights, len(draw.losses))
        if weights.requires_grad and not [*self.parameters()]:
            raise InputError(
                f"{type(self).__name__} must return from `parameters()` what its weights are made "
                "of, so that the optimiser trains it, or detach the weights. Found weights with a "
                "gradient, and no parameters."
            )
        return draw.gradient(draw.penalised(weights) @ draw.losses)


class Linear(LossBalancer):
    r"""Linear scalarisation: the losses are weighted by $\alpha^\top W$ as they are (Eq. 2)."""

    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        return weights


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


def mean_of_known(losses: Tensor) -> Tensor:
    """Return the mean of `losses` [draws, ...] over those that are not exactly 0, or else 0."""
    num_known = (losses != 0).sum(0).clamp(min=1)
    return losses.mean(0) * (len(losses) / num_known)


class MovingAverage(LossBalancer):
    r"""Loss balancing of section 4.2: each loss is divided by its mean over the last `history`
    draws.

    - `history`: number of draws, which with W draws a step are history / W steps.
    - `form`: "paper" multiplies the weight of task t by $1 / |m_t|$, with $m_t$ the mean of its
      losses, the present loss included; the first draws have a mean over fewer. "released"
      multiplies by $1 - |m_t| / \sum_s |m_s|$, as the authors' code does, and leaves the weights as
      they are for the first `history` + 1 draws.

    The absolute value is ours: a mean may be negative, as on the toy problem, and would turn
    descent into ascent. A loss of exactly 0, such as the loss of a batch without labels, does not
    count in the mean. A task whose mean is 0 keeps its weight.
    """

    def __init__(self, history: int = 25, form: Literal["paper", "released"] = "paper") -> None:
        check_choice("form", form, ("paper", "released"))
        check_number("history", history, 1, whole=True)
        self.form, self.history = form, history
        # Once it is full, the first history + 1 draws of the released form are over.
        self.recent: deque[Tensor] = deque(maxlen=history + 2 if form == "released" else history)

    def reweigh(self, losses: ByTask, weights: ByTask) -> ByTask:
        self.recent.append(losses.detach().clone())
        last = torch.stack([draw.to(losses) for draw in self.recent][-self.history :])
        mean = mean_of_known(last).abs()
        if self.form == "paper":
            return weights / mean.where(mean > 0, 1)
        if len(self.recent) < self.history + 2:
            return weights
        total = mean.sum(-1, keepdim=True)
        return weights * (1 - mean / total.where(total > 0, 1))

    def state_dict(self) -> dict[str, Any]:
        return {"recent": list(self.recent)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.recent.clear()
        self.recent.extend(state["recent"])
