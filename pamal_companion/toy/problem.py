"""The illustrative problem of Figure 1 and appendix B2: two losses of two weights, and the exact
Pareto front. NumPy, not torch: on so little data torch spends most of its time on each call."""

from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

INITIAL_POINTS = ((-8.5, 7.5), (0.0, 0.0), (9.0, 9.0), (-7.5, -0.5), (9.0, -1.0))
"""The points at which the paper starts the members."""

FLOOR = 5e-6
"""Of |z| in the logarithm."""


class ToyProblem:
    """The losses (c l_1, l_2) of the weights theta = (theta_1, theta_2), both to be minimised.

    In the upper half plane, theta_2 > 0, each is a slope f = log|z| + 6, in the lower one a bowl g;
    tanh(|theta_2| / 2) fades both out towards theta_2 = 0, where the losses are 0.

    `scale` is the paper's c: a positive number, or an array that broadcasts with theta[..., 0], so
    that runs of different scales advance together. `tanh` is the sign before tanh(-theta_2) in f_2:
    "printed" is the minus of appendix B2, "earlier" the plus of the public code of the works it
    builds on. It acts on the upper half plane alone: it moves trajectories, never the Pareto front.
    """

    def __init__(
        self, scale: float | Array = 1.0, tanh: Literal["printed", "earlier"] = "printed"
    ) -> None:
        c = np.asarray(scale, dtype=float)
        self.factor = np.stack((c, np.ones_like(c)), -1)
        # z_t = (offset_t - theta_1) / 2 + sign_t tanh(theta_2), as tanh(-x) = -tanh(x)
        self.offset = np.array([-7.0, 7.0])
        self.sign = np.array([1.0, {"printed": 1.0, "earlier": -1.0}[tanh]])
        self.centre = np.array([7.0, -7.0])

    def losses(self, theta: Float[Array, "*batch 2"]) -> Float[Array, "*batch 2"]:
        """Return (c l_1, l_2) at `theta`."""
        return self.losses_and_jacobian(theta)[0]

    def losses_and_jacobian(
        self, theta: Float[Array, "*batch 2"]
    ) -> tuple[Float[Array, "*batch 2"], Float[Array, "*batch 2 2"]]:
        """Return the losses and, row t, the gradient of loss t, in closed form."""
        x, y = theta[..., :1], theta[..., 1:]
        blend = np.tanh(0.5 * y)
        up, low = np.maximum(blend, 0), np.maximum(-blend, 0)
        # f and its derivatives; below the floor f is flat.
        tanh = np.tanh(y)
        z = 0.5 * (self.offset - x) + self.sign * tanh
        size = np.abs(z)
        above = np.maximum(size, FLOOR)
        dz = (size >= FLOOR) * z / (above * above)
        slope, slope_dx = np.log(above) + 6, -0.5 * dz
        slope_dy = dz * (self.sign * (1 - tanh * tanh))
        # g and its derivatives
        dx, dy = x - self.centre, y + 8
        bowl, bowl_dx, bowl_dy = 0.1 * dx * dx + 0.01 * dy * dy - 20, 0.2 * dx, 0.02 * dy
        # On the line between the halves both count, as automatic differentiation of a clamp has it;
        # were both left out, a member that starts at (0, 0) would never move.
        fade = (0.5 - 0.5 * blend * blend) * ((y >= 0) * slope - (y <= 0) * bowl)
        jacobian = np.empty((*theta.shape[:-1], 2, 2))
        jacobian[..., 0] = self.factor * (up * slope_dx + low * bowl_dx)
        jacobian[..., 1] = self.factor * (up * slope_dy + low * bowl_dy + fade)
        return self.factor * (up * slope + low * bowl), jacobian

    def front(self, num_points: int = 1001) -> Float[Array, "num_points 2"]:
        """Return the Pareto front in loss space, for a single `scale`: best task 2 first, best task
        1 last."""
        return self.losses(pareto_set(num_points))


def pareto_set(num_points: int = 1001) -> Float[Array, "num_points 2"]:
    """Return the Pareto optimal weights, whatever the scale: theta_1 runs from -7 (best task 2) to
    7.

    In the upper half plane every l_t exceeds log(5e-6) + 6 > -6.3, and the lower one has points
    with both below -15, so nothing above theta_2 = 0 is optimal. Below, l_t = tanh(s/2) g_t with
    s = -theta_2. A point is optimal only where w grad l_1 + (1 - w) grad l_2 = 0 for some
    w in [0, 1]. Along theta_1 that says theta_1 = 7 (2w - 1), and leaves of the bowls
    w g_1 + (1 - w) g_2 = A + (s - 8)^2 / 100 with A = (49 - theta_1^2) / 10 - 20 < 0. Along s,
    with d = s - 8, it says

        A + d^2 / 100 + d sinh(8 + d) / 50 = 0,

    which has no root for d <= 0 and exactly one for d > 0, as the left side grows with d. The one
    critical point of each w is the only minimiser of its weighted sum, so it is optimal. The set is
    close to the segment theta_2 = -8 but not on it: theta_2 is -8.36 in the middle and -8.43 at
    the ends, for the fading pulls it down.
    """
    theta_1 = np.linspace(-7, 7, num_points)
    floor = (49 - theta_1**2) / 10 - 20
    low, high = np.zeros_like(theta_1), np.ones_like(theta_1)
    for _ in range(60):  # bisection to the last bit: the left side is < 0 at d = 0, > 0 at d = 1
        d = (low + high) / 2
        beyond = floor + d**2 / 100 + d * np.sinh(8 + d) / 50 > 0
        low, high = np.where(beyond, low, d), np.where(beyond, d, high)
    return np.stack((theta_1, -8 - (low + high) / 2), -1)
