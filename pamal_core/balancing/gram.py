"""Balancers that need only the inner products of the task gradients."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor

from pamal_core.balancing.base import Draw, check_result
from pamal_core.balancing.gradients import GradientBalancer
from pamal_core.errors import check_choice
from pamal_core.weights import ByTask, Coefficients, Direction, Gram, Jacobian, Vector


class GramBalancer(GradientBalancer):
    """A weighted sum of the task gradients g_t whose weights follow from their Gram matrix J J^T.

    The Gram matrix is T x T, so the rule is solved on the CPU in double precision, for one Jacobian
    at a time. If all gradients are 0, the direction is 0. If a gradient is NaN or infinite, the
    direction is NaN, at which the training loop stops.

    - `heads`: "plain" weighs the gradients of the heads by the task weights, "balanced" like the
      gradients of the shared weights, as most of the released codes do.
    """

    def __init__(self, heads: Literal["plain", "balanced"] = "plain") -> None:
        check_choice("heads", heads, ("plain", "balanced"))
        self.heads = heads

    @abstractmethod
    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        """Return the coefficients of the gradients, given their `gram` [t, s] = g_t . g_s, which is
        finite and not all 0, and the task weights of the draw."""

    def combine(self, jacobian: Jacobian, weights: ByTask) -> Direction:
        return self.coefficients(jacobian @ jacobian.T, weights) @ jacobian

    def direction(self, draw: Draw) -> Vector:
        # The Jacobian is not put together: for a large network that would cost as much as the rule.
        rows, end = draw.gradients(), draw.num_shared
        shared = [row[:end] for row in rows]
        gram = torch.stack([torch.stack([one @ two for two in shared]) for one in shared])
        on_shared = self.coefficients(gram, draw.weights)
        on_heads = draw.weights if self.heads == "plain" else on_shared
        pairs = zip(draw.penalised(on_shared), draw.penalised(on_heads), strict=True)
        total = torch.zeros_like(rows[0])
        for row, (a, b) in zip(rows, pairs, strict=True):
            total[:end].addcmul_(row[:end], a)
            total[end:].addcmul_(row[end:], b)
        return total

    def coefficients(self, inner: Float[Tensor, "T T"], weights: ByTask) -> ByTask:
        """Return the coefficients of the gradients, given their inner products."""
        gram = inner.double().cpu().numpy()
        if not np.isfinite(gram).all():
            return torch.full_like(weights, torch.nan)
        if not gram.any():
            return torch.zeros_like(weights)
        solution = self.solve(gram, weights.double().cpu().numpy())
        check_result(self.solve, "a coefficient for each task", solution, len(gram), kind=Array)
        return torch.from_numpy(solution.copy()).to(weights)  # torch takes no reversed view


def factor(gram: Gram) -> Gram:
    """Return R with R^T R = `gram` / its largest entry: the gradients in T dimensions as columns,
    of which the longest has length 1."""
    values, vectors = np.linalg.eigh(gram / gram.diagonal().max())
    return np.sqrt(values.clip(0))[:, None] * vectors.T


def min_norm(columns: Float[Array, "S T"]) -> Coefficients:
    """Return the a on the simplex with the shortest sum_t a_t c_t, exactly, for any number of
    columns c_t.

    With x = s a, s > 0, the non-negative least squares problem min |sum_t x_t c_t|^2 + (sum_t x_t -
    1)^2 has the same a: the best s for a point of length q is 1 / (1 + q^2), and the value there,
    q^2 / (1 + q^2), grows with q.
    """
    from scipy.optimize import nnls  # slow to import, and seldom needed

    num_columns = columns.shape[1]
    rows = np.vstack([columns, np.ones(num_columns)])
    x, _ = nnls(rows, np.eye(len(rows))[-1])
    return x / x.sum()


def by_unit_gradients(gram: Gram, rule: Callable[[Array], Array]) -> Coefficients:
    """Return the coefficients of the gradients, given a `rule` that returns the coefficients of the
    unit gradients from their cosines. A gradient of norm 0 has no direction: it gets 0."""
    norms = np.sqrt(gram.diagonal())
    nonzero = norms > 0
    coefficients = np.zeros(len(gram))
    cosines = gram[np.ix_(nonzero, nonzero)] / np.outer(norms[nonzero], norms[nonzero])
    coefficients[nonzero] = rule(cosines) / norms[nonzero]
    return coefficients
