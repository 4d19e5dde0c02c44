"""The multiple-gradient descent algorithm."""

from pamal_core.balancing.gram import GramBalancer, factor, min_norm
from pamal_core.weights import Coefficients, Gram


class MGDA(GramBalancer):
    r"""The shortest vector in the convex hull of the task gradients, which descends on every task.

    Désidéri (2012); as Eq. 3 of Sener and Koltun, "Multi-task learning as multi-objective
    optimization" (NeurIPS 2018): $\min_a \|\sum_t a_t g_t\|^2$ over a on the simplex, with $g_t$
    the rows of the Jacobian on the shared weights, not normalised. The authors iterate
    (Frank-Wolfe); we solve exactly. The task `weights` count for the heads alone; in the authors'
    code a weighs the heads, too.

    A gradient of 0 makes the direction 0, because its task cannot be improved. A batch without
    labels of a task therefore moves no shared weight: give MGDA batches with labels of every task.

    Equal gradients may share their weight in any way: the direction is the same. A single task has
    weight 1.
    """

    def solve(self, gram: Gram, weights: Coefficients) -> Coefficients:
        return min_norm(factor(gram))
