"""Algorithm 1: one training step of any method that is a network, a preference, a balancer and a
penalty.

To read it in the order of a step: `Method.draw` draws alpha (`simplex`), `Method._forward` mixes
the weights (`ensemble`), runs the model with them (`skeleton`) and computes the losses (`tasks`).
`Method._backward` asks for the slopes of the penalty (`penalties`) and for a direction
(`balancing`), and gives each member its share. The loop around it, with the optimiser, is
`training`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from pamal_core.balancing import Aggregated, Balancer, Draw, Linear
from pamal_core.balancing.base import check_result
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.inputs import Batch, runs_of, unchanged
from pamal_core.network import Alpha, Network, check_network, check_num_tasks, check_order
from pamal_core.penalties import Penalty
from pamal_core.simplex import Dirichlet
from pamal_core.skeleton import autocast_dtype, autocast_now, full_precision
from pamal_core.tasks import Task, check_names, check_one_target, columns_of, task_losses
from pamal_core.weights import ByMember, ByTask, as_leaves, unflatten


@dataclass(repr=False)
class Method:
    r"""A multi-task method: in each step `window` alphas are drawn, and each weighs the losses of
    the network that it stands for by $\alpha^\top W$ (Eq. 2, Algorithm 1).

    - `network`: a `WeightEnsemble`, or another map from alpha to weights. Its model returns a
      tensor for each task, in their order or in a dict by their names.
    - `tasks`: a loss and metrics for each column of its `task_weights`.
    - `preference`: how alphas are drawn: a `Dirichlet`, or a function that returns one for the
      share of the training that is done, from 0 to 1.
    - `balancer`: makes one direction of the T losses of a draw; an aggregator of TorchJD, too.
    - `penalty`: couples the draws of a step, or None.
    - `window`: W, the number of draws in a step.

    A batch is (inputs, target_1, ..., target_T), (inputs, {name: target}), one dict of both, or a
    named tuple whose fields behind the inputs are the tasks. Inputs are a tensor, a tuple of
    several, or a dict of them by the names that the model has for them. A target that is None, or
    has no key, adds nothing: its loss is 0. Where each task has inputs of its own, a batch is
    {name: (inputs, target)}, and one of these has the targets of a task.

    Raises InputError where the parts do not fit one another, such as a penalty in a window of one,
    or tasks in another order than those of a network that was trained before; and if a metric would
    have the column of an alpha in a front.
    """

    network: Network
    tasks: Sequence[Task]
    _: KW_ONLY
    preference: Dirichlet | Callable[[float], Dirichlet] = field(default_factory=Dirichlet)
    balancer: Any = field(default_factory=Linear)
    penalty: Penalty | None = None
    window: int = 1
    epoch_losses: list[list[float]] = field(default_factory=list, init=False, repr=False)
    """The mean losses [T] of each epoch so far: a second call of `train` continues from them."""

    def __post_init__(self) -> None:
        check_network(self.network)
        if isinstance(self.preference, type) or not callable(self.preference):
            check_type("preference", self.preference, Dirichlet, "Dirichlet(1.0)")
        if type(self.balancer).__module__.startswith("torchjd."):
            self.balancer = Aggregated(self.balancer)
        check_type("balancer", self.balancer, Balancer, "Linear()")
        if self.penalty is not None:
            check_type("penalty", self.penalty, Penalty, "MultiForward(1.0)")
        check_number("window", self.window, 1, whole=True)
        check_names(self.tasks)
        penalty = self.active_penalty
        if penalty is not None and self.window < penalty.min_window:
            raise InputError(
                f"`window` must be at least {penalty.min_window} when `lam` > 0. "
                f"Found window={self.window}, lam={penalty.lam}."
            )
        check_num_tasks(self.network, len(self.tasks))
        check_order(self.network, self.names)
        if isinstance(self.preference, Dirichlet):
            self.preference.check_members(self.network.num_members)
        for task in self.tasks:
            if isinstance(task.loss, nn.Module) and any(
                p.requires_grad for p in task.loss.parameters()
            ):
                raise InputError(
                    f"The loss of task {task.name} must have no weights: the network alone is "
                    "trained, so give them to the model, whose output may be the loss. Found some."
                )
        before, self.network.task_names = self.network.task_names, self.names
        alphas = {f"alpha/{name}" for name in self.network.alpha_names}
        if both := sorted(alphas.intersection(columns_of(self.tasks))):
            self.network.task_names = before
            raise InputError(
                "A metric must not have the column of an alpha in a front: name task or metric "
                f"otherwise. Found {', '.join(both)}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tasks."""
        return tuple(task.name for task in self.tasks)

    @property
    def active_penalty(self) -> Penalty | None:
        """Return the penalty, None if its `lam` is 0."""
        return self.penalty if self.penalty is not None and self.penalty.lam > 0 else None

    def __repr__(self) -> str:
        skeleton, name = self.network.skeleton, type(self.network).__name__
        model, members = type(skeleton.model).__name__, self.network.num_members
        tasks = (f"{t.name} ({', '.join(m.name for m in t.metrics)})" for t in self.tasks)
        return "\n".join(
            [
                f"network     {name} of {members} {model}, {skeleton.num_weights:,} weights each, "
                f"{skeleton.num_shared:,} of them shared",
                f"tasks       {', '.join(tasks)}",
                f"preference  {self.preference}",
                f"balancer    {type(self.balancer).__name__}",
                f"penalty     {self.active_penalty or 'none'}",
                f"window      {self.window}",
            ]
        )

    def parameters(self) -> list[Tensor]:
        """Return the parameters that an optimiser trains: the network's and the balancer's."""
        return [*self.network.parameters(), *self.balancer.parameters()]

    def draw(self, rng: np.random.Generator, progress: float = 1.0) -> Float[np.ndarray, "W M"]:
        """Return the `window` alphas of a step, by the preference at `progress` of the training."""
        preference = self.preference
        if not isinstance(preference, Dirichlet):
            preference = preference(progress)
            check_type(f"preference({progress:.3g})", preference, Dirichlet, "Dirichlet(1.0)")
            preference.check_members(self.network.num_members)
        return preference.sample(self.window, self.network.num_members, rng)

    def step(self, batch: Batch, alphas: Alpha | None = None) -> Float[Tensor, "W T"]:
        """Add the gradient of the total loss to the `.grad` of the parameters, and return the
        losses [W, T], without weights and without the penalty.

        The total loss is the sum over the draws, not the mean, of their weighted losses, plus the
        penalty.

        - `batch`: the inputs and targets.
        - `alphas`: the draws [W, M], or a single one [M]. If None, `window` new ones are drawn,
          seeded by torch's global generator. A `preference` that changes during training is then
          taken at its end: for others give `method.draw(rng, progress)`.

        Without a penalty each draw is back-propagated before the next one is made, so memory does
        not grow with W. A penalty couples the draws, so all W graphs are kept until its slopes are
        known. Under the caller's autocast to bfloat16 only the architecture runs in bfloat16.

        Raises InputError if an alpha is off the simplex, under autocast to float16, if the model or
        a loss writes into the batch, or a loss into an output, and if the weights are those of a
        training whose tasks were in another order.
        """
        check_order(self.network, self.names)  # weights that were loaded bring their names
        device = self.network.device
        caller = autocast_now(device)
        if autocast_dtype(device) == torch.float16:
            raise InputError(
                "Gradients of float16 need a scaler of losses (GradScaler), whose scale balancers, "
                "penalties and norms would see: train under autocast to bfloat16, or without. "
                "Found autocast to float16, which is for evaluation alone."
            )
        if alphas is None:
            alphas = self.draw(np.random.default_rng(int(torch.randint(2**62, ()))))
        runs = runs_of(batch, device, self.names)
        if len(runs) > 1:
            check_one_target(self.tasks, runs)
        with full_precision(device):
            points = self.network.alpha_tensor(alphas).view(-1, self.network.num_members)
            weights = points @ self.network.task_weights
            at_once = 1 if self.active_penalty is None else len(points)
            groups = zip(torch.split(points, at_once), torch.split(weights, at_once), strict=True)
            with unchanged(runs):
                return torch.cat([self._backward(runs, caller, *group) for group in groups])

    def _backward(
        self,
        runs: list[list[Any]],
        caller: AbstractContextManager[Any],
        alphas: ByMember,
        weights: ByTask,
    ) -> ByTask:
        """Back-propagate some draws, free their graphs, and return their losses [W, T]."""
        pairs = zip(alphas, weights, strict=True)
        draws = [self._forward(runs, caller, *pair) for pair in pairs]
        losses = torch.stack([draw.losses.detach() for _, draw in draws])
        penalties: Sequence[ByTask | None] = [None] * len(draws)
        if self.active_penalty is not None:
            slopes = self.active_penalty.slopes(losses, weights)
            what = "a slope for each draw and task"
            check_result(self.active_penalty.slopes, what, slopes, *losses.shape)
            penalties = list(slopes)
        for (theta, draw), penalty in zip(draws, penalties, strict=True):
            with self.network.skeleton.holding(draw.theta):
                direction = self.balancer.direction(replace(draw, penalty=penalty))
            what, number = "a number for each weight", self.network.skeleton.num_weights
            check_result(self.balancer.direction, what, direction, number)
            # For an ensemble this adds dL/dTheta_k = alpha_k dL/dtheta.
            pieces = zip(theta, unflatten(direction, theta), strict=True)
            trained = {weight: piece for weight, piece in pieces if weight.requires_grad}
            torch.autograd.backward([*trained], [*trained.values()])
        return losses

    def _forward(
        self,
        runs: list[list[Any]],
        caller: AbstractContextManager[Any],
        alpha: ByMember,
        weights: ByTask,
    ) -> tuple[list[Tensor], Draw]:
        """Return theta(alpha), and the draw. Its losses are differentiable in leaves that have the
        values of theta, so that the balancer sees the gradients before any member gets one."""
        theta = self.network.weights(alpha)
        leaves = as_leaves(theta)
        losses = []  # of a run each; a task without a target in a run has a loss of 0 there
        for inputs, *targets in runs:
            with caller:
                outputs = self.network.skeleton(leaves, inputs)
            with unchanged([outputs]):
                losses.append(task_losses(self.tasks, outputs, targets).to(alpha.dtype))
        total = sum(losses[1:], start=losses[0])
        draw = Draw(alpha, weights, leaves, total, self.network.skeleton.num_shared)
        return [*theta.values()], draw
