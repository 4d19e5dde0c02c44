"""What Algorithm 1 asks of a network."""

from abc import ABC, abstractmethod
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn


class Network(nn.Module, ABC):
    """A map from alpha to weights, and from weights and inputs to one output per task.

    `task_weights` is the matrix W [M, T] of section 3.1: a draw alpha weighs the losses by alpha^T
    W. The first `num_shared` entries of theta are the weights that all tasks use.
    """

    num_shared: int
    task_weights: Tensor

    @property
    def num_members(self) -> int:
        """M, the number of entries of an alpha."""
        return self.task_weights.shape[0]

    @property
    def num_tasks(self) -> int:
        """T, the number of losses."""
        return self.task_weights.shape[1]

    @abstractmethod
    def weights(self, alphas: Float[Tensor, "*batch M"]) -> Float[Tensor, "*batch N"]:
        """theta(alpha) for each row of `alphas`, differentiable in the network's own parameters."""

    @abstractmethod
    def forward(self, theta: Float[Tensor, " N"], *inputs: Any) -> Any:
        """One output per task for `inputs` at the weights `theta`."""
