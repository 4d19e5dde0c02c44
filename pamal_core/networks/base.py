"""What Algorithm 1 asks of a network."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn
from torch.utils._pytree import tree_map_only

from pamal_core.errors import InputError
from pamal_core.inputs import Inputs, arguments, moved
from pamal_core.networks.skeleton import Skeleton
from pamal_core.shapes import ByMember, Theta, Thetas
from pamal_core.simplex import on_simplex


class Network(nn.Module, ABC):
    """A map from alpha to weights, and from weights and inputs to one output per task.

    `task_weights` is the matrix W [M, T] of section 3.1: a draw alpha weighs the losses by alpha^T
    W. `skeleton` is the architecture, whose weights are theta(alpha), the first `num_shared` of
    them used by all tasks. Its buffers, such as the running statistics of BatchNorm, are shared by
    all alpha; `recalibrate` re-estimates them for one. With `precision` bfloat16 the architecture
    runs under autocast; theta, its gradient and the outputs stay as they are.
    """

    task_weights: Tensor
    precision: torch.dtype = torch.float32

    def __init__(self, skeleton: Skeleton, task_weights: Float[Tensor, "M T"]) -> None:
        super().__init__()
        self.skeleton = skeleton
        self.register_buffer("task_weights", task_weights)

    @property
    def num_members(self) -> int:
        """M, the number of entries of an alpha."""
        return self.task_weights.shape[0]

    @property
    def num_tasks(self) -> int:
        """T, the number of losses."""
        return self.task_weights.shape[1]

    @property
    def num_shared(self) -> int:
        """How many weights, the first of theta, all tasks use."""
        return self.skeleton.num_shared

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """torch's own, before which InputError where the weights are in another order: `shared`
        decides it, and they would fit."""
        layout = state_dict.get(f"{prefix}skeleton.layout", self.skeleton.layout)
        if not torch.equal(layout.cpu(), self.skeleton.layout.cpu()):
            raise InputError(
                "Weights must be those of a network of this architecture with the same `shared`. "
                "Found others."
            )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    @abstractmethod
    def weights(self, alphas: ByMember) -> Thetas:
        """theta(alpha) for each row of `alphas`, differentiable in the network's own parameters."""

    def forward(self, theta: Theta, inputs: Inputs) -> Any:
        """What the architecture with the weights `theta` returns for `inputs`."""
        if self.precision == torch.float32:
            return self.skeleton(theta, inputs)
        with torch.autocast(theta.device.type, self.precision):
            outputs = self.skeleton(theta, inputs)
        return tree_map_only(Tensor, lambda output: output.to(theta), outputs)

    @torch.no_grad()
    def export(self, alpha: ArrayLike) -> nn.Module:
        """The network at `alpha`, a point of the simplex with M entries, as a plain module in
        evaluation mode.

        Its class is that of the members, its weights are ordinary parameters: it saves, scripts and
        runs without this package.
        """
        return self.skeleton.export(self.weights(self.alpha_tensor(alpha)))

    def recalibrate(self, alpha: ArrayLike, loader: Iterable[Any]) -> None:
        """Re-estimate the running statistics of every BatchNorm layer for the network at `alpha`.

        `loader` yields batches whose first entry are the inputs; every batch counts the same.
        InputError where it is such a batch itself, or has none, as a generator that an alpha before
        has used up.
        """
        if not has_batch_norm(self.skeleton):
            return
        batches = iter(loader)
        first = next(batches, None)
        if first is None or isinstance(first, Tensor):
            found = "none; a generator has them once, a list for each alpha"
            if first is not None:
                found = "a tensor where a batch was expected; a list with one batch will do"
            raise InputError(f"BatchNorm is re-estimated on batches (inputs, ...). Found {found}.")
        model, device = self.export(alpha), self.task_weights.device
        model.register_forward_pre_hook(lambda _, args, __: arguments(*args), with_kwargs=True)
        update_bn((moved(batch, device) for batch in itertools.chain([first], batches)), model)
        buffers = dict(model.named_buffers())
        for name, buffer in self.skeleton.model.named_buffers():
            if name in buffers:
                buffer.copy_(buffers[name])

    def alpha_tensor(self, alpha: ArrayLike) -> ByMember:
        """`alpha`, checked to lie on the simplex, in the dtype and on the device of the network."""
        return torch.as_tensor(on_simplex(alpha, self.num_members)).to(self.task_weights)


def has_batch_norm(model: nn.Module) -> bool:
    """Whether any layer of `model` keeps running statistics."""
    layers = (module for module in model.modules() if isinstance(module, _BatchNorm))
    return any(layer.track_running_stats for layer in layers)
