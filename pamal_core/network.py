"""The interface of a network: alpha to weights, weights and inputs to outputs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from pamal_core.errors import InputError, check_choice, check_type
from pamal_core.inputs import Inputs, by_name, to_device
from pamal_core.objectives import Point
from pamal_core.simplex import on_simplex
from pamal_core.skeleton import Skeleton, full_precision
from pamal_core.statistics import Calibration, check_calibration, estimate, warn_of_shared
from pamal_core.weights import ByMember, Weights, flatten

Alpha: TypeAlias = ArrayLike | Mapping[str, Any] | pd.Series | pd.DataFrame | Point
"""A point of the simplex: M numbers, numbers by name, or a `Point` of a front. A name is that of a
task, if each has a member, or of a column of `Front.to_frame`."""


class Network(nn.Module, ABC):
    r"""A map from alpha to weights, and from weights and inputs to one output per task.

    `task_weights` is the matrix W [M, T] of section 4.1: a draw $\alpha$ weighs the losses by
    $\alpha^\top W$. `skeleton` is the architecture, which runs with the weights
    $\theta(\alpha)$; all tasks use the first `skeleton.num_shared` of these numbers. Its buffers,
    such as the running statistics of BatchNorm, are shared by all alphas while it is trained. Under
    the caller's autocast the architecture alone runs with fewer digits; theta, its gradient and
    outputs that are floating-point numbers have the dtype of the weights.

    A state dict has the weights, the buffers and the names of the tasks. `calibration` is no part
    of it: it is saved beside.
    """

    task_weights: Tensor
    calibration: Calibration | None = None
    """Examples on which `evaluate`, `predict` and `export` re-estimate running statistics unless
    they are given others: `train` keeps its first inputs here."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, which a `Method` of this network sets."""

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
    def trained_tasks(self) -> list[int]:
        """Return the tasks that some member is trained on: the columns of `task_weights` that are
        not 0."""
        return self.task_weights.any(0).nonzero()[:, 0].tolist()

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return self.task_weights.device

    def get_extra_state(self) -> Tensor:
        """Return the names of the tasks, a line each, as bytes: a state dict is of tensors."""
        return torch.tensor([*"\n".join(self.task_names).encode()], dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Take over the names of the tasks that `get_extra_state` returned."""
        self.task_names = names_of(state)

    @abstractmethod
    def weights(self, alpha: ByMember) -> Weights:
        r"""Return $\theta(\alpha)$ for `alpha` [M], differentiable in the network's own
        parameters."""

    def theta(self, alpha: Alpha) -> Weights:
        """Return the weights at `alpha` by name, whatever autocast is on. Raise InputError if it is
        several points."""
        point = self.alpha_tensor(alpha)
        if point.numel() != self.num_members:
            raise InputError(
                f"`alpha` must be one point, of {self.num_members} numbers. Found {[*point.shape]}."
            )
        with full_precision(self.device):
            return self.weights(point.view(-1))

    def forward(self, inputs: Inputs, alpha: Alpha) -> Any:
        """Return the outputs of the network at `alpha` for `inputs`, differentiable in the
        network's own parameters, in the mode and with the running statistics that it has.

        `predict` is for serving, and `skeleton(theta, inputs)` for code that holds theta itself.
        Raises RuntimeError if another thread is within this call: the weights of one alpha are in
        the model at a time. Any thread may ask `predict`.
        """
        return self.skeleton(self.theta(alpha), inputs)

    @torch.no_grad()
    def predict(
        self, inputs: Inputs, alpha: Alpha, *, calibration: Calibration | None = None
    ) -> Any:
        """Return the outputs of the network at `alpha` for `inputs`: a list, or a dict, with an
        output for each task, or the tensor that the model returns.

        It runs as in `evaluate`, in evaluation mode and with the statistics that `calibration`
        says. The network keeps its mode and its own statistics, so that threads may share it. For
        many calls at one alpha `export` is faster.
        """
        skeleton, theta = self._calibrated(alpha, self.calibration_for(calibration))
        outputs = by_name(skeleton(theta, *to_device([inputs], self.device)))
        if isinstance(outputs, Tensor):
            return outputs
        return dict(outputs) if isinstance(outputs, Mapping) else list(outputs)

    @torch.no_grad()
    def export(self, alpha: Alpha, *, calibration: Calibration | None = None) -> nn.Module:
        """Return the network at `alpha` as a plain module in evaluation mode.

        Its class is that of the members, its weights are ordinary parameters: it saves, scripts and
        runs without this package. The network keeps its own statistics, so that threads may share
        it.

        - `alpha`: M numbers, {task: number} if members are tasks, or a point of a front.
        - `calibration`: which running statistics the module gets, as in `evaluate`.
        """
        skeleton, theta = self._calibrated(alpha, self.calibration_for(calibration))
        return skeleton.export(theta)

    def _calibrated(self, alpha: Alpha, batches: Calibration) -> tuple[Skeleton, Weights]:
        """Return a copy of the skeleton with the statistics of `alpha`, and the weights there."""
        skeleton, theta = self.skeleton.eval_copy(), self.theta(alpha)
        if batches != "shared":
            estimate(skeleton, theta, batches, self.task_names)
        return skeleton, theta

    def calibration_for(self, given: Calibration | None) -> Calibration:
        """Return `given`; if it is None, the examples that `train` kept. Return "shared" if there
        are neither, with a warning if the model tracks running statistics, or if the model has no
        buffers to estimate."""
        check_calibration(given)
        chosen = self.calibration if given is None else given
        if chosen is None and self.num_members > 1:
            warn_of_shared(self.skeleton)
        has_buffers = any(True for _ in self.skeleton.model.buffers())
        return "shared" if chosen is None or not has_buffers else chosen

    @torch.no_grad()
    def check_examples(self, calibration: Calibration) -> None:
        """Estimate the running statistics of the middle, if there are some, so that it is seen
        before training if `calibration` cannot be used. Raise InputError, or what the model
        raises."""
        if calibration == "shared" or not self.skeleton.tracking:
            return
        try:
            self._calibrated(np.full(self.num_members, 1 / self.num_members), calibration)
        except InputError as error:
            raise InputError(f"`calibration` cannot be used. {error}") from error
        except Exception as error:
            error.add_note("The model had got a batch of `calibration`.")
            raise

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the architecture, by torch's `Module.compile`, for calls and for training."""
        self.skeleton.model.compile(*args, **kwargs)

    def alpha_tensor(self, alpha: Alpha) -> ByMember:
        """Return `alpha` [..., M], or {task: number}, in the dtype and on the device of the
        network; raise InputError if it is not on the simplex."""
        # To a GPU without waiting for what it still has to do.
        point = torch.as_tensor(self.alpha_array(alpha))
        return point.to(self.task_weights, non_blocking=True)

    def alpha_array(self, alpha: Alpha) -> np.ndarray:
        """Return `alpha`, one or several points, as an array [..., M]. Raise InputError if one is
        not on the simplex, and for a name that no member has."""
        if isinstance(alpha, Point):
            alpha = alpha.alpha
        if isinstance(alpha, Mapping | pd.Series | pd.DataFrame):
            names = self.alpha_names
            given = {str(name).removeprefix("alpha/"): share for name, share in alpha.items()}
            for name in given:
                check_choice("name in alpha", name, names)
            alpha = np.stack(np.broadcast_arrays(*(given.get(name, 0.0) for name in names)), -1)
        return on_simplex(alpha, self.num_members)

    @property
    def alpha_names(self) -> list[str]:
        """Return the names of the entries of an alpha: the trained tasks of a `Method` if each has
        a member, and else alpha_1 to alpha_M."""
        trained, identity = self.trained_tasks, torch.eye(self.num_members).to(self.task_weights)
        if self.task_names and torch.equal(self.task_weights[:, trained], identity):
            return [self.task_names[t] for t in trained]
        return [f"alpha_{k + 1}" for k in range(self.num_members)]

    @torch.no_grad()
    def members(self) -> Float[Tensor, "M N"]:
        """Return the weights of each member as a vector, in the order of `theta`."""
        corners = torch.eye(self.num_members).to(self.task_weights)
        thetas = [self.weights(corner).values() for corner in corners]
        return torch.stack([flatten(theta, theta) for theta in thetas])

    @torch.no_grad()
    def member_similarity(self) -> Float[Tensor, "M M"]:
        """Return the cosine of the angle between every two members, cos(theta_j, theta_k)."""
        stacked = self.members()
        return cosine_similarity(stacked[:, None], stacked[None], dim=-1)


def names_of(state: Tensor) -> tuple[str, ...]:
    """Return the names of the tasks in an extra `state` of a network."""
    return tuple(bytes(state.tolist()).decode().splitlines())


def check_network(network: Any) -> None:
    """Raise InputError unless `network` is a `Network`. A wrapped one, as `torch.compile` returns,
    is none: `network.compile()` compiles in place."""
    check_type("network", network, Network, "WeightEnsemble([Net(), Net()])")


def check_num_tasks(network: Network, number: int) -> None:
    """Raise InputError unless `network` has so many tasks."""
    if number != network.num_tasks:
        raise InputError(
            "There must be one task per column of `task_weights`, by default one per member. "
            f"Expected {network.num_tasks}, found {number}."
        )


def is_in_another_order(names: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether `names` are the `others` in another order."""
    return [*names] != [*others] and sorted(names) == sorted(others)


def check_order(network: Network, names: Sequence[str]) -> None:
    """Raise InputError where `names` are those of the network's tasks in another order."""
    known = network.task_names
    if is_in_another_order(names, known):
        raise InputError(
            f"`tasks` must be in the order of the training, {', '.join(known)}: alphas mean these. "
            f"Found {', '.join(names)}."
        )
