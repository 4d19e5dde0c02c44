"""What Algorithm 1 asks of a network."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from pamal_core.errors import InputError, check_choice, check_type
from pamal_core.inputs import Inputs, by_name, moved
from pamal_core.networks.skeleton import Skeleton, full_precision
from pamal_core.networks.statistics import Calibration, check_calibration, estimate, warn_of_shared
from pamal_core.shapes import ByMember, Theta, Thetas
from pamal_core.simplex import on_simplex

Alpha = ArrayLike | Mapping[str, float]
"""A point of the simplex: M numbers, or {task: number} where members are tasks."""


class Network(nn.Module, ABC):
    r"""A map from alpha to weights, and from weights and inputs to one output per task.

    `task_weights` is the matrix W [M, T] of section 4.1: a draw $\alpha$ weighs the losses by
    $\alpha^\top W$. `skeleton` is the architecture, whose weights are $\theta(\alpha)$; all tasks
    use the first `skeleton.num_shared` of them. Its buffers, such as the running statistics of
    BatchNorm, are shared by all alphas while it is trained. Under the caller's autocast the
    architecture alone runs with fewer digits; theta, its gradient and the outputs keep their dtype.
    """

    task_weights: Tensor
    calibration: Calibration | None = None
    """What `evaluate`, `predict` and `export` re-estimate statistics on, unless they are told:
    `train` keeps its first inputs here."""
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
    def flat(self) -> nn.Parameter | None:
        """The trained parameter, if there is one, that has weights of the model in theta's order,
        [N] or a row for each member."""
        return None

    @property
    def trained_tasks(self) -> list[int]:
        """The tasks that some member is trained on: the columns of `task_weights` that are not
        0."""
        return self.task_weights.any(0).nonzero()[:, 0].tolist()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """torch's own, before which InputError where the weights would fit and mean something else:
        in another order, which `shared` decides, or of members that weigh the tasks otherwise."""
        for name, ours in self._meaning().items():
            theirs = state_dict.get(prefix + name, ours)
            coarse = max(ours.dtype, theirs.dtype, key=lambda dtype: torch.finfo(dtype).eps)
            one, other = (tensor.to(ours.device, coarse) for tensor in (theirs, ours))
            rtol = torch.finfo(coarse).eps
            if theirs.shape != ours.shape or not torch.allclose(one, other, rtol=rtol):
                raise InputError(
                    "Weights must be those of a network of this architecture, with the same "
                    "`shared`, `channels_last`, `task_weights` and `scale`. Found another "
                    f"{name.rpartition('.')[2]}."
                )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _meaning(self) -> dict[str, Tensor]:
        """Return the buffers without which the weights would mean something else, by name."""
        return {"skeleton.layout": self.skeleton.layout, "task_weights": self.task_weights}

    @abstractmethod
    def weights(self, alphas: ByMember) -> Thetas:
        r"""$\theta(\alpha)$ for each row of `alphas`, differentiable in the network's own
        parameters."""

    def forward(self, inputs: Inputs, alpha: Alpha) -> Any:
        """Return what the network at `alpha` returns for `inputs`, differentiable in the network's
        own parameters, in the mode and with the running statistics that it has.

        `predict` is for serving, and `skeleton(theta, inputs)` for what holds theta itself.
        """
        return self.skeleton(self.theta(alpha), inputs)

    @torch.no_grad()
    def predict(
        self, inputs: Inputs, alpha: Alpha, *, calibration: Calibration | None = None
    ) -> Any:
        """Return what the network at `alpha` returns for `inputs`: a list or a dict of the output
        for each task.

        It runs as in `evaluate`, in evaluation mode and with the statistics that `calibration`
        says. The network keeps its mode and its own statistics, so that threads may share it. For
        many calls at one alpha `export` is faster.
        """
        batches = self.calibration_for(calibration)
        twin, theta = self.skeleton.twin(), self.theta(alpha)
        if batches != "shared":
            estimate(twin, theta, batches, self.task_names)
        outputs = by_name(twin(theta, *moved([inputs], self.device)))
        return dict(outputs) if isinstance(outputs, Mapping) else list(outputs)

    @torch.no_grad()
    def export(
        self,
        alpha: Alpha,
        into: nn.Module | None = None,
        *,
        calibration: Calibration | None = None,
    ) -> nn.Module:
        """Return the network at `alpha` as a plain module in evaluation mode.

        Its class is that of the members, its weights are ordinary parameters: it saves, scripts and
        runs without this package. The network keeps its own statistics, so that threads may share
        it.

        - `alpha`: a point of the simplex, M numbers, or {task: number} where members are tasks.
        - `into`: a module that `export` returned, to be overwritten in place of a new one.
        - `calibration`: which running statistics the module gets, as in `evaluate`.

        Raises InputError unless `into` is a module of this architecture.
        """
        if into is not None:
            check_type("into", into, nn.Module, "network.export(alpha)")
        batches = self.calibration_for(calibration)
        skeleton, theta = self.skeleton, self.theta(alpha)
        if batches != "shared":
            skeleton = skeleton.twin()
            estimate(skeleton, theta, batches, self.task_names)
        if into is None:
            return skeleton.export(theta)
        skeleton.put(theta, into)
        return into

    def calibration_for(self, given: Calibration | None) -> Calibration:
        """Return the batches on which statistics are estimated, or "shared": what is `given`, or
        else what `train` kept, or else "shared", with a warning where that makes a difference."""
        check_calibration(given)
        chosen = self.calibration if given is None else given
        if chosen is None and self.num_members > 1:
            warn_of_shared(self.skeleton)
        if chosen is None or not self.skeleton.follows_training:
            return "shared"
        return chosen

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the architecture, by torch's `Module.compile`, for calls and for training."""
        self.skeleton.compile(*args, **kwargs)

    @property
    def device(self) -> torch.device:
        """That of the weights."""
        return self.task_weights.device

    def alpha_tensor(self, alpha: Alpha) -> ByMember:
        """Return `alpha` [..., M], or {task: number}, in the dtype and on the device of the
        network; raise InputError where it is not on the simplex."""
        if isinstance(alpha, Mapping):
            alpha = self._in_order(alpha)
        point = torch.as_tensor(on_simplex(alpha, self.num_members))
        # To a GPU without waiting for what it still has to do.
        return point.to(self.task_weights, non_blocking=True)

    def theta(self, alpha: Alpha) -> Theta:
        """Return the weights at one alpha, [N], whatever autocast is on."""
        point = self.alpha_tensor(alpha)
        with full_precision(self.device):
            return self.weights(point)

    def _in_order(self, alpha: Mapping[str, float]) -> list[float]:
        """Return the entries of an alpha by name, that of a task without one 0. The names are those
        of the tasks of a `Method` where each task has a member."""
        identity = torch.eye(self.num_members).to(self.task_weights)
        names = self.task_names if torch.equal(self.task_weights, identity) else ()
        for name in alpha:
            check_choice("name in alpha", name, names)
        return [alpha.get(name, 0.0) for name in names]

    @torch.no_grad()
    def members(self) -> Float[Tensor, "M N"]:
        """theta at the corners of the simplex."""
        return self.weights(torch.eye(self.num_members).to(self.task_weights))

    @torch.no_grad()
    def member_similarity(self) -> Float[Tensor, "M M"]:
        """Cosine of the angle between every two members, cos(theta_j, theta_k)."""
        stacked = self.members()
        return cosine_similarity(stacked[:, None], stacked[None], dim=-1)


def check_network(network: Any) -> None:
    """Raise InputError unless `network` is a `Network`, and not one that is wrapped: its own
    `compile` compiles it in place, and `train` averages the gradients of several processes."""
    check_type("network", network, Network, "WeightEnsemble([Net(), Net()])")
