"""Impartial multi-task learning."""

import numpy as np

from pamal_core.balancing.gram import GramBalancer, by_unit_gradients
from pamal_core.weights import Coefficients, Gram


class IMTL(GramBalancer):
    r"""The weighted sum of the task gradients that has equal projections on all of them.

    IMTL-G of Liu et al., "Towards impartial multi-task learning" (ICLR 2021), section 3.1: $d =
    \sum_t a_t g_t$ with $\sum_t a_t = 1$ and the same $d \cdot u_t$ for every t, where $g_t$ are
    the rows of the Jacobian on the shared weights and $u_t = g_t / \|g_t\|$. The authors' closed
    form inverts a matrix. If the inverse exists, our solution is the same: with K the cosines
    between the $g_t$ we solve $K b = \mu 1$, $\sum_t b_t = 1$, and take $a_t = b_t / \|g_t\|$,
    divided by the sum of all.

    We divide by the absolute value of the sum: with three tasks or more the sum can be negative,
    and the authors' direction then ascends on every task. The heads keep the plain `weights`.
    IMTL-L, the learned loss scales that the authors add for the heads, is left out, as in the
    benchmark code of Nash-MTL.

    A task with a gradient of 0 is left out. Equal gradients share their weight. A single task has
    weight 1. If no d has the same positive projection on all gradients, the direction is 0.
    """

    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        coefficients = by_unit_gradients(gram, _equal_projections)
        total = abs(coefficients.sum())
        return coefficients / total if total > 0 else coefficients


def _equal_projections(cosines: Gram) -> Coefficients:
    """Return the shortest b with K b = mu 1 and sum_t b_t = 1, for some mu."""
    ones = np.ones((len(cosines), 1))
    bordered = np.block([[cosines, -ones], [ones.T, np.zeros((1, 1))]])
    return np.linalg.lstsq(bordered, np.eye(len(bordered))[-1], rcond=None)[0][:-1]
