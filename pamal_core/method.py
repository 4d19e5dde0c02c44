"""Algorithm 1: one training step of any method that is a network, a preference, a balancer and a
penalty."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from pamal_core.balancing import Balancer, Linear
from pamal_core.errors import InputError
from pamal_core.networks.base import Network
from pamal_core.penalties import MultiForward
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Task


class NonFiniteError(ArithmeticError):
    """A loss or a gradient is NaN or infinite: the message names the step, the task and the
    alpha."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class Draw(NamedTuple):
    """The network at one alpha: theta as a function of Theta, the leaf that equals it, and the
    losses at the leaf."""

    theta: Float[Tensor, " N"]
    leaf: Float[Tensor, " N"]
    losses: Float[Tensor, " T"]


@dataclass
class Method:
    """A multi-task method: `window` draws of alpha a step, each weighted by the same alpha (Eq. 2).

    A batch is a tuple (inputs, target_1, ..., target_T).
    """

    network: Network
    tasks: Sequence[Task]
    preference: Dirichlet = field(default_factory=Dirichlet)
    balancer: Balancer = field(default_factory=Linear)
    penalty: MultiForward = field(default_factory=MultiForward)
    window: int = 1

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"`window` must be at least 1. Found window={self.window}.")
        if self.penalty.lam > 0 and self.window < 2:
            raise InputError(
                "`window` must be at least 2 when `lam` > 0. "
                f"Found window={self.window}, lam={self.penalty.lam}."
            )
        if len(self.tasks) != self.network.num_tasks:
            raise InputError(
                "There must be one task per column of `task_weights`. "
                f"Expected {self.network.num_tasks}, found {len(self.tasks)}."
            )

    def parameters(self) -> list[Tensor]:
        """What an optimiser trains: the parameters of the network and those of the balancer."""
        return [*self.network.parameters(), *self.balancer.parameters()]

    def step(self, batch: Sequence[Tensor], rng: np.random.Generator) -> Float[Tensor, "W T"]:
        """Draw `window` alphas and add the gradient of the total loss to `.grad`; returns the
        losses."""
        alphas = self.preference.sample(self.window, self.network.num_members, rng)
        return self.accumulate(batch, torch.as_tensor(alphas).to(self.network.task_weights))

    def accumulate(
        self, batch: Sequence[Tensor], alphas: Float[Tensor, "W M"]
    ) -> Float[Tensor, "W T"]:
        """The same for given `alphas`.

        Without a penalty the draws are back-propagated one by one, so that memory does not grow
        with W. The penalty couples them: all W graphs are kept until its slopes, which are just
        additional task weights, are known.
        """
        weights = alphas @ self.network.task_weights
        if self.penalty.lam == 0:
            pairs = zip(alphas, weights, strict=True)
            return torch.stack([self._pull_back(self._draw(batch, alpha), w) for alpha, w in pairs])
        draws = [self._draw(batch, alpha) for alpha in alphas]
        losses = torch.stack([draw.losses.detach() for draw in draws])
        extra = self.penalty.task_weights(losses, weights)
        for draw, w, c in zip(draws, weights, extra, strict=True):
            self._pull_back(draw, w, c)
        return losses

    def _draw(self, batch: Sequence[Tensor], alpha: Tensor) -> Draw:
        theta = self.network.weights(alpha)
        leaf = theta.detach().requires_grad_()
        inputs, *targets = batch
        losses = torch.stack(list(self._losses(self.network(leaf, inputs), targets)))
        if not losses.isfinite().all():
            t = int(losses.isfinite().logical_not().nonzero()[0])
            raise NonFiniteError(
                f"The loss of task {t + 1} ({self.tasks[t].name}) is {losses[t].item()} "
                f"at alpha={alpha.tolist()}."
            )
        return Draw(theta, leaf, losses)

    def _losses(self, outputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Iterator[Tensor]:
        if not len(outputs) == len(targets) == len(self.tasks):
            raise InputError(
                "The network must give one output and the batch one target per task. "
                f"Expected {len(self.tasks)}, found {len(outputs)} and {len(targets)}."
            )
        for task, output, target in zip(self.tasks, outputs, targets, strict=True):
            yield task.loss(output, target)

    def _pull_back(
        self, draw: Draw, weights: Tensor, penalty: Tensor | None = None
    ) -> Float[Tensor, " T"]:
        """Add the draw's gradient: for an ensemble dL/dTheta_k = alpha_k dL/dtheta."""
        direction = self.balancer.direction(
            draw.losses, draw.leaf, weights, penalty, self.network.num_shared
        )
        torch.autograd.backward(draw.theta, direction)
        return draw.losses.detach()
