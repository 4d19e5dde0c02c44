"""Preferences alpha, points on the simplex: how they are drawn and how they are laid out."""

from dataclasses import dataclass
from itertools import combinations
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from pamal_core.errors import InputError, check_number, check_type

SAME = 1e-6
"""Largest distance of task weights that count as equal: sums of float32 may differ by rounding."""


@dataclass(frozen=True)
class Dirichlet:
    r"""Draws $\alpha \sim \mathrm{Dir}(p)$ on the simplex: line 5 of Algorithm 1.

    - `p`: one concentration for all members or one per member. `p=1` is uniform, `p<1` favours the
      corners, `p>1` the centre. The two limits that the paper discusses in appendix A1 are
      included: `p=0` draws one corner at random, `p=inf` is the centre itself.
    - `stratified`: whether the draws of one step are spread out by a Latin hypercube instead of
      independent, each still ~ Dir(p). For two members one draw then falls into each of W equally
      likely intervals of alpha_1.

    Raises InputError if `p` is negative, or has several numbers and one is 0 or infinite.
    """

    p: float | tuple[float, ...] = 1.0
    stratified: bool = False

    def __post_init__(self) -> None:
        check_type("stratified", self.stratified, bool, "True")
        if as_array(self.p).tolist() not in (0, np.inf):  # the two limits
            check_positive("p", self.p)

    def check_members(self, number: int) -> None:
        """Raise InputError unless `p` is one concentration, or one for each of `number` members."""
        shape = as_array(self.p).shape
        if shape not in ((), (1,), (number,)):
            raise InputError(
                f"`p` must be one number, or one for each of {number} members. Found {self.p}."
            )

    def sample(self, num_draws: int, num_members: int, rng: np.random.Generator) -> np.ndarray:
        """Return `num_draws` points on the simplex of `num_members` corners: [num_draws, M]."""
        p = np.broadcast_to(np.asarray(self.p, dtype=float), num_members)
        if np.isinf(p[0]):
            return np.full((num_draws, num_members), 1 / num_members)
        if self.stratified:
            strata = np.tile(np.arange(num_draws)[:, None], num_members)
            shares = (rng.permuted(strata, axis=0) + rng.random(strata.shape)) / num_draws
            return _at_quantiles(shares, p)
        if p[0] == 0:
            return np.eye(num_members)[rng.integers(num_members, size=num_draws)]
        return rng.dirichlet(p, size=num_draws)


def check_positive(name: str, p: Any) -> None:
    """Raise InputError unless `p`, of the argument `name`, is a concentration of `Dirichlet` and
    none of its limits."""
    values = np.atleast_1d(as_array(p))
    if values.ndim > 1 or not values.size or not (np.isfinite(values) & (values > 0)).all():
        raise InputError(
            f"`{name}` must be one positive finite number, or one per member. Found {p!r}."
        )


def _at_quantiles(shares: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return points [W, M] ~ Dir(p) from uniform `shares` [W, M] by breaking a stick: member k gets
    a share ~ Beta(p_k, p_k+1 + ... + p_M) of the length that the members before it left."""
    num_members = len(p)
    if p[0] == 0:
        return np.eye(num_members)[(shares[:, 0] * num_members).astype(int)]
    left, alphas = np.ones(len(shares)), np.empty((len(shares), num_members))
    for k in range(num_members - 1):
        alphas[:, k] = left * betaincinv(p[k], p[k + 1 :].sum(), shares[:, k])
        left -= alphas[:, k]
    alphas[:, -1] = left
    return alphas


def lattice(num_members: int, num_points: int = 11) -> np.ndarray:
    """Return all alphas whose entries are multiples of 1 / (num_points - 1): [P, num_members].

    - `num_members`: M.
    - `num_points`: the n of section 5.2, the number of points along an edge. Two members give n
      points, three give n (n + 1) / 2.

    The first row is the first corner, the last row the last corner.
    """
    check_number("num_members", num_members, 1, whole=True)
    check_number("num_points", num_points, 2, whole=True)
    steps = num_points - 1
    # Stars and bars: each choice of bar positions splits `steps` units between the members.
    bars = combinations(range(steps + num_members - 1), num_members - 1)
    edges = np.array([(-1, *bar, steps + num_members - 1) for bar in bars])
    return (np.diff(edges, axis=1) - 1)[::-1] / steps


def sampled(num_members: int, num_draws: int = 256, seed: int = 0) -> np.ndarray:
    """Return the corners, the centre, and `num_draws` points spread evenly over the simplex: [M + 1
    + num_draws, M]. With many members a lattice has too many points.

    The spread points are ~ Dir(1), from a Latin hypercube with this `seed`.
    """
    rng = np.random.default_rng(seed)
    draws = Dirichlet(1.0, stratified=True).sample(num_draws, num_members, rng)
    return np.vstack([np.eye(num_members), np.full((1, num_members), 1 / num_members), draws])


def on_simplex(alpha: ArrayLike, num_members: int, name: str = "alpha") -> np.ndarray:
    """Return `alpha`, which may be a tensor on any device, as a float array [..., num_members];
    raise InputError unless its numbers are finite, >= 0, and sum to 1 within 1e-5 in each row."""
    array = as_array(alpha)
    is_valid = array.ndim > 0 and array.shape[-1] == num_members
    is_valid = is_valid and np.isfinite(array).all() and (array >= -1e-9).all()
    if not is_valid or not np.allclose(array.sum(-1), 1, rtol=0, atol=1e-5):
        found = array.round(6).tolist() if array.size else alpha
        words = shorten(repr(found), 200, placeholder=" ...")
        raise InputError(
            f"`{name}` must have {num_members} finite numbers >= 0 that sum to 1. Found {words}."
        )
    return array


def as_array(values: Any) -> np.ndarray:
    """Return `values`, which may be a tensor on any device, as a float array: an empty one for
    words, and for rows of unlike lengths."""
    if hasattr(values, "detach"):  # a tensor may be on a GPU, need a gradient, or be bfloat16
        values = values.detach().cpu().double()
    try:
        return np.asarray(values, dtype=float).copy()  # an array of pandas may be read-only
    except (TypeError, ValueError):
        return np.empty(0)
