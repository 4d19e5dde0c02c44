"""The baselines on the toy problem: each rule in closed form for two tasks, many runs at once.

What `pamal_core.balancing` does to one Jacobian at a time, for any number of tasks, takes up to a
millisecond; a figure has five million of them. A test holds both against each other.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from scipy.special import softmax

from pamal_core.toy.descent import EPOCH, Adam, descend, weighted
from pamal_core.toy.problem import INITIAL_POINTS, ToyProblem

Rule = Callable[[Array, Array], Array]
"""From losses [*runs, 2] and Jacobians [*runs, 2, 2], row t the gradient of loss t, to directions
[*runs, 2], along which the optimiser descends."""


def linear(losses: Array, jacobian: Array) -> Array:
    """Linear scalarisation with equal weights."""
    return jacobian.mean(-2)


def mgda(losses: Array, jacobian: Array) -> Array:
    """The shortest vector between the two gradients; either of them where they are equal."""
    one, two = jacobian[..., 0, :], jacobian[..., 1, :]
    apart = one - two
    share = np.clip(_divide(-(apart * two).sum(-1), (apart * apart).sum(-1)), 0, 1)
    return two + share[..., None] * apart


def pcgrad(losses: Array, jacobian: Array) -> Array:
    """Where the gradients conflict each loses its component along the other; then their mean. The
    random order of the rule makes no difference to two tasks."""
    inner = np.minimum((jacobian[..., 0, :] * jacobian[..., 1, :]).sum(-1), 0)
    lost = _divide(inner[..., None], (jacobian * jacobian).sum(-1))
    return weighted(0.5 * (1 - lost), jacobian)


def imtl(losses: Array, jacobian: Array) -> Array:
    """Equal projections on both gradients: their weights go with one over their norms."""
    inverse = _divide(1.0, np.linalg.norm(jacobian, axis=-1))
    return weighted(_divide(inverse, inverse.sum(-1, keepdims=True)), jacobian)


def nash_mtl(losses: Array, jacobian: Array) -> Array:
    """K b = 1 / b, with K the cosines, has b_t = 1 / sqrt(1 + cosine); 0 where there is none."""
    units = jacobian * _divide(1.0, np.linalg.norm(jacobian, axis=-1))[..., None]
    middle = units.sum(-2)  # its square is 2 (1 + cosine), without the cancellation
    square = (middle * middle).sum(-1, keepdims=True)
    # One gradient of 0 is left out, and the other becomes a unit vector: `square` is 1, not 2.
    both = (jacobian != 0).any(-1).all(-1, keepdims=True)
    scale = _divide(np.where(both, np.sqrt(2), 1), np.sqrt(square))
    return np.where(both & (np.sqrt(square) < 2e-6), 0, scale * middle)


def cagrad(losses: Array, jacobian: Array, c: float = 0.4) -> Array:
    """The mean g_0 plus c ||g_0|| in the direction of the g_w between the two gradients that
    minimises g_w . g_0 + c ||g_0|| ||g_w||.

    Along the line through both, with `apart` = g_1 - g_2 and t the position from the point nearest
    to 0, the slope is 0 where t / ||g_w|| = -apart . g_0 / (c ||g_0|| ||apart||) = `cosine`.
    """
    one, two = jacobian[..., 0, :], jacobian[..., 1, :]
    mean, apart = (one + two) / 2, one - two
    length, radius = np.linalg.norm(apart, axis=-1), c * np.linalg.norm(mean, axis=-1)
    cosine = np.clip(_divide(-(apart * mean).sum(-1), radius * length), -1, 1)
    height = np.abs(one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0])
    sine = np.sqrt(1 - cosine * cosine)
    t = np.copysign(_divide(np.abs(cosine) * height, length * sine, np.inf), cosine)
    start = _divide((two * apart).sum(-1), length)
    share = np.clip(_divide(t - start, length), 0, 1)[..., None]
    between = two + share * apart
    size = np.linalg.norm(between, axis=-1)
    return mean + between * _divide(radius, size)[..., None]


def random_weighting(losses: Array, jacobian: Array, rng: np.random.Generator) -> Array:
    """Weights that are the softmax of normal draws, new at each step."""
    return weighted(softmax(rng.normal(size=losses.shape), -1), jacobian)


def graddrop(losses: Array, jacobian: Array, rng: np.random.Generator) -> Array:
    """The sum of half the gradients, at each weight of the entries of one sign only, which is drawn
    by how pure it is."""
    total, size = jacobian.sum(-2), np.abs(jacobian).sum(-2)
    purity = 0.5 * (1 + _divide(total, size))
    positive = rng.random(size=purity.shape) < purity
    return (0.5 * jacobian * ((jacobian > 0) == positive[..., None, :])).sum(-2)


class DynamicWeightAverage:
    """More weight, from the third epoch on, for the loss that fell more slowly in the last one; an
    epoch is 1,000 steps."""

    def __init__(self) -> None:
        self.seen: list[Array] = []
        self.means: list[Array] = []
        self.weights: Array | float = 0.5

    def __call__(self, losses: Array, jacobian: Array) -> Array:
        """The weighted sum of the gradients."""
        direction = weighted(self.weights * np.ones_like(losses), jacobian)
        self.seen.append(losses)
        if len(self.seen) == EPOCH:
            self.means.append(np.mean(self.seen, 0))
            self.seen.clear()
            if len(self.means) > 1:
                self.weights = softmax(_divide(self.means[-1], self.means[-2], 1.0) / 2, -1)
        return direction


class UncertaintyWeighting:
    """Each loss over a learned variance; the logarithms s of the variances go by the same Adam.

    Where a loss is negative, as near the front, the objective has no minimum: s falls without end,
    and exp(-s) would overflow. A run with an s below `LOWEST` keeps both as they are: their
    difference, all that Adam notices by then, stays.
    """

    LOWEST = -100.0

    def __init__(self, lr: float) -> None:
        self.lr = lr
        self.adam: Adam | None = None

    def __call__(self, losses: Array, jacobian: Array) -> Array:
        """Half the mean of the gradients, each over its variance."""
        self.adam = self.adam or Adam(np.zeros_like(losses), self.lr)
        factors = 0.25 * np.exp(-self.adam.weights)
        before = self.adam.weights.copy()
        self.adam.step(0.25 - factors * losses)
        low = (before < self.LOWEST).any(-1, keepdims=True)
        self.adam.weights[:] = np.where(low, before, self.adam.weights)
        return weighted(factors, jacobian)


def rules(lr: float, seed: int) -> dict[str, Rule]:
    """All of them, new, in the order of the figures; each has random numbers of its own."""
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


def run(
    problem: ToyProblem, chosen: Mapping[str, Rule], num_steps: int, every: int, lr: float
) -> Float[Array, "S R V 5 2"]:
    """Train all R rules side by side from the five initial points, and return the weights every so
    many steps, the start included.

    `problem` has V scales, [V, 1].
    """
    theta = np.tile(np.array(INITIAL_POINTS), (len(chosen), problem.factor.shape[0], 1, 1))

    def directions(theta: Array, _step: int) -> Array:
        found = zip(chosen.values(), *problem.losses_and_jacobian(theta), strict=True)
        return np.stack([rule(losses, jacobian) for rule, losses, jacobian in found])

    return descend(theta, range(num_steps), directions, every, lr)


def _divide(a: Array | float, b: Array, otherwise: float = 0.0) -> Array:
    """a / b, and `otherwise` where b is 0."""
    shape = np.broadcast_shapes(np.shape(a), b.shape)
    return np.divide(a, b, out=np.full(shape, otherwise), where=b != 0)
