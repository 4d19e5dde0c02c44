"""What Algorithm 1 asks of a network."""

import contextlib
import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from torch.utils._pytree import tree_map_only

from pamal_core.errors import InputError, check_choice, check_type
from pamal_core.inputs import Batch, Inputs, arguments, described, moved
from pamal_core.networks.skeleton import Skeleton, put_back
from pamal_core.shapes import ByMember, Theta, Thetas
from pamal_core.simplex import on_simplex

Calibration = Iterable[Batch] | Literal["shared"]
"""Batches of training data, inputs first, on which running statistics are re-estimated for each
alpha; or "shared", those that training left, one for all alpha."""


class Network(nn.Module, ABC):
    r"""A map from alpha to weights, and from weights and inputs to one output per task.

    `task_weights` is the matrix W [M, T] of section 4.1: a draw $\alpha$ weighs the losses by
    $\alpha^\top W$. `skeleton` is the architecture, whose weights are $\theta(\alpha)$; all tasks
    use the first `skeleton.num_shared` of them. Its buffers, such as the running statistics of
    BatchNorm, are shared by all alphas; `recalibrate` re-estimates them for one. With `precision`
    bfloat16 the architecture runs under autocast; theta, its gradient and the outputs keep their
    dtype.
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
    def mixed(self) -> Sequence[nn.Parameter]:
        """The parameters that alpha mixes, each with an entry per member along its first axis: the
        gradient of member k's is scaled by alpha_k. None unless theta(alpha) is a mixture."""
        return ()

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
        for name, ours in (
            ("skeleton.layout", self.skeleton.layout),
            ("task_weights", self.task_weights),
        ):
            theirs = state_dict.get(prefix + name, ours)
            if theirs.shape != ours.shape or not torch.allclose(theirs.to(ours), ours):
                raise InputError(
                    "Weights must be those of a network of this architecture, with the same "
                    "`shared`, `channels_last` and `task_weights`. Found another "
                    f"{name.rpartition('.')[2]}."
                )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    @abstractmethod
    def weights(self, alphas: ByMember) -> Thetas:
        r"""$\theta(\alpha)$ for each row of `alphas`, differentiable in the network's own
        parameters."""

    def forward(self, theta: Theta, inputs: Inputs | None = None) -> Any:
        """What the architecture with the weights `theta` [N] returns for `inputs`; InputError
        unless `theta` is a vector as `weights` makes it."""
        if torch.is_autocast_enabled(self.task_weights.device.type):
            raise InputError(
                "A network mixes its weights in full precision: set `network.precision = "
                "torch.bfloat16` in place of an autocast around it. Found torch.autocast."
            )
        if inputs is None or not isinstance(theta, Tensor) or theta.ndim != 1:
            raise InputError(
                f"A network is called with theta, a vector [{self.skeleton.num_weights}] that "
                "`weights` gives for one alpha, and inputs; `predict` takes an alpha. "
                f"Found {described(theta)} and {described(inputs)}."
            )
        if self.precision == torch.float32:
            return self.skeleton(theta, inputs)
        if self.precision == torch.float16 and torch.is_grad_enabled() and theta.requires_grad:
            raise InputError(
                "Gradients of float16 need a scaler of losses (GradScaler), whose scale balancers, "
                "penalties and norms would see: networks are trained with precision float32 or "
                "bfloat16. Found float16, which is for evaluation alone."
            )
        with torch.autocast(theta.device.type, self.precision):
            outputs = self.skeleton(theta, inputs)
        return tree_map_only(Tensor, lambda output: output.to(theta), outputs)

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Within it the network is in evaluation mode; afterwards its mode and its buffers are as
        before. Threads have a network, or an exported model, each."""
        modes = [(module, module.training) for module in self.modules()]
        before = self.skeleton.buffer_values()
        try:
            self.eval()
            yield
        finally:
            for module, was_training in modes:
                module.training = was_training
            put_back(before)

    @torch.no_grad()
    def export(self, alpha: ArrayLike, *, calibration: Calibration | None = None) -> nn.Module:
        """The network at `alpha`, a point of the simplex with M entries, as a plain module in
        evaluation mode.

        Its class is that of the members, its weights are ordinary parameters: it saves, scripts and
        runs without this package. `calibration` says which running statistics it gets, as in
        `evaluate`; the network keeps its own.
        """
        if calibration is None:
            self.check_calibration(stacklevel=3)
        theta = self.weights(self.alpha_tensor(alpha))
        return self._calibrated(theta, calibration).export(theta)

    @torch.no_grad()
    def at(
        self, alpha: ArrayLike, into: nn.Module, *, calibration: Calibration | None = None
    ) -> nn.Module:
        """Put the network at `alpha`, a point of the simplex with M entries, into the module `into`
        that `export` returned, in place, and return it: the same as another `export`, as fast as
        its weights can be mixed and copied. Threads may call it, each with a module of its own.

        InputError unless `into` is a module of this architecture.
        """
        check_type("into", into, nn.Module, "network.export(alpha)")
        if calibration is None:
            self.check_calibration(stacklevel=3)
        theta = self.weights(self.alpha_tensor(alpha))
        self._calibrated(theta, calibration).put(theta, into)
        return into

    @torch.no_grad()
    def recalibrate(self, alpha: ArrayLike, calibration: Calibration) -> None:
        """Re-estimate the running statistics of normalisation layers (BatchNorm and InstanceNorm
        that track any) for the network at `alpha`, a point of the simplex with M entries. With
        "shared" they stay as they are.

        `calibration` are batches of training data, inputs first; every batch counts the same. Other
        buffers into which training writes go on from where they are: a spectral norm takes a step a
        batch.

        InputError where `calibration` is a batch without a list, or has none, as a generator that
        an alpha before has used up. The statistics are then as before.
        """
        theta = self.weights(self.alpha_tensor(alpha))
        with self.evaluating():
            with self.skeleton.holding(theta):
                self._estimate(self.skeleton.model, calibration)
            estimated = self.skeleton.buffer_values()
        put_back(estimated)

    def check_calibration(self, stacklevel: int) -> None:
        """Warn that no `calibration` was given, where it makes a difference which statistics an
        alpha has."""
        if self.num_members == 1:
            return
        shared = []
        if self.skeleton.tracking:
            shared.append("the running statistics of normalisation layers")
        if buffers := self.skeleton.changed_buffers():
            shared.append(f"what training wrote into {', '.join(buffers)}")
        if shared:
            warnings.warn(
                f"All alphas share {' and '.join(shared)}, which belong to the middle of the "
                "front: at the ends, LeNets with BatchNorm had accuracies of 0.62 to 0.92 on two "
                "digits, and of 0.92 to 0.97 re-estimated. Give `calibration` a list of one or a "
                'few batches of training data, or "shared" to keep what there is.',
                stacklevel=stacklevel + 1,
            )

    def alpha_tensor(self, alpha: ArrayLike) -> ByMember:
        """`alpha`, checked to lie on the simplex, in the dtype and on the device of the network."""
        return torch.as_tensor(on_simplex(alpha, self.num_members)).to(self.task_weights)

    @torch.no_grad()
    def members(self) -> Float[Tensor, "M N"]:
        """theta at the corners of the simplex."""
        return self.weights(torch.eye(self.num_members).to(self.task_weights))

    @torch.no_grad()
    def member_similarity(self) -> Float[Tensor, "M M"]:
        """Cosine of the angle between every two members, cos(theta_j, theta_k)."""
        stacked = self.members()
        return cosine_similarity(stacked[:, None], stacked[None], dim=-1)

    def _calibrated(self, theta: Theta, calibration: Calibration | None) -> Skeleton:
        """Return the skeleton with the statistics of theta: a copy where they are estimated, so
        that threads need no lock."""
        if calibration is None or calibration == "shared":
            return self.skeleton
        twin = copy.deepcopy(self.skeleton)
        with twin.holding(theta):
            self._estimate(twin.model, calibration)
        return twin

    def _estimate(self, model: nn.Module, calibration: Calibration | None) -> None:
        """Re-estimate the running statistics of `model`, the architecture with some weights, unless
        they are shared."""
        if isinstance(calibration, str):
            check_choice("calibration", calibration, ["shared"])
        elif calibration is not None:
            check_type("calibration", calibration, Iterable, "a list of batches")
            if self.skeleton.tracking or self.skeleton.changed_buffers():
                device = self.task_weights.device
                estimate_statistics(model, calibration, self.skeleton, device)


def estimate_statistics(
    model: nn.Module, calibration: Iterable[Batch], skeleton: Skeleton, device: torch.device
) -> None:
    """Make the running statistics of `model`, a module of the architecture `skeleton`, the means
    over the batches of `calibration`, and leave it in evaluation mode; InputError as of
    `Network.recalibrate`."""
    model.train()
    for name in skeleton.still:
        model.get_submodule(name).eval()
    layers: list[Any] = [model.get_submodule(name) for name in skeleton.tracking]
    momenta, number = [layer.momentum for layer in layers], 0
    for layer in layers:
        layer.reset_running_stats()
    try:
        for number, batch in enumerate(calibration, start=1):
            for layer in layers:
                layer.momentum = 1 / number  # the mean over the batches
            args, named = arguments(moved(batch, device)[0])
            model(*args, **named)
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.eval()
    if not number:
        raise InputError(
            "Running statistics are re-estimated on batches (inputs, ...). Found none; a generator "
            "has them once, a list for each alpha."
        )
