"""Task weights learned by looking one step ahead."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from pamal_core.balancing.base import Balancer, Draw
from pamal_core.errors import InputError, check_number, check_type
from pamal_core.inputs import Batch, to_device
from pamal_core.network import Network
from pamal_core.skeleton import put_back
from pamal_core.tasks import Task, check_names, task_losses
from pamal_core.weights import Vector, flatten, unflatten


class AutoLambda(Balancer):
    r"""Task weights that make the next step good for other data.

    Liu, James, Davison and Johns, "Auto-Lambda: disentangling dynamic task relationships" (TMLR
    2022), Eq. 3 and 4. Let $\theta' = \theta - \eta \sum_t \lambda_t g_t$, with $\eta$ the rate
    `lr` of the network. The weights $\lambda$ descend on the sum of the losses at $\theta'$ on
    another batch, every task a primary one; then the network descends along $\sum_t \lambda_t g_t$.
    They approximate the slope by finite differences; with the task gradients $g_t$ at hand it is
    $-\eta \, g_t \cdot \nabla L(\theta')$, exactly.

    `loader` yields the other batches, anew in each epoch: as in their code the training data in an
    order of its own, so that no rule sees more data than another. $\lambda$ starts at 0.1 and has
    an Adam of its own with rate `meta_lr` = 1e-4, also as in their code. It replaces `weights`. A
    step costs T backward passes, and one step of linear scalarisation for the other batch. Raises
    InputError where `loader` yields nothing.
    """

    def __init__(
        self,
        network: Network,
        tasks: Sequence[Task],
        loader: Iterable[Batch],
        *,
        lr: float,
        meta_lr: float = 1e-4,
    ) -> None:
        check_type("network", network, Network, "that of the method")
        check_names(tasks)
        check_number("lr", lr, 0, above=True)
        check_number("meta_lr", meta_lr, 0, above=True)
        self.network, self.tasks, self.loader, self.lr = network, tasks, loader, lr
        self.task_weights = torch.full((len(tasks),), 0.1)
        self.optimizer = torch.optim.Adam([self.task_weights], lr=meta_lr)
        self.others: Iterator[Batch] = iter(())

    def start_epoch(self, epoch_losses: Sequence[Sequence[float]]) -> None:
        self.others = iter(self.loader)

    def direction(self, draw: Draw) -> Vector:
        jacobian = torch.stack(draw.gradients())
        now = self.task_weights.to(jacobian)
        slope = self._slope(draw, self.lr * (now @ jacobian))
        self.task_weights.grad = (-self.lr * (jacobian @ slope)).to(self.task_weights)
        self.optimizer.step()
        return draw.penalised(self.task_weights.to(jacobian)) @ jacobian

    def _slope(self, draw: Draw, step: Vector) -> Vector:
        """Return grad L(theta - `step`) on the next other batch; running statistics are left as
        they were."""
        batch = next(self.others, None)
        if batch is None:  # more draws than batches in an epoch
            self.others = iter(self.loader)
            batch = next(self.others, None)
        if batch is None:
            raise InputError("`loader` must yield batches anew in each epoch. Found none.")
        inputs, *targets = to_device(batch, step.device, [task.name for task in self.tasks])
        kept = self.network.skeleton.buffer_values()
        like = [*draw.theta.values()]
        ahead = unflatten(flatten(like, like).detach() - step, like)
        theta = {n: w.requires_grad_() for n, w in zip(draw.theta, ahead, strict=True)}
        with self.network.skeleton.holding(theta):
            outputs = self.network.skeleton(theta, inputs)
            losses = task_losses(self.tasks, outputs, targets)
            slope = replace(draw, theta=theta, losses=losses).gradient(losses.sum())
        put_back(kept)
        return slope

    def state_dict(self) -> dict[str, Any]:
        return {"task_weights": self.task_weights, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.task_weights.copy_(state["task_weights"])
        self.optimizer.load_state_dict(state["optimizer"])
