"""The multiple-gradient descent algorithm."""

from typing_extensions import override

from pamal_core.balancing.gram import GramBalancer, factor, min_norm
from pamal_core.shapes import Coefficients, Gram


class MGDA(GramBalancer):
    """The shortest vector in the convex hull of the task gradients, which descends on every task.

    Désidéri (2012); as Eq. 3 of Sener and Koltun, "Multi-task learning as multi-objective
    optimization" (NeurIPS 2018): min over a on the simplex of ||sum_t a_t g_t||^2, with g_t the
    rows of `jacobian` on the shared weights, not normalised. They iterate (Frank-Wolfe); we solve
    exactly. The task `weights` count for the heads alone; theirs
    are weighted by a. It has no hyper-parameters.

    A gradient of 0 makes the direction 0: that task cannot be improved. So a batch without labels
    of a task moves no shared weight: give this rule batches with labels of every task.

    Of equal gradients any share of their weight gives the same direction. One task has weight 1.
    """

    @override
    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        return min_norm(factor(gram))
