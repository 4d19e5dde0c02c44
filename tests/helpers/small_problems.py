"""Small problems that many tests share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pamal_core.balancing import MovingAverage
from pamal_core.classes import classification
from pamal_core.ensemble import WeightEnsemble
from pamal_core.method import Method
from pamal_core.numbers import regression
from pamal_core.penalties import MultiForward
from pamal_core.tasks import Task
from pamal_core.weights import flatten


class Constant(nn.Module):
    """One output of that shape, whatever the input."""

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.randn(shape))

    def forward(self, x: Tensor) -> list[Tensor]:
        return [self.value]


class SharedBottom(nn.Module):
    """One encoder, then one head per task."""

    def __init__(self, encoder: nn.Module, heads: list[nn.Module]) -> None:
        super().__init__()
        self.encoder, self.heads = encoder, nn.ModuleList(heads)

    def forward(self, x: Tensor) -> list[Tensor]:
        features = self.encoder(x)
        return [head(features) for head in self.heads]


def lenet(num_tasks: int = 2) -> SharedBottom:
    """LeNet for images [n, 1, 28, 28]: 21,330 shared weights, and 3,060 for each head of 10
    classes."""
    encoder = nn.Sequential(
        *(nn.Conv2d(1, 10, kernel_size=5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(10, 20, kernel_size=5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(20 * 4 * 4, 50), nn.ReLU()),
    )
    heads = [
        nn.Sequential(nn.Linear(50, 50), nn.ReLU(), nn.Linear(50, 10)) for _ in range(num_tasks)
    ]
    return SharedBottom(encoder, heads)


def batches(
    tensors: Sequence[Tensor], size: int, shuffle: bool = False
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of `size` examples of `tensors`, the last one smaller."""
    return DataLoader(TensorDataset(*tensors), batch_size=size, shuffle=shuffle)


def through_a_file(state: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`state`, written to a file in `folder` and read as one that nobody trusts."""
    torch.save(state, folder / "state.pt")
    return torch.load(folder / "state.pt", weights_only=True)


@pytest.fixture
def make_mlp() -> Callable[[], SharedBottom]:
    """Makes a small shared-bottom network: 4 inputs, heads with 1 and 3 outputs."""

    def make() -> SharedBottom:
        encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        return SharedBottom(encoder, [nn.Linear(8, 1), nn.Linear(8, 3)])

    return make


@pytest.fixture
def tasks() -> list[Task]:
    return [regression("height"), classification("kind")]


@pytest.fixture
def make_plain_method(
    make_mlp: Callable[[], SharedBottom], tasks: list[Task]
) -> Callable[..., Method]:
    """Makes the same method of two members each time, with the parts that it is given."""

    def make(**parts: Any) -> Method:
        torch.manual_seed(3)
        return Method(WeightEnsemble([make_mlp(), make_mlp()], shared="encoder"), tasks, **parts)

    return make


@pytest.fixture
def make_method(make_plain_method: Callable[..., Method]) -> Callable[[], Method]:
    """The same with loss balancing and the penalty."""
    return lambda: make_plain_method(balancer=MovingAverage(), penalty=MultiForward(0.5), window=2)


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Inputs [32, 4] with a real and a class target that depend on them."""
    x = torch.randn(32, 4)
    return x, x[:, 0] - x[:, 1] ** 2, (x[:, 2] > 0).long() + (x[:, 3] > 0).long()


@pytest.fixture
def loader(batch: tuple[Tensor, Tensor, Tensor]) -> DataLoader[tuple[Tensor, ...]]:
    """Four batches in a new order each epoch."""
    return batches(batch, 8, shuffle=True)


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The learning rate of each step that Adam makes from now on."""
    found: list[float] = []
    step = torch.optim.Adam.step

    def watched(self: torch.optim.Adam, *args: object) -> object:
        found.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    return found


def slopes_of(network, loss=None):
    """The gradient of `loss` by each member, [M, N], in the order of `network.members()`; without a
    loss that which a step has left."""
    stacked = [network.stacked.get_parameter(name) for name in network.skeleton.places]
    slopes = [weight.grad for weight in stacked]
    if loss is not None:
        slopes = torch.autograd.grad(loss, stacked, retain_graph=True, materialize_grads=True)
    return torch.stack(
        [
            flatten([slope[k] for slope in slopes], [weight[k] for weight in stacked])
            for k in range(network.num_members)
        ]
    )
