"""The multiple-gradient descent algorithm."""

from jaxtyping import Float
from numpy import ndarray as Array

from pamal_core.balancing.gram import GramBalancer, factor, min_norm


class MGDA(GramBalancer):
    """The shortest vector in the convex hull of the task gradients, which descends on every task.

    Désidéri (2012); as Eq. 3 of Sener and Koltun, "Multi-task learning as multi-objective
    optimization" (NeurIPS 2018): min over a on the simplex of ||sum_t a_t g_t||^2, with g_t the
    rows of `jacobian` on the shared weights, not normalised. They iterate (Frank-Wolfe); we solve
    exactly. The task `weights` count for the heads alone; theirs
    are weighted by a. It has no hyper-parameters.

    A gradient of 0 makes the direction 0: that task cannot be improved. Of equal gradients any
    share of their weight gives the same direction. One task has weight 1.
    """

    def solve(self, gram: Float[Array, "T T"], weights: Float[Array, " T"]) -> Float[Array, " T"]:
        """The a of the shortest vector."""
        return min_norm(factor(gram))
