"""Conflict-averse gradient descent."""

from typing import Literal

import numpy as np
from numpy import ndarray as Array

from pamal_core.balancing.gram import GramBalancer, factor, min_norm
from pamal_core.errors import check_number
from pamal_core.weights import Coefficients, Gram


class CAGrad(GramBalancer):
    r"""The direction near the mean gradient along which the slowest task descends fastest.

    Liu et al., "Conflict-averse gradient descent for multi-task learning" (NeurIPS 2021), Eq. 3:
    $\max_d \min_t g_t \cdot d$ subject to $\|d - g_0\| \le c \|g_0\|$, with $g_t$ the rows of the
    Jacobian on the shared weights and $g_0 = \sum_t w_t g_t$, their mean for uniform `weights`. The
    authors' experiments on supervised multi-task learning have `c` = 0.4, our default. d is as long
    as in their Algorithm 1; the released code divides d by $1 + c^2$, which Adam does not notice.

    The dual point w minimises $g_w \cdot g_0 + c \|g_0\| \|g_w\|$ over the simplex, with $g_w =
    \sum_t w_t g_t$, and $d = g_0 + s g_w$ with $s \|g_w\| = c \|g_0\|$. For a given s, w is the
    point of the shortest vector in the hull of the $g_t + g_0 / s$, which `min_norm` finds exactly.
    Since $s \|g_w\|$ grows with s, one root is left to find. If no direction of the ball descends
    on every task but some directions conflict with no task (to 1e-6 of the longest gradient), for
    example because a gradient is 0, there is no root. Then the direction without conflict that is
    nearest to $g_0$ is taken.

    Equal gradients g, or a single gradient g, give $(1 + c) g$.
    """

    def __init__(self, c: float = 0.4, heads: Literal["plain", "balanced"] = "plain") -> None:
        super().__init__(heads)
        check_number("c", c, 0)
        self.c = c

    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        from scipy.optimize import brentq, nnls  # slow to import, and seldom needed

        columns = factor(gram)
        mean = columns @ weights
        radius = self.c * np.linalg.norm(mean)
        if radius == 0:
            return weights

        def added(s: float) -> Array:
            return s * min_norm(columns + mean[:, None] / s)

        def excess(s: float) -> float:
            return float(np.linalg.norm(columns @ added(s)) - radius)

        low, high = 0.5 * radius, 1e6 * radius  # s >= radius, since no g_w is longer than 1
        if excess(float(high)) < 0:
            return weights + nnls(columns, -mean)[0]
        return weights + added(brentq(excess, low, high, xtol=1e-14 * low, rtol=1e-14))
