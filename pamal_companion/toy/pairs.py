"""Algorithm 1 on the toy problem for many ensembles at once: one batch of arrays, no autograd.
NumPy, not torch: on so little data torch spends most of its time on each call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from tqdm.auto import tqdm

from pamal_companion.toy.problem import INITIAL_POINTS, ToyProblem
from pamal_companion.toy.rules import EPOCH, Adam, Rule, linear, rule_of
from pamal_core.balancing import GradientBalancer, LossBalancer
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet


def initial_pairs() -> Float[Array, "25 2 2"]:
    """Return the 25 ordered pairs of initial points: number 5 i + j has member 1 at point i, 2 at
    j."""
    return np.array(list(product(INITIAL_POINTS, repeat=2)))


@dataclass
class Pairs:
    """V variants of P ensembles with M members each, all advancing together.

    In every variant ensemble p starts at `starts`[p], [M, 2]; variant v has `balancers`[v], and its
    losses the scale [v, p] of `problem`, which broadcasts with [V, P, 1]. All variants of an
    ensemble see the same draws; ensemble p draws from a generator of its own, seeded by (`seed`,
    p), whatever other ensembles and variants run beside it. An ensemble of a single member is a
    network, its tasks weighted by the one row of `task_weights` (the matrix W [M, T]; identity by
    default).
    """

    problem: ToyProblem
    balancers: Sequence[LossBalancer | GradientBalancer | Rule]
    starts: Float[Array, "P M 2"] = field(default_factory=initial_pairs)
    task_weights: Float[Array, "M 2"] = field(default_factory=lambda: np.eye(2))
    preference: Dirichlet = field(default_factory=Dirichlet)
    penalty: MultiForward = field(default_factory=lambda: MultiForward(0.0))
    window: int = 1
    lr: float = 2e-3
    seed: int = 0
    progress: bool = False

    def run(self, num_steps: int, every: int) -> Float[Array, "S V P M 2"]:
        """Train and return `stacked` every so many steps: S = 1 + num_steps // every, the start
        included."""
        stacked = np.stack([self.starts] * len(self.balancers))
        rules, adam, snapshots = [*map(rule_of, self.balancers)], Adam(self.lr), [stacked]
        # The balancers are torch's. They need no autograd, the penalty does for its own slope.
        with torch.inference_mode(self.penalty.lam == 0):
            for step, alphas in enumerate(self._draws(num_steps), start=1):
                stacked = stacked + adam.step(self._gradient(rules, stacked, alphas))
                if step % every == 0:
                    snapshots.append(stacked)
        return np.stack(snapshots)

    def _gradient(self, rules: Sequence[Rule], stacked: Array, alphas: Array) -> Array:
        """Return what lines 4 to 13 of Algorithm 1 descend along at `stacked` [V, P, M, 2], for
        draws [P, W, M]."""
        losses, jacobian = self.problem.losses_and_jacobian(alphas @ stacked)
        weights = alphas @ self.task_weights
        given = zip(rules, losses, jacobian, strict=True)
        directions = np.stack([rule(loss, rows, weights) for rule, loss, rows in given])
        if self.penalty.lam > 0:
            tensors = torch.from_numpy(losses), torch.from_numpy(weights).expand(losses.shape)
            directions += linear(losses, jacobian, self.penalty.slopes(*tensors).numpy())
        # dL/dTheta_k is the sum over draws of alpha_k dL/dtheta.
        return alphas.swapaxes(-1, -2) @ directions

    def _draws(self, num_steps: int) -> Iterator[Float[Array, "P W M"]]:
        """Yield the alphas of each step, drawn an epoch at a time."""
        num_pairs, num_members, _ = self.starts.shape
        rngs = [np.random.default_rng((self.seed, p)) for p in range(num_pairs)]
        shape = (EPOCH, self.window, num_members)
        for done in tqdm(range(0, num_steps, EPOCH), disable=not self.progress, unit="epoch"):
            draws = [self.preference.sample(EPOCH * self.window, num_members, r) for r in rngs]
            yield from np.stack([d.reshape(shape) for d in draws], 1)[: num_steps - done]
