"""The toy problem as a network for autograd: its two weights are a point of the plane."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pamal_companion.toy.problem import FLOOR


class Point(nn.Module):
    """A network with the weights `theta` [2], whose outputs are its two losses (appendix B2).

    - `start`: the initial weights.
    - `scale`: the paper's c, by which loss 1 is multiplied.
    """

    def __init__(self, start: Sequence[float], scale: float = 1.0) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(start, dtype=torch.float64))
        self.scale = scale

    def forward(self, _: Tensor) -> list[Tensor]:
        """Return (c l_1, l_2), whatever the inputs are."""
        x, y = self.theta
        up, low = torch.tanh(y / 2).clamp(min=0), torch.tanh(-y / 2).clamp(min=0)
        losses = []
        for offset, centre in ((-7.0, 7.0), (7.0, -7.0)):
            z = (offset - x) / 2 + torch.tanh(y)
            slope = z.abs().clamp(min=FLOOR).log() + 6
            bowl = ((x - centre) ** 2 + 0.1 * (y + 8) ** 2) / 10 - 20
            losses.append(up * slope + low * bowl)
        return [self.scale * losses[0], losses[1]]


def its_own_loss(output: Tensor, _: Tensor) -> Tensor:
    """Return `output`: a network whose outputs are its losses needs no target."""
    return output
