"""Make a direction of two losses and their gradients, for many runs at once, with Adam.

The rules of `pamal_core.balancing` that solve a small problem for each Jacobian take up to a
millisecond, and a figure has five million of them: here they are in closed form for two tasks. A
test holds both against each other.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy import ndarray as Array
from scipy.special import softmax

from pamal_core.balancing import GradientBalancer, Linear, LossBalancer

EPOCH = 1000
"""The number of steps that the notebooks call an epoch."""
Rule = Callable[[Array, Array, Array], Array]
"""From losses [*runs, 2], Jacobians [*runs, 2, 2], row t the gradient of loss t, and the weights of
the tasks [*runs, 2] to directions [*runs, 2], along which the optimiser descends."""


class Adam:
    """The rule of `torch.optim.Adam` with its defaults, for arrays of any shape."""

    def __init__(self, lr: float) -> None:
        self.lr, self.count = lr, 0
        self.mean, self.square = np.zeros(()), np.zeros(())

    def step(self, gradient: Array) -> Array:
        """Return what to add to the weights."""
        self.count += 1
        self.mean = self.mean + 0.1 * (gradient - self.mean)
        self.square = self.square + 0.001 * (gradient * gradient - self.square)
        root = np.sqrt(self.square / (1 - 0.999**self.count)) + 1e-8
        return -self.lr / (1 - 0.9**self.count) * self.mean / root


def rule_of(balancer: LossBalancer | GradientBalancer | Rule) -> Rule:
    """Return a balancer of the package, new for each run, as a rule for runs [P, W]; a loss
    balancer is asked once for each of the W draws. A rule stays as it is."""
    if isinstance(balancer, Linear):  # the common case is spared the way through torch
        return linear
    if isinstance(balancer, GradientBalancer):
        return lambda losses, *given: balancer.combine(*map(torch.from_numpy, given)).numpy()
    if not isinstance(balancer, LossBalancer):
        return balancer

    def reweighed(losses: Array, jacobian: Array, weights: Array) -> Array:
        draws = zip(losses.swapaxes(0, 1), weights.swapaxes(0, 1), strict=True)
        found = [balancer.reweigh(*map(torch.from_numpy, draw)).numpy() for draw in draws]
        return linear(losses, jacobian, np.stack(found, 1))

    return reweighed


def linear(losses: Array, jacobian: Array, weights: Array) -> Array:
    """Return the direction of linear scalarisation: the weighted sum of the gradients."""
    return (weights[..., None, :] @ jacobian)[..., 0, :]


def mgda(losses: Array, jacobian: Array, weights: Array) -> Array:
    """Return the shortest vector between the two gradients; either of them where they are equal."""
    one, two = jacobian[..., 0, :], jacobian[..., 1, :]
    apart = one - two
    share = np.clip(_divide(-(apart * two).sum(-1), (apart * apart).sum(-1)), 0, 1)
    return two + share[..., None] * apart


def pcgrad(losses: Array, jacobian: Array, weights: Array) -> Array:
    """Return the sum of the gradients, after each has lost its component along the other if they
    conflict. The random order of the rule makes no difference to two tasks."""
    inner = np.minimum((jacobian[..., 0, :] * jacobian[..., 1, :]).sum(-1), 0)
    lost = _divide(inner[..., None], (jacobian * jacobian).sum(-1))
    return linear(losses, jacobian, weights * (1 - lost))


def imtl(losses: Array, jacobian: Array, weights: Array) -> Array:
    """Return the direction with equal projections on both unit gradients: their weights go with one
    over their norms."""
    inverse = _divide(1.0, np.linalg.norm(jacobian, axis=-1))
    return linear(losses, jacobian, _divide(inverse, inverse.sum(-1, keepdims=True)))


def nash_mtl(losses: Array, jacobian: Array, weights: Array) -> Array:
    """Return the direction by K b = 1 / b, with K the cosines, which b_t = 1 / sqrt(1 + cosine)
    solves; 0 where no b does."""
    units = jacobian * _divide(1.0, np.linalg.norm(jacobian, axis=-1))[..., None]
    middle = units.sum(-2)  # its square is 2 (1 + cosine), without the cancellation
    square = (middle * middle).sum(-1, keepdims=True)
    # One gradient of 0 is left out, and the other becomes a unit vector: `square` is 1, not 2.
    both = (jacobian != 0).any(-1).all(-1, keepdims=True)
    scale = _divide(np.where(both, np.sqrt(2), 1), np.sqrt(square))
    return np.where(both & (np.sqrt(square) < 2e-6), 0, scale * middle)


def cagrad(losses: Array, jacobian: Array, weights: Array, c: float = 0.4) -> Array:
    """Return the mean g_0 plus c ||g_0|| in the direction of the g_w between the two gradients that
    minimises g_w . g_0 + c ||g_0|| ||g_w||.

    Along the line through both, with `apart` = g_1 - g_2 and t the position from the point nearest
    to 0, the slope is 0 where t / ||g_w|| = -apart . g_0 / (c ||g_0|| ||apart||) = `cosine`.
    """
    one, two = jacobian[..., 0, :], jacobian[..., 1, :]
    mean, apart = linear(losses, jacobian, weights), one - two
    length, radius = np.linalg.norm(apart, axis=-1), c * np.linalg.norm(mean, axis=-1)
    cosine = np.clip(_divide(-(apart * mean).sum(-1), radius * length), -1, 1)
    height = np.abs(one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0])
    sine = np.sqrt(1 - cosine * cosine)
    t = np.copysign(_divide(np.abs(cosine) * height, length * sine, np.inf), cosine)
    start = _divide((two * apart).sum(-1), length)
    between = two + np.clip(_divide(t - start, length), 0, 1)[..., None] * apart
    return mean + between * _divide(radius, np.linalg.norm(between, axis=-1))[..., None]


def random_weighting(
    losses: Array, jacobian: Array, weights: Array, rng: np.random.Generator
) -> Array:
    """Return the sum of the gradients, whose weights are multiplied by twice the softmax of normal
    draws, new at each step."""
    return linear(losses, jacobian, weights * 2 * softmax(rng.normal(size=losses.shape), -1))


def graddrop(losses: Array, jacobian: Array, weights: Array, rng: np.random.Generator) -> Array:
    """Return at each entry the sum of the weighted gradients of one sign only, which is drawn by
    how pure it is."""
    rows = weights[..., None] * jacobian
    purity = 0.5 * (1 + _divide(rows.sum(-2), np.abs(rows).sum(-2)))
    positive = rng.random(size=purity.shape) < purity
    return (rows * ((rows > 0) == positive[..., None, :])).sum(-2)


class DynamicWeightAverage:
    """More weight, from the third epoch on, for the loss that fell more slowly in the last one."""

    def __init__(self) -> None:
        self.seen: list[Array] = []
        self.means: list[Array] = []
        self.factors: Array | float = 1.0

    def __call__(self, losses: Array, jacobian: Array, weights: Array) -> Array:
        if len(self.seen) == EPOCH:
            self.means = [*self.means[-1:], np.mean(self.seen, 0)]
            self.seen.clear()
            if len(self.means) > 1:
                before, last = self.means
                self.factors = 2 * softmax(_divide(last, before, 1.0) / 2, -1)
        self.seen.append(losses)
        return linear(losses, jacobian, weights * self.factors)


class UncertaintyWeighting:
    """Each loss over a learned variance; the logarithms of the variances go by the same Adam.

    Where a loss is negative, as near the front, the objective has no minimum: the logarithm falls
    without end, and the factor would overflow. A run with one below `LOWEST` keeps both as they
    are: their difference, all that Adam notices by then, stays.
    """

    LOWEST = -100.0

    def __init__(self, lr: float) -> None:
        self.adam, self.log_variances = Adam(lr), np.zeros(2)

    def __call__(self, losses: Array, jacobian: Array, weights: Array) -> Array:
        """Return half the weighted sum of the gradients, each over its variance."""
        before, half = self.log_variances, 0.5 * weights
        factors = half * np.exp(-before)
        step = self.adam.step(half - factors * losses)
        low = (before < self.LOWEST).any(-1, keepdims=True)
        self.log_variances = np.where(low, before, before + step)
        return linear(losses, jacobian, factors)


def rules(lr: float, seed: int) -> dict[str, Rule]:
    """Return all baselines, new, in the order of the figures; each has random numbers of its
    own."""
    draws = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return {
        "LS": linear,
        "UW": UncertaintyWeighting(lr),
        "DWA": DynamicWeightAverage(),
        "RLW": partial(random_weighting, rng=next(draws)),
        "MGDA": mgda,
        "PCGrad": pcgrad,
        "IMTL-G": imtl,
        "GradDrop": partial(graddrop, rng=next(draws)),
        "CAGrad": cagrad,
        "Nash-MTL": nash_mtl,
    }


def _divide(a: Array | float, b: Array, otherwise: float = 0.0) -> Array:
    """Return a / b, and `otherwise` where b is 0."""
    shape = np.broadcast_shapes(np.shape(a), b.shape)
    return np.divide(a, b, out=np.full(shape, otherwise), where=b != 0)
