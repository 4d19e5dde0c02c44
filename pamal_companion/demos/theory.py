"""Theorem 1 built: two weight settings of one network whose line passes any family of functions.

The proof (appendix A3) takes a perceptron g(x, a) of one hidden layer that is close to the family,
and turns its input a into a weight. Here g is built, too, for functions of one variable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from scipy.linalg import block_diag
from torch import nn

from pamal_companion.runs.options import Options
from pamal_core.ensemble import WeightEnsemble

Array = np.ndarray
GAP = 1.0
"""The room that `comb` leaves between two intervals; the functions live on [-1, 1]."""


@dataclass(frozen=True)
class Family:
    """Functions f(x, a) of x in [-1, 1], one for each a in [0, 1].

    `slope` bounds |df/dx|, `curvature` bounds the second derivative (infinite where f has kinks).
    """

    function: Callable[[Array, Array], Array]
    slope: float
    curvature: float

    def bound(self, pieces: int) -> float:
        """Return the largest error of joining the values of f at `pieces` + 1 even points by
        lines."""
        h = 2 / pieces
        return min(self.slope * h / 2, self.curvature * h**2 / 8)


FAMILIES = {
    "blend": Family(
        lambda x, a: (1 - a) * np.sin(np.pi * x) + a * np.cos(np.pi * x), np.pi, np.pi**2
    ),
    "frequency": Family(lambda x, a: np.sin(np.pi * (1 + 2 * a) * x), 3 * np.pi, 9 * np.pi**2),
    "tent": Family(lambda x, a: np.abs(x - 0.9 * (2 * a - 1)), 1.0, np.inf),
}


class TheoryOptions(Options):
    """A family by its name, how many of its functions, and the size of the perceptron; and where
    the records for Claim 1 are. The other common options mean nothing here."""

    known: ClassVar = ("family", "num_functions", "pieces", "results")
    family: Literal["blend", "frequency", "tent"] = "blend"
    num_functions: Annotated[int, Field(ge=2, le=50)] = 5
    pieces: Annotated[int, Field(ge=2, le=24)] = 16
    results: str | None = None


class Perceptron(NamedTuple):
    """g(z) = M' relu(M z + B) of the proof, with Q hidden units.

    M is [Q, D + 1] and M' [D', Q]: the paper prints both transposed.
    """

    M: Float[Array, "Q inputs"]
    B: Float[Array, " Q"]
    M_out: Float[Array, "outputs Q"]


def two_settings(g: Perceptron) -> WeightEnsemble:
    """Return the two weight settings of the proof as an ensemble: f(x; [a, 1 - a]) = g(x, a) for
    all x and all a in [0, 1].

    The first layer passes on the positive and the negative parts of x, and its last bias, which is
    1 in the first setting and 0 in the second. All other weights are equal.
    """
    hidden, inputs = g.M.shape
    D = inputs - 1
    parts = np.kron(np.eye(D), [[1], [-1]])
    R, S = np.r_[parts, np.zeros((1, D))], block_diag(parts.T, 1)
    members = []
    for k in (1.0, 0.0):
        first, second = nn.Linear(D, 2 * D + 1), nn.Linear(2 * D + 1, hidden)
        last = nn.Linear(hidden, len(g.M_out), bias=False)
        member = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)
        values = R, np.r_[np.zeros(2 * D), k], g.M @ S, g.B, g.M_out
        for parameter, value in zip(member.parameters(), values, strict=True):
            parameter.data = torch.as_tensor(value, dtype=torch.float64)
        members.append(member)
    return WeightEnsemble(members)


def comb(family: Family, num_functions: int, pieces: int) -> Perceptron:
    """Return g for N functions of the family, (n - 1) / (N - 1) the a of the n-th, as the theorem
    wants.

    All hidden units look along one direction, s = x + c a, with c so large that the N copies of
    [-1, 1] are apart on the line of s. There g is the polygon through the values of f_n at
    `pieces` + 1 even points of each copy, so at these a its error is at most `family.bound`. It
    takes Q = N (pieces + 1) hidden units. Between these a, g is whatever the polygon happens to be.
    """
    x, a = np.linspace(-1, 1, pieces + 1), np.linspace(0, 1, num_functions)
    c = (num_functions - 1) * (2 + GAP)
    knots = (x + c * a[:, None]).ravel()
    values = family.function(x, a[:, None]).ravel()
    slopes = np.diff(values) / np.diff(knots)
    # A unit for each knot but the last changes the slope there; one with no input is the constant.
    M = np.stack((np.r_[np.ones(len(slopes)), 0], np.r_[np.full(len(slopes), c), 0]), -1)
    bends = np.diff(slopes, prepend=0)
    return Perceptron(M, np.r_[-knots[:-1], 1], np.r_[bends, values[0]][None])


def fitted(family: Family, pieces: int) -> Perceptron:
    """Return g for the whole family at once, a dense in [0, 1]: fixed hidden units, M' by least
    squares.

    The units look along `pieces` directions of the plane of x and 2 a - 1, and bend at `pieces`
    even points of each: with the constant Q = pieces^2 + 1. The proof takes any such g; no bound is
    known for this one, so its error is measured.
    """
    angles = np.arange(pieces) * np.pi / pieces
    across, along = np.cos(angles), np.sin(angles)
    reach = np.abs(across) + np.abs(along)
    bends = np.linspace(-1, 1, pieces, endpoint=False)
    M = np.stack((across, 2 * along), -1).repeat(pieces, axis=0)
    B = -(reach[:, None] * bends).ravel() - along.repeat(pieces)
    M, B = np.r_[M, [[0, 0]]], np.r_[B, 1]
    # Two points per unit along each axis; Chebyshev's, which are dense at the rim where errors are.
    cheb = np.cos(np.linspace(0, np.pi, 4 * pieces + 1))
    z = np.stack(np.meshgrid(cheb, (cheb + 1) / 2), -1).reshape(-1, 2)
    units = np.maximum(z @ M.T + B, 0)
    M_out = np.linalg.lstsq(units, family.function(*z.T), rcond=1e-10)[0]
    return Perceptron(M, B, M_out[None])


@torch.no_grad()
def along_the_line(
    ensemble: WeightEnsemble, x: Float[Array, " X"], a: Float[Array, " A"]
) -> Float[Array, "A X"]:
    """Return the ensemble's functions of one variable with one output, for each alpha = [a, 1 -
    a]."""
    inputs = torch.as_tensor(x)[:, None]
    return np.stack([ensemble(inputs, [one, 1 - one])[:, 0].numpy() for one in a])


def losses(
    outputs: Float[Array, "A X"], first: Float[Array, " X"], second: Float[Array, " X"]
) -> Float[Array, "A 2"]:
    """Return mean squared errors against two targets, lower is better.

    Their exact Pareto set are the functions (1 - a) first + a second, with the losses (a^2 D,
    (1 - a)^2 D) and D the mean squared distance of the targets.
    """
    return np.stack([((outputs - y) ** 2).mean(-1) for y in (first, second)], -1)
