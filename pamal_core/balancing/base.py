"""What Algorithm 1 asks of every balancer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor


class Balancer(ABC):
    """Turns the T losses of one draw into one direction; may keep a state."""

    @abstractmethod
    def direction(
        self,
        losses: Float[Tensor, " T"],
        theta: Float[Tensor, " N"],
        weights: Float[Tensor, " T"],
        penalty: Float[Tensor, " T"] | None,
        num_shared: int,
    ) -> Float[Tensor, " N"]:
        """The balanced gradient of the losses, plus `penalty` @ Jacobian as it is.

        `losses` are differentiable in `theta`, whose first `num_shared` entries all tasks use;
        `weights` is alpha^T W. An optimiser that descends subtracts a multiple of the direction.
        """

    def parameters(self) -> Iterable[Tensor]:
        """What the optimiser trains beside the network; nothing unless a subclass says otherwise.

        A balancer adds to their `.grad` itself.
        """
        return ()

    def start_epoch(self, history: Sequence[Sequence[float]]) -> None:  # noqa: B027 an optional hook
        """Called before each epoch with the mean losses of those before it, [epochs, T]."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs; nothing unless a subclass says otherwise."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state`, which `state_dict` returned."""
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state. Found {list(state)}.")
