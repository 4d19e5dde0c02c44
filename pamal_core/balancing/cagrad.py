"""Conflict-averse gradient descent."""

from typing import Literal

import numpy as np
from numpy import ndarray as Array

from pamal_core.balancing.gram import GramBalancer, factor, min_norm
from pamal_core.errors import check_number
from pamal_core.shapes import Coefficients, Gram


class CAGrad(GramBalancer):
    r"""The direction near the mean gradient along which the slowest task descends fastest.

    Liu et al., "Conflict-averse gradient descent for multi-task learning" (NeurIPS 2021), Eq. 3:
    $\max_d \min_t g_t \cdot d$ subject to $\|d - g_0\| \le c \|g_0\|$, with $g_t$ the rows of the
    Jacobian on the shared weights and $g_0 = \sum_t w_t g_t$, their mean for uniform `weights`. The
    default `c` = 0.4 is that of their experiments on supervised multi-task learning. d is as long
    as in Algorithm 1; the released code divides it by $1 + c^2$, which Adam does not notice.

    The dual point w minimises $g_w \cdot g_0 + c \|g_0\| \|g_w\|$ over the simplex, with $g_w =
    \sum_t w_t g_t$, and $d = g_0 + s g_w$ where $s \|g_w\| = c \|g_0\|$. For a given s it is the
    point of the shortest vector in the hull of the $g_t + g_0 / s$, which `min_norm` finds exactly.
    $s \|g_w\|$ grows with s, so one root is left to find. There is none where no direction of the
    ball descends on every task but some conflict with none (to 1e-6 of the longest gradient), as
    where a gradient is 0. Of these directions the one nearest to $g_0$ is taken.

    Equal gradients g, or a single one, give $(1 + c) g$.
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
