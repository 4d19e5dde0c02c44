"""The toy problem as the paper prints it, for autograd, and Algorithm 1 as a plain PyTorch loop."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor


def plain_losses(theta: Tensor, scale: float = 1.0, sign: float = -1.0) -> Tensor:
    x, y = theta[..., 0], theta[..., 1]
    f1 = (0.5 * (-x - 7) - (-y).tanh()).abs().clamp(min=5e-6).log() + 6
    f2 = (0.5 * (-x + 3) + sign * (-y).tanh() + 2).abs().clamp(min=5e-6).log() + 6
    g1 = ((-x + 7) ** 2 + 0.1 * (-y - 8) ** 2) / 10 - 20
    g2 = ((-x - 7) ** 2 + 0.1 * (-y - 8) ** 2) / 10 - 20
    c1, c2 = (0.5 * y).tanh().clamp(min=0), (-0.5 * y).tanh().clamp(min=0)
    return torch.stack([scale * (c1 * f1 + c2 * g1), c1 * f2 + c2 * g2], -1)


Objective = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]], Tensor]


def plain_run(
    start: np.ndarray, draws: Sequence[np.ndarray], scale: float, objective: Objective
) -> np.ndarray:
    """Adam on one ensemble: `stacked` after each step. `objective` maps the thetas, losses and
    alphas of the draws of a step to the number whose gradient is followed."""
    stacked = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.Adam([stacked], lr=2e-3)
    path = [stacked.detach().clone()]
    for alphas in draws:
        thetas = [torch.tensor(alpha) @ stacked for alpha in alphas]
        losses = [plain_losses(theta, scale) for theta in thetas]
        optimizer.zero_grad()
        objective(thetas, losses, [torch.tensor(alpha) for alpha in alphas]).backward()
        optimizer.step()
        path.append(stacked.detach().clone())
    return torch.stack(path).numpy()
