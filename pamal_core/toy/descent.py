"""Adam on arrays of many runs at once. NumPy, not torch: on so little data torch spends most of its
time on each call."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

Given = TypeVar("Given")

EPOCH = 1000
"""What the notebooks call an epoch, in steps."""


class Adam:
    """Adam on one array, which it changes in place: the rule of `torch.optim.Adam` with its
    defaults."""

    def __init__(self, weights: Array, lr: float) -> None:
        self.weights, self.lr, self.count = weights, lr, 0
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)

    def step(self, gradient: Array) -> None:
        """Descend."""
        self.count += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient * gradient - self.square)
        root = np.sqrt(self.square / (1 - 0.999**self.count)) + 1e-8
        self.weights -= self.lr / (1 - 0.9**self.count) * self.mean / root


def descend(
    weights: Array,
    steps: Iterable[Given],
    gradient: Callable[[Array, Given], Array],
    every: int,
    lr: float,
) -> Float[Array, "S *runs"]:
    """Follow `gradient`, of the weights and of what `steps` gives for each step, with Adam.

    `weights` itself is changed; returned is what it was every so many steps, the start included.
    """
    adam, snapshots = Adam(weights, lr), [weights.copy()]
    for step, given in enumerate(steps, start=1):
        adam.step(gradient(weights, given))
        if step % every == 0:
            snapshots.append(weights.copy())
    return np.stack(snapshots)


def weighted(weights: Float[Array, "*runs 2"], jacobian: Array) -> Array:
    """The weighted sums of the rows of Jacobians [*runs, 2, 2]."""
    return (weights[..., None, :] @ jacobian)[..., 0, :]
