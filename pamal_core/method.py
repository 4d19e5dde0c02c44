"""Algorithm 1: one training step of any method that is a network, a preference, a balancer and a
penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from pamal_core.balancing import Balancer, Draw, Linear
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.inputs import Batch
from pamal_core.networks.base import Network
from pamal_core.penalties import MultiForward, Penalty
from pamal_core.shapes import ByMember, ByTask, Theta
from pamal_core.simplex import Dirichlet
from pamal_core.tasks import Task, check_names, task_losses


class NonFiniteError(ArithmeticError):
    """A loss or a gradient is NaN or infinite; the message names the step, the task and the
    alpha."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


@dataclass(repr=False)
class Method:
    r"""A multi-task method: in each step `window` alphas are drawn, and each weighs the losses of
    the network that it stands for by $\alpha^\top W$ (Eq. 2, Algorithm 1).

    `preference` says how alphas are drawn, `balancer` makes one direction of the T losses of a
    draw, and `penalty` couples the draws. InputError where they do not fit one another, such as a
    penalty with `lam` > 0 in a window of one.

    A batch is (inputs, target_1, ..., target_T) or (inputs, {name: target}). Inputs are a tensor, a
    tuple of several, or a dict of them by the names that the model has for them. A target that is
    None, or has no key, adds nothing: its loss is 0. The network returns a tensor for each task, in
    their order or in a dict by their names.
    """

    network: Network
    tasks: Sequence[Task]
    preference: Dirichlet = field(default_factory=Dirichlet)
    balancer: Balancer = field(default_factory=Linear)
    penalty: Penalty = field(default_factory=MultiForward)
    window: int = 1
    past: list[list[float]] = field(default_factory=list, init=False, repr=False)
    """The mean losses [T] of every epoch that it was trained for: the next one follows on."""

    def __post_init__(self) -> None:
        check_type("network", self.network, Network, "WeightEnsemble([Net(), Net()])")
        check_type("preference", self.preference, Dirichlet, "Dirichlet(1.0)")
        check_type("balancer", self.balancer, Balancer, "Linear()")
        check_type("penalty", self.penalty, Penalty, "MultiForward(1.0)")
        check_number("window", self.window, 1, whole=True)
        check_names(self.tasks)
        if self.penalty.lam > 0 and self.window < self.penalty.min_window:
            raise InputError(
                f"`window` must be at least {self.penalty.min_window} when `lam` > 0. "
                f"Found window={self.window}, lam={self.penalty.lam}."
            )
        if len(self.tasks) != self.network.num_tasks:
            raise InputError(
                "There must be one task per column of `task_weights`. "
                f"Expected {self.network.num_tasks}, found {len(self.tasks)}."
            )
        for task in self.tasks:
            if isinstance(task.loss, nn.Module) and any(
                p.requires_grad for p in task.loss.parameters()
            ):
                raise InputError(
                    f"The loss of task {task.name} must have no weights: the network alone is "
                    "trained, so give them to the model, whose output may be the loss. Found some."
                )

    def __repr__(self) -> str:
        skeleton, name = self.network.skeleton, type(self.network).__name__
        model, members = type(skeleton.model).__name__, self.network.num_members
        tasks = (f"{t.name} ({', '.join(m.name for m in t.metrics)})" for t in self.tasks)
        penalty = self.penalty if self.penalty.lam > 0 else "none"
        return "\n".join(
            [
                f"network     {name} of {members} {model}, {skeleton.num_weights:,} weights each, "
                f"{skeleton.num_shared:,} of them shared",
                f"tasks       {', '.join(tasks)}",
                f"preference  {self.preference}",
                f"balancer    {type(self.balancer).__name__}",
                f"penalty     {penalty}",
                f"window      {self.window}",
            ]
        )

    def parameters(self) -> list[Tensor]:
        """What an optimiser trains: the parameters of the network and those of the balancer."""
        return [*self.network.parameters(), *self.balancer.parameters()]

    def draw(self, rng: np.random.Generator, progress: float = 1.0) -> Float[Tensor, "W M"]:
        """The `window` alphas of a step, by the preference at `progress` of the training."""
        preference = self.preference.at(progress)
        alphas = preference.sample(self.window, self.network.num_members, rng)
        # To a GPU without waiting for what it still has to do.
        return torch.as_tensor(alphas).to(self.network.task_weights, non_blocking=True)

    def step(self, batch: Batch, rng: np.random.Generator) -> Float[Tensor, "W T"]:
        """Draw `window` alphas and add the gradient of the total loss to `.grad`; returns the
        losses [W, T]."""
        return self.accumulate(batch, self.draw(rng))

    def accumulate(self, batch: Batch, alphas: Float[Tensor, "W M"]) -> Float[Tensor, "W T"]:
        """Add the gradient of the total loss at `alphas` to `.grad`; returns the losses [W, T].

        Without a penalty the draws are back-propagated one by one, so that memory does not grow
        with W. The penalty couples them: all W graphs are kept until its slopes are known.
        """
        alphas = torch.as_tensor(alphas).to(self.network.task_weights)
        weights = alphas @ self.network.task_weights
        at_once = len(alphas) if self.penalty.lam > 0 else 1
        groups = zip(torch.split(alphas, at_once), torch.split(weights, at_once), strict=True)
        return torch.cat([self._backward(batch, *group) for group in groups])

    def _backward(self, batch: Batch, alphas: ByMember, weights: ByTask) -> ByTask:
        """Back-propagate some draws, whose graphs are gone when this returns; their losses."""
        draws = [self._forward(batch, *one) for one in zip(alphas, weights, strict=True)]
        losses = torch.stack([draw.losses.detach() for _, draw in draws])
        penalties = [None] * len(draws)
        if self.penalty.lam > 0:
            penalties = list(self.penalty.task_weights(losses, weights))
        for (theta, draw), penalty in zip(draws, penalties, strict=True):
            with self.network.skeleton.holding(draw.theta):
                direction = self.balancer.direction(replace(draw, penalty=penalty))
            # For an ensemble this adds dL/dTheta_k = alpha_k dL/dtheta.
            torch.autograd.backward(theta, direction)
        return losses

    def _forward(self, batch: Batch, alpha: ByMember, weights: ByTask) -> tuple[Theta, Draw]:
        """theta(alpha), and the draw, whose losses are differentiable in a leaf of its values: the
        balancer has the gradient by that leaf before any member has one."""
        theta = self.network.weights(alpha)
        leaf = theta.detach().requires_grad_()
        inputs, *targets = batch
        losses = task_losses(self.tasks, self.network(leaf, inputs), targets).to(theta.dtype)
        return theta, Draw(alpha, weights, leaf, losses, self.network.skeleton.num_shared)
