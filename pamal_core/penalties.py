"""Penalties over the W draws of a step."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.errors import InputError


@dataclass(frozen=True)
class MultiForward:
    """Multi-forward regularisation, Eq. 3 and line 11 of Algorithm 1.

    Task t orders the draws by their weight on t: there is an edge (i, j) where alpha_it < alpha_jt,
    and draw j, which cares more about t, ought to have the lower loss on it. With v_ij the
    violation of an edge, R = sum_t log(1/|E_t| sum_(i,j) exp(max(v_ij, 0))); it is 0 on an ordered
    front.

    `sign="ordered"` takes v_ij = L_t(j) - L_t(i), as the paper's text and Figure 3 describe it;
    `sign="printed"` takes the difference as Eq. 3 and the authors' code have it, L_t(i) - L_t(j),
    which penalises the right order. `edges="lex"` keeps the W - 1 edges between neighbours in the
    order of a task, `edges="full"` all. Draws of equal weight have no edge. `skip="as_released"`
    counts the penalty only while lam * R stays below the sum of the weighted losses; `skip="never"`
    always counts it.
    """

    lam: float = 0.0
    sign: Literal["ordered", "printed"] = "ordered"
    edges: Literal["lex", "full"] = "lex"
    skip: Literal["never", "as_released"] = "never"

    def __post_init__(self) -> None:
        if not 0 <= self.lam < float("inf"):
            raise InputError(f"`lam` must be a finite number >= 0. Found lam={self.lam}.")

    def __call__(
        self, losses: Float[Tensor, "*batch W T"], weights: Float[Tensor, "*batch W T"]
    ) -> Float[Tensor, "*batch"]:
        """R for the losses of W draws, differentiable in `losses`; not yet multiplied by `lam`."""
        order = weights.argsort(dim=-2, stable=True)
        weights, losses = weights.gather(-2, order), losses.gather(-2, order)
        rise = _edges(losses, self.edges)
        if self.sign == "printed":
            rise = -rise
        is_edge = _edges(weights, self.edges) > 0
        total = (rise.clamp_min(0).exp() * is_edge).sum(-2)
        count = is_edge.sum(-2)
        return torch.where(count > 0, total / count.clamp_min(1), 1).log().sum(-1)

    def task_weights(
        self, losses: Float[Tensor, "*batch W T"], weights: Float[Tensor, "*batch W T"]
    ) -> Float[Tensor, "*batch W T"]:
        """lam * dR/dL: what the penalty adds to the weight of each loss.

        The gradient of the total loss is then that of a weighted sum of losses, so one backward
        pass (or one product with the Jacobian) covers both terms.
        """
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
    i, j = torch.triu_indices(*(sorted_values.shape[-2],) * 2, offset=1)
    return sorted_values[..., j, :] - sorted_values[..., i, :]
