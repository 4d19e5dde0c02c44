"""Multi-task learning as a bargaining game."""

import numpy as np

from pamal_core.balancing.gram import GramBalancer, by_unit_gradients, factor, min_norm
from pamal_core.weights import Coefficients, Gram

STATIONARY = 1e-6
"""Length below which a point of the hull of the unit gradients counts as 0."""
TOLERANCE = 1e-12
"""Decrement below which Newton's method has converged."""
MAX_STEPS = 200


class NashMTL(GramBalancer):
    r"""The Nash bargaining solution between the tasks: the direction d that maximises $\sum_t
    \log(g_t \cdot d)$.

    Navon et al., "Multi-task learning as a bargaining game" (ICML 2022), Claim 3.1: $d = \sum_t a_t
    g_t$ with $G a = 1 / a$ and $a > 0$, where $G = J J^\top$ on the shared weights. The authors
    approximate a by a sequence of convex programs, 20 at most, and clip the gradient of the shared
    weights to norm 1. We find a exactly, as the minimiser of $\frac{1}{2} a^\top G a - \sum_t \log
    a_t$, and clip nothing. Then $\|d\| = \sqrt{T}$, whatever the scales of the tasks. The heads
    keep the plain `weights`; in the authors' code a weighs the heads, too. We solve at every step,
    which is the authors' default; there are no other hyper-parameters.

    A task with a gradient of 0 is left out. Equal gradients have equal weights. A single task has a
    unit gradient. If a point of the hull of the unit gradients is 0 (shorter than 1e-6), no
    direction descends on all tasks. There is no solution then, and d is 0.
    """

    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        # Unit gradients are best conditioned, and a_t is proportional to 1 / ||g_t||.
        return by_unit_gradients(gram, _bargain)


def _bargain(cosines: Gram) -> Coefficients:
    """Return b > 0 with K b = 1 / b, by damped Newton steps. The objective is self-concordant, so
    steps divided by 1 + decrement never leave b > 0 and converge from everywhere."""
    columns = factor(cosines)
    if np.linalg.norm(columns @ min_norm(columns)) < STATIONARY:
        return np.zeros(len(cosines))
    b = np.ones(len(cosines))
    for _ in range(MAX_STEPS):
        slope = cosines @ b - 1 / b
        step = np.linalg.solve(cosines + np.diag(b**-2), -slope)
        decrement = np.sqrt(max(float(-slope @ step), 0.0))
        b = b + (step if decrement < 0.25 else step / (1 + decrement))
        if decrement < TOLERANCE:
            break
    return b
