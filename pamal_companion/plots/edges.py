"""The graphs over which the multi-forward penalty sums, as lists of edges that can be drawn."""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from pamal_core.simplex import SAME


def edges(
    alphas: Float[np.ndarray, "W T"], kind: Literal["lex", "full"] = "lex"
) -> list[Int[np.ndarray, "_ 2"]]:
    """Return the multi-forward graphs of W draws, one per task (section 4.2, Eq. 3).

    A row (i, j) of task t's array is an edge from draw i to draw j, which cares more about the
    task: alpha_it < alpha_jt. "full" has every such pair; "lex" those of neighbours in the order of
    the task, at most W - 1. Draws of equal weight, to 1e-6, have no edge. These are the edges over
    which `penalties.MultiForward` sums.
    """
    graphs = []
    for weights in alphas.T:
        order = weights.argsort(stable=True)
        i, j = np.triu_indices(len(order), k=1)
        kept = weights[order[i]] < weights[order[j]] - SAME
        if kind == "lex":
            kept &= j == i + 1
        graphs.append(np.stack((order[i], order[j]), axis=1)[kept])
    return graphs
