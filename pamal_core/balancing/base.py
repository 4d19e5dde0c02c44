"""The interface of every balancer, and the draw that it gets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.weights import ByMember, ByTask, Vector, Weights, flatten


@dataclass(frozen=True)
class Draw:
    r"""One alpha of a step: its task `weights` [T], $\alpha^\top W$, and the `losses` [T] of the
    network there.

    The losses are differentiable in `theta`, the weights by name, which are leaves. Balancers see
    gradients by theta as vectors [N], of which all tasks use the first `num_shared` entries.
    `penalty` [T] are the task weights that the penalty adds; no balancer changes them.
    """

    alpha: ByMember
    weights: ByTask
    theta: Weights
    losses: ByTask
    num_shared: int
    penalty: ByTask | None = None

    def gradient(self, loss: Tensor, retain_graph: bool = False) -> Vector:
        """Return the gradient of `loss` by theta."""
        # Not by `autograd.grad`, which the reentrant form of activation checkpointing refuses.
        torch.autograd.backward(loss, retain_graph=retain_graph)
        gradients = []
        for weight in self.theta.values():
            gradient, weight.grad = weight.grad, None
            gradients.append(torch.zeros_like(weight) if gradient is None else gradient)
        return flatten(gradients, self.theta.values())

    def gradients(self) -> list[Vector]:
        """Return the rows of the Jacobian, the gradient of each loss: T backward passes."""
        return [self.gradient(loss, retain_graph=True) for loss in self.losses]

    def penalised(self, weights: ByTask) -> ByTask:
        """Return `weights` plus the task weights of the penalty, if there is one."""
        return weights if self.penalty is None else weights + self.penalty


class Balancer(ABC):
    """Turns the T losses of one draw into one direction. It may keep a state from draw to draw."""

    @abstractmethod
    def direction(self, draw: Draw) -> Vector:
        """Return the balanced gradient of the losses by theta, [N], plus the penalty's task weights
        times the Jacobian. A direct subclass adds that itself (`Draw.penalised`); `LossBalancer`,
        `GradientBalancer` and `GramBalancer` do it for theirs.

        An optimiser that descends subtracts a multiple of the direction.
        """

    def parameters(self) -> Iterable[Tensor]:
        """Return the tensors that the optimiser trains beside the network, by default none.

        The balancer itself adds to their `.grad`.
        """
        return ()

    def start_epoch(self, epoch_losses: Sequence[Sequence[float]]) -> None:  # noqa: B027 optional
        """Prepare for an epoch, given the mean losses [epochs, T] of the epochs before it."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a training needs to resume: tensors, numbers, texts, lists and dicts. By
        default it is empty, and a resumed training starts without a memory."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state`, which `state_dict` returned. Its tensors are in main memory: move
        them to the losses where they are used. By default raise InputError unless it is empty."""
        if state:
            raise InputError(
                f"{type(self).__name__} has no state to continue from. Found {described(state)}."
            )


def check_result(
    function: Callable[..., Any], what: str, result: object, *shape: int, kind: type = Tensor
) -> None:
    """Raise InputError unless `result`, which a subclass's `function` returned, is a tensor, or
    another `kind` of array, of this `shape`: torch would broadcast some others, and add one number
    to each entry."""
    if not isinstance(result, kind) or getattr(result, "shape", None) != shape:
        name = "a tensor" if kind is Tensor else "an array"
        raise InputError(
            f"`{function.__qualname__}` must return {what}, {name} {[*shape]}. "
            f"Found {described(result)}."
        )
