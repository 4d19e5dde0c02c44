"""Penalties on the losses of a step."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import check_choice, check_number
from pamal_core.shapes import ByDraw
from pamal_core.simplex import SAME

MAX_EXPONENT = 50.0
"""e to the power of a larger violation is factored out: from 88 on it overflows float32."""


@dataclass(frozen=True)
class Penalty(ABC):
    """`lam` times a function of the losses, added to the total loss of a step.

    Its gradient is that of a weighted sum of the losses. A penalty is therefore no more than
    additional task weights: one backward pass (or one product with the Jacobian) covers both terms.
    """

    lam: float = 1.0
    min_window: ClassVar[int] = 1
    """The number of draws below which there is nothing to penalise."""

    def __post_init__(self) -> None:
        check_number("lam", self.lam, 0)

    @abstractmethod
    def slopes(self, losses: ByDraw, weights: ByDraw) -> ByDraw:
        """`lam` times the slope of the penalty by each loss, [W, T], for W draws whose task weights
        are `weights` [W, T]."""


@dataclass(frozen=True)
class MultiForward(Penalty):
    r"""Multi-forward regularisation: Eq. 3, and line 11 of Algorithm 1.

    Task t orders the W draws by their weight on it: there is an edge (i, j) where $\alpha_{it} <
    \alpha_{jt}$. Draw j cares more about the task, so it ought to have the lower loss on it. With
    $v_{ij}$ the violation of an edge the penalty is `lam` times

    $$R = \sum_t \log \Big( \frac{1}{|E_t|} \sum_{(i, j) \in E_t} e^{\max(v_{ij}, 0)} \Big),$$

    which is 0 on an ordered front.

    - `lam`: how much it counts, at least 0.
    - `sign`: "ordered" takes $v_{ij} = L_t(j) - L_t(i)$, as the paper's text and its Figure 3
      describe it; "printed" takes $L_t(i) - L_t(j)$, as Eq. 3 and the authors' code have it, and
      penalises the right order.
    - `edges`: "lex" keeps the W - 1 edges between neighbours in the order of a task, "full" all.
      Draws of equal weight, to 1e-6, have no edge.
    - `skip`: "as_released" counts the penalty only while $\lambda R$ stays below the sum of the
      weighted losses, "never" always.
    """

    min_window: ClassVar[int] = 2
    sign: Literal["ordered", "printed"] = "ordered"
    edges: Literal["lex", "full"] = "lex"
    skip: Literal["never", "as_released"] = "never"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("sign", self.sign, ("ordered", "printed"))
        check_choice("edges", self.edges, ("lex", "full"))
        check_choice("skip", self.skip, ("never", "as_released"))

    def __call__(self, losses: ByDraw, weights: ByDraw) -> Float[Tensor, "*batch"]:
        """R for the losses of W draws, differentiable in `losses`; not yet multiplied by `lam`."""
        order = weights.argsort(dim=-2, stable=True)
        weights, losses = weights.gather(-2, order), losses.gather(-2, order)
        rise = _edges(losses, self.edges)
        if self.sign == "printed":
            rise = -rise
        is_edge = _edges(weights, self.edges) > SAME
        violations = rise.clamp_min(0) * is_edge
        with_one = F.pad(violations.detach(), (0, 0, 1, 0))  # a draw alone has no edge
        excess = (with_one.amax(-2, keepdim=True) - MAX_EXPONENT).clamp_min(0)
        total = ((violations - excess).exp() * is_edge).sum(-2)
        count = is_edge.sum(-2)
        logs = torch.where(count > 0, total / count.clamp_min(1), 1).log()
        return (logs + excess.squeeze(-2)).sum(-1)

    def slopes(self, losses: ByDraw, weights: ByDraw) -> ByDraw:
        with torch.enable_grad():
            leaf = losses.detach().requires_grad_()
            value = self(leaf, weights)
            (slope,) = torch.autograd.grad(value.sum(), leaf)
        if self.skip == "as_released":
            counts = self.lam * value < (weights * losses).sum((-2, -1))
            slope = slope * counts[..., None, None]
        return self.lam * slope.detach()


def _edges(sorted_values: Tensor, kind: str) -> Tensor:
    """Differences v_j - v_i along the edges i -> j of draws sorted by weight: [*batch, E, T]."""
    if kind == "lex":
        return sorted_values.diff(dim=-2)
    size, device = sorted_values.shape[-2], sorted_values.device
    i, j = torch.triu_indices(size, size, offset=1, device=device)
    return sorted_values[..., j, :] - sorted_values[..., i, :]
