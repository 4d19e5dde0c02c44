"""COSMOS: a network that is told alpha beside its input, and the penalty that spreads its front."""

import copy
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from pamal_core.network import Network
from pamal_core.penalties import Penalty
from pamal_core.skeleton import Skeleton
from pamal_core.weights import ByDraw, ByMember, Weights, parameter_tree


class Conditioned(Network):
    """One set of weights for every alpha; alpha joins the input.

    Ruchte and Grabocka, "Scalable Pareto front approximation for deep multi-objective learning"
    (ICDM 2021), section III: alpha is appended to a feature vector [n, F], and for images
    [n, C, H, W] it is upsampled to T more channels by two transposed convolutions.

    To the rest of this package alpha is one more weight of the network, [T], which is set and not
    trained: `trained` holds the others by their names. `model` must have a submodule `shared`
    whose first layer takes T more features (or channels) than the data have. `example` is a batch
    of inputs, for its shape.
    """

    def __init__(
        self, model: nn.Module, num_tasks: int, *, shared: str, example: Float[Tensor, "n ..."]
    ) -> None:
        model, image_size = copy.deepcopy(model), tuple(example.shape[2:])
        setattr(model, shared, JoinAlpha(getattr(model, shared), num_tasks, image_size))
        skeleton = Skeleton(model, shared)
        super().__init__(skeleton, torch.eye(num_tasks))
        self.given = f"{shared}.alpha"
        """The name of the weight that is alpha."""
        names = [name for name in skeleton.places if name != self.given]
        self.trained = parameter_tree({n: model.get_parameter(n).detach() for n in names})

    def weights(self, alpha: ByMember) -> Weights:
        return {
            name: alpha if name == self.given else self.trained.get_parameter(name)
            for name in self.skeleton.places
        }


class JoinAlpha(nn.Module):
    """`encoder` for inputs joined with `alpha` [T]: as T more features, or for images of
    `image_size` (height, width) as T more channels."""

    def __init__(self, encoder: nn.Module, num_tasks: int, image_size: tuple[int, ...]) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.full((num_tasks,), 1 / num_tasks))
        self.upsample: nn.Module = nn.Identity()
        if image_size:  # by way of 10 x 10, as in the code of COSMOS
            self.upsample = nn.Sequential(
                nn.ConvTranspose2d(num_tasks, num_tasks, 4, bias=False),
                nn.ReLU(),
                nn.ConvTranspose2d(num_tasks, num_tasks, 6, stride=2, padding=1, bias=False),
                nn.ReLU(),
                nn.Upsample(size=image_size),
            )
        self.encoder = encoder
        self.is_image = bool(image_size)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of `x` [n, F] or [n, C, H, W] at alpha."""
        alpha = self.alpha[None, :, None, None] if self.is_image else self.alpha[None]
        joined = self.upsample(alpha)
        return self.encoder(torch.cat([x, joined.expand(len(x), *joined.shape[1:])], 1))


@dataclass(frozen=True)
class Cosine(Penalty):
    r"""The penalty of COSMOS: minus the cosine of the angle between the losses of a draw and its
    task weights.

    Ruchte and Grabocka, "Scalable Pareto front approximation for deep multi-objective learning"
    (ICDM 2021), Eq. 4: $\sum_t w_t L_t - \lambda \cos(L, w)$ spreads the solutions over the
    preferences. It looks at each draw on its own. The cosine wants the loss of a task to grow with
    its weight, the sum wants the opposite: where $\lambda$ is large enough the front is reversed.
    Where all losses are 0 so is the slope.
    """

    def slopes(self, losses: ByDraw, weights: ByDraw) -> ByDraw:
        length = torch.linalg.vector_norm(losses, dim=-1, keepdim=True)
        length = length.where(length > 0, 1)
        unit = losses / length
        direction = weights / torch.linalg.vector_norm(weights, dim=-1, keepdim=True)
        cosine = (unit * direction).sum(-1, keepdim=True)
        return -self.lam * (direction - cosine * unit) / length
