"""Penalties on the losses of a step."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from pamal_core.errors import check_choice, check_number
from pamal_core.simplex import SAME
from pamal_core.weights import ByDraw

MAX_EXPONENT = 50.0
"""Largest violation of which exp is taken; an excess is factored out. exp(89) overflows float32."""


@dataclass(frozen=True)
class Penalty(ABC):
    """`lam` times a function of the losses, added to the total loss of a step.

    Its gradient is the gradient of a weighted sum of the losses. A penalty is therefore no more
    than additional task weights: one backward pass, or one product with the Jacobian, covers both
    terms.
    """

    lam: float = 1.0
    min_window: ClassVar[int] = 1
    """Smallest number of draws in which there is something to penalise."""

    def __post_init__(self) -> None:
        check_number("lam", self.lam, 0)

    @abstractmethod
    def slopes(self, losses: ByDraw, weights: ByDraw) -> ByDraw:
        """Return `lam` times the slope of the penalty by each loss, [W, T], for W draws with the
        task weights `weights` [W, T]."""


@dataclass(frozen=True)
class MultiForward(Penalty):
    r"""Multi-forward regularisation: Eq. 3, and line 11 of Algorithm 1.

    Task t orders the W draws by their weight on the task: there is an edge (i, j) if $\alpha_{it} <
    \alpha_{jt}$. Draw j weighs task t more, so its loss on task t ought to be lower. With $v_{ij}$
    the violation of an edge the penalty is `lam` times

    $$R = \sum_t \log \Big( \frac{1}{|E_t|} \sum_{(i, j) \in E_t} e^{\max(v_{ij}, 0)} \Big),$$

    which is 0 on an ordered front.

    - `lam`: the weight of the penalty, at least 0.
    - `sign`: "ordered" takes $v_{ij} = L_t(j) - L_t(i)$, as the paper's text and its Figure 3
      describe it; "printed" takes $L_t(i) - L_t(j)$, as Eq. 3 and the authors' code have it, and
      penalises the right order.
    - `edges`: "lex" keeps the W - 1 edges between neighbours in the order of a task (the paper's
      lexicographic graph), "full" all. Draws of equal weight, to 1e-6, have no edge.
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
        """Return R for W draws, without the factor `lam` and differentiable in `losses`."""
        order = weights.argsort(dim=-2, stable=True)
        weights, losses = weights.gather(-2, order), losses.gather(-2, order)
        rise = _edges(losses, self.edges)
        if self.sign == "printed":
            rise = -rise
        is_edge = _edges(weights, self.edges) > SAME
        violations = rise.clamp_min(0) * is_edge
        padded = F.pad(violations.detach(), (0, 0, 1, 0))  # amax needs a row; one draw has no edge
        excess = (padded.amax(-2, keepdim=True) - MAX_EXPONENT).clamp_min(0)
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
    """Return the differences v_j - v_i along the edges i -> j of draws that are sorted by weight:
    [*batch, E, T]."""
    if kind == "lex":
        return sorted_values.diff(dim=-2)
    size, device = sorted_values.shape[-2], sorted_values.device
    i, j = torch.triu_indices(size, size, offset=1, device=device)
    return sorted_values[..., j, :] - sorted_values[..., i, :]
